"""The rules for claims, volumes, namespaces, nodes, definitions, budgets, autoscalers, and for
kinds that have nothing to wait for."""

from __future__ import annotations

from typing import Final

from konstat.readiness import reading, wording
from konstat.readiness.subject import Subject, evidence_of, told
from konstat.readiness.verdict import Evidence, Readiness, Reason, State

EXISTING: Final = frozenset(
    {
        ("", "ConfigMap"),
        ("", "Endpoints"),
        ("", "Event"),
        ("", "LimitRange"),
        ("", "PodTemplate"),
        ("", "ResourceQuota"),
        ("", "Secret"),
        ("", "ServiceAccount"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("apps", "ControllerRevision"),
        ("coordination.k8s.io", "Lease"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("events.k8s.io", "Event"),
        ("networking.k8s.io", "IngressClass"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("node.k8s.io", "RuntimeClass"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("storage.k8s.io", "StorageClass"),
    }
)
"""Kinds without a status that anybody could wait for."""


def existing(subject: Subject) -> Readiness:
    """Ready because it exists."""
    return subject.verdict(State.READY, Reason.EXISTS, "exists")


def claim(subject: Subject) -> Readiness:
    """Bound is Ready, Lost is Failed, and Pending is Ready where the class waits for a consumer.

    The claim itself does not say that its class does so; the StorageClass is looked up
    (argo-cd #29201).
    """
    phase = reading.text(subject.status.get("phase"))
    evidence = [subject.evidence("status", "phase")]
    if phase == "Bound":
        for name in ("Resizing", "FileSystemResizePending"):
            if subject.is_true(name):
                return subject.verdict(
                    State.PROGRESSING,
                    Reason.CLAIM_RESIZING,
                    f"the volume is being resized (condition {name})",
                    evidence=evidence,
                )
        return subject.verdict(
            State.READY, Reason.AVAILABLE, "bound to its volume", evidence=evidence
        )
    if phase == "Lost":
        message = wording.sentence("the volume behind the claim is gone", Reason.CLAIM_LOST.advice)
        return subject.verdict(State.FAILED, Reason.CLAIM_LOST, message, evidence=evidence)
    return _pending_claim(subject, evidence)


def _pending_claim(subject: Subject, evidence: list[Evidence]) -> Readiness:
    name = reading.text(subject.spec.get("storageClassName"))
    annotations = reading.mapping(subject.metadata.get("annotations"))
    problem = ""
    if name and "volume.kubernetes.io/selected-node" not in annotations:
        found = subject.find("storage.k8s.io", "StorageClass", name=name)
        problem = found.problem
        modes = [entry.get("volumeBindingMode") for entry in found.objects]
        if "WaitForFirstConsumer" in modes:
            return subject.verdict(
                State.READY,
                Reason.WAITING_FOR_CONSUMER,
                f"is bound when a pod first uses it (StorageClass {name})",
                evidence=evidence,
            )
        if not found.objects and not problem:
            problem = f"StorageClass {name} does not exist"
    text = f"waits for a volume of StorageClass {name}" if name else "waits for a volume"
    return subject.verdict(
        State.PROGRESSING, Reason.CLAIM_PENDING, wording.sentence(text, problem), evidence=evidence
    )


def volume(subject: Subject) -> Readiness:
    """Available, Bound and Released are Ready, Failed is Failed."""
    phase = reading.text(subject.status.get("phase"))
    evidence = [subject.evidence("status", "phase")]
    if phase == "Failed":
        why = wording.steady(reading.text(subject.status.get("message")))
        message = wording.with_detail("the volume could not be reclaimed", why)
        return subject.verdict(State.FAILED, Reason.DEGRADED, message, evidence=evidence)
    if phase in ("Available", "Bound", "Released"):
        return subject.verdict(
            State.READY, Reason.AVAILABLE, f"phase is {phase}", evidence=evidence
        )
    return subject.verdict(
        State.PROGRESSING,
        Reason.CLAIM_PENDING,
        "the volume is not available yet",
        evidence=evidence,
    )


def namespace(subject: Subject) -> Readiness:
    """Active is Ready; Terminating is told by `deletion` before any rule."""
    if subject.status.get("phase") == "Active":
        return subject.verdict(
            State.READY,
            Reason.AVAILABLE,
            "active",
            evidence=[subject.evidence("status", "phase")],
        )
    return _not_reported(subject)


def node(subject: Subject) -> Readiness:
    """Ready by its condition; a cordoned node is Ready and says so."""
    ready = subject.condition("Ready")
    if ready is None:
        return _not_reported(subject)
    if ready.status == "True":
        cordoned = subject.spec.get("unschedulable") is True
        message = "the node is ready" + ("; cordoned (spec.unschedulable)" if cordoned else "")
        return subject.verdict(
            State.READY, Reason.AVAILABLE, message, evidence=[evidence_of(ready)]
        )
    # Unknown means that the kubelet has stopped answering: not a lack of evidence, but trouble.
    return subject.verdict(
        State.FAILED, Reason.NODE_NOT_READY, told(ready), evidence=[evidence_of(ready)]
    )


def definition(subject: Subject) -> Readiness:
    """A CustomResourceDefinition is Ready once the server serves it with a structural schema."""
    names = subject.condition("NamesAccepted")
    if names is not None and names.status == "False":
        return _advised(subject, Reason.NAMES_NOT_ACCEPTED, told(names), evidence_of(names))
    schema = subject.condition("NonStructuralSchema", bad="True")
    if schema is not None and schema.status == "True":
        return _advised(subject, Reason.SCHEMA_INVALID, told(schema), evidence_of(schema))
    established = subject.condition("Established")
    if established is None:
        return _not_reported(subject)
    seen = evidence_of(established)
    if established.status == "True":
        return subject.verdict(State.READY, Reason.AVAILABLE, "is served", evidence=[seen])
    if established.status == "False" and established.reason != "Installing":
        return _advised(subject, Reason.NOT_ESTABLISHED, told(established), seen)
    return subject.verdict(
        State.PROGRESSING, Reason.CONDITION_NOT_MET, told(established), evidence=[seen]
    )


def budget(subject: Subject) -> Readiness:
    """Ready whatever it allows; only a budget that cannot be computed is not (SyncFailed)."""
    allowed = subject.condition("DisruptionAllowed")
    if allowed is not None and allowed.status != "True" and allowed.reason == "SyncFailed":
        return _advised(subject, Reason.DEGRADED, told(allowed), evidence_of(allowed))
    holds = allowed is not None and allowed.status == "False"
    message = "no disruption is allowed now" if holds else "guards its pods"
    return subject.verdict(State.READY, Reason.AVAILABLE, message)


def autoscaler(subject: Subject) -> Readiness:
    """Ready while it can work; a target scaled to zero (ScalingDisabled) is no fault."""
    able = subject.condition("AbleToScale")
    active = subject.condition("ScalingActive")
    for found in (able, active):
        if found is None or found.status == "True" or found.reason == "ScalingDisabled":
            continue
        return subject.verdict(
            State.PROGRESSING,
            Reason.CONDITION_NOT_MET,
            told(found),
            evidence=[evidence_of(found)],
        )
    if able is None:
        return _not_reported(subject)
    return subject.verdict(
        State.READY, Reason.AVAILABLE, "watches its target", evidence=[evidence_of(able)]
    )


def _advised(subject: Subject, reason: Reason, text: str, seen: Evidence) -> Readiness:
    message = wording.sentence(text, reason.advice)
    return subject.verdict(State.FAILED, reason, message, evidence=[seen])


def _not_reported(subject: Subject) -> Readiness:
    return subject.verdict(
        State.UNKNOWN, Reason.STATUS_NOT_REPORTED, "no controller has written the status"
    )
