"""The endpoints of a manager, asked over real connections."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from konstat.errors import ConfigError
from konstat.services import health


class Probed:
    """What the endpoints are to say."""

    def __init__(self) -> None:
        self.alive: dict[str, str] = {}
        self.ready: dict[str, str] = {}
        self.address = ("", 0)

    async def ask(self, path: str, method: str = "GET") -> tuple[int, str]:
        host, port = self.address
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, f"http://{host}:{port}{path}") as answer,
        ):
            return answer.status, await answer.text()


def serving(probed: Probed, host: str = "127.0.0.1", port: int = 0):
    return health.serve(
        host,
        port,
        alive=lambda: probed.alive,
        ready=lambda: probed.ready,
        metrics=lambda: "konstat_größe 1\n".encode(),
    )


@pytest.fixture
async def probed() -> AsyncIterator[Probed]:
    probed = Probed()
    async with serving(probed) as probed.address:
        yield probed


async def test_all_is_well(probed: Probed) -> None:
    assert await probed.ask("/healthz") == (200, "ok\n")
    assert await probed.ask("/readyz") == (200, "ok\n")
    assert await probed.ask("/metrics") == (200, "konstat_größe 1\n")


async def test_problems_are_named_in_order(probed: Probed) -> None:
    probed.ready = {"pods": "forbidden", "manager": "starting"}
    assert await probed.ask("/readyz") == (503, "manager: starting\npods: forbidden\n")
    assert await probed.ask("/healthz") == (200, "ok\n")
    probed.alive = {"loop": "blocked"}
    assert await probed.ask("/healthz") == (503, "loop: blocked\n")
    probed.ready = {}
    assert await probed.ask("/readyz") == (200, "ok\n")


async def test_a_probe_may_ask_for_the_head_only(probed: Probed) -> None:
    assert await probed.ask("/readyz", "HEAD") == (200, "")


async def test_nothing_else_is_served(probed: Probed) -> None:
    assert (await probed.ask("/"))[0] == 404
    assert (await probed.ask("/metrics", "POST"))[0] == 405


async def test_a_taken_port_is_a_config_error(probed: Probed) -> None:
    with pytest.raises(ConfigError, match=rf"failed to serve .* on 127.0.0.1:{probed.address[1]}"):
        async with serving(probed, port=probed.address[1]):
            pass


@pytest.mark.parametrize(("host", "port"), [("no.such.host.invalid", 0), ("127.0.0.1", 70000)])
async def test_an_impossible_address_is_a_config_error(host: str, port: int) -> None:
    with pytest.raises(ConfigError, match="give another address"):
        async with serving(Probed(), host, port):
            pass


async def test_the_port_is_free_after_the_block() -> None:
    probed = Probed()
    async with serving(probed) as probed.address:
        pass
    with socket.create_server(probed.address):
        pass
    with pytest.raises(aiohttp.ClientConnectionError):
        await probed.ask("/healthz")


async def test_idle_and_half_sent_requests_do_not_hold_the_end() -> None:
    probed = Probed()
    async with asyncio.timeout(20):  # aiohttp's own patience is a minute
        async with serving(probed) as probed.address:
            host, port = probed.address
            writers = [(await asyncio.open_connection(host, port))[1] for _ in range(2)]
            writers[1].write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
            await writers[1].drain()
            assert await probed.ask("/healthz") == (200, "ok\n")
        for writer in writers:
            writer.close()
