"""Schedules and work of which only times and tallies are told."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.readiness import Rules, State, compute

AT = "2026-02-01T10:00:00Z"


def judged(kind: str, **status: Any) -> State:
    content = {
        "apiVersion": "x.example.com/v1",
        "kind": kind,
        "metadata": {"name": "a"},
        "status": status,
    }
    return compute(content, rules=Rules(builtin=False)).state


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({"nextScheduleTime": AT}, State.READY),
        ({"nextRun": AT, "lastRun": AT}, State.READY),
        ({"nextRun": "soon"}, State.UNKNOWN),
        ({"lastScheduleTime": AT}, State.UNKNOWN),
        ({"nextRun": AT, "error": "boom"}, State.FAILED),
        ({"nextRun": AT, "message": "cannot start the work"}, State.FAILED),
        ({"nextRun": AT, "message": "the work was denied"}, State.UNKNOWN),
        ({"nextRun": AT, "conditions": [{"type": "Odd", "status": "False"}]}, State.UNKNOWN),
    ],
)
def test_a_schedule_that_knows_its_next_time(status: dict[str, Any], state: State) -> None:
    assert judged("ScheduledExport", **status) is state


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({"startTime": AT}, State.PROGRESSING),
        ({"startTime": AT, "active": 1, "desired": 3, "succeeded": 2}, State.PROGRESSING),
        ({"startTime": AT, "completionTime": AT}, State.UNKNOWN),
        ({"completionTime": AT, "desired": 3, "succeeded": 3}, State.READY),
        ({"completionTime": AT, "desired": 3, "succeeded": 2}, State.UNKNOWN),
        ({"completionTime": AT, "desired": 3, "succeeded": 3, "failed": 1}, State.UNKNOWN),
        ({"desired": 3, "succeeded": 3, "active": 1}, State.UNKNOWN),
        ({"desired": 0, "succeeded": 0}, State.UNKNOWN),
        ({"startTime": "x"}, State.UNKNOWN),
    ],
)
def test_work_by_its_tallies(status: dict[str, Any], state: State) -> None:
    assert judged("PullJob", **status) is state


def test_what_neither_starts_work_nor_ends_is_not_judged_by_times() -> None:
    assert judged("Thing", startTime=AT, nextRun=AT) is State.UNKNOWN
