"""The loopback shell: who is answered, streams, sizes, the end."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from konstat.client.api import Client
from konstat.client.cluster import ClusterConfig
from konstat.embedded.http import Address, serve
from konstat.embedded.server import EmbeddedServer
from konstat.errors import UserError
from konstat.kinds import ConfigMap
from konstat.objects.kind import Kind

CONFIG_MAP = Kind(group="", version="v1", kind="ConfigMap", plural="configmaps")


@pytest.fixture
async def address() -> AsyncIterator[Address]:
    async with serve(EmbeddedServer()) as bound:
        yield bound


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
async def test_loopback_names_are_answered(
    address: Address, session: aiohttp.ClientSession, name: str
) -> None:
    headers = {"Host": f"{name}:{address.port}"}
    async with session.get(f"{address.url}/version", headers=headers) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1"},
        {"Host": "evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
async def test_other_names_and_origins_are_refused(
    address: Address, session: aiohttp.ClientSession, headers: dict[str, str]
) -> None:
    async with session.get(f"{address.url}/api/v1/secrets", headers=headers) as answer:
        assert answer.status == 403
        assert json.loads(await answer.read())["reason"] == "Forbidden"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.com", "::"])
async def test_only_loopback_is_listened_on(host: str) -> None:
    with pytest.raises(UserError, match="loopback only"):
        async with serve(EmbeddedServer(), host=host):
            pass


async def test_a_taken_port(address: Address) -> None:
    with pytest.raises(UserError, match="cannot listen on"):
        async with serve(EmbeddedServer(), port=address.port):
            pass


async def test_C97_long_bodies_are_not_read(
    address: Address, session: aiohttp.ClientSession
) -> None:
    path = f"{address.url}/api/v1/namespaces/default/configmaps"
    async with session.post(path, data=io.BytesIO(b"x" * 3_200_000)) as answer:
        assert answer.status == 413


async def test_C100_long_answers_are_compressed(
    address: Address, session: aiohttp.ClientSession
) -> None:
    path = f"{address.url}/api/v1/namespaces/default/configmaps"
    content = {"metadata": {"name": "a"}, "data": {"a": "x" * 200_000}}
    async with session.post(path, json=content) as answer:
        assert answer.status == 201
    for encoding, packed in (("gzip", "gzip"), ("identity", None)):
        headers = {"Accept-Encoding": encoding}
        async with session.get(f"{path}/a", headers=headers, auto_decompress=False) as answer:
            assert answer.headers.get("Content-Encoding") == packed
    async with session.get(f"{address.url}/version") as answer:
        assert "Content-Encoding" not in answer.headers


async def test_konstats_client_lists_and_watches(address: Address) -> None:
    config = ClusterConfig(server=address.url)
    async with Client.connect(config) as client:
        await client.create(CONFIG_MAP, {"metadata": {"name": "a"}, "data": {"x": "1"}})
        found = await client.get(ConfigMap, "a")
        version = found.metadata.resource_version
        async with client.watch(
            CONFIG_MAP, namespace="default", resource_version=version, timeout_seconds=30
        ) as events:
            await client.patch(CONFIG_MAP, "a", {"data": {"x": "2"}}, type="merge")
            event = await anext(events)
            assert event.type == "MODIFIED"
            assert json.loads(bytes(event.object))["data"] == {"x": "2"}


async def test_a_client_that_leaves_frees_its_watch(session: aiohttp.ClientSession) -> None:
    server = EmbeddedServer()
    async with serve(server) as address:
        answer = await session.get(f"{address.url}/api/v1/configmaps?watch=1")
        assert server.storage.followers() == 1
        answer.close()
        async with asyncio.timeout(10):
            while server.storage.followers():
                async with session.get(f"{address.url}/version") as ping:
                    await ping.read()


async def test_the_end_closes_watches(session: aiohttp.ClientSession) -> None:
    server = EmbeddedServer()
    async with serve(server) as address:
        answer = await session.get(f"{address.url}/api/v1/configmaps?watch=1")
    async with asyncio.timeout(10):
        assert await answer.content.read() == b""
    assert server.storage.followers() == 0
