"""Stable, bounded texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.base import limits
from konstat.readiness import wording


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 2026-03-01T12:00:00Z x", "at 2026-03-02T13:01:59.123+01:00 x"),
        ("2026/03/01 12:00:00 x", "2026/03/01 12:00:09 x"),
        ("12:00:00.1 x", "13:59:59.9 x"),
        ("tcp 10.0.0.1:40112->10.0.0.9:443: reset", "tcp 10.0.0.1:40999->10.0.0.9:443: reset"),
        ("at 0xc000123", "at 0xc000abc"),
        ("container 0123456789abcdef gone", "container fedcba9876543210 gone"),
        ("id 6ba7b810-9dad-11d1-80b4-00c04fd430c8", "id 6ba7b811-9dad-11d1-80b4-00c04fd430c8"),
        ("took 1.203s", "took 9.871s"),
        ("seq 1000001", "seq 1000002"),
    ],
)  # fmt: skip
def test_what_changes_by_itself_is_taken_out(one: str, other: str) -> None:
    assert wording.steady(one) == wording.steady(other)
    assert "…" in wording.steady(one)


@pytest.mark.parametrize(
    "text",
    ["exit code 137", "port 8080 is taken", "image web:1.2.3", "timeout of 30s", "deadbeef cafe"],
)
def test_what_says_something_stays(text: str) -> None:
    assert wording.steady(text) == text


@given(st.text(max_size=600))
def test_a_steady_text_is_one_bounded_line(text: str) -> None:
    line = wording.steady(text)
    assert len(line) <= limits.READINESS_DETAIL_CHARACTERS
    assert "\n" not in line


def test_a_cut_says_so() -> None:
    assert wording.capped("x" * 50, characters=20) == "x" * 12 + " … (cut)"
    assert wording.capped("x" * 20, characters=20) == "x" * 20


def test_lists_are_sorted_distinct_and_counted() -> None:
    assert wording.listed(["c", "a", "b", "a"]) == "a, b, c"
    assert wording.listed("edcba") == "a, b, c and 2 more"
    assert wording.listed([]) == ""
