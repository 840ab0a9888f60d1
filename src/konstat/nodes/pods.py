"""`PodPlayer`: the kubelets' work with the pods of all our nodes.

Changes of pods add their uid to a queue; a worker takes one, makes a step of
`konstat.nodes.kubelet`, writes the status if it changed, and lets a deleted pod go when everything
in it has ended. Before: an informer of pods. After: nothing; the control plane sees the status.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import msgspec

from konstat.base import clock
from konstat.base.tasks import Tasks
from konstat.cache.store import Change, Store
from konstat.client.api import Client
from konstat.errors import (
    APIError,
    Conflict,
    KonstatError,
    NotFound,
    PatchRefused,
    QueueClosed,
    TransportError,
    UserError,
)
from konstat.kinds import ConfigMap, Pod, Secret
from konstat.nodes import configuration, kubelet
from konstat.nodes.acting import ActingRuntime
from konstat.nodes.addresses import AddressPool, pod_network
from konstat.nodes.configuration import CONFIG_MAP, Configuration, Contents, Source
from konstat.nodes.heartbeat import PlayedNode
from konstat.nodes.kubelet import Step
from konstat.nodes.memory import Pace, PodMemory, recall
from konstat.nodes.patch import Operation, status_patch
from konstat.nodes.podspec import PlayedPod
from konstat.nodes.runtime import ContainerRuntime, Warning
from konstat.objects import codec
from konstat.objects.snapshot import Snapshot
from konstat.queue import WorkQueue
from konstat.services.events import Recorder, Regarding

log = logging.getLogger("konstat.nodes")

WRITER = "nodes"


class _BoundSpec(msgspec.Struct, rename="camel", gc=False):
    node_name: str = ""


class _Bound(msgspec.Struct, gc=False):
    """The one field that decides whether a pod is ours."""

    spec: _BoundSpec = msgspec.field(default_factory=_BoundSpec)


class PodPlayer:
    """Plays the pods that are bound to ``nodes``; all others are left alone."""

    def __init__(
        self,
        client: Client,
        store: Store,
        nodes: Sequence[PlayedNode],
        *,
        recorder: Recorder,
        runtime: ContainerRuntime,
        pace: Pace,
    ) -> None:
        self.queue = WorkQueue()
        self._client = client
        self._store = store
        self._nodes: Mapping[str, PlayedNode] = {node.name: node for node in nodes}
        self._pools = {node.name: AddressPool(pod_network(node.shape.index)) for node in nodes}
        self._memories: dict[str, PodMemory] = {}
        self._recorder = recorder
        self._runtime = runtime
        self._acting = runtime if isinstance(runtime, ActingRuntime) else None
        self._pace = pace

    def start(self, tasks: Tasks, *, workers: int) -> None:
        """Begin to work on what `on_change` adds."""
        for number in range(workers):
            tasks.start(self._work(), name=f"kubelet worker {number}")

    def on_change(self, change: Change) -> None:
        """Take notice of a change of any pod."""
        if change.new is None:
            if change.old is not None:
                self._forget(change.old.uid)
        elif self._bound_to(change.new) in self._nodes:
            self.queue.add(change.new.uid)

    def add_all(self, node_name: str) -> None:
        """Look at every pod of a node again."""
        for snapshot in self._store.list():
            if self._bound_to(snapshot) == node_name:
                self.queue.add(snapshot.uid)

    @property
    def pods(self) -> int:
        """How many pods are being played."""
        return len(self._memories)

    def pod(self, namespace: str, name: str) -> PlayedPod:
        """A pod that is played here; raises UserError for any other."""
        snapshot = self._store.get(namespace, name)
        if snapshot is None or self._bound_to(snapshot) not in self._nodes:
            raise UserError(f"no pod {namespace}/{name} is played here")
        return PlayedPod.from_json(snapshot.data)

    @staticmethod
    def _bound_to(snapshot: Snapshot) -> str:
        return codec.typed_json(snapshot.data, _Bound).spec.node_name

    def _forget(self, uid: str) -> None:
        self.queue.drop(uid)
        self._memories.pop(uid, None)
        self._give_back(uid)
        if self._acting is not None:
            self._acting.forget(uid)

    def _give_back(self, uid: str) -> None:
        for pool in self._pools.values():
            pool.give_back(uid)
        if self._acting is not None:
            self._acting.address_pool().give_back(uid)

    # --- one attempt --------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            try:
                uid = await self.queue.take()
            except QueueClosed:
                return
            try:
                await self._attempt(uid)
            finally:
                self.queue.done(uid)

    async def _attempt(self, uid: str) -> None:
        snapshot = self._store.by_uid(uid)
        if snapshot is None:
            self._forget(uid)
            return
        try:
            await self._play(PlayedPod.from_json(snapshot.data))
        except NotFound as error:
            # The watch will tell; a lost DELETED is found by its next list.
            log.debug("pod %s is gone: %s", snapshot.ref, error)
            self.queue.forget(uid)
        except (PatchRefused, Conflict, TransportError) as error:
            log.debug("pod %s: %s", snapshot.ref, error)
            self.queue.retry(uid)
        except KonstatError as error:
            level = logging.DEBUG if isinstance(error, APIError) and error.retryable else 30
            log.log(level, "pod %s: %s", snapshot.ref, error)
            self.queue.retry(uid)
        else:
            self.queue.forget(uid)

    async def _play(self, pod: PlayedPod) -> None:
        node = self._nodes.get(pod.spec.node_name)
        if node is None or not node.playing:
            return
        memory = self._memories.get(pod.uid) or self._begin(pod, node)
        found, contents = await self._look_up(pod, memory)
        if self._store.by_uid(pod.uid) is None:
            return  # it went meanwhile, and `_forget` has cleared up
        step = kubelet.next_status(
            pod,
            memory,
            runtime=self._runtime,
            now=clock.now(),
            configuration=found,
            pace=self._pace,
        )
        # Before anything is awaited: what was begun must not be begun again.
        self._memories[pod.uid] = step.memory
        if self._acting is not None:
            self._acting.obey(pod, memory, step.memory, contents)
        if kubelet.is_over(step.status["phase"]):
            self._give_back(pod.uid)
        self._tell(pod, step)
        await self._write(pod, step)
        if step.stopped and pod.deleting:
            await self._let_go(pod)
        elif step.wake_seconds is not None:
            self.queue.add_after(pod.uid, step.wake_seconds)

    def _begin(self, pod: PlayedPod, node: PlayedNode) -> PodMemory:
        acting = self._acting if self._acting is not None and self._acting.plays(pod) else None
        pool = acting.address_pool() if acting is not None else self._pools[node.name]
        stored = pod.stored_status.get("podIP") or ""
        if kubelet.is_over(pod.stored_status.get("phase")):
            address = stored or node.shape.address
        elif pod.spec.host_network and acting is None:
            address = node.shape.address
        elif stored and (pool.claim(pod.uid, stored) or acting is None):
            address = stored
        else:
            address = pool.take(pod.uid)
        memory = recall(pod, address=address, host_address=node.shape.address, now=clock.now())
        for warning in self._runtime.misunderstood(pod):
            log.warning("pod %s/%s: %s", pod.namespace, pod.name, warning.message)
            self._record(pod, warning)
        return memory

    async def _look_up(
        self, pod: PlayedPod, memory: PodMemory
    ) -> tuple[Configuration, Contents | None]:
        """Read what the pod needs, and find what lacks; None where nothing can be begun."""
        over = kubelet.is_over(pod.stored_status.get("phase"))
        if self._acting is not None and self._acting.plays(pod) and not over and not pod.deleting:
            contents = await self._contents(pod.namespace, configuration.sources(pod))
            found = configuration.check(pod, _keys(contents))
            more = self._acting.lack(pod, memory, contents)
            volume = found.volume or more.volume
            lacks = {**more.containers, **found.containers}
            return Configuration(volume=volume, containers=lacks), contents
        needs = configuration.needs(pod)
        begun = all(c.name in memory.containers for c in pod.spec.all_containers) and all(
            known.run for known in memory.containers.values()
        )
        if not needs or begun or pod.deleting:
            return Configuration(), None
        sources = tuple(dict.fromkeys(need.source for need in needs))
        contents = await self._contents(pod.namespace, sources)
        return configuration.check(pod, _keys(contents)), contents

    async def _contents(self, namespace: str, sources: Sequence[Source]) -> Contents:
        return {source: await self._content(namespace, source) for source in sources}

    async def _content(self, namespace: str, source: Source) -> Mapping[str, bytes] | None:
        kind, name = source
        try:
            if kind == CONFIG_MAP:
                found = await self._client.get(ConfigMap, name, namespace=namespace)
                text = {key: value.encode() for key, value in found.data.items()}
                return {**text, **found.binary_data}
            return (await self._client.get(Secret, name, namespace=namespace)).data
        except NotFound:
            return None

    async def _write(self, pod: PlayedPod, step: Step) -> None:
        operations: list[Operation] = status_patch(
            pod.raw("status"), step.status, uid=pod.uid, now=clock.now()
        )
        if not operations:
            return
        data = await self._client.exchange(
            "PATCH",
            Pod.kind.path(pod.namespace, pod.name, "status"),
            query={"fieldManager": self._client.field_manager},
            body=codec.encode(operations),
            content_type="application/json-patch+json",
            request=f"patch status of Pod {pod.namespace}/{pod.name}",
        )
        self._store.put_own(Snapshot.from_json(Pod.kind, data), writer=WRITER)

    async def _let_go(self, pod: PlayedPod) -> None:
        """Delete the pod for good, as everything in it has ended; finalizers may keep it."""
        if pod.metadata.deletion_grace_period_seconds == 0:
            return
        try:
            await self._client.delete(
                Pod, pod.name, namespace=pod.namespace, uid=pod.uid, grace_period_seconds=0
            )
        except (NotFound, Conflict) as error:
            log.debug("pod %s/%s went by itself: %s", pod.namespace, pod.name, error)

    def _tell(self, pod: PlayedPod, step: Step) -> None:
        for warning in step.warnings:
            self._record(pod, warning)

    def tell(self, uid: str, warning: Warning) -> None:
        """Record what a runtime has to say of a pod, if it is still there."""
        snapshot = self._store.by_uid(uid)
        if snapshot is not None:
            self._record(PlayedPod.from_json(snapshot.data), warning)

    def _record(self, pod: PlayedPod, warning: Warning) -> None:
        regarding = Regarding(
            api_version="v1", kind="Pod", name=pod.name, namespace=pod.namespace, uid=pod.uid
        )
        self._recorder.record(
            regarding, warning.reason, warning.message, type="Warning", action="Kubelet"
        )


def _keys(contents: Contents) -> configuration.Found:
    return {
        source: None if content is None else frozenset(content)
        for source, content in contents.items()
    }
