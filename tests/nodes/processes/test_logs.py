"""Logs of runs: lines, bounds, what a query wants, and following."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stepped_clock import SteppedClock

from konstat.base import clock, limits
from konstat.base.tasks import open_tasks
from konstat.nodes.acting import LogQuery
from konstat.nodes.processes.logs import RunLog


async def text_of(log: RunLog, **query: Any) -> bytes:
    return b"".join([piece async for piece in log.read(LogQuery(**query))])


@pytest.fixture
def log(tmp_path: Path) -> RunLog:
    return RunLog(tmp_path / "log")


async def test_lines_come_out_as_they_went_in(log: RunLog) -> None:
    log.append(b"one\ntw")
    assert await text_of(log) == b"one\n"
    log.append(b"o\n\nthree")
    log.close()
    assert await text_of(log) == b"one\ntwo\n\nthree"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(st.binary(max_size=50), max_size=10))
def test_any_bytes_come_out_as_they_went_in(tmp_path: Path, chunks: list[bytes]) -> None:
    async def through() -> bytes:
        log = RunLog(tmp_path / "log")
        for chunk in chunks:
            log.append(chunk)
        log.close()
        return await text_of(log)

    assert asyncio.run(through()) == b"".join(chunks)


async def test_a_long_line_is_stored_in_pieces(log: RunLog) -> None:
    text = b"x" * (limits.CONTAINER_LOG_LINE_BYTES * 2 + 5) + b"\nend\n"
    log.append(text)
    log.close()
    assert await text_of(log) == text
    assert max(map(len, log.path.read_bytes().splitlines())) < len(text) * 0.6


async def test_two_files_bound_what_is_kept(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "log", file_bytes=1000)
    for number in range(200):
        log.append(b"line %d\n" % number)
    log.close()
    assert log.path.stat().st_size + log.older.stat().st_size <= 2000
    lines = (await text_of(log)).splitlines()
    assert lines == [b"line %d" % n for n in range(200 - len(lines), 200)]
    assert len(lines) * len(lines[0]) > 200


async def test_what_a_query_wants(tmp_path: Path) -> None:
    stepped = SteppedClock()
    with clock.use_clock(stepped):
        log = RunLog(tmp_path / "log")
        first = clock.micro_timestamp(clock.now()).encode()
        log.append(b"one\n")
        await stepped.advance(10)
        log.append(b"two\nthree\n")
        assert await text_of(log, tail_lines=2) == b"two\nthree\n"
        assert await text_of(log, tail_lines=0) == b""
        assert await text_of(log, since_seconds=5) == b"two\nthree\n"
        assert await text_of(log, limit_bytes=5) == b"one\nt"
        assert (await text_of(log, timestamps=True)).startswith(first + b" one\n")
        assert log.tail(lines=2, bytes=8) == "o\nthree\n"
        log.close()


async def test_following_ends_with_the_run_and_misses_nothing(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "log", file_bytes=200)
    log.append(b"line 0\n")
    seen: list[bytes] = []
    async with open_tasks() as tasks:
        reading = tasks.start(_collect(log.read(LogQuery(follow=True)), seen), name="reader")
        for number in range(1, 30):
            log.append(b"line %d\n" % number)
            await _until_seen(seen, number + 1)
        log.append(b"rest")
        log.close()
        await reading
    assert b"".join(seen) == b"".join(b"line %d\n" % n for n in range(30)) + b"rest"


async def _collect(pieces: AsyncIterator[bytes], seen: list[bytes]) -> None:
    async for piece in pieces:
        seen += [piece]


async def _until_seen(seen: list[bytes], count: int) -> None:
    deadline = clock.monotonic() + 10
    while len(seen) < count:
        assert clock.monotonic() < deadline
        await clock.sleep(0.001)


async def test_every_line_is_heard_at_once(tmp_path: Path) -> None:
    heard: list[bytes] = []
    log = RunLog(tmp_path / "log", heard=heard.append)
    log.append(b"a\nb\nc")
    assert heard == [b"a", b"b"]
    log.close()
    assert heard == [b"a", b"b", b"c"]


def test_stored_times_sort_as_text() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    texts = [clock.micro_timestamp(moment + timedelta(milliseconds=n * 333)) for n in range(9)]
    assert texts == sorted(texts)
