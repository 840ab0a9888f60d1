"""What a controller sees: one informer per kind and namespace behind one reading surface.

`Views` also finds the way from any object up its chain of controllers to a resource (pod →
ReplicaSet → Deployment → WebApp) and answers readiness' questions about children.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from konstat.cache import Informer, Informers, Store
from konstat.errors import KindUnavailable, ManifestError
from konstat.kinds import Pod, ReplicaSet
from konstat.objects.kind import Kind
from konstat.objects.resource import Resource
from konstat.objects.snapshot import Snapshot

# Kinds that explain why an owned kind is not ready; watched along with it, by chain of owners.
CAUSES: Mapping[tuple[str, str], tuple[type[Resource[Any, Any]], ...]] = {
    ("apps", "Deployment"): (ReplicaSet, Pod),
    ("apps", "ReplicaSet"): (Pod,),
    ("apps", "StatefulSet"): (Pod,),
    ("apps", "DaemonSet"): (Pod,),
    ("batch", "Job"): (Pod,),
}

_CHAIN = 8  # owner references form short chains; this only stops a cycle


class Views:
    """The informers of one controller's kinds, in all namespaces or in a given few.

    ``writer`` is the name under which own writes overlay the stores, so that their echoes wake
    other controllers of the process but not this one.
    """

    def __init__(self, informers: Informers, *, namespaces: Sequence[str], writer: str) -> None:
        self.writer = writer
        self._informers = informers
        self._namespaces = tuple(namespaces)
        self._by_kind: dict[tuple[str, str], tuple[Informer, ...]] = {}

    def open(self, kind: Kind) -> tuple[Informer, ...]:
        """The informers of a kind, started on first use."""
        key = (kind.group, kind.kind)
        if key not in self._by_kind:
            spaces = self._namespaces if kind.namespaced and self._namespaces else ("",)
            self._by_kind[key] = tuple(
                self._informers.informer(kind, namespace=space) for space in spaces
            )
        return self._by_kind[key]

    def informers(self) -> Iterable[Informer]:
        for informers in self._by_kind.values():
            yield from informers

    def is_open(self, kind: Kind) -> bool:
        return (kind.group, kind.kind) in self._by_kind

    def store(self, kind: Kind, namespace: str) -> Store:
        """The store that holds objects of a kind in a namespace.

        Raises KindUnavailable when it cannot be read truthfully, ManifestError when the kind is
        not declared or the namespace is not among those that the manager works in.
        """
        return self._informer(kind, namespace).require()

    def _informer(self, kind: Kind, namespace: str) -> Informer:
        informers = self._by_kind.get((kind.group, kind.kind))
        if informers is None:
            raise ManifestError(
                f"{kind} is not declared: add it to owns=[…] (children), optional=[…] or"
                " watches=[…] of the Controller, so that it is cached"
            )
        if not (kind.namespaced and self._namespaces):
            return informers[0]
        if namespace not in self._namespaces:
            raise ManifestError(
                f"namespace {namespace!r} is not among those that this manager works in:"
                f" {', '.join(self._namespaces)}"
            )
        return informers[self._namespaces.index(namespace)]

    def stores(self, kind: Kind, namespace: str | None) -> list[Store]:
        """The stores of a kind in one namespace, or in all that are watched (None)."""
        if namespace is not None or not (kind.namespaced and self._namespaces):
            return [self.store(kind, namespace or "")]
        return [self.store(kind, space) for space in self._namespaces]

    def by_uid(self, kind: Kind, uid: str) -> Snapshot | None:
        """An object by uid, wherever it is; what is known now, without asking for more."""
        for informer in self._by_kind.get((kind.group, kind.kind), ()):
            found = informer.store.by_uid(uid)
            if found is not None:
                return found
        return None

    def writing(self, kind: Kind, namespace: str, name: str) -> AbstractContextManager[None]:
        """A block around one of our writes: its echo does not wake this controller."""
        store = self._informer(kind, namespace).store
        return store.writing(namespace, name, writer=self.writer)

    def put_own(self, snapshot: Snapshot) -> None:
        """Overlay the answer of our own write."""
        self._informer(snapshot.kind, snapshot.namespace).store.put_own(
            snapshot, writer=self.writer
        )

    def resource_uid(self, kind: Kind, start: Snapshot) -> str:
        """The uid of the ``kind`` object at the top of an object's controllers; "" if none."""
        uid = start.controller_uid
        for _ in range(_CHAIN):
            if not uid or self.by_uid(kind, uid) is not None:
                return uid
            parent = self._any_by_uid(uid)
            uid = parent.controller_uid if parent is not None else ""
        return ""

    def _any_by_uid(self, uid: str) -> Snapshot | None:
        for informer in self.informers():
            found = informer.store.by_uid(uid)
            if found is not None:
                return found
        return None

    # --- konstat.readiness.Related ------------------------------------------------------------

    def owned_by(self, uid: str, group: str, kind: str) -> Sequence[Mapping[str, Any]]:
        """The objects of a kind that ``uid`` owns; raises KindUnavailable when not known."""
        informers = self._by_kind.get((group, kind))
        if informers is None:
            raise KindUnavailable(f"{kind} objects are not watched")
        return [s.content for i in informers for s in i.require().by_owner(uid)]

    def find(self, group: str, kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        """One object by name; raises KindUnavailable when not known."""
        informers = self._by_kind.get((group, kind))
        if informers is None:
            raise KindUnavailable(f"{kind} objects are not watched")
        for informer in informers:
            found = informer.require().get(namespace, name)
            if found is not None:
                return found.content
        return None
