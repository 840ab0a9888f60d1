"""Two actors and one node: who lives keeps it, who has ended or died leaves it."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from konstat.base import clock, limits
from konstat.base.tasks import open_tasks
from konstat.client.api import Client
from konstat.errors import TransportError, UserError
from konstat.kinds import Lease, Node
from konstat.nodes import NodeActor, NodeOptions
from konstat.nodes.claim import Held, held_by_another
from konstat.nodes.node import INSTANCE, LEASE_NAMESPACE, NodeShape, lease_content, node_content
from konstat.testing import embedded_api

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SHAPE = NodeShape(name="node-0", index=0, cpu="1", memory="1Gi", pods=10)
OPTIONS = NodeOptions(name_prefix="node")
LENGTH = float(limits.NODE_LEASE_SECONDS)


def lease(*, instance: str = "other", uid: str = "u1", **spec: Any) -> Lease:
    content = lease_content(SHAPE, node_uid=uid, instance=instance, now=NOW)
    return Lease.from_content({**content, "spec": {**content["spec"], **spec}})


def look(found: Lease, *, seen: Held | None = None, age: float = 0.0, at: float = 0.0) -> Any:
    return held_by_another(
        found,
        instance="mine",
        node_uid="u1",
        seen=seen,
        now=NOW + timedelta(seconds=age),
        monotonic=at,
    )


def test_a_fresh_lease_is_held_until_it_runs_out() -> None:
    seen = look(lease(), age=3, at=100)
    assert (seen.instance, seen.age_seconds, seen.until) == ("other", 3, 97 + LENGTH)
    # What another clock says does not count any more, only our own waiting does.
    assert look(lease(), seen=seen, age=900, at=96 + LENGTH) is seen
    assert look(lease(), seen=seen, age=-900, at=97 + LENGTH) is None


def test_a_renewed_lease_is_held_anew() -> None:
    seen = look(lease(), at=0)
    renewed = look(lease(renewTime="2026-01-02T03:04:15.000000Z"), seen=seen, age=10, at=10)
    assert renewed not in (None, seen)


@pytest.mark.parametrize(
    "found",
    [
        lease(instance="mine"),
        lease(instance=""),
        lease(uid="of-a-node-that-was-deleted"),
        lease(renewTime="2026-01-02T03:03:00.000000Z"),
    ],
    ids=["ours", "released", "of an earlier node", "run out"],
)
def test_a_free_lease_is_not_held(found: Lease) -> None:
    assert look(found) is None


@pytest.mark.parametrize(
    "spec",
    [
        {"renewTime": "2099-01-01T00:00:00.000000Z"},
        {"renewTime": "nonsense"},
        {"renewTime": None},
        {"leaseDurationSeconds": 10**9},
        {"leaseDurationSeconds": 0},
    ],
    ids=str,
)
def test_odd_times_are_waited_for_no_longer_than_a_lease(spec: dict[str, Any]) -> None:
    assert look(lease(**spec)).until == LENGTH


async def _another(client: Client, *, renewed: datetime) -> None:
    """A node in the hands of another actor."""
    node = await client.create(Node.kind, node_content(SHAPE))
    content = lease_content(SHAPE, node_uid=node["metadata"]["uid"], instance="other", now=renewed)
    await client.create(Lease.kind, content)


async def _holder(client: Client) -> str:
    lease = await client.get(Lease, "node-0", namespace=LEASE_NAMESPACE)
    return (lease.metadata.annotations or {}).get(INSTANCE, "")


async def test_a_node_that_another_plays_is_refused_and_left_alone(
    until: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def warned() -> bool:
        return "it is taken over" in caplog.text

    async with embedded_api(nodes=0, actors=False) as api, api.client() as client:
        await _another(client, renewed=clock.now() - timedelta(seconds=5))
        with caplog.at_level(logging.WARNING, "konstat.nodes"):
            refused = asyncio.ensure_future(NodeActor(client, OPTIONS).run())
            await until(warned, what="a warning that the node is held")
        renewal = {"spec": {"renewTime": clock.micro_timestamp(clock.now())}}
        await client.patch(Lease.kind, "node-0", renewal, type="merge", namespace=LEASE_NAMESPACE)
        with pytest.raises(UserError, match=r"\(other\) plays node node-0: end it, or give"):
            await refused
        assert await _holder(client) == "other"
        assert (await client.get(Node, "node-0")).name == "node-0"


async def test_a_node_whose_actor_was_killed_long_ago_is_taken_over() -> None:
    async with embedded_api(nodes=0, actors=False) as api, api.client() as client:
        await _another(client, renewed=clock.now() - timedelta(seconds=LENGTH + 1))
        async with open_tasks() as tasks:
            actor = NodeActor(client, OPTIONS)
            playing = tasks.start(actor.run(), name="nodes")
            await actor.wait_registered()
            assert await _holder(client) not in ("", "other")
            playing.cancel()


async def test_nodes_that_are_left_behind_are_released() -> None:
    async with embedded_api(nodes=0, actors=False) as api, api.client() as client:
        async with open_tasks() as tasks:
            actor = NodeActor(client, msgspec.structs.replace(OPTIONS, remove_nodes_on_exit=False))
            playing = tasks.start(actor.run(), name="nodes")
            await actor.wait_registered()
            playing.cancel()
        assert await _holder(client) == ""
        assert (await client.get(Node, "node-0")).name == "node-0"


async def test_nodes_that_cannot_be_released_do_not_keep_others_from_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails() -> None:
        raise TransportError("the server is gone")

    options = msgspec.structs.replace(OPTIONS, nodes=3, remove_nodes_on_exit=False)
    async with embedded_api(nodes=0, actors=False) as api, api.client() as client:
        async with open_tasks() as tasks:
            actor = NodeActor(client, options)
            playing = tasks.start(actor.run(), name="nodes")
            await actor.wait_registered()
            for node in actor._nodes[1:]:
                monkeypatch.setattr(node, "release", fails)
            playing.cancel()
        assert await _holder(client) == ""
    assert "2 nodes were not released: the server is gone" in caplog.text
