"""The rules for namespaces, nodes, budgets, autoscalers, and for what the scheduler allocates.

Also `existing`, for kinds that have nothing to wait for.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from konstat.base import limits
from konstat.readiness import reading, votes, wording
from konstat.readiness.subject import Subject, advised, evidence_of, not_reported, told
from konstat.readiness.verdict import Readiness, Reason, State

_NODE_BLOCKED: Final = ("NetworkUnavailable",)
_NODE_TROUBLE: Final = (*_NODE_BLOCKED, "DiskPressure", "MemoryPressure", "PIDPressure")
_AUTOSCALER_V1: Final = "autoscaling.alpha.kubernetes.io/conditions"


def existing(subject: Subject) -> Readiness:
    """Ready because it exists."""
    return subject.verdict(State.READY, Reason.EXISTS, "exists")


def namespace(subject: Subject) -> Readiness:
    """Active is Ready; Terminating is told by `deletion` where the deletion's time is known."""
    phase = reading.text(subject.status.get("phase"))
    seen = [subject.evidence("status", "phase")]
    if phase == "Active":
        return subject.verdict(State.READY, Reason.AVAILABLE, "active", evidence=seen)
    if phase == "Terminating":
        text = "is being deleted"
        return subject.verdict(State.TERMINATING, Reason.DELETING, text, evidence=seen)
    return not_reported(subject)


def node(subject: Subject) -> Readiness:
    """Ready by its condition, unless it lacks network or runs out of something; cordoned is Ready.

    Unknown means that the kubelet has stopped answering: not a lack of evidence, but trouble.
    """
    ready = subject.condition("Ready")
    if ready is None:
        return not_reported(subject)
    if ready.status != "True":
        return advised(subject, Reason.NODE_NOT_READY, told(ready), evidence_of(ready))
    for name in _NODE_TROUBLE:
        found = subject.condition(name, bad="True")
        if found is not None and found.status == "True":
            reason = Reason.NODE_NOT_READY if name in _NODE_BLOCKED else Reason.DEGRADED
            return advised(subject, reason, told(found), evidence_of(found))
    cordoned = subject.spec.get("unschedulable") is True
    message = "the node is ready" + ("; cordoned (spec.unschedulable)" if cordoned else "")
    return subject.verdict(State.READY, Reason.AVAILABLE, message, evidence=[evidence_of(ready)])


def budget(subject: Subject) -> Readiness:
    """Ready whatever it allows; only a budget that cannot be computed is not (SyncFailed)."""
    allowed = subject.condition("DisruptionAllowed")
    if allowed is not None and allowed.status != "True" and allowed.reason == "SyncFailed":
        return advised(subject, Reason.DEGRADED, told(allowed), evidence_of(allowed))
    holds = allowed is not None and allowed.status == "False"
    message = "no disruption is allowed now" if holds else "guards its pods"
    if subject.status.get("expectedPods") == 0:
        message = "selects no pods"
    return subject.verdict(State.READY, Reason.AVAILABLE, message)


def autoscaler(subject: Subject) -> Readiness:
    """Ready while it can work; a target scaled to zero (ScalingDisabled) is no fault.

    Metrics need a while to come: what it cannot do is Progressing first and Failed after a
    minute. ScalingLimited is how it should be, and told.
    """
    where = votes.part(_autoscaler_conditions(subject))
    able = reading.condition(where.conditions, "AbleToScale", bad="False")
    active = reading.condition(where.conditions, "ScalingActive", bad="False")
    for found in (able, active):
        if found is None or found.status == "True" or found.reason == "ScalingDisabled":
            continue
        age = votes.age(subject, found.type, seconds=limits.UNHEALTHY_GRACE_SECONDS)
        reason = Reason.AUTOSCALER_BLIND
        return subject.verdict(
            State.FAILED if age.is_old else State.PROGRESSING,
            reason,
            wording.sentence(told(found), reason.advice),
            evidence=[evidence_of(found)],
            recheck_at=age.until,
        )
    if able is None:
        return not_reported(subject)
    limited = reading.condition(where.conditions, "ScalingLimited", bad="True")
    note = told(limited) if limited is not None and limited.status == "True" else ""
    message = wording.sentence("watches its target", note)
    return subject.verdict(State.READY, Reason.AVAILABLE, message, evidence=[evidence_of(able)])


def _autoscaler_conditions(subject: Subject) -> Any:
    """The conditions; autoscaling/v1 has them as JSON in an annotation."""
    if "conditions" in subject.status:
        return subject.status["conditions"]
    text = reading.text(reading.at(subject.metadata, "annotations", _AUTOSCALER_V1))
    try:
        return msgspec.json.decode(text) if text else None
    except (msgspec.DecodeError, RecursionError):
        return None


# --- what the scheduler allocates ------------------------------------------------------------


def resource_claim(subject: Subject) -> Readiness:
    """Ready once devices are allocated and, where their driver reports on them, are ready.

    They are allocated when a pod uses the claim; nothing in it tells whether one does already.
    """
    for place, device in votes.entries(subject.status.get("devices")):
        path = f"status.devices[{place}].conditions"
        where = votes.part(device.get("conditions"), path=path)
        found = reading.condition(where.conditions, "Ready", bad="False")
        if found is not None and found.status != "True":
            name = wording.steady(reading.text(device.get("device")))
            text = f"device {name}: {told(found)}"
            seen = votes.evidence_at(where, "Ready", found.status)
            return subject.verdict(
                State.PROGRESSING, Reason.CONDITION_NOT_MET, text, evidence=[seen]
            )
    if subject.status.get("allocation"):
        return subject.verdict(State.READY, Reason.AVAILABLE, "devices are allocated")
    return subject.verdict(
        State.PROGRESSING, Reason.CLAIM_PENDING, "devices are allocated when a pod uses it"
    )


def taint_rule(subject: Subject) -> Readiness:
    """A DeviceTaintRule is in force at once; pods that it evicts may take their time."""
    found = subject.condition("EvictionInProgress", bad="True")
    if found is None or found.status == "False":
        return existing(subject)
    return subject.verdict(
        State.PROGRESSING, Reason.RUNNING, "pods are being evicted", evidence=[evidence_of(found)]
    )


def pod_group(subject: Subject) -> Readiness:
    """Ready once its pods were scheduled together (KEP-5832), unless they are being preempted."""
    target = subject.condition("DisruptionTarget", bad="True")
    if target is not None and target.status == "True":
        return advised(subject, Reason.POD_EVICTED, told(target), evidence_of(target))
    found = subject.condition("PodGroupScheduled")
    if found is None:
        return not_reported(subject)
    seen = [evidence_of(found)]
    if found.status == "True":
        return subject.verdict(State.READY, Reason.AVAILABLE, "is scheduled", evidence=seen)
    reason = Reason.UNSCHEDULABLE if found.reason == "Unschedulable" else Reason.CONDITION_NOT_MET
    message = wording.sentence(told(found), reason.advice)
    return subject.verdict(State.PROGRESSING, reason, message, evidence=seen)
