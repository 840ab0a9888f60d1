"""Why one pod is not ready, and the rule for a Pod on its own.

The order of looking is that of the pod's life: scheduled, containers created and started, ready,
gates. `workloads` calls `pod_findings` with the pods of the newest revision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from konstat.readiness import reading, wording
from konstat.readiness.causes import Cause, Finding, combine
from konstat.readiness.containers import INIT, MAIN, SIDECAR, Container, container_cause, ended
from konstat.readiness.reading import Condition
from konstat.readiness.subject import Subject, evidence_of
from konstat.readiness.verdict import Evidence, Readiness, Reason, State


def pod(subject: Subject) -> Readiness:
    """The rule for a Pod: Succeeded is Completed, Failed is Failed, else ready or a cause."""
    phase = reading.text(subject.status.get("phase"))
    seen = [subject.evidence("status", "phase")]
    if phase == "Succeeded":
        return subject.verdict(
            State.READY, Reason.COMPLETED, "all containers ended with success", evidence=seen
        )
    if not subject.status:
        return subject.verdict(
            State.UNKNOWN, Reason.STATUS_NOT_REPORTED, "nobody has written the pod's status"
        )
    finding = combine([("", cause) for cause in _causes(subject.content, subject.now)], pods=1)
    if finding is None:
        return subject.verdict(State.READY, Reason.AVAILABLE, "the pod is ready", evidence=seen)
    return subject.verdict(
        finding.state,
        finding.reason,
        finding.message,
        evidence=[*seen, *finding.evidence],
        recheck_at=finding.recheck_at,
    )


def pod_findings(
    pods: Iterable[Mapping[str, Any]], *, now: datetime | None, extra: Iterable[Cause] = ()
) -> Finding | None:
    """What keeps a workload's pods from being ready; None when each of them is ready.

    Pods that are being deleted are on their way out and do not count. Nor do ended ones as long as
    others live: their controller has replaced them. ``extra`` are causes outside any pod.
    """
    staying = [p for p in pods if reading.at(p, "metadata", "deletionTimestamp") is None]
    living = [p for p in staying if reading.at(p, "status", "phase") not in ("Failed", "Succeeded")]
    judged = living or staying
    causes = [(_name(p), cause) for p in judged for cause in _causes(p, now)]
    return combine([*causes, *(("", cause) for cause in extra)], pods=len(judged))


def _name(content: Mapping[str, Any]) -> str:
    return reading.text(reading.at(content, "metadata", "name")) or "without a name"


def _causes(content: Mapping[str, Any], now: datetime | None) -> list[Cause]:
    """The pod's worst cause, alone in a list, or nothing when the pod is ready or done."""
    status = reading.mapping(content.get("status"))
    phase = reading.text(status.get("phase"))
    if phase == "Succeeded":
        return []
    found = reading.conditions(status.get("conditions"))
    containers = _containers(content, now)
    if phase == "Failed":
        return [_ended(status, containers)]
    scheduling = _scheduling_cause(content, reading.condition(found, "PodScheduled", bad="False"))
    causes = [cause for cause in (scheduling, *map(container_cause, containers)) if cause]
    ready = reading.condition(found, "Ready", bad="False")
    if ready is not None and ready.status == "True":
        # Ready as a whole outranks stale container statuses, but not a crash loop between two
        # crashes.
        causes = [cause for cause in causes if cause.reason is Reason.CRASH_LOOPING]
    elif not causes:
        causes = [_gate_cause(content, found) or _setting_up(found)]
    return [min(causes, key=lambda cause: cause.rank)] if causes else []


