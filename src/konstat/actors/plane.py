"""`ControlPlaneActors`: all actors together, in place of kube-controller-manager and scheduler.

    async with Client.connect() as client, open_tasks() as tasks:
        tasks.start(ControlPlaneActors(client).run(), name="control plane")

They use the public API only, so they run beside any server: the embedded one, or a real
kube-apiserver that has no controllers. Two of them, or one beside the real controllers, would
undo each other's work; there is no election.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Never, TypeAlias

import msgspec

from konstat.actors.accounts import RootCertificateActor, ServiceAccountActor
from konstat.actors.actor import Actor
from konstat.actors.autoscaler import AutoscalerActor
from konstat.actors.cronjobs import CronJobActor
from konstat.actors.daemonsets import DaemonSetActor
from konstat.actors.deployments import DeploymentActor
from konstat.actors.disruption import DisruptionActor
from konstat.actors.everything import Everything
from konstat.actors.garbage import GarbageCollector
from konstat.actors.jobs import JobActor
from konstat.actors.namespaces import NamespaceActor
from konstat.actors.node_lifecycle import NodeLifecycleActor
from konstat.actors.quotas import QuotaActor
from konstat.actors.replicasets import ReplicaSetActor
from konstat.actors.scheduler import SchedulerActor
from konstat.actors.services import EndpointsActor, EndpointSliceActor
from konstat.actors.statefulsets import StatefulSetActor
from konstat.actors.volumes import VolumeActor
from konstat.actors.world import World
from konstat.base import limits
from konstat.base.tasks import open_tasks
from konstat.client.api import Client
from konstat.errors import UserError
from konstat.queue import QueueStatistics


class ActorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which actors play, and what they are told.

    ``only`` and ``without`` name actors by their keys in `ACTORS`. ``root_certificate`` (PEM) is
    published in every namespace; without it no ConfigMap is made. ``node_grace_seconds`` is how
    long a node may be silent. Raises UserError for a name that is none.
    """

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    root_certificate: str = ""
    node_grace_seconds: float = limits.NODE_GRACE_SECONDS

    def __post_init__(self) -> None:
        unknown = sorted({*self.only, *self.without} - set(ACTORS))
        if unknown:
            raise UserError(
                f"no actor is called {unknown[0]!r}: choose from {', '.join(sorted(ACTORS))}"
            )

    @property
    def chosen(self) -> tuple[str, ...]:
        """The keys of the actors that play."""
        chosen = self.only or tuple(ACTORS)
        left = [key for key in chosen if key not in self.without]
        if not self.root_certificate:
            left = [key for key in left if key != "root-certificate"]
        return tuple(left)


_Make: TypeAlias = Callable[[World, Everything, ActorOptions], Actor]

ACTORS: Final[Mapping[str, _Make]] = MappingProxyType(
    {
        "deployment": lambda world, everything, options: DeploymentActor(world),
        "replicaset": lambda world, everything, options: ReplicaSetActor(world),
        "statefulset": lambda world, everything, options: StatefulSetActor(world),
        "daemonset": lambda world, everything, options: DaemonSetActor(world),
        "job": lambda world, everything, options: JobActor(world),
        "cronjob": lambda world, everything, options: CronJobActor(world),
        "scheduler": lambda world, everything, options: SchedulerActor(world),
        "endpointslice": lambda world, everything, options: EndpointSliceActor(world),
        "endpoints": lambda world, everything, options: EndpointsActor(world),
        "garbage": lambda world, everything, options: GarbageCollector(world, everything),
        "namespace": lambda world, everything, options: NamespaceActor(world, everything),
        "quota": lambda world, everything, options: QuotaActor(world, everything),
        "serviceaccount": lambda world, everything, options: ServiceAccountActor(world),
        "root-certificate": lambda world, everything, options: RootCertificateActor(
            world, options.root_certificate
        ),
        "node-lifecycle": lambda world, everything, options: NodeLifecycleActor(
            world, grace_seconds=options.node_grace_seconds
        ),
        "volume": lambda world, everything, options: VolumeActor(world),
        "disruption": lambda world, everything, options: DisruptionActor(world),
        "autoscaler": lambda world, everything, options: AutoscalerActor(world),
    }
)
_FOLLOW_EVERYTHING: Final = frozenset({"garbage", "namespace", "quota"})


class ControlPlaneActors:
    """Plays the controllers and the scheduler until it is cancelled."""

    def __init__(self, client: Client, options: ActorOptions | None = None) -> None:
        self.options = options or ActorOptions()
        self._client = client
        self._actors: dict[str, Actor] = {}

    async def run(self) -> Never:
        """Act until cancelled.

        Errors of the server are logged and tried again; what leaves this is a mistake of ours.
        """
        async with open_tasks() as tasks:
            world = World(self._client, tasks)
            everything = Everything(world)
            self._actors = {
                key: ACTORS[key](world, everything, self.options) for key in self.options.chosen
            }
            if not _FOLLOW_EVERYTHING.isdisjoint(self._actors):
                tasks.start(everything.run(), name="kinds of the server")
            runs = [tasks.start(a.run(), name=f"actor {k}") for k, a in self._actors.items()]
            for run in runs:
                await run
        raise AssertionError("actors that run for ever have ended")

    def statistics(self) -> dict[str, QueueStatistics]:
        """The numbers of each actor's queue, by its key; empty before `run`."""
        return {key: actor.statistics() for key, actor in self._actors.items()}
