"""`GarbageCollector`: deletes what nobody owns any more, over all kinds of the server.

Background, foreground and orphaning deletion as kube-controller-manager's collector. Judgement is
in `konstat.actors.ownership`; kinds come from `konstat.actors.everything`, so objects of a new
custom resource are collected as soon as it is served.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from konstat.actors import content, ownership, patch
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.actors.everything import Everything
from konstat.actors.ownership import OwnerState
from konstat.actors.world import World
from konstat.cache.store import Change
from konstat.errors import KindUnsynced, NotFound
from konstat.objects.kind import Kind


class GarbageCollector(Actor):
    """Keyed by uid. Before an owner is called absent the server is asked."""

    name: ClassVar[str] = "garbage-collector-controller"

    def __init__(self, world: World, everything: Everything) -> None:
        super().__init__(world)
        self._everything = everything
        everything.listen(self._on_any)

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {}

    def _on_any(self, kind: Kind, change: Change) -> None:
        old, new = change.old, change.new
        if new is None:
            if old is not None:
                self._add_dependents(old.uid)
                # An owner that waits for it may go now.
                for uid in old.owner_uids:
                    self.queue.add(uid)
            return
        if new.owner_uids or new.deleting:
            self.queue.add(new.uid)
        for uid in set(old.owner_uids if old else ()) | set(new.owner_uids):
            owner = self._everything.by_uid(uid)
            if owner is not None and owner.deleting:
                self.queue.add(uid)

    def _add_dependents(self, uid: str) -> None:
        for dependent in self._everything.dependents(uid):
            self.queue.add(dependent.uid)

    async def attempt(self, key: str) -> float | None:
        if not self._everything.synced():
            raise KindUnsynced("the garbage collector does not know all kinds yet")
        snapshot = self._everything.by_uid(key)
        if snapshot is None:
            return None
        kind, obj = snapshot.kind, snapshot.content
        if content.deleting(obj):
            held = content.finalizers(obj)
            if ownership.ORPHAN in held:
                await self._orphan(kind, obj)
            elif ownership.FOREGROUND in held:
                await self._wait_for_dependents(kind, obj)
            return None
        if content.owners(obj):
            await self._judge(kind, obj)
        return None

    # --- an object with owners ----------------------------------------------------------------

    async def _judge(self, kind: Kind, obj: Obj) -> None:
        states: dict[str, OwnerState] = {}
        for reference in content.owners(obj):
            states[reference["uid"]] = await self._state(obj, reference)
        if all(state == "solid" for state in states.values()):
            return
        dependents = self._everything.dependents(content.uid(obj))
        verdict = ownership.judge(obj, states, has_dependents=bool(dependents))
        if verdict.action == "drop owners":
            owners = ownership.without_owners(obj, verdict.dropped)
            await self.world.change(kind, obj, patch.metadata_patch(obj, ownerReferences=owners))
        elif verdict.action == "delete":
            if verdict.policy == "Foreground" and "waiting" in states.values():
                obj = await self._end_cycle(kind, obj)
            await self.world.delete(
                kind,
                obj,
                propagation=verdict.policy,
                resource_version=content.metadata(obj).get("resourceVersion"),
            )

    async def _end_cycle(self, kind: Kind, obj: Obj) -> Obj:
        """Hold no owner back when a dependent waits too: both would wait for each other."""
        for snapshot in self._everything.dependents(content.uid(obj)):
            if ownership.state_of(snapshot.content) == "waiting":
                owners = ownership.unblocked(obj)
                operations = patch.metadata_patch(obj, ownerReferences=owners)
                return await self.world.change(kind, obj, operations)
        return obj

    async def _state(self, obj: Obj, reference: Obj) -> OwnerState:
        uid = reference["uid"]
        known = self._everything.by_uid(uid)
        if known is not None and known.namespace in ("", content.namespace(obj)):
            return ownership.state_of(known.content)
        group, _, _ = str(reference.get("apiVersion") or "").rpartition("/")
        kind = self._everything.served(group, str(reference.get("kind") or ""))
        if kind is None:
            # Not served (now): the real collector leaves its dependents alone too.
            return "solid"
        if kind.namespaced and not content.namespace(obj):
            return "solid"
        try:
            live = await self.world.client.get(
                kind, str(reference.get("name") or ""), namespace=content.namespace(obj)
            )
        except NotFound:
            return "absent"
        return ownership.state_of(live) if content.uid(live) == uid else "absent"

    # --- an object that is being deleted ------------------------------------------------------

    async def _orphan(self, kind: Kind, obj: Obj) -> None:
        """Take the object off its dependents, then let it go."""
        uid = content.uid(obj)
        for snapshot in self._everything.dependents(uid):
            dependent = snapshot.content
            owners = ownership.without_owners(dependent, [uid])
            operations = patch.metadata_patch(dependent, ownerReferences=owners)
            try:
                await self.world.change(snapshot.kind, dependent, operations)
            except NotFound:
                continue
        await self._let_go(kind, obj, ownership.ORPHAN)

    async def _wait_for_dependents(self, kind: Kind, obj: Obj) -> None:
        """Let the object go when no dependent holds it back; have dependents deleted."""
        uid = content.uid(obj)
        dependents = self._everything.dependents(uid)
        blocking = [s for s in dependents if ownership.blocks(s.content, uid)]
        if not blocking:
            await self._let_go(kind, obj, ownership.FOREGROUND)
            return
        for snapshot in dependents:
            if not snapshot.deleting:
                self.queue.add(snapshot.uid)

    async def _let_go(self, kind: Kind, obj: Obj, finalizer: str) -> None:
        left = ownership.without_finalizer(obj, finalizer)
        try:
            await self.world.change(kind, obj, patch.metadata_patch(obj, finalizers=left))
        except NotFound:
            return
