"""Why one pod is not ready, and the rule for a Pod on its own.

The order of looking is that of the pod's life: scheduled and its node (`placement`), containers
created and started (`containers`), set up and gates (`starting`). `workloads` calls `pod_findings`
with the pods of the newest revision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from konstat.readiness import deletion, events, images, placement, reading, starting, wording
from konstat.readiness.causes import Cause, Finding, combine, refusal_cause
from konstat.readiness.containers import (
    INIT,
    MAIN,
    SETTING_UP,
    SIDECAR,
    Container,
    container_cause,
    ended,
)
from konstat.readiness.events import Told
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
    finding = combine([("", cause) for cause in _causes(subject.content, subject)], pods=1)
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
    pods: Iterable[Mapping[str, Any]],
    *,
    around: Subject,
    extra: Iterable[Cause] = (),
    leaving_matter: bool = False,
) -> Finding | None:
    """What keeps a workload's pods from being ready; None when each of them is ready.

    Pods that are being deleted are on their way out and do not count, except where
    ``leaving_matter`` because no other takes their place before they are gone. Nor do ended ones as
    long as others live: their controller has replaced them. ``extra`` are causes outside any pod;
    ``around`` is the workload, through which related objects are found.
    """
    staying: list[Mapping[str, Any]] = []
    leaving: list[Mapping[str, Any]] = []
    for entry in pods:
        deleted = reading.at(entry, "metadata", "deletionTimestamp") is not None
        (leaving if deleted else staying).append(entry)
    living = [p for p in staying if reading.at(p, "status", "phase") not in ("Failed", "Succeeded")]
    judged = living or staying
    causes = [(_name(p), cause) for p in judged for cause in _causes(p, around)]
    if leaving_matter:
        causes += [(_name(p), cause) for p in leaving for cause in _stuck(p, around)]
        judged = [*judged, *leaving]
    return combine([*causes, *(("", cause) for cause in extra)], pods=len(judged))


def told_refusals(subject: Subject, *, after: datetime | None) -> list[Cause]:
    """Why the server refuses the pods of a workload, from fresh Events alone.

    StatefulSets, DaemonSets and Jobs have no condition for it.
    """
    telling = events.fresh(
        subject.events_of(subject.uid), {"FailedCreate"}, now=subject.now, after=after
    )
    if telling is None:
        return []
    causes = [
        refusal_cause(told.message, seen=(told.evidence,), until=telling.until)
        for told in telling.told
    ]
    return [min(causes, key=_rank)]


def _name(content: Mapping[str, Any]) -> str:
    return reading.text(reading.at(content, "metadata", "name")) or "without a name"


def _stuck(content: Mapping[str, Any], around: Subject) -> list[Cause]:
    """A pod that should long be gone, alone in a list."""
    since = reading.at(content, "metadata", "deletionTimestamp")
    overdue = deletion.is_overdue(since, now=around.now)
    if not overdue.is_overdue:
        return []
    held = wording.listed(deletion.finalizers_of(reading.mapping(content.get("metadata"))))
    trouble = placement.node_trouble(content, around)
    why = wording.sentence(f"finalizers {held}" if held else "", trouble[0] if trouble else "")
    text = wording.with_detail(f"should be gone since {reading.text(since)}", why)
    seen = (Evidence("metadata.deletionTimestamp", reading.text(since)),)
    return [Cause(state=State.PROGRESSING, reason=Reason.DELETION_STUCK, text=text, evidence=seen)]


def _causes(content: Mapping[str, Any], around: Subject) -> list[Cause]:
    """The pod's worst cause, alone in a list, or nothing when the pod is ready or done."""
    status = reading.mapping(content.get("status"))
    phase = reading.text(status.get("phase"))
    if phase == "Succeeded":
        return []
    found = reading.conditions(status.get("conditions"))
    if phase == "Failed":
        return [_ended(status, found, _containers(content, around))]
    ready = reading.condition(found, "Ready", bad="False")
    causes: list[Cause | None]
    if ready is not None and ready.status == "True":
        # Ready as a whole outranks stale container statuses, but neither a crash loop between two
        # crashes nor a gate that its own kubelet has not looked at yet (k8s #86485).
        containers = map(container_cause, _containers(content, around))
        crashes = (c for c in containers if c and c.reason is Reason.CRASH_LOOPING)
        causes = [*crashes, starting.gate_cause(content, found)]
    else:
        causes = _unready_causes(content, found, around)
    return [min(kept, key=_rank)] if (kept := [cause for cause in causes if cause]) else []


