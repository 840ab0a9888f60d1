"""What is sent again, how often and after which delay."""

from __future__ import annotations

import logging

import pytest

from konstat.base import limits
from konstat.base.clock import use_clock
from konstat.client.api import Client
from konstat.errors import (
    Conflict,
    ServerError,
    ServerTimeout,
    ServiceUnavailable,
    TooManyRequests,
    TransportError,
)

LOST = TransportError("lost")
UNSENT = TransportError("refused", sent=False)


@pytest.fixture
def ask(fake_transport, simulated_clock):
    """Sends one request against prepared answers; gives the number of requests and the result."""

    async def run(*answers, method="GET", retry=None):
        transport = fake_transport(*answers)
        with use_clock(simulated_clock):
            try:
                result = await Client(transport).exchange(method, "/api", body=b"{}", retry=retry)
            except Exception as error:  # noqa: BLE001 - the tests look at it
                result = error
        return len(transport.requests), result

    return run


async def test_a_good_answer_is_its_body(ask, answered):
    assert await ask(answered(200, b"yes")) == (1, b"yes")
    assert await ask(answered(201, b"yes"), method="POST") == (1, b"yes")


@pytest.mark.parametrize("method", ["GET", "PUT"])
async def test_a_lost_answer_of_a_repeatable_verb_is_asked_for_again(ask, answered, method):
    assert await ask(LOST, answered(200, b"yes"), method=method) == (2, b"yes")


@pytest.mark.parametrize("sent", [True, False])
async def test_a_silent_server_is_waited_for_once(ask, answered, sent):
    silent = TransportError("silent", sent=sent, timed_out=True)
    count, error = await ask(silent, answered(200, b"late"), retry=True)
    assert count == 1
    assert isinstance(error, TransportError)
    assert error.timed_out


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
async def test_F24_F25_F26_a_lost_answer_of_a_write_goes_up(ask, answered, method):
    count, error = await ask(LOST, answered(200), method=method)
    assert count == 1
    assert isinstance(error, TransportError)
    assert error.sent


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE", "GET"])
async def test_what_was_not_sent_is_sent_again(ask, answered, method):
    assert await ask(UNSENT, answered(200, b"yes"), method=method) == (2, b"yes")


async def test_the_caller_may_decide(ask, answered):
    assert await ask(LOST, answered(200, b"yes"), method="PATCH", retry=True) == (2, b"yes")
    count, error = await ask(UNSENT, answered(200), method="GET", retry=False)
    assert (count, error.sent) == (1, False)


async def test_L2_tries_are_bounded(ask, answered, simulated_clock):
    count, error = await ask(LOST)
    assert count == limits.REQUEST_TRIES
    assert isinstance(error, TransportError)
    assert str(error) == "failed to GET /api: lost"
    count, error = await ask(answered(429, retry_after="2"), method="POST")
    assert count == limits.REQUEST_TRIES
    assert isinstance(error, TooManyRequests)


async def test_the_first_repetition_of_a_lost_answer_goes_at_once(ask, answered, simulated_clock):
    await ask(LOST, answered(200))
    assert simulated_clock.sleeps == []
    await ask(LOST, LOST, answered(200))
    assert len(simulated_clock.sleeps) == 1


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH"])
async def test_F20_429_waits_as_long_as_the_server_asks(ask, answered, simulated_clock, method):
    assert await ask(answered(429, retry_after="30"), answered(200, b"yes"), method=method) == (
        2,
        b"yes",
    )
    assert simulated_clock.sleeps == [30.0]


async def test_F21_503_with_a_delay_is_repeated(ask, answered, simulated_clock):
    assert await ask(answered(503, retry_after="1"), answered(200, b"yes")) == (2, b"yes")
    assert simulated_clock.sleeps == [1.0]


async def test_503_without_a_delay_goes_up(ask, answered):
    count, error = await ask(answered(503))
    assert count == 1
    assert isinstance(error, ServiceUnavailable)


async def test_a_delay_above_the_maximum_goes_up(ask, answered, simulated_clock):
    count, error = await ask(answered(429, retry_after="600"))
    assert count == 1
    assert error.retry_after_seconds == 600
    assert simulated_clock.sleeps == []


async def test_the_caller_may_forbid_every_repetition(ask, answered):
    count, error = await ask(answered(429, retry_after="1"), retry=False)
    assert count == 1
    assert isinstance(error, TooManyRequests)


@pytest.mark.parametrize(
    ("code", "expected"), [(409, Conflict), (500, ServerError), (504, ServerTimeout)]
)
async def test_F27_other_errors_are_for_the_layer_above(ask, answered, code, expected):
    count, error = await ask(answered(code, retry_after="1"))
    assert count == 1
    assert isinstance(error, expected)


async def test_headers_say_what_is_sent_and_wanted(fake_transport, answered):
    transport = fake_transport(answered(200))
    client = Client(transport)
    await client.exchange("GET", "/api")
    await client.exchange("PATCH", "/api", body=b"{}", content_type="a/b", accept="c/d")
    assert [request.headers for request in transport.requests] == [
        (("Accept", "application/json"),),
        (("Accept", "c/d"), ("Content-Type", "a/b")),
    ]


async def test_the_query_is_encoded(fake_transport, answered):
    transport = fake_transport(answered(200))
    await Client(transport).exchange("GET", "/api", query=[("a", "x y&=ä"), ("a", "+")])
    assert transport.requests[0].path == "/api?a=x+y%26%3D%C3%A4&a=%2B"


async def test_a_warning_of_the_server_is_logged_once(fake_transport, answered, caplog):
    client = Client(fake_transport(answered(200, warning='299 - "v1beta1 is deprecated"')))
    with caplog.at_level(logging.WARNING, logger="konstat"):
        await client.exchange("GET", "/api")
        await client.exchange("GET", "/api")
    assert [r.getMessage() for r in caplog.records] == [
        'the server warns: 299 - "v1beta1 is deprecated"'
    ]
