"""Two control planes: a real one, and a server whose controllers are the actors."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from actor_stories import Story, difference, until

from konstat.actors import ActorOptions, ControlPlaneActors
from konstat.base import chance
from konstat.base.tasks import open_tasks
from konstat.client.api import Client
from konstat.kinds import Namespace, Node, ServiceAccount
from konstat.nodes import NodeActor, NodeOptions, Pace, PretendedRuntime
from konstat.testing import ControlPlane, Options
from konstat.testing.plugin import StartControlPlane
from konstat.testing.rig_binaries import Binaries

QUICK = Pace(
    backoff_first_seconds=0.4,
    backoff_maximum_seconds=0.8,
    shown_seconds=0.2,
    recheck_seconds=0.1,
)

Scenario = Callable[[Story], Awaitable[Any]]
Tell = Callable[[Scenario], Awaitable[Any]]


@pytest.fixture(scope="session")
def bare_plane(rig_binaries: Binaries) -> Iterator[ControlPlane]:
    """A server without controllers and scheduler, for the whole session."""
    from konstat.testing.plugin import _running

    options = Options(controller_manager=False, scheduler=False)
    with _running(options, rig_binaries) as plane:
        yield plane


@asynccontextmanager
async def played(
    plane: ControlPlane, *, actors: ActorOptions | None, nodes: NodeOptions | None = None
) -> AsyncIterator[Story]:
    """Nodes (and actors) on ``plane``, and a fresh namespace."""
    async with Client.connect(plane.config) as client, open_tasks() as tasks:
        if actors is not None:
            tasks.start(ControlPlaneActors(client, actors).run(), name="actors")
        prefix = f"node-{chance.suffix()}"
        given = nodes or NodeOptions(nodes=2)
        options = NodeOptions(nodes=given.nodes, cpu=given.cpu, name_prefix=prefix)
        runtime = PretendedRuntime(run_seconds=0.2)
        node_actor = NodeActor(client, options, runtime=runtime, pace=QUICK)
        tasks.start(node_actor.run(), name="nodes")
        await node_actor.wait_registered()
        for node in node_actor.node_names:
            await until(functools.partial(_untainted, client, node), what="a node without taints")
        name = f"acted-{chance.suffix()}"
        await client.create(Namespace.kind, {"metadata": {"name": name}})
        client.namespace = name
        await until(lambda: client.get(ServiceAccount.kind, "default"), what="ServiceAccount")
        yield Story(client, tasks, nodes=node_actor)
        await client.delete(Namespace, name)


async def _untainted(client: Client, name: str) -> bool:
    return not (await client.get(Node.kind, name))["spec"].get("taints")


@pytest.fixture
def run_acted(bare_plane: ControlPlane) -> Callable[..., AbstractAsyncContextManager[Story]]:
    """Actors of one's choice on the bare server."""

    def run(
        actors: ActorOptions | None = None, nodes: NodeOptions | None = None
    ) -> AbstractAsyncContextManager[Story]:
        return played(bare_plane, actors=actors or ActorOptions(), nodes=nodes)

    return run


@pytest.fixture
async def story(run_acted: Any) -> AsyncIterator[Story]:
    """A namespace where the actors act."""
    async with run_acted() as told:
        yield told


@pytest.fixture
def compare(control_plane: ControlPlane, bare_plane: ControlPlane) -> Tell:
    """Run a scenario on both planes and assert that it gives the same."""

    async def tell(scenario: Scenario) -> Any:
        async with played(control_plane, actors=None) as real:
            expected = await scenario(real)
        async with played(bare_plane, actors=ActorOptions()) as acted:
            found = await scenario(acted)
        assert found == expected, difference(expected, found)
        return found

    return tell


__all__ = ["StartControlPlane"]
