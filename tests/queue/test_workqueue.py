"""The work queue: order, coalescing, delays, wake-ups, and a model that never disagrees."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from konstat.base import chance, limits
from konstat.base.clock import use_clock
from konstat.errors import InternalError, QueueClosed
from konstat.queue import KeyBackoff, TokenBucket, WorkQueue


def unlimited() -> TokenBucket:
    return TokenBucket(per_second=1e9, burst=10**9)


async def drain(queue: WorkQueue) -> list[str]:
    taken = []
    while len(queue):
        taken.append(await queue.take())
    return taken


async def test_fresh_keys_go_first_and_each_line_is_first_come_first_served(clock):
    queue = WorkQueue()
    for key in "abc":
        queue.add(f"resync-{key}", fresh=False)
    for key in "xyz":
        queue.add(f"fresh-{key}")
    assert await drain(queue) == [f"fresh-{k}" for k in "xyz"] + [f"resync-{k}" for k in "abc"]


async def test_a_waiting_key_is_one_attempt_however_often_it_is_added(clock):
    queue = WorkQueue()
    for _ in range(5):
        queue.add("a")
    assert await drain(queue) == ["a"]
    statistics = queue.statistics()
    assert (statistics.added, statistics.coalesced, statistics.taken) == (5, 4, 1)


async def test_a_resync_that_becomes_fresh_moves_to_the_fresh_line(clock):
    queue = WorkQueue()
    queue.add("a", fresh=False)
    queue.add("b", fresh=False)
    queue.add("b")
    assert await drain(queue) == ["b", "a"]


async def test_a_resync_gets_its_turn_under_a_flood_of_fresh_keys(clock):
    queue = WorkQueue(bucket=unlimited())
    queue.add("old", fresh=False)
    for number in range(3 * limits.RESYNC_TURN_TAKES):
        queue.add(f"fresh-{number}")
    order = await drain(queue)
    assert order.index("old") == limits.RESYNC_TURN_TAKES


async def test_a_flood_of_resyncs_leaves_fresh_keys_their_share(clock):
    queue = WorkQueue(bucket=unlimited())
    for number in range(100):
        queue.add(f"resync-{number}", fresh=False)
    for number in range(20):
        queue.add(f"fresh-{number}")
    order = await drain(queue)
    last = order.index("fresh-19")
    assert last <= 20 + 20 // limits.RESYNC_TURN_TAKES + 1


async def test_what_comes_while_a_key_runs_is_tried_after_it_and_not_beside_it(clock):
    queue = WorkQueue()
    queue.add("a")
    assert await queue.take() == "a"
    queue.add("a")
    queue.add("a", fresh=False)
    assert len(queue) == 0
    queue.done("a")
    assert await drain(queue) == ["a"]


async def test_done_without_a_wish_leaves_nothing(clock):
    queue = WorkQueue()
    queue.add("a")
    queue.done(await queue.take())
    assert len(queue) == 0
    assert queue.statistics().running == 0


async def test_done_for_a_key_that_nobody_holds_is_our_mistake(clock):
    with pytest.raises(InternalError, match="no worker holds"):
        WorkQueue().done("a")


async def test_a_delayed_key_comes_at_its_time(clock):
    queue = WorkQueue()
    queue.add_after("a", 30)
    taking = asyncio.create_task(queue.take())
    await clock.advance(29.9)
    assert not taking.done()
    await clock.advance(0.2)
    assert taking.result() == "a"


async def test_of_several_delays_the_earliest_wins_whatever_their_order(clock):
    for first, second in ((10, 50), (50, 10)):
        queue = WorkQueue()
        queue.add_after("a", first)
        queue.add_after("a", second)
        taking = asyncio.create_task(queue.take())
        await clock.advance(9.9)
        assert not taking.done()
        await clock.advance(0.2)
        queue.done(taking.result())
        await clock.advance(1.05)
        assert len(queue) == 0
        assert queue.statistics().delayed == 0


async def test_a_waiting_taker_wakes_for_an_earlier_key(clock):
    queue = WorkQueue()
    queue.add_after("late", 100)
    taking = asyncio.create_task(queue.take())
    await clock.settle()
    queue.add_after("early", 5)
    await clock.advance(5.1)
    assert taking.result() == "early"


async def test_a_waiting_taker_wakes_for_a_ready_key(clock):
    queue = WorkQueue()
    taking = asyncio.create_task(queue.take())
    await clock.settle()
    queue.add("a")
    assert await taking == "a"


async def test_a_delay_of_zero_or_less_is_now(clock):
    queue = WorkQueue()
    queue.add_after("a", 0)
    queue.add_after("b", -5, fresh=False)
    assert await drain(queue) == ["a", "b"]


async def test_an_add_fulfils_the_delayed_wish(clock):
    queue = WorkQueue()
    queue.add_after("a", 10)
    queue.add("a", fresh=False)
    queue.done(await queue.take())
    taking = asyncio.create_task(queue.take())
    await clock.advance(60)
    assert not taking.done()
    taking.cancel()


async def test_a_delay_that_ends_while_the_key_runs_waits_for_done(clock):
    queue = WorkQueue()
    queue.add("a")
    await queue.take()
    queue.add_after("a", 5)
    taking = asyncio.create_task(queue.take())
    await clock.advance(10)
    assert not taking.done()
    queue.done("a")
    assert await taking == "a"


async def test_retries_wait_longer_each_time_until_forgotten(clock):
    with chance.use_seed(7):
        queue = WorkQueue()
        delays = []
        for _ in range(4):
            delays.append(queue.retry("a"))
            await clock.advance(delays[-1])
            queue.done(await queue.take())
        assert all(later > earlier for earlier, later in pairwise(delays))
        assert queue.failures("a") == 4
        queue.forget("a")
        assert queue.retry("a") < 1.0
        assert queue.statistics().retried == 5


async def test_a_dropped_key_is_forgotten_wherever_it_was(clock):
    queue = WorkQueue()
    queue.add("ready")
    queue.add("resync", fresh=False)
    queue.add_after("delayed", 5)
    queue.retry("failing")
    for key in ("ready", "resync", "delayed", "failing"):
        queue.drop(key)
    queue.add("running")
    await queue.take()
    queue.add("running")
    queue.drop("running")
    queue.done("running")
    await clock.advance(1000)
    statistics = queue.statistics()
    assert (statistics.depth, statistics.delayed, statistics.failing) == (0, 0, 0)


async def test_L2_takes_keep_to_the_overall_rate(clock):
    queue = WorkQueue(bucket=TokenBucket(per_second=10, burst=2))
    for number in range(20):
        queue.add(str(number))
    taken = []

    async def work() -> None:
        while True:
            taken.append(await queue.take())

    worker = asyncio.create_task(work())
    await clock.advance(0)
    assert len(taken) == 2
    await clock.advance(1.05)
    assert len(taken) == 12
    worker.cancel()


async def test_L2_attempts_that_ask_nothing_cost_a_share_of_the_rate(clock):
    queue = WorkQueue(bucket=TokenBucket(per_second=10, burst=2))
    for number in range(1000):
        queue.add(str(number))
    taken = []

    async def work() -> None:
        while True:
            key = await queue.take()
            taken.append(key)
            queue.done(key, asked=False)

    worker = asyncio.create_task(work())
    await clock.advance(1.0)
    allowed = (2 + 10) / limits.ATTEMPT_IDLE_SHARE
    assert 0.8 * allowed < len(taken) <= allowed
    worker.cancel()


async def test_many_takers_share_many_keys_without_loss(clock):
    queue = WorkQueue()
    takers = [asyncio.create_task(queue.take()) for _ in range(5)]
    await clock.settle()
    for number in range(3):
        queue.add(str(number))
    queue.add_after("late", 2)
    await clock.settle()
    assert sorted(t.result() for t in takers if t.done()) == ["0", "1", "2"]
    await clock.advance(3)
    assert sum(t.done() for t in takers) == 4
    queue.add("last")
    assert await takers[-1] == "last"


async def test_F70_a_cancelled_taker_loses_no_key_and_no_wake_up(clock):
    queue = WorkQueue()
    first, second = (asyncio.create_task(queue.take()) for _ in range(2))
    await clock.settle()
    queue.add("a")
    first.cancel()
    await clock.settle()
    assert first.cancelled() != (not second.done())
    taken = [t.result() for t in (first, second) if t.done() and not t.cancelled()]
    assert taken == ["a"]


async def test_a_closed_queue_ends_every_taker_and_takes_nothing_more(clock):
    queue = WorkQueue()
    takers = [asyncio.create_task(queue.take()) for _ in range(3)]
    queue.add_after("a", 100)
    await clock.settle()
    queue.close()
    for taker in takers:
        with pytest.raises(QueueClosed):
            await taker
    queue.add("b")
    queue.add_after("c", 1)
    assert len(queue) == 0
    assert queue.statistics().added == 1


async def test_an_attempt_may_end_after_the_queue_was_closed(clock):
    queue = WorkQueue()
    queue.add("a")
    await queue.take()
    queue.add("a")
    queue.close()
    queue.done("a")
    assert queue.statistics().depth == 0


async def test_the_oldest_ready_key_is_reported(clock):
    queue = WorkQueue()
    assert queue.statistics().oldest_ready_seconds == 0.0
    queue.add("a", fresh=False)
    await clock.advance(3)
    queue.add("b")
    await clock.advance(4)
    assert queue.statistics().oldest_ready_seconds == pytest.approx(7)
    assert queue.statistics().peak_depth == 2


async def test_endless_rescheduling_keeps_the_heap_small(clock):
    queue = WorkQueue()
    for number in range(2000):
        queue.add_after("a", 2000 - number)
    assert len(queue._heap) < 200


KEYS = st.sampled_from(["a", "b", "c", "d", "e"])


class QueueMachine(RuleBasedStateMachine):
    """Random wishes against a model: a dict of wishes per key and a set of running keys.

    The model says which keys must be takeable; the order inside is checked by the tests above.
    """

    clock_type: ClassVar[Callable[[], Any]]

    def __init__(self) -> None:
        super().__init__()
        self.clock = type(self).clock_type()
        self._swaps = ExitStack()
        self._swaps.enter_context(use_clock(self.clock))
        self._swaps.enter_context(chance.use_seed(1))
        self.runner = asyncio.Runner()
        self.queue = WorkQueue(bucket=unlimited(), backoff=KeyBackoff())
        self.wanted: dict[str, float] = {}  # key -> when its next attempt is due
        self.fresh: set[str] = set()
        self.running: set[str] = set()

    def teardown(self) -> None:
        self.queue.close()
        self.runner.close()
        self._swaps.close()

    def due(self) -> set[str]:
        now = self.clock.seconds
        return {k for k, at in self.wanted.items() if at <= now and k not in self.running}

    def want(self, key: str, at: float) -> None:
        self.wanted[key] = min(at, self.wanted.get(key, at))

    @rule(key=KEYS, fresh=st.booleans())
    def add(self, key, fresh):
        self.queue.add(key, fresh=fresh)
        self.want(key, self.clock.seconds)
        if fresh:
            self.fresh.add(key)

    @rule(key=KEYS, seconds=st.integers(min_value=0, max_value=20), fresh=st.booleans())
    def add_after(self, key, seconds, fresh):
        self.queue.add_after(key, float(seconds), fresh=fresh)
        self.want(key, self.clock.seconds + seconds)
        if fresh:
            self.fresh.add(key)

    @rule(key=KEYS)
    def retry(self, key):
        self.want(key, self.clock.seconds + self.queue.retry(key))
        self.fresh.add(key)

    @rule(key=KEYS)
    def drop(self, key):
        self.queue.drop(key)
        self.wanted.pop(key, None)
        self.fresh.discard(key)

    @rule(seconds=st.integers(min_value=1, max_value=15))
    def time_passes(self, seconds):
        self.runner.run(self.clock.advance(float(seconds)))

    @precondition(lambda self: self.due())
    @rule()
    def take(self):
        key = self.runner.run(self.queue.take())
        assert key in self.due()
        del self.wanted[key]
        self.fresh.discard(key)
        self.running.add(key)

    @precondition(lambda self: not self.due())
    @rule()
    def take_finds_nothing(self):
        async def try_take() -> bool:
            taking = asyncio.create_task(self.queue.take())
            await self.clock.settle()
            done = taking.done()
            taking.cancel()
            await self.clock.settle()
            return done

        assert not self.runner.run(try_take())

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def done(self, data):
        key = data.draw(st.sampled_from(sorted(self.running)))
        self.queue.done(key)
        self.running.discard(key)

    @invariant()
    def the_numbers_agree(self):
        statistics = self.queue.statistics()
        assert statistics.running == len(self.running)
        assert statistics.depth == len(self.queue) <= len(self.wanted)
        assert set(self.queue._fresh).isdisjoint(self.queue._resync)
        assert self.running.isdisjoint([*self.queue._fresh, *self.queue._resync])
        assert set(self.queue._fresh) <= self.fresh


def test_no_sequence_of_wishes_loses_or_doubles_an_attempt(clock_type):
    QueueMachine.clock_type = clock_type
    run_state_machine_as_test(
        QueueMachine, settings=settings(max_examples=60, stateful_step_count=40, deadline=None)
    )
