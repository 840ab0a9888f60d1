"""Tolerant readers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from konstat.readiness import reading


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3), ("3", 3), (3.0, 3), (-1, -1), (True, 7), (None, 7), ("x", 7), (0.5, 7), ("9" * 50, 7),
     ("²", 7), (float("inf"), 7), ([], 7)],
)  # fmt: skip
def test_integers_of_any_form(value: Any, number: int) -> None:
    assert reading.integer(value, 7) == number


def test_a_count_is_never_negative() -> None:
    assert reading.count(-1) == 0


def test_moments() -> None:
    assert reading.moment("2026-03-01T12:00:00Z") == datetime(2026, 3, 1, 12, tzinfo=UTC)
    for broken in ("", None, 3, "2026-03-01T12:00:00", "0001-01-01T00:00:00+23:59", "soon"):
        assert reading.moment(broken) is None


def test_a_status_that_is_spelled_otherwise_is_unknown() -> None:
    for status in ("", "yes", "Degraded", None, 1, 0, []):
        assert reading.conditions([{"type": "A", "status": status}])[0].status == "Unknown"
    for status in ("true", "TRUE", True):
        assert reading.conditions([{"type": "A", "status": status}])[0].status == "True"


def test_of_duplicates_the_one_closest_to_bad_counts() -> None:
    found = reading.conditions(
        [{"type": "A", "status": status} for status in ("True", "False", "Maybe")]
    )
    for bad in ("True", "False"):
        picked = reading.condition(found, "A", bad=bad)
        assert picked is not None
        assert picked.status == bad
    assert reading.condition(found, "B", bad="True") is None
