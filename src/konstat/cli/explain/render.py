"""Lines for people: the verdict first, then causes, evidence and where to look next. Pure.

Every text of a server or file passes `printable`, so no escape sequence reaches the terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from konstat.cli.explain.story import Explanation
from konstat.cli.status.outline import STYLES, Symbols, printable
from konstat.readiness import Evidence, State
from konstat.status import TURN_TEXTS

_RAIL: Final = "bright_black"
_NARROWEST: Final = 24


def render(told: Explanation, *, symbols: Symbols, width: int | None) -> list[Text]:
    """The lines of one explanation; ``width`` None means that lines are not broken."""
    return list(_Drawing(symbols, width).whole(told))


class _Drawing:
    def __init__(self, symbols: Symbols, width: int | None) -> None:
        self._symbols = symbols
        self._width = width

    def whole(self, told: Explanation) -> Iterator[Text]:
        yield self._headline(told)
        for note in told.notes:
            yield from self._text(note, "  ", style="yellow")
        yield from self._text(told.message, "  ")
        if told.state is State.READY:
            return
        if told.causes:
            yield Text("because", "bold")
            yield from self._causes(told, "  ", {told.message})
        if told.evidence:
            yield Text("evidence", "bold")
            for entry in told.evidence:
                yield from self._text(_stated(entry), "  ")
        if told.next:
            yield Text("look at", "bold")
            for step in told.next:
                yield from self._text(step, "  ")

    def _headline(self, told: Explanation) -> Text:
        place = f"{told.namespace}/" if told.namespace else ""
        turn = "" if told.state is State.READY else f": {TURN_TEXTS[told.turn]}"
        return Text.assemble(
            (f"{self._symbols.states[told.state]} ", STYLES[told.state]),
            f"{printable(told.kind)} ",
            (printable(f"{place}{told.name}"), "bold"),
            " is ",
            (told.state.value, STYLES[told.state]),
            f" ({printable(told.reason)}){turn}",
        )

    def _causes(self, told: Explanation, rail: str, said: set[str]) -> Iterator[Text]:
        for number, cause in enumerate(told.causes, start=1):
            last = number == len(told.causes) and not told.more_causes
            branch = self._symbols.corner if last else self._symbols.tee
            below = " " * len(self._symbols.rail) if last else self._symbols.rail
            yield Text.assemble((rail + branch, _RAIL), *self._row(cause))
            if cause.message not in said:
                yield from self._text(cause.message, f"{rail}{below}")
            said.add(cause.message)
            yield from self._causes(cause, rail + below, said)
        if told.more_causes:
            yield Text.assemble(
                (f"{rail}{self._symbols.corner}", _RAIL), f"and {told.more_causes} more"
            )

    def _row(self, cause: Explanation) -> tuple[tuple[str, str] | str, ...]:
        alike = f" and {cause.alike} more" if cause.alike else ""
        return (
            (f"{self._symbols.states[cause.state]} ", STYLES[cause.state]),
            f"{printable(cause.kind)} {printable(cause.name)}{alike}  ",
            (cause.state.value, STYLES[cause.state]),
            f"  {printable(cause.reason)}",
        )

    def _text(self, text: str, rail: str, *, style: str = "") -> Iterator[Text]:
        line = printable(text)
        room = None if self._width is None else max(_NARROWEST, self._width - cell_len(rail))
        pieces = [line] if room is None else textwrap.wrap(line, room, break_on_hyphens=False)
        for piece in pieces:
            yield Text.assemble((rail, _RAIL), (piece, style))


def _stated(entry: Evidence) -> str:
    value = "absent" if entry.value is None else str(entry.value)
    return f"{entry.path} = {value}"
