"""How a kubelet writes the state of a pod down: phase, conditions, container statuses. Pure.

`write` gives the fields of the status that belong to a kubelet. Conditions come without transition
times, which `konstat.nodes.patch` adds from what is stored; PodScheduled stays the scheduler's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from konstat.base import clock
from konstat.nodes.images import parse_image
from konstat.nodes.memory import ContainerMemory, PodMemory
from konstat.nodes.podspec import PlayedContainer, PlayedPod, is_regular_init, is_sidecar
from konstat.nodes.runtime import Ending, Problem, Report, Run

_NOTHING_KNOWN: Final = ContainerMemory()
_FINAL: Final = ("Succeeded", "Failed")


class PodView(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to write down at the end of a step.

    ``reports`` are of the runs that go on; ``waiting`` says why a container does not run.
    ``terminated``: the pod was made to end, and everything has ended.
    """

    pod: PlayedPod
    memory: PodMemory
    reports: Mapping[str, Report]
    waiting: Mapping[str, Problem]
    runtime_name: str
    has_sandbox: bool
    terminated: bool
    deadline_passed: bool
    restarts: Callable[[PlayedContainer, Ending], bool]

    def known(self, container: PlayedContainer) -> ContainerMemory:
        return self.memory.containers.get(container.name, _NOTHING_KNOWN)


def write(view: PodView) -> dict[str, Any]:
    """The status fields of a kubelet."""
    spec, memory = view.pod.spec, view.memory
    init = [_container_status(view, container) for container in spec.init_containers]
    # A kubelet sorts them by name, and init containers by their order.
    main = [
        _container_status(view, container)
        for container in sorted(spec.containers, key=lambda container: container.name)
    ]
    phase = _phase(view, {entry["name"]: entry for entry in (*init, *main)})
    status: dict[str, Any] = {"phase": phase}
    if view.pod.generation:
        status["observedGeneration"] = view.pod.generation
    final_before = view.pod.stored_status.get("phase") in _FINAL
    if view.terminated and view.deadline_passed and not final_before:
        status["reason"] = "DeadlineExceeded"
        status["message"] = "Pod was active on the node longer than the specified deadline"
    status["hostIP"], status["hostIPs"] = memory.host_address, [{"ip": memory.host_address}]
    if memory.sandbox:
        status["podIP"], status["podIPs"] = memory.address, [{"ip": memory.address}]
    status["startTime"] = clock.timestamp(memory.started_at)
    status["conditions"] = _conditions(view, phase, init=init, main=main)
    if init:
        status["initContainerStatuses"] = init
    status["containerStatuses"] = main
    return status


# --- containers -------------------------------------------------------------------------------


def _container_status(view: PodView, container: PlayedContainer) -> dict[str, Any]:
    known, report = view.known(container), view.reports.get(container.name)
    state, last = _states(view, container, known)
    ended_well = known.ended is not None and known.ended.exit_code == 0
    if is_regular_init(view.pod, container):
        ready = ended_well
    else:
        ready = report is not None and report.ready
    entry: dict[str, Any] = {
        "name": container.name,
        "state": state,
        "lastState": last,
        "ready": ready,
        "started": report is not None and report.started,
        "restartCount": known.run.attempt if known.run else 0,
        "image": container.image,
        "imageID": "",
    }
    if known.run is not None:
        entry |= _image(container)
        entry["containerID"] = _container_id(view, container, known.run)
    return entry


def _states(
    view: PodView, container: PlayedContainer, known: ContainerMemory
) -> tuple[dict[str, Any], dict[str, Any]]:
    """``state`` and ``lastState``; a container that waits for its restart shows its end there."""
    before = _terminated(view, container, known.previous)
    if known.running and known.run is not None:
        return {"running": {"startedAt": clock.timestamp(known.run.started_at)}}, before
    problem = view.waiting.get(container.name)
    if problem is not None:
        last = _terminated(view, container, known.run) if known.run else before
        return _waiting(problem), last
    if known.run is not None:
        return _terminated(view, container, known.run), before
    reason = "PodInitializing" if view.pod.spec.init_containers else "ContainerCreating"
    return _waiting(Problem(reason, "")), before


def _waiting(problem: Problem) -> dict[str, Any]:
    entry = {"reason": problem.reason}
    if problem.message:
        entry["message"] = problem.message
    return {"waiting": entry}


def _terminated(view: PodView, container: PlayedContainer, run: Run | None) -> dict[str, Any]:
    if run is None or run.ending is None:
        return {}
    entry: dict[str, Any] = {
        "exitCode": run.ending.exit_code,
        "reason": run.ending.reason,
        "startedAt": clock.timestamp(run.started_at),
        "finishedAt": clock.timestamp(run.ending.finished_at),
        "containerID": _container_id(view, container, run),
    }
    if run.ending.message:
        entry["message"] = run.ending.message
    return {"terminated": entry}


