"""Nodes that fall silent, come back, are deleted or taken over."""

from __future__ import annotations

import re
from typing import Any

import pytest

from konstat.base import chance, clock
from konstat.base.tasks import open_tasks
from konstat.client.api import Client
from konstat.errors import NotFound, UserError
from konstat.kinds import Lease, Node, Pod
from konstat.nodes import NodeActor, NodeOptions
from konstat.nodes.node import LEASE_NAMESPACE
from konstat.testing import ControlPlane, Options

pytestmark = pytest.mark.realapi

# A node is called silent soon after its last lease, which is renewed every ten seconds.
QUICK = Options(
    controller_manager_flags=("--node-monitor-period=1s", "--node-monitor-grace-period=13s")
)


def prefix() -> str:
    return f"node-{chance.suffix()}"


async def ready(client: Client, name: str) -> str:
    content = await client.get(Node.kind, name)
    conditions = content["status"].get("conditions") or ()
    return next((c["status"] for c in conditions if c["type"] == "Ready"), "")


async def test_a_failed_node_is_marked_and_comes_back(start_control_plane: Any, until: Any) -> None:
    plane: ControlPlane = start_control_plane(QUICK)
    async with plane.client() as client, open_tasks() as tasks:
        actor = NodeActor(client, NodeOptions(nodes=2))
        tasks.start(actor.run(), name="nodes")
        await actor.wait_registered()
        failing, other = actor.node_names
        actor.fail_node(failing)

        async def silent() -> bool:
            return await ready(client, failing) == "Unknown"

        await until(silent, what="a node whose state is unknown")
        assert await ready(client, other) == "True"
        # Nobody plays the pods of a failed node.
        content = {
            "metadata": {"name": "lost"},
            "spec": {"nodeName": failing, "containers": [{"name": "main", "image": "app"}]},
        }
        await client.create(Pod.kind, content)
        content["metadata"]["name"], content["spec"]["nodeName"] = "found", other
        await client.create(Pod.kind, content)

        async def running(name: str) -> bool:
            return (await client.get(Pod.kind, name))["status"].get("phase") == "Running"

        await until(lambda: running("found"), what="the pod on the other node")
        assert not await running("lost")
        actor.recover_node(failing)
        await until(lambda: running("lost"), what="the pod on the node that came back")

        async def back() -> bool:
            return await ready(client, failing) == "True"

        await until(back, what="a node that is ready again", seconds=25)


async def test_nodes_live_through_an_outage_of_the_server(
    start_control_plane: Any, until: Any
) -> None:
    plane: ControlPlane = start_control_plane(QUICK)
    async with plane.client() as client, open_tasks() as tasks:
        actor = NodeActor(client)
        tasks.start(actor.run(), name="nodes")
        await actor.wait_registered()
        await plane.restart_apiserver()
        content = {
            "metadata": {"name": "after"},
            "spec": {"containers": [{"name": "main", "image": "app"}]},
        }
        await client.create(Pod.kind, content)

        async def running() -> bool:
            return (await client.get(Pod.kind, "after"))["status"].get("phase") == "Running"

        await until(running, what="a pod that came after the outage")
        # Longer than the grace period for nodes: the lease must have been renewed.
        deadline = clock.monotonic() + 15

        async def stays_ready() -> bool:
            assert await ready(client, actor.node_names[0]) == "True"
            return clock.monotonic() > deadline

        await until(stays_ready, what="a node that stays ready", seconds=30)


async def test_a_deleted_node_stays_deleted(client: Client, run_nodes: Any, until: Any) -> None:
    async with run_nodes(client, NodeOptions(nodes=2)) as actor:
        deleted = actor.node_names[0]
        await client.delete(Node, deleted)

        async def one_left() -> bool:
            return actor.statistics().nodes == 1

        await until(one_left, what="one played node", seconds=25)
        with pytest.raises(NotFound):
            await client.get(Node, deleted)
        assert await ready(client, actor.node_names[1]) == "True"


async def test_an_actor_whose_nodes_are_taken_over_fails_and_leaves_them(client: Client) -> None:
    options = NodeOptions(name_prefix=prefix())
    first, second = NodeActor(client, options), NodeActor(client, options)
    async with open_tasks() as tasks:
        playing = tasks.start(_failure_of(first), name="first")
        await first.wait_registered()
        # As if the first one had been away until its Lease ran out.
        name = second.node_names[0]
        old = {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}
        await client.patch(Lease.kind, name, old, type="merge", namespace=LEASE_NAMESPACE)
        tasks.start(second.run(), name="second")
        await second.wait_registered()
        assert re.search(r"another node actor \(actor-.*\) plays node", await playing)
        assert await ready(client, name) == "True"


async def _failure_of(actor: NodeActor) -> str:
    with pytest.raises(UserError) as raised:
        await actor.run()
    return str(raised.value)


async def test_a_name_that_is_not_played_cannot_fail(client: Client) -> None:
    actor = NodeActor(client, NodeOptions(nodes=2, name_prefix="n"))
    with pytest.raises(UserError, match="no node 'x' is played here: choose from n-0, n-1"):
        actor.fail_node("x")
