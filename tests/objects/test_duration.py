"""Durations as Go writes them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.objects.constraint import DURATION_PATTERN
from konstat.objects.duration import duration_seconds
from konstat.objects.pattern import python_pattern


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h30m", 5400), ("60s", 60), ("1m0s", 60), ("-1.5h", -5400), ("0", 0), ("500ms", 0.5),
     ("1µs", 1e-6), ("+1us", 1e-6), (".5s", 0.5)],
)  # fmt: skip
def test_length_in_seconds(text: str, seconds: float) -> None:
    assert duration_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "1", "1d", "s", "1h 30m", "00", "-", ".s", "1h30", "٣s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        duration_seconds(text)


@given(st.text(alphabet="0123456789.-+hmsunµ ", max_size=10))
def test_what_the_schema_lets_through_can_be_read(text: str) -> None:
    if re.search(python_pattern(DURATION_PATTERN), text):
        assert duration_seconds(text) >= 0
