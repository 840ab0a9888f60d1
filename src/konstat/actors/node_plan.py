"""What becomes of a node that falls silent, and of the pods on it. Pure.

Before: `konstat.actors.placement` (taints). After: `konstat.actors.node_lifecycle`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from konstat.actors import content, placement
from konstat.actors.content import Obj
from konstat.base import clock

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"

_WATCHED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_BY_CONDITION: Final = (
    ("MemoryPressure", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "node.kubernetes.io/disk-pressure"),
    ("PIDPressure", "node.kubernetes.io/pid-pressure"),
    ("NetworkUnavailable", "node.kubernetes.io/network-unavailable"),
)
_OURS: Final = frozenset(
    {
        (NOT_READY, "NoSchedule"),
        (UNREACHABLE, "NoSchedule"),
        (NOT_READY, "NoExecute"),
        (UNREACHABLE, "NoExecute"),
        (placement.UNSCHEDULABLE_TAINT, "NoSchedule"),
        *((key, "NoSchedule") for _, key in _BY_CONDITION),
    }
)


def ready_status(node: Obj) -> str:
    """True, False or Unknown; a node that has said nothing is not ready."""
    found = content.condition(content.status(node), "Ready")
    return "False" if found is None else str(found.get("status"))


def silent_conditions(node: Obj, *, now: datetime) -> list[Obj]:
    """The conditions of a node that has given no sign of life for too long."""
    moment = clock.timestamp(now)
    stored = list(content.status(node).get("conditions") or ())
    result: list[Obj] = []
    for entry in stored:
        if entry.get("type") in _WATCHED and entry.get("status") != "Unknown":
            entry = {
                **entry,
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": moment,
            }
        result.append(entry)
    missing = [t for t in _WATCHED if content.condition(content.status(node), t) is None]
    result += [
        {
            "type": type,
            "status": "Unknown",
            "lastHeartbeatTime": content.created(node) or moment,
            "lastTransitionTime": moment,
            "reason": "NodeStatusNeverUpdated",
            "message": "Kubelet never posted node status.",
        }
        for type in missing
    ]
    return result


def taints(node: Obj, *, now: datetime) -> list[Obj]:
    """The taints that follow from conditions and cordon, and all others as they are."""
    wanted = _wanted(node)
    kept: list[Obj] = []
    for taint in placement.taints_of(node):
        mark = (str(taint.get("key")), str(taint.get("effect")))
        if mark not in _OURS:
            kept.append(taint)
        elif mark in wanted:
            kept.append(taint)
            wanted.remove(mark)
    added = [
        {"key": key, "effect": effect, "timeAdded": clock.timestamp(now)} for key, effect in wanted
    ]
    return [*kept, *added]


def _wanted(node: Obj) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    ready = ready_status(node)
    if ready != "True":
        key = NOT_READY if ready == "False" else UNREACHABLE
        found += [(key, "NoSchedule"), (key, "NoExecute")]
    found += [(key, "NoSchedule") for type, key in _BY_CONDITION if content.is_true(node, type)]
    if content.spec(node).get("unschedulable"):
        found.append((placement.UNSCHEDULABLE_TAINT, "NoSchedule"))
    return found


def eviction_seconds(pod: Obj, node: Obj, *, now: datetime) -> float | None:
    """Seconds until the pod must leave its tainted node (0.0: now); None if it may stay."""
    forced = [t for t in placement.taints_of(node) if t.get("effect") == "NoExecute"]
    tolerations: Sequence[Obj] = content.spec(pod).get("tolerations") or ()
    waits: list[float] = []
    for taint in forced:
        bearing = [t for t in tolerations if placement.tolerates([t], taint)]
        if not bearing:
            return 0.0
        limits = [t["tolerationSeconds"] for t in bearing if t.get("tolerationSeconds") is not None]
        if limits:
            since = content.seconds_since(taint.get("timeAdded"), now) or 0.0
            waits.append(max(0.0, min(limits) - since))
    return min(waits, default=None)


def unready_conditions(pod: Obj, *, now: datetime) -> list[Obj] | None:
    """The pod's conditions with Ready False, as nobody answers for it; None when it is so."""
    stored = list(content.status(pod).get("conditions") or ())
    if not content.is_true(pod, "Ready"):
        return None
    return [
        {**entry, "status": "False", "lastTransitionTime": clock.timestamp(now)}
        if entry.get("type") == "Ready"
        else entry
        for entry in stored
    ]
