"""Objects in memory, for `FakeContext`: what a server and its controllers would make of an apply.

Pure but for the time of a deletion. Objects are kept as snapshots, as caches keep them, so nobody
can change them from outside and only what JSON can say comes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from konstat.base import clock
from konstat.controller.views import CAUSES
from konstat.errors import KindUnavailable
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot
from konstat.testing.pretend import begin, pretend_ready

Children = Literal["ready", "new"]
Content = Mapping[str, Any]

_Key = tuple[str, str, str, str]

# Watched along with the kinds that they explain, so their absence is known.
_EXPLAINING = frozenset((c.kind.group, c.kind.kind) for causes in CAUSES.values() for c in causes)


class FakeWorld:
    """Every object that is there, and what becomes of those that are applied or deleted.

    ``children`` says how applied objects look: ``"ready"`` (their controllers have done their
    work at once) or ``"new"`` (nobody but the server has touched them). A status that came with an
    object stays, but follows a new generation in a ``"ready"`` world.
    """

    def __init__(self, *, children: Children) -> None:
        self._children: Children = children
        self._objects: dict[_Key, Snapshot] = {}
        self._applied: dict[str, Content] = {}  # by uid: the manifest that was applied last
        self._given: set[str] = set()  # uids of those whose status is the test's own
        self._version = 0
        self.unavailable: dict[tuple[str, str], KindUnavailable] = {}

    def add(self, kind: Kind, content: Content) -> Snapshot:
        """Put an object there as it is, completed where a server would complete it."""
        snapshot = self._put(kind, content, applied=False)
        if content.get("status"):
            self._given.add(snapshot.uid)
        return snapshot

    def get(self, kind: Kind, *, namespace: str, name: str) -> Snapshot | None:
        return self._objects.get((kind.group, kind.kind, namespace, name))

    def list(
        self, kind: Kind, *, namespace: str = "", labels: Mapping[str, str] | None = None
    ) -> list[Snapshot]:
        """By namespace and name, as caches list; an empty namespace means all."""
        wanted = (labels or {}).items()
        return [
            snapshot
            for (group, name, where, _), snapshot in sorted(self._objects.items())
            if (group, name) == (kind.group, kind.kind)
            and (not namespace or where == namespace)
            and wanted <= (snapshot.labels or {}).items()
        ]

    def all(self) -> list[Snapshot]:
        """In the order of their creation."""
        return list(self._objects.values())

    def apply(self, kind: Kind, wanted: Content) -> Snapshot:
        """Server-side apply, with maps merged, lists replaced, and what is no longer wanted gone.

        An object that is being deleted stays as it is.
        """
        metadata = wanted["metadata"]
        live = self.get(kind, namespace=metadata.get("namespace", ""), name=metadata["name"])
        if live is None:
            made = self._put(kind, begin(wanted), applied=True)
        elif live.deleting:
            return live
        else:
            made = self._change(live, wanted)
        self._applied[made.uid] = wanted
        return made

    def _change(self, live: Snapshot, wanted: Content) -> Snapshot:
        before = live.content
        after = _merged(before, wanted, self._applied.get(live.uid, {}))
        after["metadata"]["ownerReferences"] = _owners(before, wanted)
        if after.get("spec") != before.get("spec"):
            generation = live.generation + 1
            after["metadata"]["generation"] = generation
            status = before.get("status") or {}
            follows = status.get("observedGeneration") == live.generation
            if self._children == "ready" and live.uid in self._given and follows:
                after["status"] = {**status, "observedGeneration": generation}
        return self._put(live.kind, after, applied=True)

    def delete(self, found: Snapshot) -> bool:
        """True when it is gone, False while it lingers behind its finalizers."""
        content = found.content
        if content["metadata"].get("finalizers"):
            if not found.deleting:
                content["metadata"]["deletionTimestamp"] = clock.timestamp(clock.now())
                self._put(found.kind, content, applied=False)
            return False
        self._objects.pop(_key(found), None)
        return True

    def _put(self, kind: Kind, content: Content, *, applied: bool) -> Snapshot:
        self._version += 1
        metadata = dict(content.get("metadata") or {})
        name = str(metadata.get("name") or "")
        # The version makes the uid of a recreated object another one.
        metadata.setdefault("uid", f"uid-of-{kind.kind.lower()}-{name}-{self._version}")
        metadata["generation"] = metadata.get("generation") or 1
        metadata["resourceVersion"] = str(self._version)
        stored = {**content, "apiVersion": kind.api_version, "kind": kind.kind}
        stored["metadata"] = metadata
        if applied and self._children == "ready" and metadata["uid"] not in self._given:
            stored = pretend_ready(stored)
        snapshot = Snapshot.from_content(kind, stored)
        self._objects[_key(snapshot)] = snapshot
        return snapshot

    # --- konstat.readiness.Related ------------------------------------------------------------

    def owned_by(self, uid: str, group: str, kind: str) -> Sequence[Content]:
        """The objects of a kind that ``uid`` owns; KindUnavailable where a cache has none."""
        return [s.content for s in self._readable(group, kind) if uid in s.owner_uids]

    def find(self, group: str, kind: str, namespace: str, name: str) -> Content | None:
        """One object by name; KindUnavailable where a cache has no such kind."""
        found = {(s.namespace, s.name): s for s in self._readable(group, kind)}.get(
            (namespace, name)
        )
        return None if found is None else found.content

    def _readable(self, group: str, kind: str) -> Sequence[Snapshot]:
        problem = self.unavailable.get((group, kind))
        if problem is not None:
            raise problem
        found = [s for s in self._objects.values() if (s.kind.group, s.kind.kind) == (group, kind)]
        if not found and (group, kind) not in _EXPLAINING:
            raise KindUnavailable(f"{kind} objects are not watched")
        return found


def _key(snapshot: Snapshot) -> _Key:
    return (snapshot.kind.group, snapshot.kind.kind, snapshot.namespace, snapshot.name)


def _merged(before: Content, wanted: Content, former: Content) -> dict[str, Any]:
    """``before`` with ``wanted`` in it, without what ``former`` wanted and ``wanted`` does not."""
    after = {k: v for k, v in before.items() if k not in former or k in wanted}
    for name, value in wanted.items():
        present, past = before.get(name), former.get(name)
        if isinstance(value, Mapping) and isinstance(present, Mapping):
            value = _merged(present, value, past if isinstance(past, Mapping) else {})
        after[name] = value
    return after


def _owners(before: Content, wanted: Content) -> list[Any]:
    """Owner references are one list of several writers, told apart by uid."""
    ours = wanted["metadata"]["ownerReferences"]
    uids = {owner["uid"] for owner in ours}
    there = before["metadata"].get("ownerReferences") or []
    return [*(owner for owner in there if owner["uid"] not in uids), *ours]
