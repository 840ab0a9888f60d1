"""What `status --watch` and `wait` know while the server is away."""

from __future__ import annotations

from konstat.base.tasks import open_tasks
from konstat.base.transport import Request, Response, Stream
from konstat.cache import Informers
from konstat.cli.status.live import World
from konstat.cli.status.plan import Plan
from konstat.client.api import Client
from konstat.errors import TransportError
from konstat.kinds import ConfigMap, Deployment, Role, Secret


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
