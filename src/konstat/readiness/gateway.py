"""The rules for the Gateway API: classes, gateways with their listeners, routes and policies.

Conditions stand in lists of their own: one for each listener of a Gateway, one for each parent and
controller of a route, one for each ancestor of a policy. What the spec names decides which of them
count: controllers have left entries of former parents behind, and such an entry is no news. A
parent that nobody has answered for is not accepted. Meanings are those of the API's types and of
GEP-1364: Accepted, Programmed and ResolvedRefs are always written, what is bad only when True.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from konstat.readiness import reading, votes, wording
from konstat.readiness.reading import Condition
from konstat.readiness.subject import Subject, told
from konstat.readiness.verdict import Evidence, Readiness, Reason, State
from konstat.readiness.votes import Part, Vote

GROUP: Final = "gateway.networking.k8s.io"
_GROUP_EXPERIMENTAL: Final = "gateway.networking.x-k8s.io"

ROUTES: Final = ("GRPCRoute", "HTTPRoute", "TCPRoute", "TLSRoute", "UDPRoute")
POLICIES: Final = ("BackendLBPolicy", "BackendTLSPolicy", "BackendTrafficPolicy")

# Reasons with which a controller says that it has not got to it yet; a GatewayClass whose
# controller has not seen it is created with Pending (its schema's default).
_WAITING: Final = frozenset({"AddressNotAssigned", "ListenersNotReady", "Pending", "Waiting"})
# Reasons that are about the infrastructure and not about what the user wrote.
_INFRASTRUCTURE: Final = frozenset({"NoResources"})
_REFUSALS: Final = {
    "Accepted": Reason.NOT_ACCEPTED,
    "Scheduled": Reason.NOT_ACCEPTED,
    "Programmed": Reason.NOT_ACCEPTED,
    "ResolvedRefs": Reason.REFERENCE_NOT_RESOLVED,
}
_POSITIVE: Final = ("Accepted", "Programmed", "Ready", "ResolvedRefs")
_BAD_NEWS: Final = ("Conflicted", "Detached", "PartiallyInvalid")


def gateway_class(subject: Subject) -> Readiness:
    """Accepted by its controller; until one has seen it, it waits for the cluster's owner."""
    where = votes.part(subject.status.get("conditions"))
    cast = list(_judge(subject, where, required=("Accepted",)))
    supported = reading.condition(where.conditions, "SupportedVersion", bad="False")
    note = told(supported) if supported is not None and supported.status == "False" else ""
    return votes.decide(
        subject,
        cast,
        ready=wording.sentence("accepted by its controller", note),
        reason=Reason.CONDITIONS_MET,
    )


def gateway(subject: Subject) -> Readiness:
    """Accepted and programmed, and so is each listener that the spec names."""
    where = votes.part(subject.status.get("conditions"))
    cast = [
        *_judge(subject, where, required=(("Accepted", "Scheduled"), ("Programmed", "Ready"))),
        *_listeners(subject),
    ]
    wanted = len(reading.mappings(subject.spec.get("listeners")))
    ready = f"programmed, with {wanted} {'listener' if wanted == 1 else 'listeners'}"
    return votes.decide(subject, cast, ready=ready, reason=Reason.CONDITIONS_MET)


def mesh(subject: Subject) -> Readiness:
    """Accepted by its controller."""
    cast = _judge(subject, votes.part(subject.status.get("conditions")), required=("Accepted",))
    return votes.decide(subject, cast, ready="accepted", reason=Reason.CONDITIONS_MET)


def _listeners(subject: Subject) -> Iterator[Vote]:
    reported = {
        reading.text(entry.get("name")): entry
        for _, entry in votes.entries(subject.status.get("listeners"))
    }
    for _, listener in votes.entries(subject.spec.get("listeners")):
        name = reading.text(listener.get("name"))
        label = f"listener {wording.steady(name)}"
        path = f'status.listeners[name="{name}"]'
        entry = reported.get(name)
        if entry is None:
            yield _unanswered(label, path)
            continue
        where = votes.part(entry.get("conditions"), label=label, path=f"{path}.conditions")
        either = (("Accepted", "Programmed", "Ready"),)
        yield from _judge(subject, where, required=either)


# --- routes and policies ---------------------------------------------------------------------


