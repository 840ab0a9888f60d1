"""The guarded JSON Patch of a status of which we own some fields and some conditions. Pure.

Used for pods and for nodes. The patch cannot land on a recreated object (``test`` of the uid) and
touches no condition of another type. No operations mean that nothing has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from konstat.base import clock
from konstat.status.condition import find

_COMPARED: Final = ("status", "reason", "message", "observedGeneration")

Operation = dict[str, Any]


def status_patch(
    stored: Mapping[str, Any] | None,
    wanted: Mapping[str, Any],
    *,
    uid: str,
    now: datetime,
    heartbeat: bool = False,
) -> list[Operation]:
    """Operations that bring ``stored`` to ``wanted``; fields that ``wanted`` lacks stay.

    Conditions of ``wanted`` carry no times: a transition time is the stored one unless ``status``
    flips. ``heartbeat`` writes them again with a new ``lastHeartbeatTime`` (of nodes).
    """
    guard = {"op": "test", "path": "/metadata/uid", "value": uid}
    listed = stored.get("conditions") if stored else None
    entries = listed if isinstance(listed, list) else []
    merged = [
        _merged(condition, find(entries, condition["type"]), now=now, heartbeat=heartbeat)
        for condition in wanted.get("conditions", ())
    ]
    fields = {name: value for name, value in wanted.items() if name != "conditions"}
    if stored is None:
        status = {**fields, "conditions": merged}
        return [
            guard,
            {"op": "test", "path": "/status", "value": None},
            {"op": "add", "path": "/status", "value": status},
        ]
    operations = [
        {"op": "add", "path": f"/status/{name}", "value": value}
        for name, value in fields.items()
        if stored.get(name) != value
    ]
    operations += _condition_operations(listed, entries, merged)
    return [guard, *operations] if operations else []


def _merged(
    condition: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    *,
    now: datetime,
    heartbeat: bool,
) -> dict[str, Any]:
    moment = clock.timestamp(now)
    same = before is not None and all(before.get(n) == condition.get(n) for n in _COMPARED)
    if before is not None and same and not heartbeat:
        return dict(before)
    flips = before is None or before.get("status") != condition["status"]
    since = moment if flips or before is None else before.get("lastTransitionTime") or moment
    entry = {**condition, "lastTransitionTime": since}
    if heartbeat or (before is not None and "lastHeartbeatTime" in before):
        entry["lastHeartbeatTime"] = moment
    return entry


def _condition_operations(
    listed: Any, entries: list[Any], merged: list[dict[str, Any]]
) -> list[Operation]:
    if not isinstance(listed, list):
        if not merged:
            return []
        return [
            {"op": "test", "path": "/status/conditions", "value": None},
            {"op": "add", "path": "/status/conditions", "value": merged},
        ]
    replaced: list[Operation] = []
    added: list[Operation] = []
    for condition in merged:
        before = find(entries, condition["type"])
        if before is None:
            added.append({"op": "add", "path": "/status/conditions/-", "value": condition})
        elif before != condition:
            index = next(i for i, entry in enumerate(entries) if entry is before)
            path = f"/status/conditions/{index}"
            replaced += [
                {"op": "test", "path": f"{path}/type", "value": condition["type"]},
                {"op": "replace", "path": path, "value": condition},
            ]
    return [*replaced, *added]
