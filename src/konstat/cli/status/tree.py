"""The tree of `konstat status`: from gathered objects to plain nodes. Pure.

Before: `konstat.cli.status.gather` or `live` brings the objects. After: `render` draws the nodes,
`document` writes them as JSON, where the fields of `TreeNode` are the documented shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from konstat.base import limits
from konstat.errors import KindForbidden
from konstat.objects.kind import Kind
from konstat.readiness import Evidence, Manifests, Readiness, Reason, State, Turn, compute, reading
from konstat.status import TURN_TEXTS

GroupKind = tuple[str, str]
Content = Mapping[str, Any]

# How konstat's own status ends the message of Ready: whose turn the operator says that it is.
_PUBLISHED_TURNS: Final = {f"({text})": turn for turn, text in TURN_TEXTS.items()}


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """The world at one moment, as far as it could be read.

    ``objects`` holds, by group and kind, every object that has an owner (and all objects of kinds
    that verdicts look up by name); a kind that is neither there nor in ``unread`` was not looked
    at. ``unread`` says why a kind could not be read, ``outdated`` why what is known of a kind may
    be old, ``statusless`` names the kinds of resources that have no status subresource.
    """

    resources: tuple[Content, ...] = ()
    objects: Mapping[GroupKind, Sequence[Content]] = msgspec.field(default_factory=dict)
    unread: Mapping[Kind, str] = msgspec.field(default_factory=dict)
    outdated: Mapping[Kind, str] = msgspec.field(default_factory=dict)
    statusless: frozenset[GroupKind] = frozenset()


class ConditionEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One entry of ``status.conditions``; ``current`` is False when it is of another generation."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str
    observed_generation: int | None
    current: bool


class TreeNode(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One object with its verdict and everything below it.

    ``state``, ``reason``, ``message``, ``turn`` and ``evidence`` are konstat's own verdict
    (`konstat.readiness`), ``reported_reason`` is the reason of the object's own Ready condition,
    empty when there is none. ``observed_generation`` is null when the status does not say one.
    ``notes`` say what a reader must know before believing the status. ``cut`` is True when
    objects below were left out because the tree is too deep.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    created_at: str
    state: State
    reason: str
    reported_reason: str
    message: str
    turn: Turn
    generation: int
    observed_generation: int | None
    notes: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    conditions: tuple[ConditionEntry, ...]
    children: tuple[TreeNode, ...]
    cut: bool = False


def build(gathered: Gathered, *, now: datetime) -> tuple[TreeNode, ...]:
    """One node for each resource, with its children and theirs below it."""
    world = _World(gathered)
    return tuple(
        _node(content, world, now, (), gathered.statusless) for content in gathered.resources
    )


class _World:
    """Owners and names over the gathered objects; a `konstat.readiness.Related`."""

    def __init__(self, gathered: Gathered) -> None:
        self._objects = gathered.objects
        self._unread = {(k.group, k.kind): f"{k.resource}: {p}" for k, p in gathered.unread.items()}
        self._rank = {kind: rank for rank, kind in enumerate(gathered.objects)}
        everything = (content for contents in gathered.objects.values() for content in contents)
        self._related = Manifests(everything, complete=gathered.objects)
        self._owned: dict[str, list[tuple[GroupKind, Content]]] = {}
        for kind, contents in gathered.objects.items():
            for content in contents:
                for uid in owner_uids(content):
                    self._owned.setdefault(uid, []).append((kind, content))

    def children(self, uid: str) -> list[Content]:
        """What ``uid`` owns: kinds in the order in which they were gathered, then by name."""
        found = self._owned.get(uid, ())
        ordered = sorted(found, key=lambda pair: (self._rank[pair[0]], _place(pair[1])))
        return [content for _, content in ordered]

    def owned_by(self, uid: str, group: str, kind: str) -> Sequence[Content]:
        self._require(group, kind)
        return self._related.owned_by(uid, group, kind)

    def find(self, group: str, kind: str, namespace: str, name: str) -> Content | None:
        self._require(group, kind)
        return self._related.find(group, kind, namespace, name)

    def events_of(self, uid: str) -> Sequence[Content]:
        return self._related.events_of(uid)

    def _require(self, group: str, kind: str) -> None:
        if (group, kind) in self._unread:
            raise KindForbidden(self._unread[group, kind])


def owner_uids(content: Content) -> list[str]:
    """The uids of an object's owners."""
    references = reading.mappings(reading.at(content, "metadata", "ownerReferences"))
    return [uid for entry in references if (uid := reading.text(entry.get("uid")))]


