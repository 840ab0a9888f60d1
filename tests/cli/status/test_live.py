"""What `status --watch` and `wait` know while the server is away."""

from __future__ import annotations

import asyncio

import pytest

from konstat.base import limits
from konstat.base.tasks import open_tasks
from konstat.base.transport import Request, Response, Stream, Transport
from konstat.cache import Informers
from konstat.cli.status.live import World
from konstat.cli.status.plan import Plan
from konstat.client.api import Client
from konstat.embedded.memory import MemoryTransport
from konstat.embedded.server import EmbeddedServer
from konstat.errors import TransportError
from konstat.kinds import ConfigMap, Deployment, Pod, ReplicaSet, Role, Secret


class Away:
    """A transport to a server that is not there."""

    async def send(self, request: Request) -> Response:
        raise TransportError("connection refused")

    async def open(self, request: Request) -> Stream:
        raise TransportError("connection refused")

    async def close(self) -> None:
        return None


async def test_kinds_that_are_listed_together_may_all_fail_together() -> None:
    slim = (ConfigMap.kind, Role.kind, Secret.kind)
    plan = Plan(
        resources=(Deployment.kind,), children=slim, metadata_only=frozenset(slim), namespace="demo"
    )
    async with open_tasks() as tasks:
        world = World(Client(Away()), plan, Informers(Client(Away()), tasks))
        rereading = tasks.start(world.reread(), name="reread")
        await world.changed.wait()
        assert not rereading.done()
        unread = world.gathered().unread
        assert [unread[kind] for kind in slim] == ["no answer"] * 3


class Broken:
    """A transport to a server that serves everything but ReplicaSets."""

    def __init__(self, whole: Transport) -> None:
        self._whole = whole

    async def send(self, request: Request) -> Response:
        if "/replicasets" in request.path:
            return Response(status=500, headers={}, body=b"conversion webhook failed")
        return await self._whole.send(request)

    async def open(self, request: Request) -> Stream:
        if "/replicasets" in request.path:
            raise TransportError("HTTP 500")
        return await self._whole.open(request)

    async def close(self) -> None:
        return None


async def test_a_kind_of_children_that_only_fails_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "TREE_FAILING_SECONDS", 0.2)
    plan = Plan(
        resources=(Deployment.kind,), children=(ReplicaSet.kind, Pod.kind), namespace="demo"
    )
    async with open_tasks() as tasks:
        client = Client(Broken(MemoryTransport(EmbeddedServer())))
        world = World(client, plan, Informers(client, tasks))
        tasks.start(world.reread(), name="reread")
        async with asyncio.timeout(30):
            await world.wait_read()
        gathered = world.gathered()
        assert gathered.unread == {ReplicaSet.kind: "unsynced"}
        assert ("", "Pod") in gathered.objects
