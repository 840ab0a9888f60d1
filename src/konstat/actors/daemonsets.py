"""`DaemonSetActor`: one pod on every node, as kube-controller-manager's controller.

Decisions are in `konstat.actors.daemonset_plan`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from konstat.actors import claims, content, daemonset_plan, pods, revisions
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.actors.replicasets import create_pod, delete_pod
from konstat.actors.revisions import CONTROLLER_REVISION, HASH_LABEL
from konstat.base import clock
from konstat.cache.store import Change
from konstat.errors import KonstatError
from konstat.kinds import DaemonSet, Node, Pod
from konstat.objects.kind import Kind

_SET = DaemonSet.kind


class DaemonSetActor(Actor):
    """Places daemon pods, removes those that may not stay, and rolls updates."""

    name: ClassVar[str] = "daemonset-controller"

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {
            _SET: self.add_itself,
            Pod.kind: self._on_pod,
            Node.kind: self._on_node,
            CONTROLLER_REVISION: self.add_controller,
        }

    def _on_pod(self, change: Change) -> None:
        self.add_controller(change)
        pod = change.new
        if pod is not None and not pod.controller_uid and pod.label_items:
            self.add_namespace(_SET, pod)

    def _on_node(self, change: Change) -> None:
        """Labels, taints and existence count; heartbeats do not."""
        if change.old is not None and change.new is not None:
            old, new = change.old.content, change.new.content
            if (content.labels(old), content.spec(old)) == (content.labels(new), content.spec(new)):
                return
        for found in self.known(_SET).list():
            self.queue.add(found.uid)

    async def attempt(self, key: str) -> float | None:
        daemon_set = self.world.by_uid(_SET, key)
        if daemon_set is None:
            return None
        selector = content.selector(daemon_set)
        if selector is None or not selector.requirements:
            return None
        kept = await revisions.owned_revisions(self.world, _SET, daemon_set)
        if content.deleting(daemon_set):
            return None
        kept, current = await revisions.keep_revisions(
            self.world, _SET, daemon_set, kept, hash_label=HASH_LABEL
        )
        mark = content.labels(current).get(HASH_LABEL, "")
        owned = await claims.claim(
            self.world,
            _SET,
            daemon_set,
            Pod.kind,
            self.world.list(Pod.kind, content.namespace(daemon_set)),
            selector=selector,
        )
        nodes = self.world.list(Node.kind)
        error = await self._place(daemon_set, nodes, owned, mark)
        # Reads its own writes: deleted pods are on their way out, new ones are there.
        owned = self.world.controlled(Pod.kind, key)
        now = clock.now()
        status = daemonset_plan.status(daemon_set, nodes, owned, mark, now=now)
        await self.world.write_status(_SET, daemon_set, status)
        used = [content.name(current)]
        marks = {content.labels(pod).get(HASH_LABEL) for pod in owned}
        used += [content.name(r) for r in kept if content.labels(r).get(HASH_LABEL) in marks]
        await revisions.trim_revisions(self.world, daemon_set, kept, used=used)
        if error is not None:
            raise error
        least = content.spec(daemon_set).get("minReadySeconds") or 0
        return pods.next_available(owned, least, now)

    async def _place(
        self, daemon_set: Obj, nodes: Sequence[Obj], owned: list[Obj], mark: str
    ) -> KonstatError | None:
        """Create and delete pods; the first failure."""
        plan = daemonset_plan.plan(daemon_set, nodes, owned)
        if daemonset_plan.rolls(daemon_set) and not (plan.create or plan.delete or plan.failed):
            plan = daemonset_plan.roll(daemon_set, nodes, owned, mark, now=clock.now())
        for pod in plan.failed:
            note = (
                f"Found failed daemon pod {content.namespace(pod)}/{content.name(pod)} on node"
                f" {pods.node_name(pod)}, will try to kill it"
            )
            self.world.event(self.name, _SET, daemon_set, "FailedDaemonPod", note, type="Warning")
        new = [daemonset_plan.new_pod(daemon_set, node, revision_hash=mark) for node in plan.create]
        error = await self.world.slow_start(
            new, lambda pod: create_pod(self, _SET, daemon_set, pod)
        )
        doomed = [*plan.delete, *plan.failed]
        return (
            await self.world.each(doomed, lambda pod: delete_pod(self, _SET, daemon_set, pod))
            or error
        )
