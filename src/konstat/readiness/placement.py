"""Why a pod has no node, or has lost it: scheduling, the claims it waits for, the node itself.

`pods` asks these before it looks at containers: what a lost node last said of them is stale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from konstat.readiness import reading, storage, wording
from konstat.readiness.causes import Cause
from konstat.readiness.reading import Condition
from konstat.readiness.subject import Subject, evidence_of, told
from konstat.readiness.verdict import Evidence, Reason, State

_UNBOUND: Final = "PersistentVolumeClaim"  # in the scheduler's words about claims, in any case
_GONE: Final = frozenset({"NodeLost", "NodeShutdown"})


def scheduling_cause(
    content: Mapping[str, Any], scheduled: Condition | None, around: Subject
) -> Cause | None:
    """Why the pod has no node; None when it has one, or the scheduler has not tried."""
    if scheduled is None or scheduled.status != "False":
        return None
    seen = evidence_of(scheduled)
    if scheduled.reason == "SchedulingGated":
        gates = reading.mappings(reading.at(content, "spec", "schedulingGates"))
        names = wording.listed(reading.text(gate.get("name")) for gate in gates)
        return Cause(
            state=State.PROGRESSING,
            reason=Reason.SCHEDULING_GATED,
            text=wording.steady(f"scheduling gates must be removed first: {names}"),
            evidence=(seen,),
        )
    # What the scheduler thinks of preemption follows, says nothing new and is long.
    why = scheduled.message.partition(" preemption:")[0]
    if _UNBOUND.lower() in why.lower():
        claim = min(_claim_causes(content, seen, around), key=_rank, default=None)
        if claim is not None:
            return claim
    return Cause(
        state=State.PROGRESSING,
        reason=Reason.UNSCHEDULABLE,
        text=wording.with_detail("no node takes the pod", wording.steady(why)),
        evidence=(seen,),
    )


def _rank(cause: Cause) -> tuple[int, int, str]:
    return cause.rank


def _claim_causes(content: Mapping[str, Any], seen: Evidence, around: Subject) -> Iterator[Cause]:
    """The claims of the pod that are missing, lost or not bound, each with its reason."""
    for name in sorted(set(_claim_names(content))):
        found = around.find(
            "", "PersistentVolumeClaim", name=name, namespace=_namespace(content, around)
        )
        if found.problem:
            continue
        label = wording.steady(f"claim {name}")
        if not found.objects:
            yield Cause(
                state=State.PROGRESSING,
                reason=Reason.CLAIM_NOT_FOUND,
                text=f"no node takes the pod: {label} does not exist",
                evidence=(seen,),
            )
            continue
        claim = found.objects[0]
        phase = reading.text(reading.at(claim, "status", "phase"))
        status = Evidence(f"PersistentVolumeClaim {name}: status.phase", phase)
        if phase == "Lost":
            text = f"no node takes the pod: the volume of {label} is gone"
            reason = Reason.CLAIM_LOST
            yield Cause(state=State.FAILED, reason=reason, text=text, evidence=(seen, status))
        elif phase != "Bound":
            why = storage.unbound(around, claim)
            yield Cause(
                # Waiting for its first consumer is no excuse here: the pod is that consumer.
                state=State.PROGRESSING if why.state is State.READY else why.state,
                reason=Reason.UNSCHEDULABLE
                if why.reason in (Reason.WAITING_FOR_CONSUMER, Reason.CLAIM_PENDING)
                else why.reason,
                text=f"no node takes the pod: {label} {why.text}",
                evidence=(seen, status, *why.evidence),
                until=why.until,
            )


def _claim_names(content: Mapping[str, Any]) -> Iterator[str]:
    pod = reading.text(reading.at(content, "metadata", "name"))
    for volume in reading.mappings(reading.at(content, "spec", "volumes")):
        name = reading.text(reading.at(volume, "persistentVolumeClaim", "claimName"))
        if name:
            yield name
        elif "ephemeral" in volume:
            yield f"{pod}-{reading.text(volume.get('name'))}"


def _namespace(content: Mapping[str, Any], around: Subject) -> str:
    return reading.text(reading.at(content, "metadata", "namespace")) or around.namespace


# --- the node --------------------------------------------------------------------------------


def node_of(content: Mapping[str, Any], around: Subject) -> Mapping[str, Any] | None:
    """The node that the pod is bound to; None where it has none or it cannot be read."""
    name = reading.text(reading.at(content, "spec", "nodeName"))
    found = around.find("", "Node", name=name).objects if name else ()
    return found[0] if found else None


def node_cause(content: Mapping[str, Any], around: Subject) -> Cause | None:
    """What is wrong with the pod's node; None when it is well or nothing is known of it."""
    status = reading.mapping(content.get("status"))
    name = reading.text(reading.at(content, "spec", "nodeName"))
    label = wording.steady(f"node {name}" if name else "its node")
    lost = status.get("phase") == "Unknown" or reading.text(status.get("reason")) in _GONE
    trouble = node_trouble(content, around)
    if trouble is None and not lost:
        return None
    text, seen = trouble or (
        wording.with_detail(
            f"{label} has been lost", wording.steady(reading.text(status.get("message")))
        ),
        Evidence("status.reason", reading.text(status.get("reason"))),
    )
    return Cause(state=State.FAILED, reason=Reason.NODE_NOT_READY, text=text, evidence=(seen,))


def node_trouble(content: Mapping[str, Any], around: Subject) -> tuple[str, Evidence] | None:
    """How a pod's node is not ready, and the evidence; None when it is, or is not known."""
    node = node_of(content, around)
    if node is None:
        return None
    name = wording.steady(reading.text(reading.at(node, "metadata", "name")))
    conditions = reading.conditions(reading.at(node, "status", "conditions"))
    ready = reading.condition(conditions, "Ready", bad="False")
    if ready is None or ready.status == "True":
        return None
    does = "does not answer" if ready.status == "Unknown" else "is not ready"
    text = wording.with_detail(f"node {name} {does}", told(ready))
    return text, Evidence(f"Node {name}: {ready.path}", ready.status)
