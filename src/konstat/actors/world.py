"""`World`: the cluster as the actors of one program see and change it.

Reads come from shared informers; the answer of every write is shown by their stores at once, so
an actor never decides on a state older than what any actor has written. That takes the place of
the expectations of kube-controller-manager. What is read is shared: nobody may change it.

Before: `konstat.cache` and `konstat.client`. After: `konstat.actors.actor`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from konstat.actors import content, patch
from konstat.actors.content import Obj
from konstat.actors.patch import Operation
from konstat.base import chance, limits
from konstat.base.tasks import Tasks, open_tasks
from konstat.cache.informer import Informer
from konstat.cache.informers import Informers
from konstat.cache.store import Store
from konstat.client.api import Client
from konstat.errors import Conflict, KonstatError, NotFound
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot
from konstat.services.events import Recorder, Regarding

_WRITER: Final = "actors"


class World:
    """Shared by actors that run in ``tasks``; ``instance`` names the program in events."""

    def __init__(self, client: Client, tasks: Tasks, *, instance: str = "") -> None:
        self.client = client
        self.instance = instance or f"actors-{chance.suffix(10)}"
        self._tasks = tasks
        self._informers = Informers(client, tasks)
        self._recorders: dict[str, Recorder] = {}
        self._decoded: OrderedDict[str, tuple[str, Obj]] = OrderedDict()

    # --- reading ------------------------------------------------------------------------------

    def informer(self, kind: Kind) -> Informer:
        """The informer of a kind in all namespaces; starts it on first use."""
        return self._informers.informer(kind)

    def store(self, kind: Kind) -> Store:
        """What is known of a kind; raises KindUnavailable when that cannot be believed."""
        return self.informer(kind).require()

    def get(self, kind: Kind, name: str, *, namespace: str = "") -> Obj | None:
        found = self.store(kind).get(namespace, name)
        return None if found is None else self._content(found)

    def by_uid(self, kind: Kind, uid: str) -> Obj | None:
        found = self.store(kind).by_uid(uid)
        return None if found is None else self._content(found)

    def list(self, kind: Kind, namespace: str | None = None) -> list[Obj]:
        """The objects of a namespace, or of all (None), by namespace and name."""
        return [self._content(found) for found in self.store(kind).list(namespace)]

    def controlled(self, kind: Kind, owner_uid: str) -> list[Obj]:
        """The objects that ``owner_uid`` manages."""
        found = self.store(kind).by_owner(owner_uid)
        return [self._content(s) for s in found if s.controller_uid == owner_uid]

    async def live(self, kind: Kind, obj: Mapping[str, Any]) -> Obj | None:
        """The object as the server has it now; None when it, with this uid, is not there."""
        try:
            found = await self.client.get(kind, content.name(obj), namespace=content.namespace(obj))
        except NotFound:
            return None
        return found if content.uid(found) == content.uid(obj) else None

    # --- writing ------------------------------------------------------------------------------

    async def create(self, kind: Kind, obj: Obj, *, manager: str = "") -> Obj:
        """Create and remember; raises what `Client.create` raises."""
        made = await self.client.create(
            kind, obj, namespace=content.namespace(obj), field_manager=manager or None
        )
        self._remember(kind, made)
        return made

    async def change(
        self, kind: Kind, obj: Obj, operations: Sequence[Operation], *, subresource: str = ""
    ) -> Obj:
        """Send a JSON Patch, unless it has no operations; the object after it."""
        if not operations:
            return obj
        changed = await self.client.patch(
            kind,
            content.name(obj),
            operations,
            type="json",
            namespace=content.namespace(obj),
            subresource=subresource,
        )
        self._remember(kind, changed)
        return changed

    async def write_status(self, kind: Kind, obj: Obj, status: Mapping[str, Any]) -> Obj:
        """Make ``status`` the whole status; nothing is sent when it is already."""
        operations = patch.status_patch(obj, status)
        return await self.change(kind, obj, operations, subresource="status")

    async def delete(
        self,
        kind: Kind,
        obj: Mapping[str, Any],
        *,
        propagation: Literal["Background", "Foreground", "Orphan"] | None = None,
        grace_period_seconds: int | None = None,
        resource_version: str | None = None,
    ) -> bool:
        """Delete this very object (by uid); False when it was gone already."""
        try:
            answer = await self.client.delete(
                kind,
                content.name(obj),
                namespace=content.namespace(obj),
                uid=content.uid(obj),
                propagation=propagation,
                grace_period_seconds=grace_period_seconds,
                resource_version=resource_version,
            )
        except NotFound:
            self._forget(kind, content.uid(obj))
            return False
        except Conflict:
            if await self.live(kind, obj) is not None:
                raise
            self._forget(kind, content.uid(obj))
            return False
        if answer.get("kind") == kind.kind and content.deleting(answer):
            self._remember(kind, answer)
        else:
            self._forget(kind, content.uid(obj))
        return True

    async def each(
        self, objects: Iterable[Obj], work: Callable[[Obj], Awaitable[Any]]
    ) -> KonstatError | None:
        """Do ``work`` for all, some at once; the first failure, after all have been tried."""
        return await self._batches(list(objects), work, first=limits.ACTOR_PARALLEL_WRITES)

    async def slow_start(
        self, objects: Iterable[Obj], work: Callable[[Obj], Awaitable[Any]]
    ) -> KonstatError | None:
        """Do ``work`` in batches of 1, 2, 4, …; a batch with a failure is the last one.

        So a refusal (a quota, say) costs one request, not hundreds.
        """
        return await self._batches(list(objects), work, first=1)

    async def _batches(
        self, objects: list[Obj], work: Callable[[Obj], Awaitable[Any]], *, first: int
    ) -> KonstatError | None:
        failures: list[KonstatError] = []

        async def guarded(obj: Obj) -> None:
            try:
                await work(obj)
            except KonstatError as error:
                failures.append(error)

        size, growing = first, first == 1
        while objects:
            batch, objects = objects[:size], objects[size:]
            async with open_tasks() as tasks:
                for task in [tasks.start(guarded(obj), name="write of an actor") for obj in batch]:
                    await task
            if failures and growing:
                break
            size = min(size * 2, limits.ACTOR_PARALLEL_WRITES) if growing else size
        return failures[0] if failures else None

    # --- events -------------------------------------------------------------------------------

    def event(
        self,
        component: str,
        kind: Kind,
        obj: Mapping[str, Any],
        reason: str,
        note: str,
        *,
        type: Literal["Normal", "Warning"] = "Normal",
        action: str = "Reconcile",
    ) -> None:
        """Record an event under the name of a component of Kubernetes; never waits or fails."""
        recorder = self._recorders.get(component)
        if recorder is None:
            recorder = Recorder(self.client, controller=component, instance=self.instance)
            self._recorders[component] = recorder
            self._tasks.start(recorder.run(), name=f"events of {component}")
        regarding = Regarding(
            api_version=kind.api_version,
            kind=kind.kind,
            name=content.name(obj),
            namespace=content.namespace(obj),
            uid=content.uid(obj),
        )
        recorder.record(regarding, reason, note, type=type, action=action)

    # --- parts --------------------------------------------------------------------------------

    def _remember(self, kind: Kind, obj: Obj) -> None:
        self.informer(kind).store.put_own(Snapshot.from_content(kind, obj), writer=_WRITER)

    def _forget(self, kind: Kind, uid: str) -> None:
        self.informer(kind).store.own_deletion(uid, writer=_WRITER)

    def _content(self, snapshot: Snapshot) -> Obj:
        """The decoded object, kept for the next reader: nobody may change it."""
        key = f"{snapshot.kind.resource} {snapshot.uid}"
        kept = self._decoded.get(key)
        if kept is not None and kept[0] == snapshot.resource_version:
            self._decoded.move_to_end(key)
            return kept[1]
        decoded = snapshot.content
        self._decoded[key] = (snapshot.resource_version, decoded)
        self._decoded.move_to_end(key)
        while len(self._decoded) > limits.ACTOR_DECODED_OBJECTS:
            self._decoded.popitem(last=False)
        return decoded
