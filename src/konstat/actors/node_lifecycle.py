"""`NodeLifecycleActor`: taints of nodes, silence, eviction, and pods of nodes that are gone.

Plays the node lifecycle, taint eviction and pod garbage controllers in small. *Not played*:
zones with rate limits of eviction, CIDR allocation, cloud nodes, and the annotation ``ttl``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from konstat.actors import content, node_plan, patch, pods
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.actors.world import World
from konstat.base import clock, limits
from konstat.cache.store import Change
from konstat.errors import NotFound, PatchRefused
from konstat.kinds import Lease, Node, Pod
from konstat.objects.kind import Kind

LEASE_NAMESPACE: Final = "kube-node-lease"
_NODE = Node.kind


class NodeLifecycleActor(Actor):
    """Keyed by the name of a node, or by ``pod/`` and the uid of a pod.

    A node is silent when neither its Lease nor the heartbeat in its status has changed for
    ``grace_seconds``, counted from when this actor saw them change.
    """

    name: ClassVar[str] = "node-controller"

    def __init__(self, world: World, *, grace_seconds: float = limits.NODE_GRACE_SECONDS) -> None:
        super().__init__(world)
        self._grace_seconds = grace_seconds
        self._signs: dict[str, tuple[str, float]] = {}  # the last sign of life, and when it came
        self._missing: dict[str, float] = {}  # nodes that are not there, and from when that counts

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {_NODE: self._on_node, Pod.kind: self._on_pod, Lease.kind: lambda change: None}

    def _on_node(self, change: Change) -> None:
        found = change.new or change.old
        assert found is not None
        self.queue.add(found.name)
        if change.new is None:
            self._signs.pop(found.name, None)
            self._missing[found.name] = clock.monotonic()
        else:
            self._missing.pop(found.name, None)
        old = change.old.content if change.old else {}
        new = change.new.content if change.new else {}
        if content.spec(old).get("taints") != content.spec(new).get("taints"):
            for pod in self.known(Pod.kind).list():
                if pods.node_name(pod.content) == found.name:
                    self.queue.add(f"pod/{pod.uid}")

    def _on_pod(self, change: Change) -> None:
        new = change.new
        if new is None:
            return
        node = pods.node_name(new.content)
        before = pods.node_name(change.old.content) if change.old is not None else ""
        if node and node != before:
            self.queue.add(f"pod/{new.uid}")

    async def attempt(self, key: str) -> float | None:
        kind, slash, uid = key.partition("/")
        if slash and kind == "pod":
            return await self._look_at_pod(uid)
        node = self.world.get(_NODE, key)
        if node is None:
            return await self._clear(key)
        node = await self._listen(node)
        await self._taint(node)
        return limits.NODE_MONITOR_SECONDS

    # --- nodes --------------------------------------------------------------------------------

    async def _listen(self, node: Obj) -> Obj:
        """Mark a silent node; the pods on it are no longer ready."""
        name = content.name(node)
        sign = self._sign(node)
        known, since = self._signs.get(name, ("", 0.0))
        if sign != known:
            self._signs[name] = (sign, clock.monotonic())
            return node
        if clock.monotonic() - since < self._grace_seconds:
            return node
        if node_plan.ready_status(node) != "Unknown":
            conditions = node_plan.silent_conditions(node, now=clock.now())
            status = {**content.status(node), "conditions": conditions}
            node = await self.world.write_status(_NODE, node, status)
            note = f"Node {name} status is now: NodeNotReady"
            self.world.event(self.name, _NODE, node, "NodeNotReady", note)
        await self._mark_pods(name)
        return node

    def _sign(self, node: Obj) -> str:
        lease = self.world.get(Lease.kind, content.name(node), namespace=LEASE_NAMESPACE) or {}
        ready = content.condition(content.status(node), "Ready") or {}
        beat = "" if ready.get("status") == "Unknown" else str(ready.get("lastHeartbeatTime"))
        return f"{content.spec(lease).get('renewTime')} {beat}"

    async def _mark_pods(self, node_name: str) -> None:
        for pod in self.world.list(Pod.kind):
            if pods.node_name(pod) != node_name:
                continue
            conditions = node_plan.unready_conditions(pod, now=clock.now())
            if conditions is None:
                continue
            status = {**content.status(pod), "conditions": conditions}
            try:
                await self.world.write_status(Pod.kind, pod, status)
            except (NotFound, PatchRefused):
                continue  # it has changed: the next look decides
            self.world.event(
                self.name, Pod.kind, pod, "NodeNotReady", "Node is not ready", type="Warning"
            )

    async def _taint(self, node: Obj) -> None:
        wanted = node_plan.taints(node, now=clock.now())
        stored = list(content.spec(node).get("taints") or ())
        if wanted == stored:
            return
        operations = patch.set_members(node, ("/spec/taints", wanted))
        await self.world.change(_NODE, node, operations)

    async def _clear(self, name: str) -> float | None:
        """Remove the pods of a node that is not there: no kubelet will.

        A node that was never seen may yet be registered: its pods are given time.
        """
        lost = [pod for pod in self.world.list(Pod.kind) if pods.node_name(pod) == name]
        if not lost:
            self._missing.pop(name, None)
            return None
        now = clock.monotonic()
        since = self._missing.setdefault(name, now + limits.NODE_QUARANTINE_SECONDS)
        if now < since:
            return since - now
        try:
            await self.world.client.get(_NODE, name)
            return None
        except NotFound:
            for pod in lost:
                await self._remove(pod)
        return None

    # --- pods ---------------------------------------------------------------------------------

    async def _look_at_pod(self, uid: str) -> float | None:
        """Evict a pod that does not tolerate its node; remove one whose node is gone."""
        pod = self.world.by_uid(Pod.kind, uid)
        if pod is None or not pods.node_name(pod):
            return None
        node = self.world.get(_NODE, pods.node_name(pod))
        if node is None:
            self.queue.add(pods.node_name(pod))
            return None
        if content.deleting(pod):
            return None
        left = node_plan.eviction_seconds(pod, node, now=clock.now())
        if left is None or left > 0:
            return left
        note = f"Marking for deletion Pod {content.namespace(pod)}/{content.name(pod)}"
        self.world.event("taint-eviction-controller", Pod.kind, pod, "TaintManagerEviction", note)
        text = "Taint manager: deleting due to NoExecute taint"
        await self._disrupt(pod, "DeletionByTaintManager", text)
        await self.world.delete(Pod.kind, pod)
        return None

    async def _remove(self, pod: Obj) -> None:
        await self._disrupt(pod, "DeletionByPodGC", "PodGC: node no longer exists")
        await self.world.delete(Pod.kind, pod, grace_period_seconds=0)

    async def _disrupt(self, pod: Obj, reason: str, message: str) -> None:
        """Condition DisruptionTarget, which tells a Job that the pod did not fail by itself."""
        stored = list(content.status(pod).get("conditions") or ())
        if pods.finished(pod) or content.is_true(pod, "DisruptionTarget"):
            return
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastTransitionTime": clock.timestamp(clock.now()),
            "reason": reason,
            "message": message,
        }
        status = {**content.status(pod), "conditions": [*stored, condition]}
        if reason == "DeletionByPodGC":
            status["phase"] = "Failed"
        try:
            await self.world.write_status(Pod.kind, pod, status)
        except NotFound:
            return
