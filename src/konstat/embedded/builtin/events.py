"""The two views of Events: stored as core's, served in events.k8s.io with its names (C102)."""

from __future__ import annotations

from typing import Any, Final

from konstat.embedded.registry import Object

# events.k8s.io's name of a field, and core's.
_NAMES: Final = (
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
)
_OPTIONAL_IN_NEW: Final = ("note", "reportingController", "reportingInstance")


def to_core(obj: Object) -> Object:
    """An events.k8s.io/v1 Event as core/v1 stores it."""
    made = dict(obj, apiVersion="v1")
    for new, old in _NAMES:
        if new in made:
            made[old] = made.pop(new)
    made.setdefault("involvedObject", {})
    made.setdefault("source", {})
    for key in ("firstTimestamp", "lastTimestamp", "eventTime"):
        made.setdefault(key, None)
    made.setdefault("reportingComponent", "")
    made.setdefault("reportingInstance", "")
    return made


def from_core(obj: Object) -> Object:
    """A stored Event as events.k8s.io/v1 shows it."""
    made: dict[str, Any] = dict(obj, apiVersion="events.k8s.io/v1")
    for new, old in _NAMES:
        if old in made:
            made[new] = made.pop(old)
    for key in _OPTIONAL_IN_NEW:
        if not made.get(key):
            made.pop(key, None)
    return made
