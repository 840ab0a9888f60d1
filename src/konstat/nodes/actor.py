"""`NodeActor`: nodes and kubelets for a control plane that has none.

It registers nodes, keeps them alive (`konstat.nodes.heartbeat`) and plays the pods that the
scheduler binds to them (`konstat.nodes.pods`), all through the public API:

    async with Client.connect() as client, open_tasks() as tasks:
        actor = NodeActor(client)
        tasks.start(actor.run(), name="nodes")
        await actor.wait_registered()
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import msgspec

from konstat.base import chance, clock, limits
from konstat.base.tasks import Tasks, open_tasks
from konstat.cache.informer import Informer
from konstat.cache.informers import Informers
from konstat.client.api import Client
from konstat.errors import KonstatError, UserError
from konstat.kinds import Pod, Service
from konstat.nodes.acting import ActingRuntime, LogQuery
from konstat.nodes.heartbeat import PlayedNode
from konstat.nodes.memory import Pace
from konstat.nodes.node import NodeShape
from konstat.nodes.pods import WRITER, PodPlayer
from konstat.nodes.podspec import PlayedPod
from konstat.nodes.pretended import PretendedRuntime
from konstat.nodes.runtime import ContainerRuntime, Warning
from konstat.objects import codec
from konstat.queue import QueueStatistics
from konstat.services.events import Recorder

log = logging.getLogger("konstat.nodes")


class NodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes to play, and what each has (quantities as Kubernetes writes them).

    Nodes are named ``<name_prefix>-0`` and so on. ``remove_nodes_on_exit`` takes the nodes and
    their Leases away when `NodeActor.run` ends; the control plane then removes their pods.
    Raises UserError for more nodes, or pods on a node, than there are addresses for.
    """

    nodes: int = 1
    name_prefix: str = "konstat-node"
    cpu: str = "16"
    memory: str = "64Gi"
    pods: int = limits.PODS_PER_NODE
    remove_nodes_on_exit: bool = True

    def __post_init__(self) -> None:
        for given, name, most in (
            (self.nodes, "nodes", limits.NODES),
            (self.pods, "pods", limits.PODS_PER_NODE_MAXIMUM),
        ):
            if not 1 <= given <= most:
                raise UserError(f"{name} is {given}: give a number from 1 to {most}")


class NodeStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """``nodes`` that are being played now, ``pods`` on them, their queue (None before `run`)."""

    nodes: int
    pods: int
    queue: QueueStatistics | None


