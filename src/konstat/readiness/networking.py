"""The rules for Service and Ingress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from konstat.readiness import events, reading, votes, wording
from konstat.readiness.subject import Subject, advised
from konstat.readiness.verdict import Evidence, Readiness, Reason, State, Turn

WAIT_FOR_ADDRESS: Final = "readiness.konstat.dev/wait-for-address"
"""Annotation ``"true"`` of an Ingress or IngressClass: an address is what makes it ready."""

_BALANCER_EVENTS: Final = frozenset({"SyncLoadBalancerFailed"})


def service(subject: Subject) -> Readiness:
    """Type LoadBalancer needs an address; all others are ready once they exist.

    A selector without ready endpoints is told in the message and is no failure of the Service:
    the workload behind it has a verdict of its own.
    """
    kind = reading.text(subject.spec.get("type")) or "ClusterIP"
    if kind == "ExternalName":
        return subject.verdict(State.READY, Reason.AVAILABLE, "names an external host")
    note = _endpoints_note(subject)
    if kind == "LoadBalancer":
        trouble = _balancer_trouble(subject, note)
        if trouble is not None:
            return trouble
    headless = subject.spec.get("clusterIP") == "None"
    message = "headless" if headless else "has its address"
    return subject.verdict(State.READY, Reason.AVAILABLE, wording.sentence(message, note))


def _balancer_trouble(subject: Subject, note: str) -> Readiness | None:
    """A load balancer without an address, or with a port that could not be provided."""
    for place, entry in votes.entries(reading.at(subject.status, "loadBalancer", "ingress")):
        for port in reading.mappings(entry.get("ports")):
            error = wording.steady(reading.text(port.get("error")))
            if error:
                number = reading.count(port.get("port"))
                path = f"status.loadBalancer.ingress[{place}].ports[port={number}].error"
                text = f"the load balancer cannot provide port {number}: {error}"
                return advised(subject, Reason.DEGRADED, text, Evidence(path, error))
    if _has_address(subject):
        return None
    telling = events.fresh(subject.events_of(subject.uid), _BALANCER_EVENTS, now=subject.now)
    why = wording.steady(telling.first_by_text().message) if telling is not None else ""
    text = wording.with_detail("the load balancer has no address yet", why)
    return subject.verdict(
        State.PROGRESSING,
        Reason.LOAD_BALANCER_PENDING,
        wording.sentence(text, note),
        evidence=[subject.evidence("spec", "type")],
        turn=Turn.OWNER if why else None,
        recheck_at=telling.until if telling is not None else None,
    )


def ingress(subject: Subject) -> Readiness:
    """Ready once it exists: many ingress controllers never write an address (argo-cd #5620).

    Who knows that his does annotates the Ingress, or its IngressClass for all of them, with
    `WAIT_FOR_ADDRESS`; then it is Progressing until it has one.
    """
    if _has_address(subject):
        return subject.verdict(State.READY, Reason.EXISTS, "has its address")
    if _waits_for_address(subject):
        return subject.verdict(
            State.PROGRESSING,
            Reason.LOAD_BALANCER_PENDING,
            "no address is reported yet",
            evidence=[Evidence("status.loadBalancer.ingress", None)],
        )
    return subject.verdict(State.READY, Reason.EXISTS, "exists; no address is reported")


def _waits_for_address(subject: Subject) -> bool:
    own = _asked(subject.content)
    if own is not None:
        return own
    name = reading.text(subject.spec.get("ingressClassName"))
    classes = subject.find("networking.k8s.io", "IngressClass", name=name).objects if name else ()
    return any(_asked(entry) is True for entry in classes)


def _asked(content: Mapping[str, Any]) -> bool | None:
    """What the annotation says; None where it is absent or says neither."""
    value = reading.at(content, "metadata", "annotations", WAIT_FOR_ADDRESS)
    return {"true": True, "false": False}.get(reading.text(value))


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
