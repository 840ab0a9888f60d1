"""Events of a watch, from chunks to the end or the error of the stream."""

from __future__ import annotations

import json

import pytest

from konstat.base import limits
from konstat.client.api import Client
from konstat.errors import Expired, Forbidden, ServerTimeout, TransportError
from konstat.objects.kind import Kind

PODS = Kind(group="", version="v1", kind="Pod", plural="pods")


def event(type: str, **fields) -> bytes:
    return json.dumps({"type": type, "object": fields}).encode() + b"\n"


@pytest.fixture
def watch(fake_transport):
    """Watches over prepared chunks; gives the events, the error and the transport."""

    async def run(*chunks, status=200, **options):
        transport = fake_transport()
        transport.chunks = list(chunks)
        transport.stream_status = status
        events, error = [], None
        try:
            async with Client(transport).watch(
                PODS, **{"resource_version": "5", "timeout_seconds": 100} | options
            ) as stream:
                async for one in stream:
                    events += [(one.type, json.loads(bytes(one.object)))]
        except Exception as caught:  # noqa: BLE001 - the tests look at it
            error = caught
        return events, error, transport

    return run


async def test_82_one_event_per_line_and_a_clean_end(watch):
    whole = event("ADDED", a=1) + b"\n" + event("BOOKMARK", b="ä")
    events, error, transport = await watch(whole[:10], whole[10:])
    assert events == [("ADDED", {"a": 1}), ("BOOKMARK", {"b": "ä"})]
    assert error is None
    assert transport.closed_streams == 1


async def test_F4_a_partial_last_line_is_discarded(watch):
    events, error, transport = await watch(
        event("ADDED", a=1) + event("ADDED", a=2)[:-5], TransportError("reset")
    )
    assert events == [("ADDED", {"a": 1})]
    assert isinstance(error, TransportError)
    assert str(error) == "failed to watch Pod: reset"
    assert transport.closed_streams == 1


async def test_F6_85_an_ERROR_event_is_raised_after_the_events_before_it(watch):
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    events, error, transport = await watch(event("ADDED", a=1) + event("ERROR", **status))
    assert events == [("ADDED", {"a": 1})]
    assert type(error) is Expired
    assert transport.closed_streams == 1


async def test_87_an_ERROR_event_may_be_a_time_out(watch):
    status = {"kind": "Status", "code": 504, "reason": "Timeout", "message": "ahead"}
    _, error, _ = await watch(event("ERROR", **status))
    assert type(error) is ServerTimeout


async def test_F7_410_as_HTTP_status(watch):
    body = json.dumps({"kind": "Status", "reason": "Expired", "message": "old"}).encode()
    _, error, transport = await watch(body, status=410)
    assert type(error) is Expired
    assert transport.closed_streams == 1


async def test_403_instead_of_a_stream(watch):
    _, error, _ = await watch(b"no", status=403)
    assert type(error) is Forbidden
    assert str(error) == "failed to watch Pod: no (HTTP 403)"


@pytest.mark.parametrize("line", [b"rubbish\n", b"[]\n", b'{"type":1}\n', b'{"type":"ADDED"}\n'])
async def test_a_line_that_is_no_event_breaks_the_stream(watch, line):
    events, error, _ = await watch(event("ADDED", a=1), line)
    assert len(events) == 1
    assert isinstance(error, TransportError)
    assert "is not a watch event" in str(error)


async def test_L2_a_line_without_end_breaks_the_stream(watch, monkeypatch):
    chunk = b"x" * (1024 * 1024)
    _, error, _ = await watch(*[chunk] * (limits.WATCH_LINE_BYTES // len(chunk) + 1))
    assert isinstance(error, TransportError)
    assert "are accepted" in str(error)


async def test_leaving_early_closes_the_stream(fake_transport):
    transport = fake_transport()
    transport.chunks = [event("ADDED", a=1) * 3]
    async with Client(transport).watch(PODS, resource_version="1", timeout_seconds=9) as events:
        async for _ in events:
            break
    assert transport.closed_streams == 1


async def test_an_error_of_the_reader_closes_the_stream(fake_transport):
    transport = fake_transport()
    transport.chunks = [event("ADDED", a=1) * 3]

    async def read() -> None:
        async with Client(transport).watch(PODS, resource_version="1", timeout_seconds=9) as events:
            async for _ in events:
                raise KeyError

    with pytest.raises(KeyError):
        await read()
    assert transport.closed_streams == 1


async def test_what_is_asked_for(watch):
    _, _, transport = await watch(namespace="a", label_selector="x=1", field_selector="y=2")
    assert transport.requests[0].path == (
        "/api/v1/namespaces/a/pods?watch=true&timeoutSeconds=100&labelSelector=x%3D1"
        "&fieldSelector=y%3D2&allowWatchBookmarks=true&resourceVersion=5"
    )
    assert transport.requests[0].timeout_seconds == 100 + limits.WATCH_GRACE_SECONDS
    _, _, transport = await watch(resource_version=None, bookmarks=False)
    assert transport.requests[0].path == "/api/v1/pods?watch=true&timeoutSeconds=100"
    _, _, transport = await watch(resource_version="", send_initial_events=True)
    assert transport.requests[0].path == (
        "/api/v1/pods?watch=true&timeoutSeconds=100&allowWatchBookmarks=true"
        "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion="
    )


async def test_a_watch_that_cannot_begin_says_so(fake_transport):
    transport = fake_transport(TransportError("refused", sent=False))
    with pytest.raises(TransportError, match="failed to watch Pod: refused") as caught:
        async with Client(transport).watch(PODS, resource_version="1", timeout_seconds=9):
            pass
    assert not caught.value.sent
