"""The rules for the API's own machinery: definitions, aggregated APIs, admission, requests, quotas.

Also for Secrets and ConfigMaps, which are ready once the keys are there that somebody needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from konstat.base import limits
from konstat.objects.quantity import same_amount
from konstat.readiness import reading, votes, wording
from konstat.readiness.reading import Condition
from konstat.readiness.subject import Subject, advised, evidence_of, not_reported, told
from konstat.readiness.verdict import Evidence, Readiness, Reason, State

REQUIRED_KEYS: Final = "readiness.konstat.dev/required-keys"
"""Annotation of a Secret or ConfigMap: the keys, separated by commas, that make it ready."""

_KEYS_BY_TYPE: Final = {
    "bootstrap.kubernetes.io/token": ("token-id", "token-secret"),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/service-account-token": ("token",),  # filled in by the token controller
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def definition(subject: Subject) -> Readiness:
    """A CustomResourceDefinition is Ready once the server serves it with a structural schema."""
    names = subject.condition("NamesAccepted")
    if names is not None and names.status == "False":
        return advised(subject, Reason.NAMES_NOT_ACCEPTED, told(names), evidence_of(names))
    schema = subject.condition("NonStructuralSchema", bad="True")
    if schema is not None and schema.status == "True":
        return advised(subject, Reason.SCHEMA_INVALID, told(schema), evidence_of(schema))
    leaving = subject.condition("Terminating", bad="True")
    if leaving is not None and leaving.status == "True":
        return subject.verdict(
            State.TERMINATING, Reason.DELETING, told(leaving), evidence=[evidence_of(leaving)]
        )
    established = subject.condition("Established")
    if established is None:
        return not_reported(subject)
    seen = evidence_of(established)
    if established.status == "True":
        return subject.verdict(State.READY, Reason.AVAILABLE, "is served", evidence=[seen])
    if established.status == "False" and established.reason != "Installing":
        return advised(subject, Reason.NOT_ESTABLISHED, told(established), seen)
    return subject.verdict(
        State.PROGRESSING, Reason.CONDITION_NOT_MET, told(established), evidence=[seen]
    )


def api_service(subject: Subject) -> Readiness:
    """Available is Ready; an aggregated API that stays unreachable for a minute is Failed.

    Before that it is Progressing, because an API that has just come needs its pods.
    """
    found = subject.condition("Available")
    if found is None:
        return not_reported(subject)
    seen = [evidence_of(found)]
    if found.status == "True":
        return subject.verdict(State.READY, Reason.AVAILABLE, "is served", evidence=seen)
    age = votes.age(subject, "Available", seconds=limits.UNHEALTHY_GRACE_SECONDS)
    reason = Reason.API_UNAVAILABLE
    return subject.verdict(
        State.FAILED if age.is_old else State.PROGRESSING,
        reason,
        wording.sentence(told(found), reason.advice),
        evidence=seen,
        recheck_at=age.until,
    )


def signing_request(subject: Subject) -> Readiness:
    """Ready with its certificate; Denied and Failed are Failed; else it waits for approval.

    For CertificateSigningRequests and PodCertificateRequests.
    """
    for name in ("Denied", "Failed"):
        found = subject.condition(name, bad="True")
        if found is not None and found.status != "False":
            return advised(subject, Reason.DENIED, told(found), evidence_of(found))
    issued = "certificate" if "certificate" in subject.status else "certificateChain"
    seen = Evidence(f"status.{issued}", bool(subject.status.get(issued)))
    if subject.status.get(issued):
        return subject.verdict(State.READY, Reason.COMPLETED, "is signed", evidence=[seen])
    approved = subject.condition("Approved")
    if approved is not None and approved.status == "True":
        signer = wording.steady(reading.text(subject.spec.get("signerName")))
        text = f"is approved and waits for its signer {signer}".rstrip()
        return subject.verdict(State.PROGRESSING, Reason.RUNNING, text, evidence=[seen])
    return subject.verdict(
        State.PROGRESSING, Reason.APPROVAL_PENDING, "waits for approval", evidence=[seen]
    )


def flow_schema(subject: Subject) -> Readiness:
    """Dangling means that its priority level does not exist."""
    found = subject.condition("Dangling", bad="True")
    if found is None:
        return not_reported(subject)
    if found.status == "False":
        return subject.verdict(
            State.READY, Reason.AVAILABLE, "is in force", evidence=[evidence_of(found)]
        )
    return advised(subject, Reason.REFERENCE_NOT_RESOLVED, told(found), evidence_of(found))


def service_cidr(subject: Subject) -> Readiness:
    """Ready by its condition."""
    found = subject.condition("Ready")
    if found is None:
        return not_reported(subject)
    return _by_condition(subject, found, good="addresses are handed out from it")


def component(subject: Subject) -> Readiness:
    """A ComponentStatus by its condition Healthy, which stands beside no status."""
    where = votes.part(subject.content.get("conditions"), path="conditions")
    found = reading.condition(where.conditions, "Healthy", bad="False")
    if found is None:
        return not_reported(subject)
    seen = [votes.evidence_at(where, "Healthy", found.status)]
    if found.status == "True":
        return subject.verdict(State.READY, Reason.AVAILABLE, "is healthy", evidence=seen)
    return subject.verdict(State.FAILED, Reason.DEGRADED, told(found), evidence=seen)


def _by_condition(subject: Subject, found: Condition, *, good: str) -> Readiness:
    seen = [evidence_of(found)]
    if found.status == "True":
        return subject.verdict(State.READY, Reason.AVAILABLE, good, evidence=seen)
    state = State.PROGRESSING if found.status == "False" else State.UNKNOWN
    unknown = state is State.UNKNOWN
    reason = Reason.CONDITION_UNKNOWN if unknown else Reason.CONDITION_NOT_MET
    return subject.verdict(state, reason, told(found), evidence=seen)


def admission_policy(subject: Subject) -> Readiness:
    """In force once the server has checked the types of this generation without a warning.

    An expression that it warns of fails for the objects in question: the policy then does
    whatever its failurePolicy says, and not what it was written for.
    """
    warnings = reading.at(subject.status, "typeChecking", "expressionWarnings")
    for place, entry in votes.entries(warnings):
        field = wording.steady(reading.text(entry.get("fieldRef")))
        why = wording.steady(reading.text(entry.get("warning")))
        text = wording.with_detail(f"type checking warns of {field or 'an expression'}", why)
        path = f"status.typeChecking.expressionWarnings[{place}].fieldRef"
        return advised(subject, Reason.NOT_ACCEPTED, text, Evidence(path, field))
    return subject.verdict(
        State.READY,
        Reason.AVAILABLE,
        "has been checked",
        evidence=[subject.evidence("status", "observedGeneration")],
    )


def bounded(subject: Subject) -> Readiness:
    """Work of the API's own that ends: Failed, else Succeeded or Complete, else it runs.

    For StorageVersionMigrations and ResourcePoolStatusRequests.
    """
    failed = subject.condition("Failed", bad="True")
    if failed is not None and failed.status == "True":
        return subject.verdict(
            State.FAILED, Reason.DEGRADED, told(failed), evidence=[evidence_of(failed)]
        )
    for name in ("Succeeded", "Complete"):
        found = subject.condition(name)
        if found is not None and found.status == "True":
            return subject.verdict(
                State.READY, Reason.COMPLETED, "has succeeded", evidence=[evidence_of(found)]
            )
    running = subject.condition("Running")
    if running is None:
        return not_reported(subject)
    return subject.verdict(
        State.PROGRESSING, Reason.RUNNING, "is at work", evidence=[evidence_of(running)]
    )


def storage_version(subject: Subject) -> Readiness:
    """A StorageVersion: all API servers encode alike."""
    found = subject.condition("AllEncodingVersionsEqual")
    if found is None:
        return not_reported(subject)
    return _by_condition(subject, found, good="all servers encode alike")


def resource_quota(subject: Subject) -> Readiness:
    """In force once the controller has taken the limits over; what is used up is told.

    Until then the server refuses everything that the quota limits.
    """
    wanted = reading.mapping(subject.spec.get("hard"))
    taken = reading.mapping(subject.status.get("hard"))
    seen = [Evidence("status.hard", ", ".join(sorted(map(str, taken))) or None)]
    if wanted.keys() != taken.keys() or not all(same_amount(wanted[k], taken[k]) for k in wanted):
        return subject.verdict(
            State.PROGRESSING,
            Reason.NOT_IN_FORCE,
            "the quota's limits have not been taken over into its status",
            evidence=seen,
        )
    used = reading.mapping(subject.status.get("used"))
    full = [str(k) for k, limit in taken.items() if same_amount(used.get(k), limit)]
    note = f"used up: {wording.listed(full)}" if full else ""
    message = wording.sentence("exists", wording.steady(note))
    return subject.verdict(State.READY, Reason.EXISTS, message, evidence=seen if wanted else ())


def keyed(subject: Subject) -> Readiness:
    """A Secret or ConfigMap: ready once it has the keys that its type or annotation asks for."""
    asked = reading.text(reading.at(subject.metadata, "annotations", REQUIRED_KEYS))
    required = {key.strip() for key in asked.split(",")} - {""}
    required.update(_KEYS_BY_TYPE.get(reading.text(subject.content.get("type")), ()))
    absent = sorted(required - _filled(subject.content))
    if not absent:
        return subject.verdict(State.READY, Reason.EXISTS, "exists")
    reason = Reason.KEYS_MISSING
    return subject.verdict(
        State.PROGRESSING,
        reason,
        wording.sentence(f"lacks {wording.steady(wording.listed(absent))}", reason.advice),
        evidence=[Evidence(f'data["{key}"]', None) for key in absent],
    )


def _filled(content: Any) -> set[str]:
    """The keys that hold something."""
    return set(_keys(reading.mapping(content.get(part)) for part in _DATA))


_DATA: Final = ("data", "binaryData", "stringData")


def _keys(parts: Iterable[Any]) -> Iterable[str]:
    for values in parts:
        yield from (str(key) for key, value in values.items() if value)
