"""Lists, refusals and absence, by way of an informer."""

from __future__ import annotations

import pytest

from konstat.base import limits
from konstat.errors import (
    ConfigError,
    Expired,
    Forbidden,
    Invalid,
    KindForbidden,
    KindNotInstalled,
    KindUnsynced,
    NotFound,
    ServerError,
    ServerTimeout,
    TooManyRequests,
    TransportError,
)
from konstat.objects.snapshot import Snapshot

FORBIDDEN = Forbidden("cannot list webapps", code=403, reason="Forbidden")
NOT_FOUND = NotFound("404 page not found", code=404)
EXPIRED = Expired("too old resource version", code=410, reason="Expired")
RESET = TransportError("connection reset by peer")
BROKEN = ServerError("conversion webhook failed", code=500)


class TestLists:
    @pytest.fixture
    def paged(self, server):
        server.page_size = 2
        server.failures = [Invalid("no initial events", code=422)]
        for name in "abcdef":
            server.put(name)
        return server

    async def test_F8_410_amid_pages_begins_anew_and_mixes_no_halves(self, paged, start, clock):
        paged.failures += [EXPIRED] * 0
        list_page = paged.list_page

        async def expire_once(*args, **options):
            if options.get("continue_token", "").endswith(":4"):
                paged.list_page = list_page
                paged.remove("a")
                paged.remove("e")
                paged.compact()
            return await list_page(*args, **options)

        paged.list_page = expire_once
        running = await start()
        await clock.advance(5)
        assert running.agrees()
        assert running.heard == [("new", name) for name in "bcdf"]

    async def test_a_break_amid_pages_goes_on_with_the_page(self, paged, start, clock):
        list_page = paged.list_page

        async def break_once(*args, **options):
            if options.get("continue_token", "").endswith(":4"):
                paged.list_page = list_page
                raise RESET
            return await list_page(*args, **options)

        paged.list_page = break_once
        running = await start()
        assert running.informer.state == "unsynced"
        with pytest.raises(KindUnsynced, match="connection reset"):
            running.informer.require()
        await clock.advance(5)
        assert running.agrees()
        assert paged.asked("list") == 3

    async def test_a_list_that_does_not_go_on_is_reported(self, paged, start, clock):
        list_page = paged.list_page

        async def stuck(*args, **options):
            page = await list_page(*args, **options)
            return type(page)(
                resource_version=page.resource_version,
                continue_token="same:0" if page.continue_token else "",
                remaining=None,
                items=page.items,
            )

        async def stuck_always(*args, **options):
            options["continue_token"] = ""
            return await stuck(*args, **options)

        paged.list_page = stuck_always
        running = await start()
        await clock.advance(60)
        assert "same continue token" in running.informer.problem
        assert paged.asked("list") < 15

    async def test_F54_a_kind_whose_list_fails_is_unsynced_and_says_why(self, server, start, clock):
        server.put("a")
        server.failure = BROKEN
        running = await start()
        with pytest.raises(KindUnsynced, match="conversion webhook failed"):
            running.informer.require()
        await clock.advance(300)
        assert len(server.requests) < 25
        server.failure = None
        await clock.advance(60)
        assert running.informer.require() is running.store
        assert running.agrees()

    async def test_F54_a_synced_kind_whose_stream_fails_stays_readable_and_says_why(
        self, server, start, clock
    ):
        server.put("a")
        running = await start()
        server.failure = BROKEN
        server.stream.break_with(RESET)
        await clock.advance(60)
        assert running.informer.require() is running.store
        assert "conversion webhook failed" in running.informer.problem
        assert running.informer.statistics().silent_seconds >= 60


class TestAbsence:
    async def test_F61_forbidden_raises_and_recovers_by_itself(self, server, start, clock):
        server.put("a")
        server.failure = FORBIDDEN
        running = await start()
        assert running.informer.state == "forbidden"
        with pytest.raises(KindForbidden, match="grant it"):
            running.informer.require()
        await clock.advance(3600)
        assert len(server.requests) <= 3600 / limits.UNAVAILABLE_RETRY_SECONDS + 6
        server.failure = None
        await clock.advance(limits.UNAVAILABLE_RETRY_SECONDS * 1.2)
        assert running.informer.require() is running.store
        assert running.agrees()

    async def test_F61_rights_revoked_and_granted_while_it_watches(self, server, start, clock):
        server.put("a")
        server.put("b")
        running = await start()
        server.failure = FORBIDDEN
        server.end_streams()
        await clock.advance(2)
        assert running.informer.state == "forbidden"
        with pytest.raises(KindForbidden):
            running.informer.require()
        server.remove("a")
        server.put("c")
        server.failure = None
        await clock.advance(limits.UNAVAILABLE_RETRY_SECONDS)
        assert running.informer.state == "synced"
        assert running.agrees()
        assert running.heard == [("new", "a"), ("new", "b"), ("new", "c"), ("gone", "a")]

    async def test_F55_a_kind_that_goes_and_comes_back(self, server, start, clock):
        server.put("a")
        running = await start()
        server.remove("a")
        server.failure = NOT_FOUND
        server.end_streams()
        await clock.advance(2)
        assert running.informer.state == "not installed"
        with pytest.raises(KindNotInstalled, match="CustomResourceDefinition"):
            running.informer.require()
        server.failure = None
        server.put("a")
        await clock.advance(limits.UNAVAILABLE_RETRY_SECONDS)
        assert running.informer.require().get("n", "a") is not None
        assert running.heard == [("new", "a"), ("gone", "a"), ("new", "a")]

    async def test_F13_an_unsynced_kind_raises_and_never_gives_an_empty_store(
        self, server, start, clock
    ):
        server.put("a")
        server.initial_events = False
        running = await start()
        with pytest.raises(KindUnsynced, match="not arrived yet"):
            running.informer.require()
        server.stream.bookmark(server.revision, **{"k8s.io/initial-events-end": "true"})
        await clock.settle()
        assert running.informer.require().get("n", "a") is not None

    async def test_F20_the_server_s_delay_is_kept(self, server, start, clock):
        server.failures = [
            TooManyRequests("slow down", code=429, retry_after_seconds=30.0),
            ServerTimeout("ResourceVersionTooLarge", code=504, retry_after_seconds=1.0),
        ]
        await start()
        await clock.advance(29)
        assert len(server.requests) == 1
        await clock.advance(2)
        assert len(server.requests) == 2

    async def test_F63_a_credential_that_cannot_be_read_is_tried_again(self, server, start, clock):
        server.failures = [ConfigError("the token file is empty")]
        running = await start()
        assert "token file is empty" in running.informer.problem
        await clock.advance(2)
        assert running.informer.state == "synced"


async def test_lists_are_decoded_in_slices(server, start, clock):
    for number in range(10 * limits.DECODE_SLICE_OBJECTS):
        server.put(f"a{number}")
    server.failures = [Invalid("no initial events", code=422)]
    before = clock.yields
    running = await start()
    assert clock.yields - before >= 20
    assert running.agrees()
    assert isinstance(running.store.list()[0], Snapshot)