def _rank(cause: Cause) -> tuple[int, int, str]:
    return cause.rank


def _unready_causes(
    content: Mapping[str, Any], found: list[Condition], around: Subject
) -> list[Cause | None]:
    scheduled = reading.condition(found, "PodScheduled", bad="False")
    containers = _containers(content, around, probes=starting.probes_told(content, around))
    causes = [
        placement.scheduling_cause(content, scheduled, around),
        placement.node_cause(content, around),
        *map(container_cause, containers),
    ]
    known = [cause for cause in causes if cause]
    if not known:
        return [starting.gate_cause(content, found) or starting.setting_up(content, found, around)]
    if all(cause.text == SETTING_UP for cause in known):
        return [starting.setting_up(content, found, around)]
    return causes


def _containers(
    content: Mapping[str, Any], around: Subject, *, probes: Sequence[Told] = ()
) -> list[Container]:
    spec = reading.mapping(content.get("spec"))
    status = reading.mapping(content.get("status"))
    policy = reading.text(spec.get("restartPolicy")) or "Always"
    repeated = _repeats_faults(content, around)
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
                    asked=asked,
                    fault_repeated=repeated,
                    pull_told="" if repeated else starting.pull_told(content, around),
                    probes_told=[t for t in probes if _is_about(t, name, content)],
                    now=around.now,
                )
            )
    return containers


def _role(asked: Mapping[str, Any], declared_in: str) -> str:
    if declared_in == "containers":
        return MAIN
    return SIDECAR if asked.get("restartPolicy") == "Always" else INIT


def _is_about(told: Told, name: str, content: Mapping[str, Any]) -> bool:
    """Whether an event is about that container; without a field it is about a pod's only one."""
    if told.field:
        return told.field.endswith(f"{{{name}}}")
    return len(reading.mappings(reading.at(content, "spec", "containers"))) == 1


def _repeats_faults(content: Mapping[str, Any], around: Subject) -> bool:
    """Whether the pod's kubelet says in both phases of a back-off why it cannot pull."""
    # The field is newer than the repetition.
    if reading.integer(reading.at(content, "status", "observedGeneration")) > 0:
        return True
    waiting = (
        reading.text(reading.at(report, "state", "waiting", "reason"))
        for part in ("initContainerStatuses", "containerStatuses")
        for report in reading.mappings(reading.at(content, "status", part))
    )
    if not any(reason in images.REASONS for reason in waiting):
        return True
    info = reading.at(placement.node_of(content, around), "status", "nodeInfo", "kubeletVersion")
    return images.repeats_fault(reading.text(info))


_EVICTIONS: Final = frozenset(
    {"Evicted", "NodeLost", "NodeShutdown", "Preempted", "Preempting", "Terminated"}
)


def _ended(status: Mapping[str, Any], found: list[Condition], containers: list[Container]) -> Cause:
    """A pod in phase Failed: evicted or lost as a whole, or by its containers."""
    reason = reading.text(status.get("reason"))
    target = reading.condition(found, "DisruptionTarget", bad="True")
    disrupted = target is not None and target.status == "True"
    why = wording.with_detail(
        wording.steady(reason), wording.steady(reading.text(status.get("message")))
    )
    seen = [Evidence("status.phase", "Failed"), Evidence("status.reason", reason or None)]
    if target is not None and disrupted:
        said = wording.with_detail(wording.steady(target.reason), wording.steady(target.message))
        # What the pod says of itself comes first; a preemption is told by the condition alone.
        why = why or said
        seen.append(evidence_of(target))
    evicted = disrupted or reason in _EVICTIONS
    bad = [
        f"{c.label} ended: {ended(c.terminated)}"
        for c in containers
        if reading.integer(c.terminated.get("exitCode")) != 0
    ]
    what = "the pod was evicted or preempted" if evicted else "the pod has failed"
    return Cause(
        state=State.FAILED,
        reason=Reason.POD_EVICTED if evicted else Reason.POD_FAILED,
        text=wording.with_detail(what, why or min(bad, default="")),
        evidence=tuple(seen),
    )
