"""The live line of `konstat wait`: on a terminal in place, else a line whenever it changes.

It goes to standard error; standard output gets what was reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.text import Text

from konstat.base import limits


class Line(Protocol):
    """Where it is shown what is still waited for."""

    def show(self, pending: Sequence[str], *, waited_seconds: float) -> None: ...


class PlainLine:
    """A line whenever the texts change, without the time, which would be a change each second."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown = ""

    def show(self, pending: Sequence[str], *, waited_seconds: float) -> None:
        text = summary(pending)
        if pending and text != self._shown:
            self._shown = text
            self._console.print(Text(f"waiting: {text}"), soft_wrap=True)


class LiveLine:
    """One line of a terminal, replaced by the next; `live` is entered already."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def show(self, pending: Sequence[str], *, waited_seconds: float) -> None:
        text = f"waiting {int(waited_seconds)}s: {summary(pending)}"
        self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)


@contextmanager
def open_line() -> Iterator[Line]:
    """The line that fits standard error."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield PlainLine(console)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield LiveLine(live)


def summary(texts: Sequence[str]) -> str:
    """The first text, and how many there are besides."""
    if not texts:
        return "for the first look"
    more = len(texts) - 1
    return texts[0] + (f" (and {more} more)" if more else "")


def listed(texts: Sequence[str]) -> list[str]:
    """Texts for lines of their own: the first ones, and a count of the rest."""
    shown = list(texts[: limits.WAIT_NAMES])
    more = len(texts) - len(shown)
    return [*shown, f"and {more} more"] if more else shown
