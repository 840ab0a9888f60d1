"""Draws trees as aligned lines. Pure: width, symbols and the time are given.

Before: `konstat.cli.status.tree` builds the nodes and `outline` turns them into rows; `screen` puts
the lines on a terminal or into a pipe. Every text of a server passes `printable`, so no escape
sequence in a status reaches the terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from konstat.cli.status.outline import ASCII, Remark, Row, Symbols, outline, printable
from konstat.cli.status.tree import Gathered, TreeNode
from konstat.readiness import wording

_HEADER: Final = ("NAME", "STATE", "TURN", "AGE", "REASON")
_GAP: Final = 2
_NARROWEST: Final = 24  # for texts under a deep branch, however narrow the terminal is
_RAIL: Final = "bright_black"


class Layout(NamedTuple):
    """How to draw: ``width`` in cells (None: lines are not broken), and what the lines show."""

    width: int | None = None
    symbols: Symbols = ASCII
    namespaces: bool = False  # whether names carry their namespace


def render(
    trees: Sequence[TreeNode], gathered: Gathered, *, now: datetime, layout: Layout
) -> list[Text]:
    """The lines of the trees, and what must be known of all of them."""
    drawn = [
        line
        for tree in trees
        for line in outline(tree, symbols=layout.symbols, namespaces=layout.namespaces, now=now)
    ]
    lines = _table(drawn, layout.width)
    for text in _problems(gathered):
        lines += _broken(printable(text), "", width=layout.width, style="yellow")
    return lines


def _problems(gathered: Gathered) -> Iterator[str]:
    if gathered.unread:
        kinds = sorted(f"{kind.resource} ({p})" for kind, p in gathered.unread.items())
        yield f"not read: {', '.join(kinds)}"
    if gathered.outdated:
        # When the server is away all kinds are, for one reason: it is enough to name a few.
        kinds = wording.listed(kind.resource for kind in gathered.outdated)
        yield f"may be out of date: {kinds} ({next(iter(gathered.outdated.values()))})"


def _table(drawn: Sequence[Row | Remark], width: int | None) -> list[Text]:
    rows = [line for line in drawn if isinstance(line, Row)]
    widths = _column_widths(rows, width)
    # A reason that has no room beside the row goes in front of the text below it.
    inline = width is None or sum(widths) + _GAP * (len(widths) - 1) <= width
    shown = len(widths) if inline else len(widths) - 1
    lines = [_aligned([Text(h, "bold") for h in _HEADER[:shown]], widths)]
    for line in drawn:
        if isinstance(line, Row):
            name = Text.assemble((line.rail, _RAIL), (line.symbol, line.style), line.name)
            cells = (Text(line.state, line.style), *map(Text, (line.turn, line.age, line.reason)))
            lines.append(_aligned([name, *cells][:shown], widths))
        else:
            reason = f"{line.reason}: " if line.reason and not inline else ""
            lines += _broken(reason + line.text, line.rail, width=width, style=line.style)
    return lines


def _column_widths(rows: Iterable[Row], width: int | None) -> list[int]:
    widths = [len(word) for word in _HEADER]
    for row in rows:
        name = cell_len(row.rail) + cell_len(row.symbol) + cell_len(row.name.plain)
        if width is not None and name > width // 2:
            name = 0  # one long name must not push the columns of all others off the screen
        cells = (name, len(row.state), len(row.turn), len(row.age), len(row.reason))
        widths = [max(pair) for pair in zip(widths, cells, strict=True)]
    return widths


def _aligned(cells: Sequence[Text], widths: Sequence[int]) -> Text:
    line = Text()
    for cell, width in zip(cells, widths, strict=False):
        line.append_text(cell)
        line.append(" " * (max(0, width - cell_len(cell.plain)) + _GAP))
    line.rstrip()
    return line


def _broken(text: str, rail: str, *, width: int | None, style: str) -> list[Text]:
    """``text`` behind ``rail``, on as many lines as the width asks for."""
    room = None if width is None else max(_NARROWEST, width - cell_len(rail))
    pieces = [text] if room is None else textwrap.wrap(text, room, break_on_hyphens=False)
    return [Text.assemble((rail, _RAIL), (piece, style)) for piece in pieces]
