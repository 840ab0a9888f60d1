"""The watcher, by way of an informer, against a server that is broken on purpose."""

from __future__ import annotations

import pytest

from konstat.base import limits
from konstat.cache.informer import Informer
from konstat.cache.states import Listing, Resting, Streaming, Unavailable, Watching
from konstat.cache.watcher import Watcher
from konstat.errors import (
    BadRequest,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
    TransportError,
)

FORBIDDEN = Forbidden("cannot list webapps", code=403, reason="Forbidden")
NOT_FOUND = NotFound("404 page not found", code=404)
EXPIRED = Expired("too old resource version", code=410, reason="Expired")
RESET = TransportError("connection reset by peer")
BROKEN = ServerError("conversion webhook failed", code=500)


async def test_objects_come_with_the_first_stream_and_then_live(server, start, clock):
    server.put("a")
    running = await start()
    assert running.informer.state == "synced"
    assert running.agrees()
    server.put("b")
    server.put("a", spec={"x": 1})
    server.remove("b")
    await clock.settle()
    assert running.agrees()
    assert running.heard == [("new", "a"), ("new", "b"), ("changed", "a"), ("gone", "b")]
    assert server.requests == ["stream"]


async def test_a_namespaced_informer_holds_that_namespace_only(server, start, clock):
    server.put("a", namespace="n")
    server.put("b", namespace="m")
    running = await start(namespace="m")
    server.put("c", namespace="n")
    server.put("d", namespace="m")
    await clock.settle()
    assert [s.name for s in running.store.list()] == ["b", "d"]


class TestInitialEvents:
    @pytest.mark.parametrize(
        "refusal",
        [
            Invalid("sendInitialEvents is forbidden", code=422, reason="Invalid"),
            BadRequest("unknown parameter", code=400),
            ServerError("not implemented", code=501),
        ],
    )
    async def test_a_server_without_them_is_listed_in_pages_from_then_on(
        self, server, start, clock, refusal
    ):
        server.page_size = 2
        for name in "abcde":
            server.put(name)
        server.failures = [refusal]
        running = await start()
        assert running.agrees()
        assert server.requests == [
            "stream",
            "list 500",
            f"list 500 {server.revision}:2",
            f"list 500 {server.revision}:4",
            f"watch {server.revision}",
        ]
        server.compact()
        server.put("f")
        server.stream.break_with(EXPIRED)
        await clock.advance(1)
        assert running.agrees()
        assert server.asked("stream") == 1

    async def test_F8_a_stream_that_breaks_among_them_begins_anew(self, server, start, clock):
        server.put("a")
        server.initial_events = False
        running = await start()
        assert running.informer.state == "unsynced"
        server.stream.break_with(RESET)
        server.remove("a")
        server.put("b")
        server.initial_events = True
        await clock.advance(2)
        assert running.informer.state == "synced"
        assert running.agrees()
        assert running.heard == [("new", "b")]

    async def test_a_server_that_never_ends_them_is_listed(self, server, start, clock):
        server.put("a")
        server.initial_events = False
        running = await start()
        assert server.stream.timeout_seconds == limits.WATCH_LIST_SECONDS
        await clock.advance(limits.WATCH_LIST_SECONDS)
        server.stream.end()
        await clock.advance(1)
        assert running.agrees()
        assert server.requests == ["stream", "list 500", f"watch {server.revision}"]

    async def test_live_events_among_them_count(self, server, start, clock):
        server.put("a")
        server.initial_events = False
        running = await start()
        server.put("b")
        server.remove("a")
        await clock.settle()
        assert running.heard == []
        server.stream.bookmark(server.revision, **{"k8s.io/initial-events-end": "true"})
        await clock.settle()
        assert running.agrees()
        assert running.heard == [("new", "b")]

    async def test_streams_that_always_break_among_them_lead_to_pages(self, server, start, clock):
        server.put("a")
        server.failures = [RESET] * limits.WATCH_FRUITLESS_RESUMES
        running = await start()
        await clock.advance(120)
        assert running.agrees()
        assert server.asked("list") == 1


