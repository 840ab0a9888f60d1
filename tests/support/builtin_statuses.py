"""Statuses of Pods in which the printer columns differ."""

from __future__ import annotations

from typing import Any

ENDED = "2026-01-01T00:00:00Z"
# No scheduler takes them, so that nobody else writes their status.
_NOBODY = {"schedulerName": "nobody"}
_ONE = {**_NOBODY, "containers": [{"name": "c", "image": "i"}]}
_TWO = {
    **_NOBODY,
    "containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}],
}
_INIT = {**_ONE, "initContainers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]}
_SIDECAR = {**_ONE, "initContainers": [{"name": "a", "image": "i", "restartPolicy": "Always"}]}


def _container(name: str, state: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "i", "imageID": "x", "ready": False, "restartCount": 0,
            "state": state, **more}  # fmt: skip


_RUNNING = {"running": {"startedAt": ENDED}}
_DONE = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": ENDED,
                        "finishedAt": ENDED}}  # fmt: skip
_EXIT = {"startedAt": ENDED, "finishedAt": ENDED}
_LAST = {"lastState": {"terminated": {"exitCode": 1, "finishedAt": ENDED, "startedAt": ENDED}}}
_READY = {"type": "Ready", "status": "True"}
_INITIALIZED = {"type": "Initialized", "status": "True"}

POD_STATUSES: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    (_ONE, {"phase": "Pending"}),
    (_ONE, {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}],
            "containerStatuses": [_container("c", _RUNNING, ready=True)]}),
    (_ONE, {"phase": "Running", "containerStatuses": [
        _container("c", {"waiting": {"reason": "CrashLoopBackOff"}}, restartCount=3, **_LAST)]}),
    (_ONE, {"phase": "Succeeded", "containerStatuses": [_container("c", _DONE)]}),
    (_ONE, {"phase": "Failed", "containerStatuses": [
        _container("c", {"terminated": {"exitCode": 3, **_EXIT}})]}),
    (_ONE, {"phase": "Failed", "containerStatuses": [
        _container("c", {"terminated": {"exitCode": 137, "signal": 9, "startedAt": ENDED,
                                        "finishedAt": ENDED}})]}),
    (_ONE, {"phase": "Failed", "reason": "Evicted"}),
    (_TWO, {"phase": "Running", "containerStatuses": [
        _container("c", _DONE), _container("d", _RUNNING, ready=True)]}),
    (_TWO, {"phase": "Running", "conditions": [_READY], "containerStatuses": [
        _container("c", _DONE), _container("d", _RUNNING, ready=True)]}),
    (_TWO, {"phase": "Running", "containerStatuses": [
        _container("c", _DONE),
        _container("d", {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": ENDED,
                                        "finishedAt": ENDED}}, restartCount=1)]}),
    (_INIT, {"phase": "Pending", "initContainerStatuses": [
        _container("a", _RUNNING), _container("b", {"waiting": {"reason": "PodInitializing"}})]}),
    (_INIT, {"phase": "Pending", "initContainerStatuses": [
        _container("a", _DONE), _container("b", {"waiting": {"reason": "ErrImagePull"}})]}),
    (_INIT, {"phase": "Pending", "initContainerStatuses": [
        _container("a", {"terminated": {"exitCode": 2, "reason": "Error", "startedAt": ENDED,
                                        "finishedAt": ENDED}}, restartCount=2, **_LAST)]}),
    (_INIT, {"phase": "Running", "conditions": [_INITIALIZED, _READY], "initContainerStatuses": [
        _container("a", _DONE), _container("b", _DONE)],
        "containerStatuses": [_container("c", _RUNNING, ready=True, restartCount=1, **_LAST)]}),
    (_SIDECAR, {"phase": "Running", "conditions": [_INITIALIZED], "initContainerStatuses": [
        _container("a", _RUNNING, ready=True, started=True, restartCount=4, **_LAST)],
        "containerStatuses": [_container("c", _RUNNING, ready=True)]}),
    ({**_ONE, "readinessGates": [{"conditionType": "a/b"}, {"conditionType": "c/d"}]},
     {"phase": "Running", "nominatedNodeName": "n",
      "conditions": [{"type": "a/b", "status": "True"}]}),
)  # fmt: skip
