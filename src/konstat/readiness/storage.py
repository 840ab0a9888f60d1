"""The rules for claims, volumes, attachments and snapshots.

`pods` asks `unbound` why a claim of a pod that no node takes is not bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from konstat.objects.quantity import Quantity
from konstat.readiness import events, reading, wording
from konstat.readiness.subject import Subject, advised, evidence_of, not_reported, told
from konstat.readiness.verdict import Evidence, Readiness, Reason, State

_RESIZING: Final = ("Resizing", "FileSystemResizePending", "ModifyingVolume")
_RESIZE_ERRORS: Final = ("ControllerResizeError", "NodeResizeError", "ModifyVolumeError")
_INFEASIBLE: Final = ("ControllerResizeInfeasible", "NodeResizeInfeasible")
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_UNPROVIDED: Final = ("FailedBinding", "ProvisioningFailed", "VolumeBindingFailed")


def claim(subject: Subject) -> Readiness:
    """Bound is Ready, Lost is Failed, and Pending is Ready where the class waits for a consumer.

    The claim itself does not say that its class does so; the StorageClass is looked up
    (argo-cd #29201). A bound claim that asks for more than it has is still being resized: a
    claim has no generation that would tell.
    """
    phase = reading.text(subject.status.get("phase"))
    seen = subject.evidence("status", "phase")
    failed = _resize_failed(subject) if phase != "Lost" else None
    if failed is not None:
        return failed
    if phase == "Bound":
        return _bound(subject, seen)
    if phase == "Lost":
        return advised(subject, Reason.CLAIM_LOST, "the volume behind the claim is gone", seen)
    if not phase:
        return not_reported(subject)
    why = unbound(subject, subject.content)
    return subject.verdict(
        why.state,
        why.reason,
        wording.sentence(why.text, why.reason.advice),
        evidence=[seen, *why.evidence],
        recheck_at=why.until,
    )


def _resize_failed(subject: Subject) -> Readiness | None:
    """Failed, where a resize or another change of the volume could not be made."""
    for name in _RESIZE_ERRORS:
        found = subject.condition(name, bad="True")
        if found is not None and found.status == "True":
            return advised(subject, Reason.CLAIM_RESIZE_FAILED, told(found), evidence_of(found))
    for word in _resource_statuses(subject):
        if word in _INFEASIBLE:
            text = f"the storage provider cannot resize the volume ({word})"
            at = Evidence("status.allocatedResourceStatuses.storage", word)
            return advised(subject, Reason.CLAIM_RESIZE_FAILED, text, at)
    return None


def _resource_statuses(subject: Subject) -> list[str]:
    statuses = reading.mapping(subject.status.get("allocatedResourceStatuses"))
    return sorted(wording.steady(word) for word in map(reading.text, statuses.values()) if word)


def _bound(subject: Subject, seen: Evidence) -> Readiness:
    for name in _RESIZING:
        if subject.is_true(name):
            return _resizing(subject, f"the volume is being resized (condition {name})", seen)
    statuses = _resource_statuses(subject)
    if statuses:
        return _resizing(subject, f"the volume is being resized ({statuses[0]})", seen)
    wanted = _amount(reading.at(subject.spec, "resources", "requests", "storage"))
    there = _amount(reading.at(subject.status, "capacity", "storage"))
    if wanted is not None and there is not None and there < wanted:
        return _resizing(subject, f"the volume has {there} and not yet {wanted}", seen)
    return subject.verdict(State.READY, Reason.AVAILABLE, "bound to its volume", evidence=[seen])


def _resizing(subject: Subject, text: str, seen: Evidence) -> Readiness:
    return subject.verdict(State.PROGRESSING, Reason.CLAIM_RESIZING, text, evidence=[seen])


def _amount(value: Any) -> Quantity | None:
    try:
        return Quantity(value) if isinstance(value, str | int) else None
    except ValueError:
        return None


class Unbound(NamedTuple):
    """Why a claim has no volume yet."""

    state: State
    reason: Reason
    text: str
    evidence: tuple[Evidence, ...] = ()
    until: datetime | None = None


def unbound(subject: Subject, content: Mapping[str, Any]) -> Unbound:
    """Why the pending claim ``content``, found around ``subject``, is not bound.

    First its StorageClass: one that waits for a consumer, or is missing. Then the words of its
    provisioner, which only Events carry.
    """
    spec, metadata = reading.mapping(content.get("spec")), reading.mapping(content.get("metadata"))
    name = wording.steady(reading.text(spec.get("storageClassName")))
    problem = ""
    if name:
        found = subject.find("storage.k8s.io", "StorageClass", name=name)
        problem = found.problem
        if not found.objects and not problem:
            # Progressing: a volume made by hand may carry the name of a class that is none.
            reason = Reason.STORAGE_CLASS_NOT_FOUND
            return Unbound(State.PROGRESSING, reason, f"StorageClass {name} does not exist")
        modes = [entry.get("volumeBindingMode") for entry in found.objects]
        if "WaitForFirstConsumer" in modes and not _has_consumer(metadata):
            text = f"is bound when a pod first uses it (StorageClass {name})"
            return Unbound(State.READY, Reason.WAITING_FOR_CONSUMER, text)
    text = f"waits for a volume of StorageClass {name}" if name else "waits for a volume"
    telling = events.fresh(
        subject.events_of(reading.text(metadata.get("uid"))), _UNPROVIDED, now=subject.now
    )
    if telling is None:
        sentence = wording.sentence(text, problem)
        return Unbound(State.PROGRESSING, Reason.CLAIM_PENDING, sentence)
    cited = telling.first_by_text()
    return Unbound(
        State.FAILED if telling.is_lasting else State.PROGRESSING,
        Reason.VOLUME_NOT_PROVIDED,
        wording.with_detail(text, wording.steady(cited.message.rpartition("desc = ")[2])),
        (cited.evidence,),
        telling.until,
    )


def _has_consumer(metadata: Mapping[str, Any]) -> bool:
    return _SELECTED_NODE in reading.mapping(metadata.get("annotations"))


def volume(subject: Subject) -> Readiness:
    """Available and Bound are Ready, Failed is Failed; a released one is of no use to anybody."""
    phase = reading.text(subject.status.get("phase"))
    evidence = [subject.evidence("status", "phase")]
    if phase == "Failed":
        why = wording.steady(reading.text(subject.status.get("message")))
        message = wording.with_detail("the volume could not be reclaimed", why)
        return subject.verdict(State.FAILED, Reason.DEGRADED, message, evidence=evidence)
    if phase == "Released":
        reason = Reason.VOLUME_RELEASED
        message = wording.sentence("its claim is gone, it has not been reclaimed", reason.advice)
        return subject.verdict(State.PROGRESSING, reason, message, evidence=evidence)
    if phase in ("Available", "Bound"):
        return subject.verdict(
            State.READY, Reason.AVAILABLE, f"phase is {phase}", evidence=evidence
        )
    return subject.verdict(
        State.PROGRESSING,
        Reason.CLAIM_PENDING,
        "the volume is not available yet",
        evidence=evidence,
    )


def attachment(subject: Subject) -> Readiness:
    """Attached is Ready; an error of the driver is Failed, although it is tried again."""
    seen = subject.evidence("status", "attached")
    if subject.status.get("attached") is True:
        return subject.verdict(State.READY, Reason.AVAILABLE, "attached", evidence=[seen])
    error = subject.status.get("attachError")
    if error is not None:
        why = wording.steady(reading.text(reading.at(error, "message")))
        text = wording.with_detail("the volume cannot be attached", why)
        return advised(subject, Reason.VOLUME_NOT_ATTACHED, text, seen)
    return subject.verdict(
        State.PROGRESSING, Reason.ATTACH_PENDING, "the volume is being attached", evidence=[seen]
    )


def snapshot(subject: Subject) -> Readiness:
    """Ready to use is Ready; an error is Failed, although the driver may try again.

    For snapshots of one volume and of groups, and for their contents.
    """
    seen = subject.evidence("status", "readyToUse")
    error = subject.status.get("error")
    if error is not None:
        why = wording.steady(reading.text(reading.at(error, "message")))
        text = wording.with_detail("the snapshot has failed", why)
        path = subject.evidence("status", "error", "message")
        return subject.verdict(State.FAILED, Reason.SNAPSHOT_FAILED, text, evidence=[path, seen])
    if subject.status.get("readyToUse") is True:
        return subject.verdict(State.READY, Reason.AVAILABLE, "ready to use", evidence=[seen])
    if not subject.status:
        return not_reported(subject)
    return subject.verdict(
        State.PROGRESSING, Reason.SNAPSHOT_PENDING, "the snapshot is being taken", evidence=[seen]
    )