def _node(
    content: Content,
    world: _World,
    now: datetime,
    above: tuple[str, ...],
    statusless: frozenset[GroupKind],
) -> TreeNode:
    metadata = reading.mapping(content.get("metadata"))
    uid = reading.text(metadata.get("uid"))
    verdict = compute(content, related=world, now=now)
    conditions = tuple(_conditions(content, verdict.generation))
    # Ownership may go round in a circle: an object is not shown below itself.
    children = [c for c in world.children(uid) if _uid(c) not in (*above, uid)]
    cut = bool(children) and len(above) + 1 >= limits.TREE_DEPTH
    ready = next((c for c in conditions if c.type == "Ready"), None)
    return TreeNode(
        api_version=reading.text(content.get("apiVersion")),
        kind=reading.text(content.get("kind")),
        namespace=reading.text(metadata.get("namespace")),
        name=reading.text(metadata.get("name")),
        uid=uid,
        created_at=reading.text(metadata.get("creationTimestamp")),
        state=verdict.state,
        reason=str(verdict.reason),
        reported_reason=ready.reason if ready is not None else "",
        message=verdict.message,
        turn=_turn(verdict, ready),
        generation=verdict.generation,
        observed_generation=_observed(content),
        notes=tuple(_notes(content, verdict, statusless)),
        evidence=verdict.evidence,
        conditions=conditions,
        children=()
        if cut
        else tuple(_node(c, world, now, (*above, uid), statusless) for c in children),
        cut=cut,
    )


def _conditions(content: Content, generation: int) -> Iterator[ConditionEntry]:
    for entry in reading.mappings(reading.at(content, "status", "conditions")):
        observed = entry.get("observedGeneration")
        known = observed if isinstance(observed, int) and not isinstance(observed, bool) else None
        yield ConditionEntry(
            type=reading.text(entry.get("type")),
            status=reading.text(entry.get("status")),
            reason=reading.text(entry.get("reason")),
            message=reading.text(entry.get("message")),
            last_transition_time=reading.text(entry.get("lastTransitionTime")),
            observed_generation=known,
            current=not known or not generation or known == generation,
        )


def _turn(verdict: Readiness, ready: ConditionEntry | None) -> Turn:
    """Whose turn it is: what the operator says of this generation goes before our own verdict."""
    if verdict.ready or ready is None or not ready.current:
        return verdict.turn
    if verdict.reason == Reason.GENERATION_NOT_OBSERVED:
        return verdict.turn
    for ending, turn in _PUBLISHED_TURNS.items():
        if ready.message.endswith(ending):
            return turn
    return verdict.turn


def _observed(content: Content) -> int | None:
    """The generation that the status is about, if it says one."""
    value = reading.at(content, "status", "observedGeneration")
    return None if value is None else reading.integer(value)


def _notes(content: Content, verdict: Readiness, statusless: frozenset[GroupKind]) -> Iterator[str]:
    group, _, _ = reading.text(content.get("apiVersion")).rpartition("/")
    if (group, reading.text(content.get("kind"))) in statusless:
        yield "this kind has no status: nothing is reported on it"
        return
    observed = _observed(content)
    if observed is not None and verdict.generation and observed != verdict.generation:
        yield f"not current: generation {verdict.generation}, observed {observed}"
    elif verdict.reason == Reason.STATUS_NOT_REPORTED:
        yield "no status yet: is its operator running?"


def _place(content: Content) -> tuple[str, str]:
    metadata = reading.mapping(content.get("metadata"))
    return reading.text(metadata.get("namespace")), reading.text(metadata.get("name"))


def _uid(content: Content) -> str:
    return reading.text(reading.at(content, "metadata", "uid"))
