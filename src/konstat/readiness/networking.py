"""The rules for Service and Ingress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from konstat.readiness import reading, wording
from konstat.readiness.subject import Subject
from konstat.readiness.verdict import Readiness, Reason, State


def service(subject: Subject) -> Readiness:
    """Type LoadBalancer needs an address; all others are ready once they exist.

    A selector without ready endpoints is told in the message and is no failure of the Service:
    the workload behind it has a verdict of its own.
    """
    kind = reading.text(subject.spec.get("type")) or "ClusterIP"
    if kind == "ExternalName":
        return subject.verdict(State.READY, Reason.AVAILABLE, "names an external host")
    note = _endpoints_note(subject)
    if kind == "LoadBalancer" and not _has_address(subject):
        return subject.verdict(
            State.PROGRESSING,
            Reason.LOAD_BALANCER_PENDING,
            wording.sentence("the load balancer has no address yet", note),
            evidence=[subject.evidence("spec", "type")],
        )
    headless = subject.spec.get("clusterIP") == "None"
    message = "headless" if headless else "has its address"
    return subject.verdict(State.READY, Reason.AVAILABLE, wording.sentence(message, note))


def ingress(subject: Subject) -> Readiness:
    """Ready once it exists: many ingress controllers never write an address (argo-cd #5620)."""
    message = "has its address" if _has_address(subject) else "exists; no address is reported"
    return subject.verdict(State.READY, Reason.EXISTS, message)


def _has_address(subject: Subject) -> bool:
    entries = reading.mappings(reading.at(subject.status, "loadBalancer", "ingress"))
    return any(reading.text(entry.get(key)) for entry in entries for key in ("ip", "hostname"))


def _endpoints_note(subject: Subject) -> str:
    if not reading.mapping(subject.spec.get("selector")):
        return ""
    slices = subject.owned("discovery.k8s.io", "EndpointSlice")
    if slices.problem or any(
        _is_ready(endpoint)
        for entry in slices.objects
        for endpoint in reading.mappings(entry.get("endpoints"))
    ):
        return ""
    return "no ready endpoints behind its selector"


def _is_ready(endpoint: Mapping[str, Any]) -> bool:
    # The API: nobody knowing counts as ready.
    return reading.at(endpoint, "conditions", "ready") is not False
