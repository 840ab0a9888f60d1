"""Waiting for an event or for time, whichever comes first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from stepped_clock import SteppedClock

from konstat.base import clock as base_clock
from konstat.base.tasks import open_tasks
from konstat.base.waiting import wait_at_most


@pytest.fixture
async def clock() -> AsyncIterator[SteppedClock]:
    stepped = SteppedClock()
    with base_clock.use_clock(stepped):
        yield stepped


async def test_time_ends_the_wait(clock: SteppedClock) -> None:
    async with open_tasks() as tasks:
        wait = tasks.start(wait_at_most(asyncio.Event(), timeout_seconds=10), name="wait")
        await clock.advance(9.9)
        assert not wait.done()
        await clock.advance(0.1)
        assert wait.result() is False


async def test_the_event_ends_the_wait(clock: SteppedClock) -> None:
    event = asyncio.Event()
    async with open_tasks() as tasks:
        wait = tasks.start(wait_at_most(event, timeout_seconds=10), name="wait")
        await clock.advance(5)
        event.set()
        await clock.settle()
        assert wait.result() is True


@pytest.mark.parametrize("seconds", [0.0, -1.0, 5.0])
async def test_an_event_that_is_set_is_not_waited_for(clock: SteppedClock, seconds: float) -> None:
    event = asyncio.Event()
    event.set()
    assert await wait_at_most(event, timeout_seconds=seconds) is True


async def test_no_time_is_no_wait(clock: SteppedClock) -> None:
    assert await wait_at_most(asyncio.Event(), timeout_seconds=0) is False


async def test_a_cancelled_wait_leaves_nothing(clock: SteppedClock) -> None:
    before = asyncio.all_tasks()
    async with open_tasks() as tasks:
        tasks.start(wait_at_most(asyncio.Event(), timeout_seconds=10), name="wait")
        await clock.settle()
    assert asyncio.all_tasks() == before
