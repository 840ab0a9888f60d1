"""Figures, tables and bounds, and the sections that benches write into a document."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from bench import document
from bench.tables import Bound, Figure, Report, Table, cell_text


def test_a_figure_is_the_median_with_its_range() -> None:
    assert str(Figure.of([3.0, 1.0, 2.0], unit="ms")) == "2.00 ms (1.00–3.00)"
    assert str(Figure.of([1234.5], digits=1)) == "1,234.5"
    assert str(Figure.of([-0.2], digits=0)) == "0"
    with pytest.raises(ValueError, match="one round"):
        Figure.of([])


def test_bounds_judge_the_median_and_exact_ones_every_round() -> None:
    figure = Figure.of([1.0, 2.0, 9.0])
    assert Bound.at_most("cost", 2.0, figure).holds
    assert not Bound.at_most("cost", 1.9, figure).holds
    assert Bound.at_least("rate", 2.0, figure).holds
    assert not Bound.at_least("rate", 2.1, 2.0).holds
    assert Bound.exactly("requests", 2.0, Figure.of([2.0, 2.0])).holds
    assert not Bound.exactly("requests", 2.0, figure).holds


def test_a_large_number_is_written_out() -> None:
    assert cell_text(1594.0) == "1,594"
    assert cell_text(0.12345) == "0.123"


def report() -> Report:
    table = Table(title="Costs", columns=["who", "n|m"], rows=[["we", 1234], ["they|", 2.5]])
    return Report(tables=[table], bounds=[Bound.at_most("cost", 1, 2.0)], versions={"kopf": "1"})


def test_a_report_as_markdown_and_for_the_terminal() -> None:
    lines = report().markdown().splitlines()
    assert lines[:6] == [
        "**Costs**",
        "",
        r"| who | n\|m |",
        "|---|--:|",
        "| we | 1,234 |",
        r"| they\| | 2.5 |",
    ]
    assert lines[-1] == "| cost | ≤ 1 | 2 | BROKEN |"
    assert not report().holds
    console = Console(file=io.StringIO(), width=80)
    report().print(console)
    assert "1,234" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_section_is_replaced_and_the_rest_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\nBy hand.\n")
    monkeypatch.setattr(document, "DOCUMENT", page)
    document.write_section("one", "First", report(), command="make one")
    document.write_section("two", "Second", report(), command="make two")
    page.write_text(page.read_text().replace("## First\n", "## First\n\nBy hand too.\n"))
    document.write_section("one", "First", Report(), command="make one again")
    text = page.read_text()
    assert text.startswith("# Page\n\nBy hand.\n\n## First\n\nBy hand too.\n")
    assert "`make one again`" in text
    assert "`make one`" not in text
    assert text.count("**Costs**") == 1
    assert "## Second" in text
    assert "kopf 1" in text