class _Parent(NamedTuple):
    """A parentRef with its defaults filled in, so that spec and status compare."""

    group: str
    kind: str
    namespace: str
    name: str
    section: str
    port: int

    @property
    def label(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        section = f" section {self.section}" if self.section else ""
        port = f" port {self.port}" if self.port else ""
        return wording.steady(f"parent {self.kind} {where}{section}{port}")


def route(subject: Subject) -> Readiness:
    """Accepted, with all references resolved, for each parent that the spec names.

    An entry whose parent the spec no longer names says nothing (bug 16); of two controllers that
    answer for one parent both must accept (bug 17).
    """
    wanted = sorted({_parent(ref, subject) for ref in reading.mappings(_refs(subject))})
    if not wanted:
        return subject.verdict(
            State.UNKNOWN,
            Reason.NOTHING_TO_JUDGE,
            "the spec names no parent, so the route has no effect",
            evidence=[Evidence("spec.parentRefs", None)],
        )
    cast: list[Vote] = []
    for parent in wanted:
        cast += _of_parent(subject, parent)
    named = "its parent" if len(wanted) == 1 else f"all {len(wanted)} parents"
    return votes.decide(subject, cast, ready=f"accepted by {named}", reason=Reason.CONDITIONS_MET)


def _refs(subject: Subject) -> Any:
    return subject.spec.get("parentRefs")


def _parent(ref: Any, subject: Subject) -> _Parent:
    group, kind = reading.at(ref, "group"), reading.text(reading.at(ref, "kind"))
    return _Parent(
        group if isinstance(group, str) else GROUP,
        kind or "Gateway",
        reading.text(reading.at(ref, "namespace")) or subject.namespace,
        reading.text(reading.at(ref, "name")),
        reading.text(reading.at(ref, "sectionName")),
        reading.count(reading.at(ref, "port")),
    )


def _of_parent(subject: Subject, parent: _Parent) -> list[Vote]:
    found = [
        (place, entry)
        for place, entry in votes.entries(subject.status.get("parents"))
        if _parent(entry.get("parentRef"), subject) == parent
    ]
    if not found:
        return [_unanswered(parent.label, "status.parents")]
    cast: list[Vote] = []
    for place, entry in found:
        path = f"status.parents[{place}].conditions"
        where = votes.part(entry.get("conditions"), label=parent.label, path=path)
        cast += _judge(subject, where, required=("Accepted", "ResolvedRefs"))
    return cast


def policy(subject: Subject) -> Readiness:
    """Accepted for each ancestor that a controller reports; at least one must have."""
    cast: list[Vote] = []
    for place, entry in votes.entries(subject.status.get("ancestors")):
        ref = entry.get("ancestorRef")
        label = _parent(ref, subject).label.replace("parent", "ancestor", 1)
        path = f"status.ancestors[{place}].conditions"
        where = votes.part(entry.get("conditions"), label=label, path=path)
        cast += _judge(subject, where, required=("Accepted",))
    if not cast:
        cast = [_unanswered("the policy", "status.ancestors")]
    return votes.decide(
        subject, cast, ready="accepted for all its ancestors", reason=Reason.CONDITIONS_MET
    )


# --- one list of conditions ------------------------------------------------------------------


def _unanswered(label: str, path: str) -> Vote:
    text = f"{label}: no controller has answered for it yet"
    return Vote(State.PROGRESSING, Reason.NOT_PICKED_UP, text, Evidence(path, None))


def _judge(
    subject: Subject, where: Part, *, required: Iterable[str | tuple[str, ...]]
) -> Iterator[Vote]:
    """The votes of one list; of each tuple in ``required`` one name must be there."""
    names = list(_POSITIVE)
    present = {entry.type for entry in where.conditions}
    for group in required:
        options = (group,) if isinstance(group, str) else group
        if not present.intersection(options):
            yield votes.missing(where, options[0])
        names += [name for name in options if name not in names]
    for name in names:
        found = reading.condition(where.conditions, name, bad="False")
        if found is not None:
            yield votes.stale(where, found, subject.generation) or _positive(where, found)
    for name in _BAD_NEWS:
        found = reading.condition(where.conditions, name, bad="True")
        if found is None or found.status == "False":
            continue
        current = votes.vote(where, found, *_BAD_NEWS_STATES[found.status])
        yield votes.stale(where, found, subject.generation) or current


_BAD_NEWS_STATES: Final[Mapping[str, tuple[State, Reason]]] = {
    "True": (State.FAILED, Reason.NOT_ACCEPTED),
    "Unknown": (State.UNKNOWN, Reason.CONDITION_UNKNOWN),
}


def _positive(where: Part, found: Condition) -> Vote:
    if found.status == "True":
        return votes.vote(where, found, State.READY, Reason.CONDITIONS_MET)
    if found.reason in _WAITING:
        answered = found.status == "False" or found.type != "Accepted"
        reason = Reason.CONDITION_NOT_MET if answered else Reason.NOT_PICKED_UP
        return votes.vote(where, found, State.PROGRESSING, reason)
    if found.status == "Unknown":
        return votes.vote(where, found, State.UNKNOWN, Reason.CONDITION_UNKNOWN)
    if found.reason in _INFRASTRUCTURE:
        return votes.vote(where, found, State.FAILED, Reason.DEGRADED)
    refusal = _REFUSALS.get(found.type)
    if refusal is None:
        return votes.vote(where, found, State.PROGRESSING, Reason.CONDITION_NOT_MET)
    return votes.vote(where, found, State.FAILED, refusal)


RULES: Final = {
    (GROUP, "GatewayClass"): gateway_class,
    (GROUP, "Gateway"): gateway,
    (GROUP, "ListenerSet"): gateway,
    (GROUP, "Mesh"): mesh,
    (_GROUP_EXPERIMENTAL, "XListenerSet"): gateway,
    (_GROUP_EXPERIMENTAL, "XMesh"): mesh,
    (_GROUP_EXPERIMENTAL, "XBackendTrafficPolicy"): policy,
    **{(GROUP, kind): route for kind in ROUTES},
    **{(GROUP, kind): policy for kind in POLICIES},
}
"""The rules of this module, by group and kind; ReferenceGrant has nothing to wait for."""

EXISTING: Final = ((GROUP, "ReferenceGrant"),)
