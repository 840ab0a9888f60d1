"""Watch streams, pulled by hand with a clock that stands until it is moved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from konstat.base import chance, clock
from konstat.base.transport import Request, Response
from konstat.embedded.server import EmbeddedServer
from konstat.embedded.watches import WatchStream

PATH = "/api/v1/namespaces/default/configmaps"


class StandingClock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def time() -> Iterator[StandingClock]:
    with clock.use_clock(StandingClock()) as standing, chance.use_seed(1):
        assert isinstance(standing, StandingClock)
        yield standing


@pytest.fixture
def server(time: StandingClock) -> EmbeddedServer:
    return EmbeddedServer()


def _send(server: EmbeddedServer, method: str, path: str, body: Any = None) -> Response:
    data = b"" if body is None else json.dumps(body).encode()
    answer = server.handle(Request(method=method, path=path, body=data))
    assert isinstance(answer, Response)
    return answer


def _make(server: EmbeddedServer, name: str) -> int:
    answer = _send(server, "POST", PATH, {"metadata": {"name": name}})
    return int(json.loads(answer.body)["metadata"]["resourceVersion"])


def _watch(server: EmbeddedServer, query: str) -> WatchStream:
    answer = server.handle(Request(method="GET", path=f"{PATH}?watch=1&{query}"))
    assert isinstance(answer, WatchStream)
    return answer


def _drain(stream: WatchStream) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    while (line := stream.next_line()) is not None:
        event = json.loads(line)
        found.append((event["type"], event["object"].get("metadata", {}).get("name", "")))
    return found


def test_C85_a_revision_that_is_compacted(server: EmbeddedServer) -> None:
    first = _make(server, "a")
    _make(server, "b")
    server.storage.compact(server.storage.revision)
    stream = _watch(server, f"resourceVersion={first}")
    line = stream.next_line()
    assert line is not None
    status = json.loads(line)
    assert status["type"] == "ERROR"
    assert status["object"]["code"] == 410
    assert status["object"]["reason"] == "Expired"
    text = f"too old resource version: {first} ({server.storage.compacted})"
    assert status["object"]["message"] == text
    assert stream.ended


def test_C92_a_slow_watcher_is_ended_and_never_sees_a_gap() -> None:
    server = EmbeddedServer(history=10)
    stream = _watch(server, f"resourceVersion={server.storage.revision}")
    for number in range(40):
        _make(server, f"c{number}")
    assert _drain(stream) == [("ERROR", "")]
    assert stream.ended


def test_C93_history_is_bounded() -> None:
    server = EmbeddedServer(history=10)
    for number in range(100):
        _make(server, f"c{number}")
    assert len(server.storage.log) < 20


def test_C88_bookmarks_each_minute_and_before_the_end(
    server: EmbeddedServer, time: StandingClock
) -> None:
    stream = _watch(
        server,
        f"resourceVersion={server.storage.revision}&allowWatchBookmarks=1&timeoutSeconds=80",
    )
    moments: list[float] = []
    while not stream.ended:
        time.seconds = stream.due
        moments += [time.seconds for _ in _drain(stream)]
    assert moments == [60.0, 78.0]
    assert time.seconds == 80.0


def test_C89_without_a_timeout_the_end_is_drawn(
    server: EmbeddedServer, time: StandingClock
) -> None:
    stream = _watch(server, f"resourceVersion={server.storage.revision}")
    assert 1800 <= stream.due < 3600
    time.seconds = 3600.0
    assert _drain(stream) == []
    assert stream.ended


def test_C86_ahead_until_the_counter_passes(server: EmbeddedServer) -> None:
    ahead = server.storage.revision + 2
    stream = _watch(server, f"resourceVersion={ahead}")
    _make(server, "a")
    _make(server, "b")
    assert _drain(stream) == []
    _make(server, "c")
    assert _drain(stream) == [("ADDED", "c")]


def test_C87_initial_events_that_are_late(server: EmbeddedServer, time: StandingClock) -> None:
    query = "sendInitialEvents=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1"
    ahead = server.storage.revision + 1
    stream = _watch(server, f"{query}&resourceVersion={ahead}")
    assert _drain(stream) == []
    time.seconds = 3.0
    assert _drain(stream) == [("ERROR", "")]
    stream = _watch(server, f"{query}&resourceVersion={ahead}")
    woken: list[int] = []
    stream.on_wake(lambda: woken.append(1))
    _make(server, "a")
    assert woken
    assert _drain(stream)[0] == ("ADDED", "a")


def test_C87_initial_events_are_as_of_one_moment_however_slowly_they_are_taken(
    server: EmbeddedServer,
) -> None:
    for name in ("a", "b", "c"):
        _make(server, name)
    query = "sendInitialEvents=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1"
    stream = _watch(server, query)
    first = stream.next_line()
    assert first is not None
    _send(server, "DELETE", f"{PATH}/c")
    _make(server, "d")
    assert json.loads(first)["object"]["metadata"]["name"] == "a"
    assert _drain(stream) == [
        ("ADDED", "b"),
        ("ADDED", "c"),
        ("BOOKMARK", ""),
        ("DELETED", "c"),
        ("ADDED", "d"),
    ]


def test_initial_events_of_a_closed_stream_are_lost(server: EmbeddedServer) -> None:
    for name in ("a", "b"):
        _make(server, name)
    stream = _watch(server, "resourceVersion=0")
    assert stream.next_line() is not None
    stream.close()
    assert _drain(stream) == []


def test_watches_are_bounded(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("konstat.base.limits.EMBEDDED_WATCHES", 1)
    first = _watch(server, "timeoutSeconds=5")
    answer = _send(server, "GET", f"{PATH}?watch=1")
    assert answer.status == 429
    assert answer.headers["retry-after"] == "1"
    first.close()
    assert isinstance(_watch(server, "timeoutSeconds=5"), WatchStream)


def test_C77_an_expired_token_comes_with_a_fresh_one(server: EmbeddedServer) -> None:
    for name in ("a", "b", "c"):
        _make(server, name)
    first = json.loads(_send(server, "GET", f"{PATH}?limit=1").body)
    token = first["metadata"]["continue"]
    _make(server, "b2")
    server.storage.compact(server.storage.revision)
    answer = _send(server, "GET", f"{PATH}?limit=1&continue={token}")
    status = json.loads(answer.body)
    assert (answer.status, status["reason"]) == (410, "Expired")
    fresh = status["metadata"]["continue"]
    rest = json.loads(_send(server, "GET", f"{PATH}?continue={fresh}").body)
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "b2", "c"]


def test_C48_creates_of_a_fresh_kind_are_held_back(time: StandingClock) -> None:
    from both_servers import CRDS, GROUP, PLAINS, plain

    from konstat.embedded.server import Pending

    server = EmbeddedServer(establish_seconds=2.0)
    assert _send(server, "POST", CRDS, PLAINS).status == 201
    body = json.dumps(plain()).encode()
    path = f"/apis/{GROUP}/v1/namespaces/default/plains"
    request = Request(method="POST", path=path, body=body)
    held = server.begin(request)
    assert isinstance(held, Pending)
    assert held.seconds == 2.0
    time.seconds = 2.0
    answer = server.begin(request)
    assert isinstance(answer, Response)
    assert answer.status == 201
