"""The recorder: bounded, never in the way of an attempt, and one event for what repeats."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any

import msgspec
import pytest
from event_server import EventServer
from hypothesis import given
from hypothesis import strategies as st
from stepped_clock import SteppedClock

from konstat.base import limits
from konstat.base.tasks import open_tasks
from konstat.client import Client
from konstat.services.events import Recorder, Regarding

SHOP = Regarding(
    api_version="demo.example.com/v1",
    kind="WebApp",
    name="shop",
    namespace="demo",
    uid="u1",
    resource_version="7",
)
SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"


async def test_an_event_says_what_about_what_and_by_whom(
    recorder: Recorder, server: EventServer, clock: SteppedClock
) -> None:
    recorder.record(SHOP, "Ready", "all is well", type="Warning", action="Look")
    await recorder.flush()
    [event] = server.events.values()
    assert event["metadata"]["namespace"] == "demo"
    assert event["metadata"]["name"].startswith("shop.")
    assert event["regarding"] == {
        "apiVersion": "demo.example.com/v1",
        "kind": "WebApp",
        "name": "shop",
        "namespace": "demo",
        "uid": "u1",
        "resourceVersion": "7",
    }
    told = {k: event[k] for k in ("type", "reason", "action", "note", "eventTime")}
    assert told == {
        "type": "Warning",
        "reason": "Ready",
        "action": "Look",
        "note": "all is well",
        "eventTime": "2026-01-01T00:16:40.000000Z",
    }
    assert event["reportingController"] == "webapps.demo.example.com"
    assert event["reportingInstance"] == "host"


async def test_a_full_queue_drops_and_counts(recorder: Recorder, server: EventServer) -> None:
    for number in range(limits.EVENT_QUEUE + 5):
        recorder.record(SHOP, "Ready", str(number))
    seen = recorder.statistics()
    assert (seen.recorded, seen.waiting, seen.dropped) == (
        limits.EVENT_QUEUE + 5,
        limits.EVENT_QUEUE,
        5,
    )
    await recorder.flush()
    seen = recorder.statistics()
    assert (seen.written, seen.waiting, seen.dropped) == (limits.EVENT_QUEUE, 0, 5)
    assert len(server.events) == limits.EVENT_QUEUE


@pytest.mark.parametrize("trouble", [403, 422, 500, 404, 409, "refuse connections"])
async def test_F72_a_failing_event_api_costs_the_event_and_nothing_else(
    recorder: Recorder, server: EventServer, clock: SteppedClock, trouble: Any
) -> None:
    server.trouble = trouble
    async with open_tasks() as tasks:
        running = tasks.start(recorder.run(), name="events")
        recorder.record(SHOP, "Lost", "while the API fails")
        await clock.advance(60)
        assert recorder.statistics().dropped == 1
        server.trouble = ""
        recorder.record(SHOP, "Kept", "afterwards")
        await clock.advance(60)
        assert not running.done()
    assert server.counts == [("Kept", 1)]


async def test_F72_a_hanging_event_api_does_not_make_record_wait(
    recorder: Recorder, server: EventServer, clock: SteppedClock
) -> None:
    server.trouble = "hang"
    async with open_tasks() as tasks:
        tasks.start(recorder.run(), name="events")
        await clock.settle()
        for number in range(limits.EVENT_QUEUE + 10):
            recorder.record(SHOP, "Ready", str(number))
        await clock.settle()
        seen = recorder.statistics()
    assert seen.waiting + seen.dropped + 1 == seen.recorded  # one is in hand
    assert seen.waiting == limits.EVENT_QUEUE - 1


async def test_F72_one_warning_for_a_server_that_is_away(
    recorder: Recorder, server: EventServer, clock: SteppedClock, caplog: pytest.LogCaptureFixture
) -> None:
    async def record(*notes: str) -> None:
        for note in notes:
            recorder.record(SHOP, "Ready", note)
        async with open_tasks() as tasks:
            tasks.start(recorder.flush(), name="flush")
            await clock.advance(60)

    def warnings() -> int:
        return sum(r.levelno == logging.WARNING for r in caplog.records)

    server.trouble = "refuse connections"
    await record("1", "2", "3")
    assert warnings() == 1
    server.trouble = 403
    await record("4", "5")
    assert warnings() == 2
    server.trouble = ""
    await record("6")
    server.trouble = 403
    await record("7")
    assert warnings() == 3


async def test_a_repetition_counts_up(
    recorder: Recorder, server: EventServer, clock: SteppedClock
) -> None:
    for _ in range(3):
        recorder.record(SHOP, "Ready", "again")
        await recorder.flush()
        await clock.advance(10)
    assert server.counts == [("Ready", 3)]
    [event] = server.events.values()
    assert event["series"]["lastObservedTime"] == "2026-01-01T00:17:00.000000Z"
    assert event["eventTime"] == "2026-01-01T00:16:40.000000Z"


async def test_a_new_version_of_the_object_is_still_a_repetition(
    recorder: Recorder, server: EventServer
) -> None:
    recorder.record(SHOP, "Ready", "again")
    recorder.record(msgspec.structs.replace(SHOP, resource_version="8"), "Ready", "again")
    await recorder.flush()
    assert server.counts == [("Ready", 2)]


@pytest.mark.parametrize("change", [{"uid": "u2"}, {"uid": "", "name": "other"}])
async def test_another_object_is_no_repetition(
    recorder: Recorder, server: EventServer, change: dict[str, str]
) -> None:
    first = SHOP if change["uid"] else msgspec.structs.replace(SHOP, uid="")
    recorder.record(first, "Ready", "again")
    recorder.record(msgspec.structs.replace(SHOP, **change), "Ready", "again")
    await recorder.flush()
    assert server.counts == [("Ready", 1), ("Ready", 1)]


async def test_another_note_type_or_action_is_no_repetition(
    recorder: Recorder, server: EventServer
) -> None:
    recorder.record(SHOP, "Ready", "one")
    recorder.record(SHOP, "Ready", "two")
    recorder.record(SHOP, "Ready", "one", type="Warning")
    recorder.record(SHOP, "Ready", "one", action="Other")
    await recorder.flush()
    assert server.counts == [("Ready", 1)] * 4


async def test_a_series_ends_with_its_window(
    recorder: Recorder, server: EventServer, clock: SteppedClock
) -> None:
    recorder.record(SHOP, "Ready", "again")
    await recorder.flush()
    await clock.advance(limits.EVENT_SERIES_SECONDS - 1)
    recorder.record(SHOP, "Ready", "again")
    await recorder.flush()
    await clock.advance(limits.EVENT_SERIES_SECONDS)
    recorder.record(SHOP, "Ready", "again")
    await recorder.flush()
    assert server.counts == [("Ready", 2), ("Ready", 1)]


async def test_an_expired_event_is_written_anew(recorder: Recorder, server: EventServer) -> None:
    recorder.record(SHOP, "Ready", "again")
    await recorder.flush()
    server.events.clear()
    for _ in range(2):
        recorder.record(SHOP, "Ready", "again")
    await recorder.flush()
    assert server.counts == [("Ready", 2)]
    assert recorder.statistics().written == 3


async def test_a_refused_count_is_not_turned_into_another_event(
    recorder: Recorder, server: EventServer
) -> None:
    recorder.record(SHOP, "Ready", "again")
    await recorder.flush()
    server.trouble = 403  # a role that may create events, but not patch them
    recorder.record(SHOP, "Ready", "again")
    await recorder.flush()
    assert recorder.statistics().dropped == 1
    server.trouble = ""
    recorder.record(SHOP, "Ready", "again")
    await recorder.flush()
    assert server.counts == [("Ready", 3)]


async def test_only_so_many_series_are_remembered_and_live_ones_stay(
    recorder: Recorder, server: EventServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EVENT_SERIES_KEYS", 2)
    for note in ("steady", "a", "steady", "b", "steady", "a"):
        recorder.record(SHOP, "Ready", note)
        await recorder.flush()
    notes = [event["note"] for event in server.events.values()]
    counts = sorted(zip(notes, (count for _, count in server.counts), strict=True))
    assert counts == [("a", 1), ("a", 1), ("b", 1), ("steady", 3)]


async def test_flush_waits_for_the_event_in_hand(
    recorder: Recorder, server: EventServer, clock: SteppedClock
) -> None:
    gate = asyncio.Event()
    send = server.send

    async def slow(request: Any) -> Any:
        await gate.wait()
        return await send(request)

    server.send = slow
    async with open_tasks() as tasks:
        tasks.start(recorder.run(), name="events")
        recorder.record(SHOP, "InHand", "")
        await clock.settle()
        assert recorder.statistics().waiting == 0
        flush = tasks.start(recorder.flush(), name="flush")
        await clock.settle()
        assert not flush.done()
        gate.set()
        await flush
        assert server.counts == [("InHand", 1)]


async def test_flush_and_run_do_not_write_a_repetition_twice(
    recorder: Recorder, server: EventServer, clock: SteppedClock
) -> None:
    gate = asyncio.Event()
    send = server.send

    async def slow(request: Any) -> Any:
        await gate.wait()
        return await send(request)

    server.send = slow
    async with open_tasks() as tasks:
        tasks.start(recorder.run(), name="events")
        recorder.record(SHOP, "Ready", "again")
        await clock.settle()
        recorder.record(SHOP, "Ready", "again")
        flush = tasks.start(recorder.flush(), name="flush")
        await clock.settle()
        gate.set()
        await flush
    assert server.counts == [("Ready", 2)]


async def test_a_flush_of_a_hanging_server_can_be_bounded(
    recorder: Recorder, server: EventServer
) -> None:
    server.trouble = "hang"
    recorder.record(SHOP, "Ready", "")
    recorder.record(SHOP, "Ready", "more")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await recorder.flush()
    assert recorder.statistics().waiting == 1


async def test_a_flush_with_nothing_to_do_returns(recorder: Recorder, server: EventServer) -> None:
    await recorder.flush()
    assert server.requests == 0


@given(st.text(st.characters(), max_size=2000), st.text(max_size=300))
def test_F72_any_text_becomes_an_event_that_can_be_sent(note: str, reason: str) -> None:
    async def record() -> dict[str, Any]:
        server = EventServer()
        recorder = Recorder(Client(server), controller="webapps.demo.example.com", instance="")
        recorder.record(SHOP, reason, note, action=reason)
        await recorder.flush()
        [event] = server.events.values()
        return event

    event = asyncio.run(record())
    assert len(event["note"].encode()) <= limits.EVENT_NOTE_BYTES
    assert 0 < len(event["reason"].encode()) <= limits.EVENT_WORD_BYTES
    assert 0 < len(event["action"].encode()) <= limits.EVENT_WORD_BYTES
    assert 0 < len(event["reportingInstance"].encode()) <= limits.EVENT_WORD_BYTES


@given(st.text("aB0-._:é", min_size=1, max_size=300))
def test_the_name_of_an_event_is_a_subdomain_whatever_the_objects_name(name: str) -> None:
    async def record() -> str:
        server = EventServer()
        recorder = Recorder(Client(server), controller="webapps.demo.example.com", instance="")
        recorder.record(msgspec.structs.replace(SHOP, name=name), "Ready", "")
        await recorder.flush()
        return next(iter(server.events))

    stored = asyncio.run(record())
    assert len(stored) <= 253
    assert re.fullmatch(SUBDOMAIN, stored), stored


async def test_an_event_about_a_cluster_scoped_object_is_stored_in_default(
    recorder: Recorder, server: EventServer
) -> None:
    recorder.record(Regarding(api_version="v1", kind="Node", name="n1", uid="u3"), "Ready", "")
    await recorder.flush()
    [event] = server.events.values()
    assert event["metadata"]["namespace"] == "default"
    assert event["regarding"]["namespace"] == ""
