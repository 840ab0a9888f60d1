from __future__ import annotations

import asyncio

import pytest

from konstat.base.transport import Request, Response
from konstat.client.exchange import Exchange
from konstat.client.tally import tally
from konstat.errors import TransportError


class Answering:
    """A transport that answers each request, after as many failures as are wanted."""

    def __init__(self, *, failures: int = 0) -> None:
        self._failures = failures

    async def send(self, request: Request) -> Response:
        if self._failures:
            self._failures -= 1
            raise TransportError("closed", sent=False)
        return Response(status=200, headers={}, body=b"{}")


async def _get(exchange: Exchange) -> None:
    await exchange.send("GET", "/api")


async def test_requests_of_a_block_and_of_its_tasks_are_counted() -> None:
    exchange = Exchange(Answering())  # pyright: ignore[reportArgumentType]
    await _get(exchange)
    with tally() as outer:
        await _get(exchange)
        with tally() as inner:
            await asyncio.gather(_get(exchange), asyncio.create_task(_get(exchange)))
        assert inner.requests == 2
    assert outer.requests == 1


async def test_a_repetition_is_a_request_too() -> None:
    exchange = Exchange(Answering(failures=1))  # pyright: ignore[reportArgumentType]
    with tally() as found:
        await _get(exchange)
    assert found.requests == 2


async def test_what_fails_was_asked_all_the_same() -> None:
    exchange = Exchange(Answering(failures=100))  # pyright: ignore[reportArgumentType]
    with tally() as found, pytest.raises(TransportError):
        await _get(exchange)
    assert found.requests > 0
