"""The in-memory shell with konstat's own client."""

from __future__ import annotations

import asyncio

import pytest
from stepped_clock import SteppedClock

from konstat.base import clock
from konstat.base.transport import Request
from konstat.client.api import Client
from konstat.embedded.memory import MemoryStream, MemoryTransport
from konstat.embedded.server import EmbeddedServer
from konstat.errors import NotFound, TransportError
from konstat.kinds import ConfigMap
from konstat.objects.kind import Kind

CONFIG_MAP = Kind(group="", version="v1", kind="ConfigMap", plural="configmaps")
PATH = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def client() -> Client:
    return Client(MemoryTransport(EmbeddedServer()))


async def test_the_client_works_over_it(client: Client) -> None:
    await client.create(CONFIG_MAP, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    assert (await client.get(ConfigMap, "a")).data == {"x": "1"}
    await client.delete(CONFIG_MAP, "a")
    with pytest.raises(NotFound):
        await client.get(ConfigMap, "a")


async def test_long_answers_come_unpacked(client: Client) -> None:
    await client.create(CONFIG_MAP, {"metadata": {"name": "a"}, "data": {"x": "y" * 200_000}})
    request = Request(method="GET", path=f"{PATH}/a", headers=(("Accept-Encoding", "gzip"),))
    answer = await client.transport.send(request)
    assert b"y" * 200_000 in answer.body
    assert "content-encoding" not in answer.headers


async def test_C81_a_read_waits_for_its_revision(client: Client) -> None:
    transport = client.transport
    assert isinstance(transport, MemoryTransport)
    ahead = transport.server.storage.revision + 1

    async def read() -> object:
        return await client.get(CONFIG_MAP, "a", resource_version=str(ahead))

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(read())
        await client.create(CONFIG_MAP, {"metadata": {"name": "a"}})
    assert reading.done()


async def test_C81_a_revision_that_does_not_come(client: Client) -> None:
    request = Request(method="GET", path=f"{PATH}?resourceVersion=99999")
    with clock.use_clock(SteppedClock()) as stepped:
        assert isinstance(stepped, SteppedClock)
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(client.transport.send(request))
            await stepped.advance(2.9)
            assert not reading.done()
            await stepped.advance(0.2)
    assert reading.result().status == 504


async def test_a_severed_watch_breaks(client: Client) -> None:
    request = Request(method="GET", path=f"{PATH}?watch=1")
    stream = await client.transport.open(request)
    assert isinstance(stream, MemoryStream)
    stream.sever()
    with pytest.raises(TransportError):
        async for _ in stream.chunks():
            pass


async def test_a_closed_transport_answers_no_more(client: Client) -> None:
    await client.aclose()
    with pytest.raises(TransportError) as caught:
        await client.transport.send(Request(method="GET", path="/version"))
    assert not caught.value.sent
