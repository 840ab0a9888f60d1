"""Puts drawings where they are read: a terminal, a pipe, or one JSON document after the other.

Before: `konstat.cli.status.command` chooses. A terminal gets colours, Unicode, its own width, and
is redrawn in place; a pipe, or NO_COLOR, gets ASCII, and unbroken lines where there is no width.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Protocol

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from konstat.base import clock
from konstat.cli.status.document import as_json, document
from konstat.cli.status.outline import ASCII, UNICODE, Symbols
from konstat.cli.status.render import Layout, render
from konstat.cli.status.tree import Gathered, TreeNode, build


class Screen(Protocol):
    """Where one moment of the world is shown."""

    def show(self, gathered: Gathered) -> None: ...


class JsonScreen:
    """Documents on standard output; ``one_line`` writes each on a line of its own."""

    def __init__(self, *, server: str, one_line: bool) -> None:
        self._server = server
        self._one_line = one_line
        self._shown: object = None

    def show(self, gathered: Gathered) -> None:
        """Print the document unless it would say what the last one said."""
        now = clock.now()
        trees = build(gathered, now=now)
        news = (trees, gathered.unread, gathered.outdated)
        if news == self._shown:
            return
        self._shown = news
        content = document(trees, gathered, server=self._server, now=now)
        click.echo(as_json(content, one_line=self._one_line))


class TextScreen:
    """Drawings on standard output, one after the other."""

    def __init__(self, console: Console, *, namespaces: bool, empty: str) -> None:
        self._console = console
        self._namespaces = namespaces
        self._empty = empty
        self._shown: object = None

    def show(self, gathered: Gathered) -> None:
        """Print the drawing unless only ages would differ from the last one."""
        now = clock.now()
        trees = build(gathered, now=now)
        news = (trees, gathered.unread, gathered.outdated)
        if news == self._shown:
            return
        if self._shown is not None:
            self._console.print()
        self._shown = news
        for line in self.lines(trees, gathered, now=now):
            # rich would break and cut lines for a width that a pipe does not have.
            self._console.print(line, soft_wrap=True)

    def lines(self, trees: Sequence[TreeNode], gathered: Gathered, *, now: datetime) -> list[Text]:
        """The lines of one drawing."""
        if not trees:
            return [Text(self._empty)]
        layout = Layout(
            width=self._console.width if self._console.is_terminal else None,
            symbols=symbols_for(self._console),
            namespaces=self._namespaces,
        )
        return render(trees, gathered, now=now, layout=layout)


class LiveScreen:
    """One drawing on a terminal, replaced by the next; `live` is entered already."""

    def __init__(self, text: TextScreen, live: Live) -> None:
        self._text = text
        self._live = live

    def show(self, gathered: Gathered) -> None:
        """Replace the drawing."""
        now = clock.now()
        lines = self._text.lines(build(gathered, now=now), gathered, now=now)
        self._live.update(Text("\n", no_wrap=True, overflow="crop").join(lines), refresh=True)


@contextmanager
def open_screen(
    *, json: bool, watch: bool, server: str, namespaces: bool, empty: str
) -> Iterator[Screen]:
    """The screen that fits the options and standard output."""
    if json:
        yield JsonScreen(server=server, one_line=watch)
        return
    console = Console(highlight=False)
    text = TextScreen(console, namespaces=namespaces, empty=empty)
    if not (watch and console.is_terminal):
        yield text
        return
    with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
        yield LiveScreen(text, live)


def symbols_for(console: Console) -> Symbols:
    """The signs that are welcome there: beyond ASCII only on a terminal that can show them."""
    plain = "NO_COLOR" in os.environ or not console.is_terminal
    rich = not plain and console.encoding.lower().startswith("utf")
    return UNICODE if rich else ASCII