class TestStreams:
    async def test_F1_a_reset_stream_is_resumed_without_a_list(self, server, start, clock):
        server.put("a")
        running = await start()
        server.put("b")
        await clock.settle()
        seen = server.revision
        server.stream.break_with(RESET)
        await clock.settle()
        server.put("c")
        await clock.advance(2)
        assert running.agrees()
        assert server.requests == ["stream", f"watch {seen}"]
        assert running.informer.problem == ""

    async def test_F2_L2_a_clean_end_every_second_loses_nothing(self, server, start, clock):
        running = await start()
        for number in range(30):
            server.put(f"a{number}")
            await clock.advance(1)
            server.end_streams()
            await clock.advance(1)
        assert running.agrees()
        assert running.store.statistics().objects == 30
        assert server.asked("stream") == 1
        assert len(server.requests) <= 61

    async def test_F2_L2_ends_without_news_are_asked_for_ever_more_slowly(
        self, server, start, clock
    ):
        running = await start()
        for _ in range(600):
            server.end_streams()
            await clock.advance(1)
        assert len(server.requests) < 70
        server.put("a")
        await clock.advance(60)
        assert running.agrees()

    async def test_L2_streams_that_end_at_once_with_a_word_are_not_a_hot_loop(
        self, server, start, clock
    ):
        await start()
        for _ in range(100):
            if server.streams:
                server.stream.bookmark(server.revision)
                server.end_streams()
            await clock.advance(0.1)
        assert len(server.requests) <= 1 + 10 / limits.WATCH_BACKOFF_FIRST_SECONDS

    async def test_F3_a_silent_stream_that_the_client_gives_up_is_resumed(
        self, server, start, clock
    ):
        server.put("a")
        running = await start()
        server.held = True
        server.put("b")
        await clock.advance(limits.WATCH_TIMEOUT_SECONDS + limits.WATCH_GRACE_SECONDS)
        server.stream.break_with(TransportError("silent for 330 s"))
        await clock.settle()
        server.held = False
        assert running.informer.problem == "silent for 330 s"
        assert running.informer.statistics().silent_seconds == pytest.approx(330)
        await clock.advance(2)
        assert running.agrees()
        assert running.informer.problem == ""
        assert running.informer.statistics().silent_seconds < 3

    async def test_F6_C85_an_expired_version_leads_to_a_list_and_its_difference(
        self, server, start, clock
    ):
        for name in "abc":
            server.put(name)
        running = await start()
        server.end_streams()
        server.held = True
        await clock.advance(0.1)
        server.remove("a")
        server.put("b", spec={"x": 1})
        server.put("d")
        server.compact()
        server.put("e")
        server.held = False
        del running.heard[:]
        await clock.advance(3)
        assert running.agrees()
        assert sorted(running.heard) == [
            ("changed", "b"),
            ("gone", "a"),
            ("new", "d"),
            ("new", "e"),
        ]

    async def test_F7_410_as_http_status_leads_to_a_list(self, server, start, clock):
        server.put("a")
        running = await start()
        server.failures = [EXPIRED]
        server.put("b")
        server.end_streams()
        await clock.advance(2)
        assert running.agrees()
        assert server.asked("stream") == 2

    async def test_F7_L2_closes_instead_of_410_lead_to_a_list_after_a_few(
        self, server, start, clock
    ):
        server.put("a")
        running = await start()
        server.hidden.add(server.revision + 1)
        server.put("b")
        for _ in range(400):
            if server.streams and not running.agrees():
                server.stream.break_with(RESET)
            await clock.advance(0.25)
        assert running.agrees()
        # The stream that listed is the first of the fruitless ones.
        assert server.asked("watch") == limits.WATCH_FRUITLESS_RESUMES - 1

    async def test_L2_410_for_ever_is_asked_for_ever_more_slowly(self, server, start, clock):
        server.failure = EXPIRED
        running = await start()
        await clock.advance(600)
        assert len(server.requests) < 40
        server.failure = None
        server.put("a")
        await clock.advance(60)
        assert running.agrees()

    async def test_F9_without_bookmarks_all_is_right(self, server, start, clock):
        running = await start()
        for number in range(5):
            await clock.advance(limits.WATCH_TIMEOUT_SECONDS)
            server.put(f"a{number}")
            server.end_streams()
        await clock.advance(2)
        assert running.agrees()

    async def test_F10_an_own_write_that_a_bookmark_passed_leads_to_a_list(
        self, server, start, clock
    ):
        server.put("a")
        running = await start()
        server.hidden.add(server.revision + 1)
        running.store.put_own(server.put("a", spec={"x": 1}))
        await clock.settle()
        assert running.store.pending == 1
        server.stream.bookmark(server.revision)
        await clock.advance(2)
        assert running.store.pending == 0
        assert server.asked("stream") == 2
        assert running.agrees()

    async def test_F10_a_rare_list_repairs_what_no_stream_told(self, server, start, clock):
        server.put("a")
        running = await start()
        server.hidden.add(server.revision + 1)
        server.put("a", spec={"x": 1})
        await clock.settle()
        assert not running.agrees()
        await clock.advance(limits.RELIST_SECONDS)
        server.end_streams()
        await clock.advance(2)
        assert running.agrees()

    async def test_F11_F12_duplicates_and_stragglers_are_dropped(self, server, start, clock):
        old = server.put("a").content
        running = await start()
        new = server.put("a", spec={"x": 1}).content
        await clock.settle()
        for content in (new, old, new):
            server.stream.send("MODIFIED", content)
        await clock.settle()
        assert running.agrees()
        assert running.heard == [("new", "a"), ("changed", "a")]

    async def test_F14_a_deletion_in_a_gap_is_told(self, server, start, clock):
        server.put("a")
        server.put("b")
        running = await start()
        server.hidden.add(server.revision + 1)
        server.remove("a")
        server.stream.break_with(EXPIRED)
        await clock.advance(2)
        assert ("gone", "a") in running.heard
        assert running.agrees()

    async def test_F15_created_and_deleted_in_a_gap_is_no_ghost(self, server, start, clock):
        running = await start()
        server.hidden |= {server.revision + 1}
        server.put("a")
        server.remove("a")
        await clock.settle()
        assert len(running.store) == 0
        assert running.heard == []

    async def test_an_event_that_is_none_breaks_the_stream_and_says_so(self, server, start, clock):
        running = await start()
        server.stream.send("MODIFIED", {"kind": "WebApp", "metadata": {"name": "a"}})
        await clock.settle()
        assert "without metadata.name or metadata.uid" in running.informer.problem
        await clock.advance(1)
        server.stream.send("SURPRISE", server.put("a").content)
        await clock.settle()
        assert "type 'SURPRISE'" in running.informer.problem
        await clock.advance(2)
        assert running.agrees()


