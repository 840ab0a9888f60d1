"""`ReplicaSetActor`: keeps the wanted number of pods, as kube-controller-manager's controller.

Decisions are in `konstat.actors.replicaset_plan`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from konstat.actors import claims, content, pods, replicaset_plan
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.base import clock
from konstat.cache.store import Change
from konstat.errors import APIError, Forbidden, KonstatError
from konstat.kinds import Pod, ReplicaSet
from konstat.objects.kind import Kind


class ReplicaSetActor(Actor):
    """Adopts, makes and deletes pods; counts them in the status."""

    name: ClassVar[str] = "replicaset-controller"

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {ReplicaSet.kind: self.add_itself, Pod.kind: self._on_pod}

    def _on_pod(self, change: Change) -> None:
        self.add_controller(change)
        pod = change.new
        if pod is not None and not pod.controller_uid and pod.label_items:
            # An orphan: every set that may select it looks.
            self.add_namespace(ReplicaSet.kind, pod)

    async def attempt(self, key: str) -> float | None:
        replica_set = self.world.by_uid(ReplicaSet.kind, key)
        if replica_set is None:
            return None
        selector = content.selector(replica_set)
        if selector is None:
            return None
        namespace = content.namespace(replica_set)
        owned = await claims.claim(
            self.world,
            ReplicaSet.kind,
            replica_set,
            Pod.kind,
            self.world.list(Pod.kind, namespace),
            selector=selector,
        )
        error, condition = None, None
        if not content.deleting(replica_set):
            error, condition = await self._manage(replica_set, owned)
        now = clock.now()
        status = replicaset_plan.status(replica_set, owned, failure=condition, now=now)
        await self.world.write_status(ReplicaSet.kind, replica_set, status)
        if error is not None:
            raise error
        min_ready = content.spec(replica_set).get("minReadySeconds") or 0
        return pods.next_available((p for p in owned if pods.active(p)), min_ready, now)

    async def _manage(
        self, replica_set: Obj, owned: list[Obj]
    ) -> tuple[KonstatError | None, Obj | None]:
        """Make or delete pods; what failed, and the condition that tells of it."""
        now = clock.now()
        plan = replicaset_plan.plan(
            replica_set, owned, related=self._related(replica_set, owned), now=now
        )
        if plan.create:
            template = content.spec(replica_set).get("template") or {}
            wanted = [
                pods.from_template(template, owner_kind=ReplicaSet.kind, owner=replica_set)
                for _ in range(plan.create)
            ]
            error = await self.world.slow_start(wanted, lambda pod: self._create(replica_set, pod))
            reason = "FailedCreate"
        else:
            error = await self.world.each(plan.surplus, lambda pod: self._delete(replica_set, pod))
            reason = "FailedDelete"
        if error is None:
            return None, None
        if namespace_is_terminating(error):
            return None, None
        return error, replicaset_plan.failure(reason, text_of(error), now=now)

    async def _create(self, replica_set: Obj, pod: Obj) -> None:
        await create_pod(self, ReplicaSet.kind, replica_set, pod)

    async def _delete(self, replica_set: Obj, pod: Obj) -> None:
        await delete_pod(self, ReplicaSet.kind, replica_set, pod)

    def _related(self, replica_set: Obj, owned: list[Obj]) -> list[Obj]:
        """The pods of all sets of the same Deployment."""
        manager = content.controller(replica_set)
        if manager is None:
            return owned
        siblings = self.world.controlled(ReplicaSet.kind, manager["uid"])
        return [
            pod
            for sibling in siblings
            for pod in self.world.controlled(Pod.kind, content.uid(sibling))
        ]


async def create_pod(actor: Actor, kind: Kind, owner: Obj, pod: Obj) -> Obj:
    """Create a pod and record that, or record why not and raise."""
    try:
        made = await actor.world.create(Pod.kind, pod)
    except APIError as error:
        if not namespace_is_terminating(error):
            note = f"Error creating: {text_of(error)}"
            actor.world.event(actor.name, kind, owner, "FailedCreate", note, type="Warning")
        raise
    note = f"Created pod: {content.name(made)}"
    actor.world.event(actor.name, kind, owner, "SuccessfulCreate", note)
    return made


async def delete_pod(actor: Actor, kind: Kind, owner: Obj, pod: Obj) -> None:
    """Delete a pod and record that, or record why not and raise."""
    try:
        gone = not await actor.world.delete(Pod.kind, pod)
    except APIError as error:
        note = f"Error deleting: {text_of(error)}"
        actor.world.event(actor.name, kind, owner, "FailedDelete", note, type="Warning")
        raise
    if not gone:
        note = f"Deleted pod: {content.name(pod)}"
        actor.world.event(actor.name, kind, owner, "SuccessfulDelete", note)


def text_of(error: KonstatError) -> str:
    """The server's own words, where there are any."""
    return error.message if isinstance(error, APIError) else str(error)


def namespace_is_terminating(error: KonstatError) -> bool:
    """Whether a creation was refused because its namespace is going: then there is no point."""
    if not isinstance(error, Forbidden):
        return False
    details = error.status.get("details") or {}
    causes = details.get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
