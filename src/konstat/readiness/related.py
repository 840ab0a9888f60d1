"""`Related`: where a rule finds the objects around the one it judges; `Manifests`: over a list.

A rule asks through `Subject`, never here. A cache answers from its stores, a list of manifests (or
of objects that somebody read from a cluster beforehand) through `Manifests`, a test from a dict.
Events are a supplement that expires: a `Related` without `events_of` has none to give.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, runtime_checkable

from konstat.errors import KindUnsynced
from konstat.objects.resource import Resource
from konstat.readiness import reading

Content = Mapping[str, Any]

_EVENT_GROUPS: Final = ("", "events.k8s.io")


class Related(Protocol):
    """Where a rule finds the objects around the one it judges: a cache, or a test's dict.

    Both methods raise KindUnavailable when they cannot tell; they never answer "none" for "I do
    not know". An implementation may also have the method of `RelatedEvents`.
    """

    def owned_by(self, uid: str, group: str, kind: str) -> Sequence[Content]:
        """The objects of a kind that have an ownerReference with ``uid``."""
        ...

    def find(self, group: str, kind: str, namespace: str, name: str) -> Content | None:
        """One object by name (``namespace`` empty for cluster scope); None if it is not there."""
        ...


@runtime_checkable
class RelatedEvents(Protocol):
    """The part of a lookup that not all have: what was told about an object."""

    def events_of(self, uid: str) -> Sequence[Content]:
        """The Events (of either group) whose subject has ``uid``; none where none are known.

        May raise KindUnavailable, which reads as none: events expire, so their absence says
        nothing.
        """
        ...


class Manifests:
    """A `Related` over given objects: manifests of a file, or what was read of a cluster.

    ``objects`` are plain mappings that name their kind, or typed objects; List objects among them
    stand for their items. ``complete`` are the kinds, as (group, kind), of which all there are was
    given, so that one that is absent does not exist. A kind of which anything was given counts as
    complete too; of any other kind nothing is known and a lookup raises KindUnsynced. Owners are
    recognized by uid. Entries that are no objects are left out; nothing is copied or changed.
    """

    def __init__(
        self,
        objects: Iterable[Content | Resource[Any, Any]],
        *,
        complete: Iterable[tuple[str, str]] = (),
    ) -> None:
        self._known = set(complete)
        self._owned: dict[tuple[str, str, str], list[Content]] = defaultdict(list)
        self._named: dict[tuple[str, str, str, str], Content] = {}
        self._events: dict[str, list[Content]] = defaultdict(list)
        for given in objects:
            self._add(given.content if isinstance(given, Resource) else given)

    def owned_by(self, uid: str, group: str, kind: str) -> Sequence[Content]:
        """The given objects of a kind that ``uid`` owns; KindUnsynced when none can be known."""
        self._require(group, kind)
        return self._owned.get((uid, group, kind), [])

    def find(self, group: str, kind: str, namespace: str, name: str) -> Content | None:
        """One given object by name; KindUnsynced when nothing of its kind was given."""
        self._require(group, kind)
        return self._named.get((group, kind, namespace, name))

    def events_of(self, uid: str) -> Sequence[Content]:
        """The given Events whose subject has ``uid``."""
        return self._events.get(uid, [])

    def _require(self, group: str, kind: str) -> None:
        if (group, kind) not in self._known:
            raise KindUnsynced(f"no {kind} was given")

    def _add(self, content: Any) -> None:
        content = reading.mapping(content)
        group, kind = reading.group_and_kind(content)
        if kind.endswith("List") and "items" in content:
            for item in reading.mappings(content.get("items")):
                # Items of a typed list do not name their kind; its list does.
                named = {"apiVersion": content.get("apiVersion"), "kind": kind[: -len("List")]}
                self._add(item if item.get("kind") else {**item, **named})
            return
        if not kind:
            return
        metadata = reading.mapping(content.get("metadata"))
        self._known.add((group, kind))
        place = (reading.text(metadata.get("namespace")), reading.text(metadata.get("name")))
        self._named.setdefault((group, kind, *place), content)
        owners = reading.mappings(metadata.get("ownerReferences"))
        for uid in {reading.text(owner.get("uid")) for owner in owners} - {""}:
            self._owned[uid, group, kind].append(content)
        if kind == "Event" and group in _EVENT_GROUPS:
            subject = content.get("involvedObject") or content.get("regarding")
            uid = reading.text(reading.at(subject, "uid"))
            if uid:
                self._events[uid].append(content)
