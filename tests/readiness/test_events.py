"""Reading Events of both groups."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.base import clock
from konstat.readiness import events


def test_times_of_both_groups(build: Any) -> None:
    stamp = build.ago(30)
    for times in (
        {"lastTimestamp": stamp},
        {"eventTime": stamp},
        {"eventTime": build.ago(90), "series": {"lastObservedTime": stamp}},
        {"deprecatedLastTimestamp": stamp},
        {"metadata": {"creationTimestamp": stamp}},
        {"lastTimestamp": None, "eventTime": stamp},
    ):
        (told,) = events.read([{"reason": "X", "note": "n", **times}], {"X"})
        assert told.last == build.now - timedelta(seconds=30), times
        assert told.message == "n"


@pytest.mark.parametrize(("ago", "fresh"), [(0, True), (1199, True), (1200, False), (-60, True)])
def test_events_stay_fresh_for_twenty_minutes(build: Any, ago: float, fresh: bool) -> None:
    told = [build.event("p", "X", "m", ago=ago)]
    assert (events.fresh(told, {"X"}, now=build.now) is not None) is fresh
    assert events.fresh(told, {"X"}, now=None) is not None
    assert events.fresh(told, {"Y"}, now=build.now) is None


def test_the_moment_of_expiry_is_that_of_the_last(build: Any) -> None:
    told = [build.event("p", "X", "m", ago=ago) for ago in (300, 100)]
    found = events.fresh(told, {"X"}, now=build.now)
    assert found is not None
    assert found.until == build.now + timedelta(seconds=1100)
    undated = [*told, {"reason": "X"}]
    found = events.fresh(undated, {"X"}, now=build.now)
    assert found is not None
    assert found.until is None


def test_several_events_span_the_time_together(build: Any) -> None:
    told = [build.event("p", "X", str(ago), ago=ago, since=ago) for ago in (90, 10)]
    whole, half = (events.fresh(part, {"X"}, now=build.now) for part in (told, told[1:]))
    assert whole is not None
    assert half is not None
    assert (whole.is_lasting, half.is_lasting) == (True, False)


SCALARS = (
    st.none()
    | st.integers()
    | st.sampled_from(
        ("X", "2026-03-01T11:59:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "")
    )
)
KEYS = st.sampled_from(
    ("reason", "message", "note", "lastTimestamp", "firstTimestamp", "eventTime", "series",
     "lastObservedTime", "metadata", "creationTimestamp", "involvedObject", "fieldPath")
)  # fmt: skip
EVENT = st.dictionaries(KEYS, SCALARS | st.dictionaries(KEYS, SCALARS, max_size=3), max_size=8)


@given(st.lists(EVENT, max_size=5), st.booleans())
def test_any_json_reads_as_events(told: list[Any], dated: bool) -> None:
    now = clock.parse_timestamp("2026-03-01T12:00:00Z") if dated else None
    found = events.fresh(told, {"X"}, now=now)
    again = events.fresh(told[::-1], {"X"}, now=now)
    assert found == again
    if found is not None:
        found.first_by_text()
    events.newest(told, {"X"})


def test_what_lasts_because_of_the_oldest_event_may_change_when_that_expires(build: Any) -> None:
    told = [build.event("p", "X", "m", ago=ago, since=ago) for ago in (600, 0)]
    found = events.fresh(told, {"X"}, now=build.now)
    assert found is not None
    assert found.is_lasting
    assert found.until == build.now + timedelta(seconds=600)
