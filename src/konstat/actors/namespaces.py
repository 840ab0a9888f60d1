"""`NamespaceActor`: empties namespaces that are being deleted, and lets them go.

Pods go first, then everything else (KEP-5080). What remains is named in the conditions, pods
included (the real controller names no pods while it waits for them). Before:
`konstat.actors.everything`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from konstat.actors import content, namespace_plan
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.actors.everything import IGNORED, Everything
from konstat.actors.namespace_plan import FINALIZER, Remains
from konstat.actors.world import World
from konstat.base import clock, limits
from konstat.cache.store import Change
from konstat.errors import (
    APIError,
    KindUnsynced,
    KonstatError,
    MethodNotAllowed,
    NotFound,
    TransportError,
)
from konstat.kinds import Namespace, Pod
from konstat.objects import codec
from konstat.objects.kind import Kind

_NAMESPACE = Namespace.kind


class NamespaceActor(Actor):
    """Keyed by uid of the namespace."""

    name: ClassVar[str] = "namespace-controller"

    def __init__(self, world: World, everything: Everything) -> None:
        super().__init__(world)
        self._everything = everything
        everything.listen(self._on_any)

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {_NAMESPACE: self.add_itself}

    def _on_any(self, kind: Kind, change: Change) -> None:
        """Something in a namespace that is being deleted has ended."""
        if change.new is not None or change.old is None or not change.old.namespace:
            return
        found = self.known(_NAMESPACE).get("", change.old.namespace)
        if found is not None and found.deleting:
            self.queue.add_after(found.uid, limits.ACTOR_NAMESPACE_DELAY_SECONDS)

    async def attempt(self, key: str) -> float | None:
        namespace = self.world.by_uid(_NAMESPACE, key)
        if namespace is None or not content.deleting(namespace):
            return None
        if FINALIZER not in (content.spec(namespace).get("finalizers") or ()):
            return None
        if not self._everything.synced():
            raise KindUnsynced("the namespace actor does not know all kinds yet")
        remains = await self._empty(content.name(namespace))
        stored = content.status(namespace).get("conditions") or ()
        conditions = namespace_plan.conditions(stored, remains, now=clock.now())
        status = {**content.status(namespace), "phase": "Terminating", "conditions": conditions}
        namespace = await self.world.write_status(_NAMESPACE, namespace, status)
        if not remains.empty:
            return limits.ACTOR_NAMESPACE_CHECK_SECONDS
        await self._finalize(namespace)
        return None

    async def _empty(self, name: str) -> Remains:
        """Have everything deleted; what is there still."""
        kinds = [kind for kind in self._kinds() if kind != Pod.kind]
        remains = Remains(undiscovered=self._everything.unavailable)
        await self._look([Pod.kind], name, remains)
        if not remains.objects:
            await self._look(kinds, name, remains)
        return remains

    def _kinds(self) -> list[Kind]:
        """All kinds in namespaces; events too, which are followed by no informer."""
        found = [kind for kind in self._everything.kinds() if kind.namespaced]
        events = (self._everything.served(group, kind) for group, kind in IGNORED)
        return [*found, *(kind for kind in events if kind is not None)]

    async def _look(self, kinds: list[Kind], name: str, remains: Remains) -> None:
        failures: list[str] = []

        async def empty(entry: Obj) -> None:
            kind: Kind = entry["kind"]
            try:
                left = await self._empty_kind(kind, name)
            except (APIError, TransportError) as error:
                failures.append(f"{kind.resource}: {error}")
                return
            if left:
                remains.objects[kind] = len(left)
            for obj in left:
                for finalizer in content.finalizers(obj):
                    remains.finalizers[finalizer] = remains.finalizers.get(finalizer, 0) + 1

        error: KonstatError | None = await self.world.each([{"kind": k} for k in kinds], empty)
        if error is not None:
            raise error
        remains.failures = sorted([*remains.failures, *failures])

    async def _empty_kind(self, kind: Kind, name: str) -> list[Obj]:
        """Delete all objects of a kind; those that linger. Asks the server, not the cache."""
        try:
            there = await self.world.client.list(kind, namespace=name)
            if not any(not content.deleting(obj) for obj in there):
                return there
            try:
                await self.world.client.delete_collection(
                    kind, namespace=name, propagation="Background"
                )
            except MethodNotAllowed:
                for obj in there:
                    await self.world.delete(kind, obj, propagation="Background")
            return await self.world.client.list(kind, namespace=name)
        except (NotFound, MethodNotAllowed):
            return []  # the kind went meanwhile, or cannot be listed

    async def _finalize(self, namespace: Obj) -> None:
        left = [f for f in content.spec(namespace).get("finalizers") or () if f != FINALIZER]
        body = {**namespace, "spec": {**content.spec(namespace), "finalizers": left}}
        name = content.name(namespace)
        try:
            await self.world.client.exchange(
                "PUT",
                _NAMESPACE.path("", name, "finalize"),
                body=codec.encode(body),
                request=f"finalize Namespace {name}",
            )
        except NotFound:
            return
