"""The contract that every status must keep, as numbered rules, and `check`. Pure.

The rules run over any object that claims konstat's (or kstatus') conventions, ours or foreign::

    C1  conditions are a list of entries with distinct types                  (API conventions)
    C2  each entry has type, status, reason, message and lastTransitionTime in the API's form
    C3  Ready is present                                                      (KEP-1623)
    C4  status.observedGeneration ≤ metadata.generation                       (H1)
    C5  Ready=True only with status.observedGeneration = metadata.generation when it is read
        as current, and no condition at Ready=True is of an older generation  (H2)
    C6  Reconciling and Stalled are present only while True, never both, never beside Ready=True
    C7  Ready not True has Reconciling or Stalled beside it: it is known whether anything goes on
    C8  lastTransitionTime lies between creation and now                      (rule 78)
    C9  observedGeneration never goes back within a uid                       (H1; `check_step`)
    C10 lastTransitionTime moves if and only if status flips                  (H4; `check_step`)
    C11 the status is within its budget and so are its lists and texts        (H6)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from konstat.base import clock, limits
from konstat.objects import codec
from konstat.status.condition import READY, RECONCILING, STALLED, find, usable_reason

_STATUSES = ("True", "False", "Unknown")
# The server's clock and ours may differ by this much before we call a time impossible.
_CLOCK_SKEW = timedelta(seconds=5)


class Violation(msgspec.Struct, frozen=True):
    """One broken rule: its number, where, and what was found."""

    rule: str
    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.rule} {self.path}: {self.problem}"


def check(content: Mapping[str, Any], *, now: datetime | None = None) -> list[Violation]:
    """Every rule that one object's status breaks; an absent status breaks none."""
    status = content.get("status")
    if not isinstance(status, Mapping) or not status:
        return []
    conditions = status.get("conditions") or []
    if not isinstance(conditions, list):
        return [Violation("C1", "status.conditions", "is not a list")]
    metadata = content.get("metadata") or {}
    return [
        *_check_form(conditions),
        *_check_generations(metadata, status, conditions),
        *_check_summary(conditions),
        *_check_times(metadata, conditions, now or clock.now()),
        *_check_budget(status, conditions),
    ]


def check_step(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Violation]:
    """Every rule about change that two successive states of one uid break."""
    found: list[Violation] = []
    old, new = before.get("status") or {}, after.get("status") or {}
    was, now = old.get("observedGeneration") or 0, new.get("observedGeneration") or 0
    if now < was:
        found.append(Violation("C9", "status.observedGeneration", f"went from {was} to {now}"))
    for entry in new.get("conditions") or []:
        stored = find(old.get("conditions") or [], entry.get("type", ""))
        if stored is None:
            continue
        flipped = stored.get("status") != entry.get("status")
        moved = stored.get("lastTransitionTime") != entry.get("lastTransitionTime")
        # Two flips within one second carry the same time.
        if moved and not flipped:
            where = f"status.conditions[{entry.get('type')}].lastTransitionTime"
            found.append(Violation("C10", where, "moved although status did not flip"))
    return found


def _check_form(conditions: list[Any]) -> Iterator[Violation]:
    types: set[str] = set()
    for index, entry in enumerate(conditions):
        path = f"status.conditions[{index}]"
        if not isinstance(entry, Mapping):
            yield Violation("C1", path, "is not an object")
            continue
        type = entry.get("type")
        if not isinstance(type, str) or not type or len(type) > limits.CONDITION_TYPE_CHARACTERS:
            yield Violation("C2", f"{path}.type", f"is {type!r}")
            continue
        if type in types:
            yield Violation("C1", path, f"type {type} occurs twice")
        types.add(type)
        if entry.get("status") not in _STATUSES:
            yield Violation("C2", f"{path}.status", f"is {entry.get('status')!r}")
        reason = entry.get("reason")
        if not isinstance(reason, str) or not reason or usable_reason(reason) != reason:
            yield Violation("C2", f"{path}.reason", f"is {reason!r}")
        for name in ("message", "lastTransitionTime"):
            if not isinstance(entry.get(name), str):
                yield Violation("C2", f"{path}.{name}", "is absent")


def _check_generations(
    metadata: Mapping[str, Any], status: Mapping[str, Any], conditions: list[Any]
) -> Iterator[Violation]:
    generation = metadata.get("generation") or 0
    observed = status.get("observedGeneration") or 0
    if observed > generation:
        problem = f"{observed} is ahead of generation {generation}"
        yield Violation("C4", "status.observedGeneration", problem)
    ready = find(conditions, READY)
    if ready is None or ready.get("status") != "True":
        return
    if (ready.get("observedGeneration") or 0) != observed:
        yield Violation("C5", "status.conditions[Ready]", f"True, not of generation {observed}")


def _check_summary(conditions: list[Any]) -> Iterator[Violation]:
    ready = find(conditions, READY)
    if ready is None:
        yield Violation("C3", "status.conditions", "has no Ready")
        return
    second = [entry for t in (RECONCILING, STALLED) if (entry := find(conditions, t))]
    for entry in second:
        if entry.get("status") != "True":
            problem = f"is present with status {entry.get('status')!r}"
            yield Violation("C6", f"status.conditions[{entry.get('type')}]", problem)
    if len(second) == 2:
        yield Violation("C6", "status.conditions", "Reconciling and Stalled are both present")
    if second and ready.get("status") == "True":
        problem = f"{second[0].get('type')} is present beside Ready=True"
        yield Violation("C6", "status.conditions", problem)
    if not second and ready.get("status") != "True":
        yield Violation("C7", "status.conditions", "not ready, neither Reconciling nor Stalled")


def _check_times(
    metadata: Mapping[str, Any], conditions: list[Any], now: datetime
) -> Iterator[Violation]:
    created = metadata.get("creationTimestamp")
    for entry in conditions:
        text = entry.get("lastTransitionTime") if isinstance(entry, Mapping) else None
        if not isinstance(text, str):
            continue
        path = f"status.conditions[{entry.get('type')}].lastTransitionTime"
        try:
            moment = clock.parse_timestamp(text)
        except ValueError:
            yield Violation("C8", path, f"{text!r} is not a time")
            continue
        if moment > now + _CLOCK_SKEW:
            yield Violation("C8", path, f"{text} is in the future")
        if isinstance(created, str) and moment < clock.parse_timestamp(created) - _CLOCK_SKEW:
            yield Violation("C8", path, f"{text} is before the object was created")


def _check_budget(status: Mapping[str, Any], conditions: list[Any]) -> Iterator[Violation]:
    size = len(codec.encode(status))
    if size > limits.STATUS_BYTES:
        yield Violation("C11", "status", f"{size} bytes are above {limits.STATUS_BYTES}")
    if len(conditions) > limits.CONDITIONS:
        yield Violation("C11", "status.conditions", f"{len(conditions)} entries")