def _containers(content: Mapping[str, Any], now: datetime | None) -> list[Container]:
    spec = reading.mapping(content.get("spec"))
    status = reading.mapping(content.get("status"))
    policy = reading.text(spec.get("restartPolicy")) or "Always"
    repeated = reading.integer(status.get("observedGeneration")) > 0
    containers: list[Container] = []
    for declared_in, reported_in in (
        ("initContainers", "initContainerStatuses"),
        ("containers", "containerStatuses"),
    ):
        declared = {reading.text(c.get("name")): c for c in reading.mappings(spec.get(declared_in))}
        for report in reading.mappings(status.get(reported_in)):
            name = reading.text(report.get("name"))
            asked = declared.get(name, {})
            role = _role(asked, declared_in)
            containers.append(
                Container(
                    role=role,
                    # The runtime rewrites the name in the status once it has the image.
                    image=reading.text(asked.get("image")) or reading.text(report.get("image")),
                    path=f'status.{reported_in}[name="{name}"]',
                    status=report,
                    restarts=role == SIDECAR or policy != "Never",
                    runs_to_end=role == INIT or (role == MAIN and policy != "Always"),
                    fault_repeated=repeated,
                    now=now,
                )
            )
    return containers


def _role(asked: Mapping[str, Any], declared_in: str) -> str:
    if declared_in == "containers":
        return MAIN
    return SIDECAR if asked.get("restartPolicy") == "Always" else INIT


def _scheduling_cause(content: Mapping[str, Any], scheduled: Condition | None) -> Cause | None:
    if scheduled is None or scheduled.status != "False":
        return None
    if scheduled.reason == "SchedulingGated":
        gates = reading.mappings(reading.at(content, "spec", "schedulingGates"))
        names = wording.listed(reading.text(gate.get("name")) for gate in gates)
        return Cause(
            state=State.PROGRESSING,
            reason=Reason.SCHEDULING_GATED,
            text=wording.steady(f"scheduling gates must be removed first: {names}"),
            evidence=(evidence_of(scheduled),),
        )
    # What the scheduler thinks of preemption follows, says nothing new and is long.
    why = scheduled.message.partition(" preemption:")[0]
    return Cause(
        state=State.PROGRESSING,
        reason=Reason.UNSCHEDULABLE,
        text=wording.with_detail("no node takes the pod", wording.steady(why)),
        evidence=(evidence_of(scheduled),),
    )


def _ended(status: Mapping[str, Any], containers: list[Container]) -> Cause:
    """A pod in phase Failed: evicted or lost as a whole, or by its containers."""
    why = wording.with_detail(
        wording.steady(reading.text(status.get("reason"))),
        wording.steady(reading.text(status.get("message"))),
    )
    bad = [
        f"{c.label} ended: {ended(c.terminated)}"
        for c in containers
        if reading.integer(c.terminated.get("exitCode")) != 0
    ]
    return Cause(
        state=State.FAILED,
        reason=Reason.POD_FAILED,
        text=wording.with_detail("the pod has failed", why or min(bad, default="")),
        evidence=(Evidence("status.phase", "Failed"),),
    )


def _gate_cause(content: Mapping[str, Any], found: list[Condition]) -> Cause | None:
    """Readiness gates that are not True, once all containers are ready."""
    containers_ready = reading.condition(found, "ContainersReady", bad="False")
    if containers_ready is None or containers_ready.status != "True":
        return None
    missing: set[str] = set()
    for gate in reading.mappings(reading.at(content, "spec", "readinessGates")):
        name = reading.text(gate.get("conditionType"))
        met = reading.condition(found, name, bad="False")
        if met is None or met.status != "True":
            missing.add(name)
    if not missing:
        return None
    return Cause(
        state=State.PROGRESSING,
        reason=Reason.READINESS_GATE_NOT_MET,
        text=wording.steady(
            f"another controller must set readiness gate {wording.listed(missing)}"
        ),
        evidence=(evidence_of(containers_ready),),
    )


def _setting_up(found: list[Condition]) -> Cause:
    sandbox = reading.condition(found, "PodReadyToStartContainers", bad="False")
    waits = sandbox is not None and sandbox.status == "False"
    return Cause(
        state=State.PROGRESSING,
        reason=Reason.PODS_STARTING,
        text="the pod waits for its network and volumes"
        if waits
        else "containers are being set up",
        evidence=(evidence_of(sandbox),) if sandbox is not None else (),
    )
