"""Figures, tables and bounds: what a bench hands back, as Markdown and for the terminal.

Before: the benches measure. After: `bench.__main__` prints, and `bench.document` writes the
Markdown into docs/benchmarks.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from rich.console import Console
from rich.markup import escape
from rich.table import Table as TerminalTable


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One measured quantity: the median of its rounds, and the least and greatest of them."""

    median: float
    minimum: float
    maximum: float
    unit: str = ""
    digits: int = 2

    @classmethod
    def of(cls, values: Iterable[float], *, unit: str = "", digits: int = 2) -> Figure:
        """The figure of the values of several rounds; ValueError when there is none."""
        found = list(values)
        if not found:
            raise ValueError("a figure needs the value of one round at least")
        return cls(
            median=median(found), minimum=min(found), maximum=max(found), unit=unit, digits=digits
        )

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        middle, low, high = (
            f"{round(value, self.digits) + 0.0:,.{self.digits}f}"  # of -0.2 no "-0"
            for value in (self.median, self.minimum, self.maximum)
        )
        return f"{middle}{unit}" if low == high else f"{middle}{unit} ({low}–{high})"


Cell = str | int | float | Figure


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of cells under the names of their columns; ``notes`` are sentences below it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        """As Markdown, the title as a bold line."""
        lines = [f"**{self.title}**", ""]
        lines += _markdown_rows(self.columns, self.rows)
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Something required of a measured value, and whether it holds."""

    what: str
    required: str
    measured: Cell
    holds: bool

    @classmethod
    def at_most(cls, what: str, limit: float, measured: Figure | float) -> Bound:
        """The median may not exceed ``limit``."""
        value = _middle(measured)
        return cls(what=what, required=f"≤ {limit:g}", measured=measured, holds=value <= limit)

    @classmethod
    def at_least(cls, what: str, limit: float, measured: Figure | float) -> Bound:
        """The median may not fall below ``limit``."""
        value = _middle(measured)
        return cls(what=what, required=f"≥ {limit:g}", measured=measured, holds=value >= limit)

    @classmethod
    def exactly(cls, what: str, wanted: float, measured: Figure | float) -> Bound:
        """Every round must give ``wanted``."""
        values = (
            {measured.median, measured.minimum, measured.maximum}
            if isinstance(measured, Figure)
            else {measured}
        )
        return cls(what=what, required=f"= {wanted:g}", measured=measured, holds=values == {wanted})

    @property
    def word(self) -> str:
        return "holds" if self.holds else "BROKEN"


@dataclass(frozen=True, kw_only=True)
class Report:
    """What one bench found; ``versions`` names what ran beside konstat, such as a peer."""

    tables: Sequence[Table] = ()
    bounds: Sequence[Bound] = ()
    versions: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def holds(self) -> bool:
        """Whether every bound does."""
        return all(bound.holds for bound in self.bounds)

    def markdown(self) -> str:
        """All tables, and the bounds as the last one."""
        return "\n".join(table.markdown() for table in self._all_tables())

    def print(self, console: Console) -> None:
        """All tables on a terminal, and the bounds as the last one."""
        for table in self._all_tables():
            console.print(_terminal(table))
            for note in table.notes:
                console.print(escape(note))
            console.print()

    def _all_tables(self) -> Iterator[Table]:
        yield from self.tables
        if self.bounds:
            yield Table(
                title="Bounds",
                columns=["what", "required", "measured", ""],
                rows=[[b.what, b.required, b.measured, b.word] for b in self.bounds],
            )


def _middle(measured: Figure | float) -> float:
    return measured.median if isinstance(measured, Figure) else measured


def cell_text(cell: Cell) -> str:
    """A cell in words: integers with thousands separators, floats with three digits that count."""
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float) and abs(cell) >= 1000:
        return f"{cell:,.0f}"
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)


def _is_text(cell: Cell) -> bool:
    return isinstance(cell, str)


def _markdown_rows(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    def line(cells: Iterable[str]) -> str:
        safe = (text.replace("|", r"\|") for text in cells)
        return f"| {' | '.join(safe)} |"

    yield line(columns)
    yield f"|{'|'.join('---' if text else '--:' for text in _text_columns(columns, rows))}|"
    for row in rows:
        yield line(cell_text(cell) for cell in row)


def _text_columns(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[bool]:
    """Of each column, whether it holds words rather than numbers."""
    return [all(_is_text(row[place]) for row in rows) for place in range(len(columns))]


def _terminal(table: Table) -> TerminalTable:
    shown = TerminalTable(title=escape(table.title), title_justify="left")
    for name, text in zip(table.columns, _text_columns(table.columns, table.rows), strict=True):
        shown.add_column(escape(name), justify="left" if text else "right")
    for row in table.rows:
        shown.add_row(*(escape(cell_text(cell)) for cell in row))
    return shown