def _container_id(view: PodView, container: PlayedContainer, run: Run) -> str:
    """Made from the run's identity: the same after a restart of the actor."""
    text = f"{view.pod.uid}/{container.name}/{run.attempt}"
    return f"{view.runtime_name}://{hashlib.sha256(text.encode()).hexdigest()}"


def _image(container: PlayedContainer) -> dict[str, str]:
    """The image as a runtime names it; as it is written where no runtime could read it."""
    try:
        reference = parse_image(container.image)
    except ValueError:
        return {}
    return {"image": str(reference), "imageID": reference.image_id}


# --- phase ------------------------------------------------------------------------------------


def _phase(view: PodView, entries: Mapping[str, dict[str, Any]]) -> str:
    stored = view.pod.stored_status.get("phase") or "Pending"
    if stored in _FINAL:
        return stored
    if view.terminated:
        return "Succeeded" if not view.deadline_passed and _all_succeeded(view) else "Failed"
    if _init_failed(view):
        phase = "Failed"
    elif _waits(view, entries):
        phase = "Pending"
    elif view.reports or any(_restarting(view, c) for c in view.pod.spec.containers):
        phase = "Running"
    else:
        phase = "Succeeded" if _all_succeeded(view) else "Failed"
    # Nothing may run any more once a phase is final, sidecars included.
    return stored if phase in _FINAL and view.reports else phase


def _all_succeeded(view: PodView) -> bool:
    endings = [view.known(container).ended for container in view.pod.spec.containers]
    return all(ended is not None and ended.exit_code == 0 for ended in endings)


def _init_failed(view: PodView) -> bool:
    endings = [
        (container, view.known(container).ended)
        for container in view.pod.spec.init_containers
        if is_regular_init(view.pod, container)
    ]
    return any(
        ended is not None and ended.exit_code != 0 and not view.restarts(container, ended)
        for container, ended in endings
    )


def _waits(view: PodView, entries: Mapping[str, dict[str, Any]]) -> bool:
    """Whether something has never run yet, which keeps a pod Pending."""
    spec = view.pod.spec
    if any(view.known(container).run is None for container in spec.containers):
        return True
    initialized = any(view.known(container).run for container in spec.containers)
    return not initialized and any(
        not _is_initialized(view, container, entries[container.name])
        for container in spec.init_containers
    )


def _restarting(view: PodView, container: PlayedContainer) -> bool:
    ended = view.known(container).ended
    return ended is not None and view.restarts(container, ended)


# --- conditions -------------------------------------------------------------------------------


def _conditions(
    view: PodView,
    phase: str,
    *,
    init: Sequence[dict[str, Any]],
    main: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    entries = {entry["name"]: entry for entry in (*init, *main)}
    containers_ready = _containers_ready(view, phase, entries)
    conditions: list[dict[str, Any]] = [
        {"type": "PodReadyToStartContainers", "status": "True" if view.has_sandbox else "False"},
        {"type": "Initialized", **_initialized(view, phase, entries)},
        {"type": "Ready", **_ready(view, containers_ready)},
        {"type": "ContainersReady", **containers_ready},
    ]
    if view.pod.generation:
        for condition in conditions:
            condition["observedGeneration"] = view.pod.generation
    return conditions


def _is_initialized(view: PodView, container: PlayedContainer, entry: Mapping[str, Any]) -> bool:
    return entry["started"] if is_sidecar(view.pod, container) else entry["ready"]


def _initialized(
    view: PodView, phase: str, entries: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    spec = view.pod.spec
    incomplete = [
        container.name
        for container in spec.init_containers
        if not _is_initialized(view, container, entries[container.name])
    ]
    if phase == "Succeeded":
        return {"status": "True", "reason": "PodCompleted"}
    if not incomplete or any(view.known(container).run for container in spec.containers):
        return {"status": "True"}
    return {
        "status": "False",
        "reason": "ContainersNotInitialized",
        "message": f"containers with incomplete status: [{' '.join(incomplete)}]",
    }


def _containers_ready(
    view: PodView, phase: str, entries: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    if phase in _FINAL:
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
        return {"status": "False", "reason": reason}
    spec = view.pod.spec
    unready = [c.name for c in (*spec.sidecars, *spec.containers) if not entries[c.name]["ready"]]
    if not unready:
        return {"status": "True"}
    return {
        "status": "False",
        "reason": "ContainersNotReady",
        "message": f"containers with unready status: [{' '.join(unready)}]",
    }


def _ready(view: PodView, containers_ready: dict[str, Any]) -> dict[str, Any]:
    """As ContainersReady, and every readiness gate must be True too (KEP-580)."""
    if containers_ready["status"] != "True":
        return dict(containers_ready)
    stored = {c.type: c.status for c in view.pod.status.conditions}
    closed: list[str] = []
    for gate in view.pod.spec.readiness_gates:
        name = gate.condition_type
        if name not in stored:
            closed.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif stored[name] != "True":
            closed.append(
                f'the status of pod readiness gate "{name}" is not "True", but {stored[name]}'
            )
    if not closed:
        return {"status": "True"}
    return {"status": "False", "reason": "ReadinessGatesNotReady", "message": ", ".join(closed)}
