"""What the watchdog's thread sees of an event loop that is blocked, idle or at its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest
from story import eventually

from konstat.base import clock, limits
from konstat.base.stall import LoopWatch, Stall
from konstat.base.tasks import open_tasks


class Watched:
    """A watch of this loop that answers fast, and what it told."""

    def __init__(self) -> None:
        self.stalls: list[Stall] = []
        self.lengths: list[float] = []
        self.watch = LoopWatch(on_stall=self.stalls.append, on_turn=self.lengths.append)


@pytest.fixture
def watched_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOOP_WATCH_SECONDS", 0.02)
    monkeypatch.setattr(limits, "LOOP_BLOCKED_SECONDS", 0.1)


def block_until(right: Callable[[], object]) -> None:
    """Keep the loop from turning, at most for a while."""
    deadline = clock.monotonic() + 20
    while not right():
        assert clock.monotonic() < deadline


async def _block(watched: Watched) -> None:
    block_until(lambda: watched.stalls)


def shown(look: Callable[[], object]) -> Callable[[], Awaitable[object]]:
    async def answer() -> object:
        return look()

    return answer


@pytest.mark.usefixtures("watched_quickly")
async def test_a_blocked_loop_is_told_while_it_is_blocked_and_by_whom() -> None:
    watched = Watched()
    with watched.watch.watching():
        async with open_tasks() as tasks:
            await tasks.start(_block(watched), name="the culprit")
        await eventually(shown(lambda: watched.lengths), bool)
    (stall,) = watched.stalls
    assert stall.task == "the culprit"
    assert stall.place.startswith(f"{__file__}:")
    assert "in block_until" in stall.place or "in <lambda>" in stall.place
    assert "block_until(lambda: watched.stalls)" in stall.stack
    assert watched.lengths[0] >= stall.seconds >= limits.LOOP_BLOCKED_SECONDS


@pytest.mark.usefixtures("watched_quickly")
async def test_a_callback_has_no_task_but_a_place() -> None:
    watched = Watched()
    with watched.watch.watching():
        asyncio.get_running_loop().call_soon(block_until, lambda: watched.stalls)
        await eventually(shown(lambda: watched.lengths), bool)
    assert watched.stalls[0].task == ""
    assert watched.stalls[0].place.startswith(f"{__file__}:")


@pytest.mark.usefixtures("watched_quickly")
async def test_a_loop_that_waits_is_not_blocked() -> None:
    watched = Watched()
    ended, idle = threading.Event(), threading.Event()

    def look() -> None:
        """As after a stop of the whole process: no answer in time, and a loop that only waits."""
        while not ended.is_set() and watched.watch._look(1.0) is not None:
            pass
        idle.set()

    asker = threading.Thread(target=look)
    asker.start()
    try:
        await eventually(shown(idle.is_set), bool)
    finally:
        ended.set()
        asker.join()


@pytest.mark.usefixtures("watched_quickly")
async def test_the_thread_ends_with_its_block() -> None:
    watched = Watched()
    with watched.watch.watching():
        assert watched.watch._thread.is_alive()
    await eventually(shown(lambda: not watched.watch._thread.is_alive()), bool)
    assert (watched.stalls, watched.lengths) == ([], [])
