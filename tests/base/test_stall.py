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
    """A watch of this loop, and what it told: stalls, and with their lengths those that are over.

    A busy machine may hold the loop up too, so a test looks for its own.
    """

    def __init__(self) -> None:
        self.stalls: list[Stall] = []
        self.over: list[tuple[Stall, float]] = []
        self.watch = LoopWatch(on_stall=self.stalls.append, on_turn=self._turned)

    def _turned(self, seconds: float) -> None:
        self.over.append((self.stalls[-1], seconds))

    def holds_up(self, task: str) -> bool:
        return any(stall.task == task for stall in self.stalls)

    async def once_over(self, task: str) -> tuple[Stall, float]:
        """The one stall of a task, and how long it was."""

        async def look() -> list[tuple[Stall, float]]:
            return [found for found in self.over if found[0].task == task]

        (found,) = await eventually(look, bool)
        return found


@pytest.fixture
def watched_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOOP_WATCH_SECONDS", 0.02)
    monkeypatch.setattr(limits, "LOOP_BLOCKED_SECONDS", 0.3)


def block_until(right: Callable[[], object]) -> None:
    """Keep the loop from turning, at most for a while."""
    deadline = clock.monotonic() + 20
    while not right():
        assert clock.monotonic() < deadline


def shown(look: Callable[[], object]) -> Callable[[], Awaitable[object]]:
    async def answer() -> object:
        return look()

    return answer


@pytest.mark.usefixtures("watched_quickly")
async def test_a_blocked_loop_is_told_while_it_is_blocked_and_by_whom() -> None:
    watched = Watched()

    async def block() -> None:
        block_until(lambda: watched.holds_up("the culprit"))

    with watched.watch.watching():
        async with open_tasks() as tasks:
            await tasks.start(block(), name="the culprit")
        stall, length = await watched.once_over("the culprit")
    assert stall.place.startswith(f"{__file__}:")
    assert 'block_until(lambda: watched.holds_up("the culprit"))' in stall.stack
    assert length >= stall.seconds >= limits.LOOP_BLOCKED_SECONDS


@pytest.mark.usefixtures("watched_quickly")
async def test_a_callback_has_no_task_but_a_place() -> None:
    watched = Watched()
    with watched.watch.watching():
        asyncio.get_running_loop().call_soon(block_until, lambda: watched.holds_up(""))
        stall, _ = await watched.once_over("")
    assert stall.place.startswith(f"{__file__}:")


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


async def test_the_thread_ends_with_its_block() -> None:
    watched = Watched()
    with watched.watch.watching():
        assert watched.watch._thread.is_alive()
    await eventually(shown(lambda: not watched.watch._thread.is_alive()), bool)
    assert (watched.stalls, watched.over) == ([], [])
