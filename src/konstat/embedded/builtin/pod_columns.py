"""Printer columns of Pods: one word for what all its containers do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from konstat.embedded.builtin import times
from konstat.embedded.builtin.cells import AGE, NAME, NONE, at, column, since
from konstat.embedded.registry import Object

_UNREACHABLE: Final = "NodeLost"


@dataclass
class _Summary:
    """What the columns of one Pod say."""

    reason: str
    ready: int = 0
    total: int = 0
    restarts: int = 0
    restarted: datetime | None = None


def _summary(pod: Object) -> _Summary:
    status = pod.get("status") or {}
    summary = _Summary(status.get("reason") or status.get("phase", ""))
    if any(
        one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated"
        for one in status.get("conditions") or ()
    ):
        summary.reason = "SchedulingGated"
    sidecars = {
        one["name"]
        for one in at(pod, "spec.initContainers", [])
        if one.get("restartPolicy") == "Always"
    }
    summary.total = len(at(pod, "spec.containers", [])) + len(sidecars)
    initializing = _initialization(pod, summary, sidecars)
    if not initializing or _condition(status, "Initialized"):
        _main(status, summary, sidecars)
    if at(pod, "metadata.deletionTimestamp") is not None:
        if status.get("reason") == _UNREACHABLE:
            summary.reason = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            summary.reason = "Terminating"
    return summary


def _initialization(pod: Object, summary: _Summary, sidecars: set[str]) -> bool:
    """Count init containers; whether one of them is what the Pod waits for."""
    statuses = at(pod, "status.initContainerStatuses", [])
    for index, one in enumerate(statuses):
        _count_restarts(summary, one)
        state = one.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting") or {}
        if terminated is not None and terminated.get("exitCode", 0) == 0:
            continue
        if one.get("name") in sidecars and one.get("started"):
            summary.ready += bool(one.get("ready"))
            continue
        if terminated is not None:
            summary.reason = f"Init:{_end(terminated)}"
        elif waiting.get("reason") and waiting["reason"] != "PodInitializing":
            summary.reason = f"Init:{waiting['reason']}"
        else:
            summary.reason = f"Init:{index}/{len(at(pod, 'spec.initContainers', []))}"
        return True
    return False


def _main(status: Object, summary: _Summary, sidecars: set[str]) -> None:
    """Count the containers, the last of them first: the first one's word wins."""
    summary.restarts, summary.restarted = 0, None
    for one in status.get("initContainerStatuses") or ():
        if one.get("name") in sidecars:
            _count_restarts(summary, one)
    running, failure = False, ""
    for one in reversed(status.get("containerStatuses") or []):
        _count_restarts(summary, one)
        state = one.get("state") or {}
        if (state.get("waiting") or {}).get("reason"):
            summary.reason = state["waiting"]["reason"]
        elif state.get("terminated") is not None:
            summary.reason = _end(state["terminated"])
            if state["terminated"].get("exitCode"):
                failure = summary.reason
        elif one.get("ready") and state.get("running") is not None:
            running = True
            summary.ready += 1
    if summary.reason == "Completed":
        if running and _condition(status, "Ready"):
            summary.reason = "Running"
        elif failure:
            summary.reason = failure
        elif running:
            summary.reason = "NotReady"


def _count_restarts(summary: _Summary, container: Object) -> None:
    summary.restarts += container.get("restartCount", 0)
    ended = times.moment(at(container, "lastState.terminated.finishedAt"))
    if ended is not None and (summary.restarted is None or summary.restarted < ended):
        summary.restarted = ended


def _end(terminated: Object) -> str:
    if terminated.get("reason"):
        return terminated["reason"]
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _condition(status: Object, kind: str) -> bool:
    return any(
        one.get("type") == kind and one.get("status") == "True"
        for one in status.get("conditions") or ()
    )


# --- cells ------------------------------------------------------------------------------------


def _ready(obj: Object, now: datetime) -> str:
    summary = _summary(obj)
    return f"{summary.ready}/{summary.total}"


def _status(obj: Object, now: datetime) -> str:
    return _summary(obj).reason


def _restarts(obj: Object, now: datetime) -> str:
    summary = _summary(obj)
    if not summary.restarts or summary.restarted is None:
        return str(summary.restarts)
    return f"{summary.restarts} ({since(summary.restarted.isoformat(), now)} ago)"


def _address(obj: Object, now: datetime) -> str:
    found = at(obj, "status.podIPs", [])
    return (found[0].get("ip") if found else "") or NONE


def _or_none(path: str) -> Any:
    def cell(obj: Object, now: datetime) -> str:
        return at(obj, path) or NONE

    return cell


def _gates(obj: Object, now: datetime) -> str:
    wanted = [one.get("conditionType", "") for one in at(obj, "spec.readinessGates", [])]
    if not wanted:
        return NONE
    return f"{sum(_true_gates(obj, wanted))}/{len(wanted)}"


def _true_gates(obj: Object, wanted: list[str]) -> Iterator[bool]:
    conditions = at(obj, "status.conditions", [])
    for kind in wanted:
        found = next((one for one in conditions if one.get("type") == kind), {})
        yield found.get("status") == "True"


POD: Final = (
    NAME,
    column("Ready", _ready),
    column("Status", _status),
    column("Restarts", _restarts),
    AGE,
    column("IP", _address, wide=True),
    column("Node", _or_none("spec.nodeName"), wide=True),
    column("Nominated Node", _or_none("status.nominatedNodeName"), wide=True),
    column("Readiness Gates", _gates, wide=True),
)


def row_conditions(pod: Object) -> list[Object]:
    """What a row of a Table says about a Pod that has run to its end."""
    messages = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}
    phase = at(pod, "status.phase", "")
    if phase not in messages:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": messages[phase]}]