class TestEpochs:
    async def test_F30_C86_a_restored_server_is_noticed_after_one_silent_stream(
        self, server, start, clock
    ):
        server.put("a")
        server.put("b")
        kept = server.revision
        running = await start()
        server.put("b", spec={"x": 1})
        server.put("c")
        await clock.settle()
        assert running.agrees()
        server.restore(kept)
        server.put("d")
        await clock.settle()
        assert not running.agrees()
        await clock.advance(limits.WATCH_TIMEOUT_SECONDS)
        server.end_streams()
        await clock.advance(2)
        assert running.agrees()
        assert running.informer.statistics().watcher.epochs == 1
        server.put("d", spec={"y": 1})
        await clock.settle()
        assert running.agrees()

    async def test_the_version_is_asked_for_once_per_watch_time_out_at_most(
        self, server, start, clock
    ):
        await start()
        for _ in range(30):
            await clock.advance(20)
            server.end_streams()
            await clock.settle()
        assert server.asked("list 1") == 2

    async def test_no_request_at_rest_but_resumptions(self, server, start, clock):
        running = await start()
        await clock.advance(298)
        assert server.requests == ["stream"]
        server.stream.bookmark(server.revision)  # as a server does before its time-out
        await clock.advance(2)
        server.end_streams()
        await clock.settle()
        assert server.requests == ["stream", f"watch {server.revision}"]
        assert running.informer.state == "synced"

    async def test_F31_a_restored_server_that_passed_our_version(self, server, start, clock):
        server.put("a")
        kept = server.revision
        running = await start()
        server.put("a", spec={"old": True})
        await clock.settle()
        server.restore(kept)
        server.held = True
        server.put("a", spec={"new": True})
        server.put("b")
        server.stream.break_with(EXPIRED)
        server.held = False
        await clock.advance(2)
        assert running.agrees()

    async def test_F33_a_list_asks_for_the_latest_state(self, server, start):
        await start()  # the server asserts that no list names a version
        assert server.requests == ["stream"]

    async def test_F29_a_restart_with_the_same_data_costs_no_list(self, server, start, clock):
        server.put("a")
        running = await start()
        server.put("b")
        await clock.settle()
        server.failure = TransportError("connection refused", sent=False)
        server.stream.break_with(RESET)
        await clock.advance(20)
        assert running.informer.state == "synced"
        assert "connection refused" in running.informer.problem
        server.failure = None
        server.put("c")
        await clock.advance(40)
        assert running.agrees()
        assert server.asked("stream") == 1
        assert server.asked("list") == 0
        assert len(server.requests) < 12
        assert running.heard == [("new", "a"), ("new", "b"), ("new", "c")]


class TestSteps:
    """The machine itself: one step, one thing."""

    @pytest.fixture
    def told(self):
        return []

    @pytest.fixture
    def watcher(self, server, clock, kind, told):
        async def emit(output):
            told.append(output)

        return Watcher(server, kind, emit=emit)

    async def test_it_begins_with_initial_events(self, watcher):
        assert watcher.first() == Streaming()

    async def test_a_page_leads_to_the_next_and_the_last_to_the_watch(self, watcher, server):
        server.page_size = 1
        server.put("a")
        server.put("b")
        state = await watcher.step(Listing())
        assert state == Listing(f"{server.revision}:1")
        assert await watcher.step(state) == Watching(str(server.revision))

    async def test_refusals_lead_to_where_they_are_tried_again(self, watcher, server):
        server.failures = [FORBIDDEN, NOT_FOUND, BROKEN]
        assert isinstance(await watcher.step(Listing()), Unavailable)
        assert (await watcher.step(Listing())).reason == "not installed"
        rest = await watcher.step(Listing())
        assert isinstance(rest, Resting)
        assert rest.then == Listing()

    async def test_what_the_listener_raises_is_not_taken_for_the_server_s(
        self, server, clock, kind
    ):
        async def emit(output):
            raise TransportError("of the listener")

        with pytest.raises(TransportError, match="of the listener"):
            await Watcher(server, kind, emit=emit).step(Listing())


async def test_a_subscriber_s_mistake_ends_the_informer(server, clock, kind):
    informer = Informer(server, kind)

    def fail(change) -> None:
        raise RuntimeError("my mistake")

    server.put("a")
    informer.subscribe(fail)
    with pytest.raises(RuntimeError, match="my mistake"):
        await informer.run()
