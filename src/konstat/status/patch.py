"""The guarded JSON Patch: from a stored status and a settlement to the fewest operations. Pure.

The patch carries no resourceVersion, so a spec edit never conflicts with it. What guards it:

- ``test /metadata/uid``: it cannot land on a recreated object;
- ``test /status/observedGeneration``: an instance that lags cannot take a newer outcome back;
- a ``test`` of the type and of the safe fields of each owned condition that changes
  (compare-and-swap on our own entries): a rival instance, an old leader or a hand edit shows as a
  causeless 422 instead of being overwritten;
- foreign entries and fields appear in no operation.

A ``test`` compares encoded text on the server, so only values with one spelling are tested:
never messages. No operations at all means that nothing changed and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from konstat.status.condition import find
from konstat.status.settle import Settlement

_TESTED = ("type", "status", "reason", "lastTransitionTime", "observedGeneration")

Operation = dict[str, Any]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Operations for ``PATCH …/status`` and the status that they lead to."""

    operations: tuple[Operation, ...]
    status: dict[str, Any]


def plan(
    stored: Mapping[str, Any] | None, settlement: Settlement, *, uid: str, now: datetime
) -> Plan:
    """The minimal guarded patch that brings ``stored`` to ``settlement``.

    ``stored`` is the object's status as last read (None when absent), ``uid`` its identity.
    """
    wanted_fields = dict(settlement.fields)
    if settlement.observed_generation is not None:
        wanted_fields["observedGeneration"] = settlement.observed_generation
    guard: list[Operation] = [{"op": "test", "path": "/metadata/uid", "value": uid}]
    if not isinstance(stored, Mapping):
        status = {k: v for k, v in wanted_fields.items() if v is not None}
        status["conditions"] = [c.merged(None, now=now) for c in settlement.conditions]
        operations = (
            *guard,
            {"op": "test", "path": "/status", "value": None},
            {"op": "add", "path": "/status", "value": status},
        )
        return Plan(operations=operations, status=status)
    status = dict(stored)
    observed = status.get("observedGeneration")
    guard.append({"op": "test", "path": "/status/observedGeneration", "value": observed})
    field_operations = _field_operations(status, wanted_fields)
    condition_operations = _condition_operations(status, settlement, now=now)
    changes = (*field_operations, *condition_operations)
    return Plan(operations=(*guard, *changes) if changes else (), status=status)


def _field_operations(status: dict[str, Any], wanted: Mapping[str, Any]) -> list[Operation]:
    operations: list[Operation] = []
    for name, value in wanted.items():
        before = status.get(name)
        if _is_same(before, value):
            continue
        path = f"/status/{_escape(name)}"
        if name not in status and value is None:
            continue
        if name != "observedGeneration" and (before is None or _one_spelling(before)):
            operations.append({"op": "test", "path": path, "value": before})
        if value is None:
            operations.append({"op": "remove", "path": path})
            del status[name]
        else:
            operations.append({"op": "add", "path": path, "value": value})
            status[name] = value
    return operations


def _condition_operations(
    status: dict[str, Any], settlement: Settlement, *, now: datetime
) -> list[Operation]:
    """Replace what changes, then remove from the end, then append what is new."""
    listed = status.get("conditions")
    entries: list[Any] = list(listed) if isinstance(listed, list) else []
    replaced: list[Operation] = []
    appended: list[dict[str, Any]] = []
    for condition in settlement.conditions:
        before = find(entries, condition.type)
        entry = condition.merged(before, now=now)
        if before is None:
            appended.append(entry)
        elif not _holds(before, entry):
            index = next(i for i, e in enumerate(entries) if e is before)
            # Members that we do not write (a later API's) stay in our own entry.
            entry = {**before, **entry}
            replaced.extend(_test_entry(index, before))
            replaced.append(
                {"op": "replace", "path": f"/status/conditions/{index}", "value": entry}
            )
            entries[index] = entry
    removed: list[Operation] = []
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        if isinstance(entry, Mapping) and entry.get("type") in settlement.absent:
            removed.extend(_test_entry(index, entry))
            removed.append({"op": "remove", "path": f"/status/conditions/{index}"})
            del entries[index]
    if not (replaced or removed or appended):
        return []
    status["conditions"] = [*entries, *appended]
    if not isinstance(listed, list):
        path = "/status/conditions"
        return [
            {"op": "test", "path": path, "value": None},
            {"op": "add", "path": path, "value": status["conditions"]},
        ]
    added = [{"op": "add", "path": "/status/conditions/-", "value": entry} for entry in appended]
    return [*replaced, *removed, *added]


def _test_entry(index: int, entry: Mapping[str, Any]) -> list[Operation]:
    return [
        {"op": "test", "path": f"/status/conditions/{index}/{name}", "value": entry[name]}
        for name in _TESTED
        if _one_spelling(entry.get(name))
    ]


def _holds(before: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    return all(before.get(name) == value for name, value in entry.items())


def _is_same(before: Any, value: Any) -> bool:
    """Equal as JSON: the server gives back 2 for 2.0, and True is not 1, at any depth."""
    match before, value:
        case dict(), dict():
            return before.keys() == value.keys() and all(
                _is_same(before[name], member) for name, member in value.items()
            )
        case list(), list():
            return len(before) == len(value) and all(map(_is_same, before, value))
        case _:
            return before == value and isinstance(before, bool) == isinstance(value, bool)


def _one_spelling(value: Any) -> bool:
    """Whether the server's encoding of a value has one text: integers, booleans, plain words."""
    if isinstance(value, bool | int):
        return True
    if not isinstance(value, str):
        return False
    return value.isascii() and value.isprintable() and not set(value) & set('<>&"\\')


def _escape(segment: str) -> str:
    return segment.replace("~", "~0").replace("/", "~1")
