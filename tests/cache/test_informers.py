"""Sharing informers, waiting for them, and the bytes beneath them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

import pytest
from fake_server import KIND, content_of

from konstat.base.tasks import open_tasks
from konstat.base.transport import Request, Response
from konstat.cache import Informer, Informers
from konstat.client.plain import PlainClient
from konstat.errors import (
    Forbidden,
    KindForbidden,
    KindUnsynced,
    ServerError,
    TransportError,
)
from konstat.objects.kind import Kind

NODE = Kind(group="", version="v1", kind="Node", plural="nodes", namespaced=False)


async def test_one_informer_per_kind_and_namespace_is_shared(server, clock, tasks, kind):
    informers = Informers(server, tasks)
    all_of_them = informers.informer(kind)
    assert informers.informer(kind) is all_of_them
    assert informers.informer(kind, namespace="n") is not all_of_them
    assert informers.informer(NODE, namespace="n") is informers.informer(NODE)
    await clock.settle()
    assert server.asked("stream") == 3
    assert [s.state for s in informers.statistics()] == ["synced"] * 3
    assert len(informers) == len(list(informers)) == 3


async def test_a_subscriber_s_mistake_ends_the_tasks_that_own_the_informers(server, clock, kind):
    def fail(change) -> None:
        raise RuntimeError("my mistake")

    async def work() -> None:
        async with open_tasks() as tasks:
            Informers(server, tasks).informer(kind).subscribe(fail)
            server.put("a")
            await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="my mistake"):
        await work()


async def test_L3_F54_one_kind_in_trouble_does_not_stop_another(server, clock, tasks, kind):
    watch, list_page = server.watch, server.list_page

    def fails_for_nodes(verb):
        def choosy(asked: Kind, **options):
            if asked == NODE:
                raise ServerError("conversion webhook failed", code=500)
            return verb(asked, **options)

        return choosy

    server.watch, server.list_page = fails_for_nodes(watch), fails_for_nodes(list_page)
    server.put("a")
    informers = Informers(server, tasks)
    nodes, apps = informers.informer(NODE), informers.informer(kind)
    await clock.advance(30)
    assert apps.require().get("n", "a") is not None
    with pytest.raises(KindUnsynced):
        nodes.require()


class TestWaiting:
    async def test_it_returns_when_synced(self, server, clock, tasks, kind):
        server.failures = [TransportError("connection refused", sent=False)]
        informer = Informers(server, tasks).informer(kind)
        waiting = asyncio.ensure_future(informer.wait_synced(10))
        await clock.settle()
        assert not waiting.done()
        await clock.advance(1)
        await waiting
        await informer.wait_synced(0)

    async def test_it_raises_at_once_when_the_kind_is_forbidden(self, server, clock, tasks, kind):
        server.failure = Forbidden("no", code=403)
        informer = Informers(server, tasks).informer(kind)
        with pytest.raises(KindForbidden):
            await informer.wait_synced(10)

    async def test_it_raises_when_the_time_has_passed(self, server, clock, tasks, kind):
        server.failure = TransportError("connection refused", sent=False)
        informer = Informers(server, tasks).informer(kind)
        waiting = asyncio.ensure_future(informer.wait_synced(10))
        await clock.advance(11)
        with pytest.raises(KindUnsynced, match="connection refused"):
            await waiting

    async def test_a_change_of_state_wakes(self, server, clock, tasks, kind):
        informer = Informers(server, tasks).informer(kind)
        await informer.wait_changed()
        assert informer.state == "synced"
        waiting = asyncio.ensure_future(informer.wait_changed())
        server.failure = Forbidden("no", code=403)
        server.end_streams()
        await clock.advance(2)
        assert waiting.done()
        assert informer.state == "forbidden"


async def test_the_numbers(server, start, clock):
    server.put("a")
    running = await start()
    server.put("b")
    running.store.put_own(server.put("c"))
    await clock.settle()
    statistics = running.informer.statistics()
    assert (statistics.state, statistics.problem) == ("synced", "")
    assert (statistics.watcher.lists, statistics.watcher.streams) == (1, 1)
    assert statistics.watcher.events == 4
    assert (statistics.store.objects, statistics.store.echoes) == (3, 1)
    assert statistics.store.bytes > 0
    assert running.informer.last_contact_monotonic == clock.monotonic()


class ByteStream:
    status = 200
    headers: Mapping[str, str] = {}

    def __init__(self, chunks: list[bytes | Exception]) -> None:
        self._chunks = chunks

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk
        await asyncio.Event().wait()

    async def close(self) -> None: ...


class ByteTransport:
    """Answers each watch with the next script."""

    def __init__(self, *scripts: list[bytes | Exception]) -> None:
        self.scripts = list(scripts)
        self.paths: list[str] = []

    async def send(self, request: Request) -> Response:
        raise AssertionError("only streams were scripted")

    async def open(self, request: Request) -> ByteStream:
        self.paths.append(request.path)
        return ByteStream(self.scripts.pop(0))

    async def close(self) -> None: ...


def line(type_: str, name: str, version: int, **parts) -> bytes:
    content = content_of(name, version, **parts)
    return json.dumps({"type": type_, "object": content}, ensure_ascii=False).encode() + b"\n"


END = (
    b'{"type":"BOOKMARK","object":{"kind":"WebApp","metadata":{"resourceVersion":"10",'
    b'"annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
)


async def test_F4_a_line_that_breaks_off_is_not_seen_and_asked_for_again(clock, tasks):
    whole = line("ADDED", "b", 11)
    second = line("ADDED", "c", 12)
    transport = ByteTransport(
        [END, whole, second[:40], TransportError("connection reset")],
        [second],
    )
    informer = Informer(PlainClient(transport), KIND)
    tasks.start(informer.run(), name="informer")
    await clock.advance(2)
    assert [s.name for s in informer.require().list()] == ["b", "c"]
    assert "resourceVersion=11" in transport.paths[1]


async def test_F5_events_are_read_however_they_are_cut(clock, tasks):
    text = END + line("ADDED", "ä", 11, spec={"text": "€𝄞"}) + line("MODIFIED", "ä", 12)
    for size in (1, 2, 3, 7):
        chunks: list[bytes | Exception] = [text[at : at + size] for at in range(0, len(text), size)]
        informer = Informer(PlainClient(ByteTransport(chunks)), KIND)
        tasks.start(informer.run(), name="informer")
        await clock.settle()
        for _ in range(100):
            await clock.settle()
        assert informer.require().get("n", "ä").resource_version == "12"


async def test_F5_a_line_of_two_mebibytes_is_read(clock, tasks):
    large = line("ADDED", "a", 11, spec={"text": "x" * 2**21})
    chunks: list[bytes | Exception] = [
        END,
        *(large[at : at + 65536] for at in range(0, len(large), 65536)),
    ]
    informer = Informer(PlainClient(ByteTransport(chunks)), KIND)
    tasks.start(informer.run(), name="informer")
    await clock.settle()
    assert len(informer.require().get("n", "a").content["spec"]["text"]) == 2**21


async def test_F6_C85_an_error_event_on_the_wire_leads_to_a_list(clock, tasks):
    gone = {
        "type": "ERROR",
        "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"},
    }
    transport = ByteTransport(
        [line("ADDED", "a", 5), END, json.dumps(gone).encode() + b"\n"],
        [line("ADDED", "b", 6), END],
    )
    informer = Informer(PlainClient(transport), KIND)
    tasks.start(informer.run(), name="informer")
    await clock.advance(2)
    assert [s.name for s in informer.require().list()] == ["b"]
    assert "sendInitialEvents=true" in transport.paths[1]