class NodeActor:
    """Plays nodes until it is cancelled.

    Containers are played by ``runtime``: pretended by default, or run as local processes by
    `konstat.nodes.processes.ProcessRuntime`. ``pace`` sets the back-offs of images and crashing
    containers. *Guarantees.* Writes only to nodes it has registered, their Leases, pods bound to
    them and Events; never to another pod of the same name.
    """

    def __init__(
        self,
        client: Client,
        options: NodeOptions | None = None,
        *,
        runtime: ContainerRuntime | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.options = options or NodeOptions()
        self._client = client
        self._runtime: ContainerRuntime = runtime or PretendedRuntime()
        self._acting = self._runtime if isinstance(self._runtime, ActingRuntime) else None
        self._pace = pace or Pace()
        instance = f"actor-{chance.suffix(10)}"
        self._recorder = Recorder(client, controller="konstat.dev/nodes", instance=instance)
        self._nodes = [
            PlayedNode(
                client,
                NodeShape(
                    name=f"{self.options.name_prefix}-{index}",
                    index=index,
                    cpu=self.options.cpu,
                    memory=self.options.memory,
                    pods=self.options.pods,
                ),
                instance=instance,
                runtime_name=self._runtime.name,
            )
            for index in range(self.options.nodes)
        ]
        self._player: PodPlayer | None = None

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self._nodes)

    async def run(self) -> None:
        """Play until cancelled.

        Raises UserError when a node's name is taken or another actor plays the node, APIError or
        TransportError when the server cannot be asked for its version.
        """
        version = await self._server_version()
        try:
            async with self._opened_runtime(), open_tasks() as tasks:
                self._start(tasks, version)
                await asyncio.Event().wait()  # until cancelled, or a task fails
        finally:
            await self._leave_nodes()

    async def wait_registered(self) -> None:
        """Wait until every node is registered and ready."""
        for node in self._nodes:
            await node.registered.wait()

    def fail_node(self, name: str) -> None:
        """Let a node fall silent, as a machine that lost its network: no lease, no statuses.

        After the node controller's grace period (about 50 s) its Ready condition is Unknown.
        Raises UserError for a node that is not ours.
        """
        self._node(name).fail()

    def recover_node(self, name: str) -> None:
        """Bring a node back after `fail_node`; raises UserError for a node that is not ours."""
        self._node(name).recover()
        if self._player is not None:
            self._player.add_all(name)

    def logs(
        self, pod: str, query: LogQuery | None = None, *, namespace: str = "default"
    ) -> AsyncIterator[bytes]:
        """What a container has said, in pieces, as the API's ``log`` subresource tells it.

        Raises UserError for a pod that is not played here, and (while it is read) for a container
        or a run that has no log; pretended containers have none.
        """
        if self._player is None or self._acting is None:
            raise UserError(
                f"the containers of pod {namespace}/{pod} are pretended, so they have no log; map"
                " their image to a command (--process IMAGE=COMMAND) to run them"
            )
        return self._acting.logs(self._player.pod(namespace, pod), query or LogQuery())

    def statistics(self) -> NodeStatistics:
        """A snapshot of the numbers."""
        player = self._player
        return NodeStatistics(
            nodes=sum(node.playing for node in self._nodes),
            pods=player.pods if player else 0,
            queue=player.queue.statistics() if player else None,
        )

    # --- parts --------------------------------------------------------------------------------

    def _opened_runtime(self) -> AbstractAsyncContextManager[None]:
        if self._acting is None:
            return nullcontext()
        return self._acting.opened(changed=self._look_again, tell=self._told)

    def _look_again(self, uid: str) -> None:
        if self._player is not None:
            self._player.queue.add(uid)

    def _told(self, uid: str, warning: Warning) -> None:
        if self._player is not None:
            self._player.tell(uid, warning)

    def _node(self, name: str) -> PlayedNode:
        for node in self._nodes:
            if node.name == name:
                return node
        raise UserError(
            f"no node {name!r} is played here: choose from {', '.join(self.node_names)}"
        )

    def _start(self, tasks: Tasks, version: str) -> None:
        informers = Informers(self._client, tasks)
        informer = informers.informer(Pod.kind)
        player = PodPlayer(
            self._client,
            informer.store,
            self._nodes,
            recorder=self._recorder,
            runtime=self._runtime,
            pace=self._pace,
        )
        self._player = player
        tasks.start(self._recorder.run(), name="events of kubelets")
        for node in self._nodes:
            tasks.start(node.run(kubelet_version=version), name=f"node {node.name}")
            tasks.start(self._begin(node, player), name=f"registration of {node.name}")
        informer.subscribe(player.on_change, writer=WRITER)
        player.start(tasks, workers=limits.CONCURRENT_ATTEMPTS)
        if self._acting is not None:
            services = informers.informer(Service.kind)
            tasks.start(self._follow_names(self._acting, services, informer), name="names")

    async def _follow_names(
        self, acting: ActingRuntime, services: Informer, pods: Informer
    ) -> None:
        """Tell the runtime which Services lead to which pods; changes that come together once."""
        changed = asyncio.Event()
        for informer in (services, pods):
            informer.subscribe(lambda _: changed.set())
        while True:
            changed.clear()
            acting.make_known(
                [Service.from_json(snapshot.data) for snapshot in services.store.list()],
                [PlayedPod.from_json(snapshot.data) for snapshot in pods.store.list()],
            )
            await changed.wait()
            await clock.sleep(limits.NODE_NAMES_SECONDS)

    async def _begin(self, node: PlayedNode, player: PodPlayer) -> None:
        """Look at the pods that were bound to a node before we played it."""
        await node.registered.wait()
        log.info("node %s is registered", node.name)
        player.add_all(node.name)

    async def _server_version(self) -> str:
        """The server's version: a kubelet is as old as its control plane."""
        data = await self._client.exchange("GET", "/version", request="read the server's version")
        answer: dict[str, Any] = codec.decode(data)
        return str(answer.get("gitVersion") or "")

    async def _leave_nodes(self) -> None:
        """Best effort within a bound: we are ending, perhaps because the server has."""
        what = "removed" if self.options.remove_nodes_on_exit else "released"
        try:
            async with asyncio.timeout(limits.NODE_REMOVE_SECONDS), open_tasks() as tasks:
                waits = [tasks.start(self._leave(n), name=f"leave {n.name}") for n in self._nodes]
                failures = [error for error in await asyncio.gather(*waits) if error is not None]
        except TimeoutError:
            log.warning("nodes were not all %s: no answer in time", what)
        else:
            if failures:
                log.warning("%d nodes were not %s: %s", len(failures), what, failures[0])

    async def _leave(self, node: PlayedNode) -> KonstatError | None:
        """Leave one node; a failure is returned, so that it does not keep others from leaving."""
        try:
            await (node.remove() if self.options.remove_nodes_on_exit else node.release())
        except KonstatError as error:
            return error
        return None
