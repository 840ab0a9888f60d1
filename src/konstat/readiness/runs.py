"""Work that ends, and what starts it: their times and tallies, where the status says no more.

A schedule that knows its next time does what it is for. Of work, a start without an end tells that
it runs, and that as many pieces succeeded as were wanted that it was done. `generic` asks when
nothing else decides and nothing speaks against the object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from konstat.readiness import reading
from konstat.readiness.signals import Reader, shown
from konstat.readiness.subject import Subject
from konstat.readiness.verdict import Evidence, Readiness, Reason, State

_STARTS: Final = ("startTime", "startTimestamp", "startedAt", "started")
_ENDS: Final = (
    "completionTime", "completionTimestamp", "completedAt", "finishTime", "finishedAt",
    "finishTimestamp", "endTime", "endTimestamp", "stopTime", "completed", "finished",
)  # fmt: skip
_WANTED: Final = ("desired", "completions", "total", "expected")
_GOING_ON: Final = ("active", "running", "pending")


def told(subject: Subject, reader: Reader) -> Readiness | None:
    """The verdict on a schedule or on bounded work by its times and tallies; None for no news."""
    status = subject.status
    if reader.scheduled:
        key = next((key for key in status if _is_due(key, status[key])), None)
        if key is not None:
            return _verdict(subject, State.READY, Reason.ALL_REPORTED_GOOD, key)
        return None
    if not reader.bounded:
        return None
    if _all_succeeded(status):
        return _verdict(subject, State.READY, Reason.COMPLETED, "succeeded")
    key = next((key for key in _STARTS if reading.moment(status.get(key)) is not None), None)
    if key is not None and not any(status.get(end) for end in _ENDS):
        return _verdict(subject, State.PROGRESSING, Reason.RUNNING, key)
    return None


def _is_due(key: Any, value: Any) -> bool:
    due = isinstance(key, str) and key.startswith("next")
    return due and reading.moment(value) is not None


def _all_succeeded(status: Mapping[str, Any]) -> bool:
    wanted = max(reading.count(status.get(key)) for key in _WANTED)
    left = any(reading.count(status.get(key)) for key in (*_GOING_ON, "failed"))
    return 0 < wanted <= reading.count(status.get("succeeded")) and not left


def _verdict(subject: Subject, state: State, reason: Reason, key: str) -> Readiness:
    value = subject.status[key]
    seen = Evidence(f"status.{key}", value if isinstance(value, str | int) else None)
    return subject.verdict(state, reason, shown(seen.path, value), evidence=[seen])
