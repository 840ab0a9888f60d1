"""`SchedulerActor`: binds pods to nodes, as kube-scheduler; without preemption.

One pod at a time: all pods and nodes are looked at, the node with the smallest share of its
resources in use is taken. A pod that fits nowhere says why in condition PodScheduled and in an
event, in the real words, and is tried again when something changes. Filters are in
`konstat.actors.placement` and `konstat.actors.neighbours`.

*Not played*, and said so in the condition: preemption of pods of lower priority, dynamic resource
claims. Without effect: preferences between pods, priorities, scheduler profiles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from konstat.actors import content, neighbours, patch, placement, pods
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.actors.placement import Refusal
from konstat.actors.volume_plan import SELECTED_NODE, needs_consumer
from konstat.actors.world import World
from konstat.base import clock, limits
from konstat.cache.store import Change
from konstat.errors import Conflict, NotFound
from konstat.kinds import (
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from konstat.objects import codec
from konstat.objects.kind import Kind

SCHEDULER: Final = "default-scheduler"
_POD = Pod.kind
_CLAIM = PersistentVolumeClaim.kind
_WAITS: Final = "no new claims to deallocate"


class SchedulerActor(Actor):
    """Plays the scheduler called ``default-scheduler``; pods of another are left alone."""

    name: ClassVar[str] = SCHEDULER
    retry_maximum_seconds: ClassVar[float] = limits.SCHEDULER_RETRY_MAXIMUM_SECONDS
    workers: ClassVar[int] = 1  # one decision at a time sees all earlier ones

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.assumed: dict[str, str] = {}  # nodes by uid of pods whose binding is not seen yet
        self._waiting: dict[str, None] = {}  # uids of pods that fit nowhere

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {
            _POD: self._on_pod,
            Node.kind: self._on_any,
            _CLAIM: self._on_any,
            PersistentVolume.kind: self._on_any,
            StorageClass.kind: self._on_any,
            Namespace.kind: lambda change: None,
        }

    def _on_pod(self, change: Change) -> None:
        pod = change.new
        if pod is None:
            if change.old is not None:
                self.assumed.pop(change.old.uid, None)
                self._waiting.pop(change.old.uid, None)
            self._try_waiting()
            return
        found = pod.content
        if pods.node_name(found):
            self.assumed.pop(pod.uid, None)
            self._waiting.pop(pod.uid, None)
            if pods.finished(found):
                self._try_waiting()
        else:
            self.queue.add(pod.uid)

    def _on_any(self, change: Change) -> None:
        self._try_waiting()

    def _try_waiting(self) -> None:
        for uid in self._waiting:
            self.queue.add(uid)

    async def attempt(self, key: str) -> float | None:
        pod = self.world.by_uid(_POD, key)
        if pod is None or not _wants_node(pod) or key in self.assumed:
            self._waiting.pop(key, None)
            return None
        nodes = self.world.list(Node.kind)
        if problem := self._claims_problem(pod, nodes) or _unplayed(pod):
            await self._refuse(pod, problem)
            return None
        node, text = self._choose(pod, nodes)
        if node is None:
            await self._refuse(pod, text)
            return None
        if await self._reserve_volumes(pod, content.name(node)):
            self._waiting[key] = None  # the claim's change wakes it
            return None
        await self._bind(pod, content.name(node))
        return None

    # --- the choice ---------------------------------------------------------------------------

    def _choose(self, pod: Obj, nodes: Sequence[Obj]) -> tuple[Obj | None, str]:
        """The node to take, or None and the words for it."""
        if not nodes:
            return None, "no nodes available to schedule pods"
        on_node = self._on_nodes()
        around = neighbours.Surroundings(
            nodes=nodes, on_node=on_node, namespace_labels=self._namespace_labels()
        )
        refusals: dict[str, Refusal] = {}
        fitting: list[tuple[float, str, Obj]] = []
        for node in nodes:
            name = content.name(node)
            taken = placement.usage(on_node.get(name, ()))
            refused = placement.refusal(pod, node, taken) or neighbours.refusal(pod, node, around)
            if refused is not None:
                refusals[name] = refused
            else:
                fitting.append((_badness(pod, node, taken), name, node))
        if fitting:
            return min(fitting, key=lambda entry: entry[:2])[2], ""
        return None, _in_words(pod, refusals, on_node)

    def _on_nodes(self) -> dict[str, list[Obj]]:
        """The pods on each node, those that were bound a moment ago included."""
        found: dict[str, list[Obj]] = {}
        for pod in self.world.list(_POD):
            node = pods.node_name(pod) or self.assumed.get(content.uid(pod), "")
            if node:
                found.setdefault(node, []).append(pod)
        return found

    def _namespace_labels(self) -> dict[str, dict[str, str]]:
        return {s.name: s.labels or {} for s in self.world.store(Namespace.kind).list()}

    # --- volumes ------------------------------------------------------------------------------

    def _claims_of(self, pod: Obj) -> list[tuple[str, Obj | None]]:
        names = [
            volume["persistentVolumeClaim"].get("claimName") or ""
            for volume in content.spec(pod).get("volumes") or ()
            if volume.get("persistentVolumeClaim")
        ]
        namespace = content.namespace(pod)
        return [(name, self.world.get(_CLAIM, name, namespace=namespace)) for name in names]

    def _claims_problem(self, pod: Obj, nodes: Sequence[Obj]) -> str:
        """What keeps a pod from every node, because of its claims."""
        problem = ""
        for name, claim in self._claims_of(pod):
            if claim is None:
                problem = f'persistentvolumeclaim "{name}" not found'
            elif content.deleting(claim):
                problem = f'persistentvolumeclaim "{name}" is being deleted'
            elif not content.spec(claim).get("volumeName") and not self._is_late(claim):
                problem = "pod has unbound immediate PersistentVolumeClaims"
            if problem:
                return f"0/{len(nodes)} nodes are available: {problem}. not found"
        return ""

    def _is_late(self, claim: Obj) -> bool:
        """Whether the claim is bound only when a pod that uses it has a node."""
        return needs_consumer(claim, self.world.list(StorageClass.kind))

    async def _reserve_volumes(self, pod: Obj, node: str) -> bool:
        """Tell late claims the node; whether any is not bound yet."""
        waits = False
        for _, claim in self._claims_of(pod):
            if claim is None or content.spec(claim).get("volumeName"):
                continue
            waits = True
            annotations = {**content.annotations(claim), SELECTED_NODE: node}
            operations = patch.metadata_patch(claim, annotations=annotations)
            await self.world.change(_CLAIM, claim, operations)
        return waits

    # --- writes -------------------------------------------------------------------------------

    async def _bind(self, pod: Obj, node: str) -> None:
        name, namespace = content.name(pod), content.namespace(pod)
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": content.uid(pod)},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self.assumed[content.uid(pod)] = node
        try:
            await self.world.client.exchange(
                "POST",
                _POD.path(namespace, name, "binding"),
                body=codec.encode(binding),
                request=f"bind Pod {namespace}/{name} to Node {node}",
            )
        except (NotFound, Conflict):
            # It is gone, or bound by somebody else: the watch tells.
            self.assumed.pop(content.uid(pod), None)
            return
        except BaseException:
            self.assumed.pop(content.uid(pod), None)
            raise
        self._waiting.pop(content.uid(pod), None)
        note = f"Successfully assigned {namespace}/{name} to {node}"
        self.world.event(self.name, _POD, pod, "Scheduled", note, action="Binding")

    async def _refuse(self, pod: Obj, text: str) -> None:
        """Say why the pod waits, once for each reason."""
        self._waiting[content.uid(pod)] = None
        before = content.condition(content.status(pod), "PodScheduled") or {}
        if (before.get("reason"), before.get("message")) == ("Unschedulable", text):
            return
        self.world.event(
            self.name, _POD, pod, "FailedScheduling", text, type="Warning", action="Scheduling"
        )
        since = before.get("lastTransitionTime") if before.get("status") == "False" else None
        condition = {
            "type": "PodScheduled",
            "observedGeneration": content.generation(pod),
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": since or clock.timestamp(clock.now()),
            "reason": "Unschedulable",
            "message": text,
        }
        stored = content.status(pod).get("conditions") or ()
        rest = [c for c in stored if c.get("type") != "PodScheduled"]
        await self.world.change(
            _POD,
            pod,
            [
                *patch.guard(pod),
                {"op": "add", "path": "/status/conditions", "value": [*rest, condition]},
            ],
            subresource="status",
        )


def _wants_node(pod: Obj) -> bool:
    spec = content.spec(pod)
    return (
        not spec.get("nodeName")
        and (spec.get("schedulerName") or SCHEDULER) == SCHEDULER
        and not spec.get("schedulingGates")
        and not content.deleting(pod)
        and not pods.finished(pod)
    )


def _unplayed(pod: Obj) -> str:
    if content.spec(pod).get("resourceClaims"):
        return "spec.resourceClaims: dynamic resource allocation is not played by this scheduler"
    return ""


def _badness(pod: Obj, node: Obj, taken: placement.Usage) -> float:
    """How full the node would be (0 to 1, the mean of CPU, memory and pods), less preferences."""
    room = placement.allocatable(node)
    wanted = placement.requests(pod)
    shares = [
        (taken.amounts.get(name, 0) + wanted.get(name, 0)) / room[name]
        for name in ("cpu", "memory", "pods")
        if room.get(name)
    ]
    full = sum(shares) / len(shares) if shares else 1.0
    return full - placement.preference(pod, node) / 100


def _in_words(
    pod: Obj, refusals: Mapping[str, Refusal], on_node: Mapping[str, Sequence[Obj]]
) -> str:
    """The refusals of all nodes, counted, as the real scheduler writes them."""
    total = len(refusals)
    counted = Counter(reason for refused in refusals.values() for reason in refused.reasons)
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counted.items()))
    priority = content.spec(pod).get("priority") or 0
    helped = Counter(
        _preemption_words(refused, priority, on_node.get(name, ()))
        for name, refused in refusals.items()
    )
    preemption = ", ".join(sorted(f"{count} {words}" for words, count in helped.items()))
    return (
        f"0/{total} nodes are available: {reasons}. {_WAITS}, preemption:"
        f" 0/{total} nodes are available: {preemption}."
    )


def _preemption_words(refused: Refusal, priority: int, there: Sequence[Obj]) -> str:
    if not refused.resolvable:
        return "Preemption is not helpful for scheduling"
    if any((content.spec(pod).get("priority") or 0) < priority for pod in there):
        return "Preemption is not played by this scheduler"
    return "No preemption victims found for incoming pod"
