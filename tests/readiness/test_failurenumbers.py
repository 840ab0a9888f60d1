"""Codes and tallies of failures as the only news, and beside better."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.readiness import Rules, State, compute


def judged(status: dict[str, Any], kind: str = "Thing") -> State:
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
        ({"phase": "Finished", "exitCode": 1}, State.FAILED),
        ({"phase": "Finished", "exitCode": 0}, State.READY),
        ({"phase": "Finished", "exitCode": -9}, State.FAILED),
        ({"state": "ready", "code": 503}, State.FAILED),
        ({"state": "ready", "code": 200}, State.READY),
        # a number of gRPC counts where nothing sums up
        ({"code": 8, "message": "no space is left"}, State.FAILED),
        ({"code": 3, "state": "ready"}, State.READY),
        ({"code": 0}, State.UNKNOWN),
        ({"parts": [{"code": 3}], "code": 0}, State.UNKNOWN),
        # tallies may be of all that ever happened
        ({"stats": {"entryFailures": 4}}, State.FAILED),
        ({"errorCount": 2}, State.FAILED),
        ({"errorCount": 2, "state": "creating"}, State.PROGRESSING),
        ({"errorCount": 2, "state": "ready"}, State.READY),
        ({"errorCount": 0}, State.UNKNOWN),
        ({"maxFailures": 3, "retryErrors": 1}, State.UNKNOWN),
    ],
)
def test_numbers_of_failure(status: dict[str, Any], state: State) -> None:
    assert judged(status) is state


def test_a_schedule_tallies_the_runs_of_the_past() -> None:
    assert judged({"failureCount": 3}, kind="ScanSchedule") is State.UNKNOWN
