"""Running one function to its end, without a server: every ending, and tasks that will not end."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from stage import Crate

from konstat.base import limits
from konstat.base.tasks import end_apart, open_tasks, start_apart
from konstat.controller.attempt import Ended, run_attempt, still_running
from konstat.errors import AttemptOver, SpecInvalid
from konstat.readiness import Turn
from konstat.status import Ending, RequeueAfter, Waiting, started
from konstat.status.outcome import Outcome, text_of

CRATE = Crate.named("c", namespace="n")


async def attempt(function: Any, *, timeout_seconds: float = 5.0) -> Ended:
    return await run_attempt(function, CRATE, object(), timeout_seconds=timeout_seconds)


async def test_what_is_returned() -> None:
    async def nothing(resource: Any, context: Any) -> None:
        assert resource is CRATE

    async def later(resource: Any, context: Any) -> RequeueAfter:
        return RequeueAfter(seconds=3)

    assert await attempt(nothing) == Ended(outcome=Outcome.observed())
    assert (await attempt(later)).requeue_seconds == 3


async def test_what_a_wait_carries() -> None:
    async def wait(resource: Any, context: Any) -> None:
        raise Waiting("NotYet", "soon", timeout_seconds=7)

    ended = await attempt(wait)
    assert (ended.outcome.ending, ended.wait_timeout_seconds) == (Ending.WAITING, 7)


async def test_a_time_out_lets_the_function_tidy_up() -> None:
    tidied: list[str] = []

    async def hang(resource: Any, context: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            tidied.append("yes")

    ended = await attempt(hang, timeout_seconds=0.05)
    assert (ended.outcome.reason, ended.outcome.turn) == ("AttemptTimeout", Turn.OWNER)
    assert (tidied, ended.lingering) == (["yes"], None)


async def test_what_a_function_says_after_its_time_counts_no_more() -> None:
    async def late(resource: Any, context: Any) -> RequeueAfter:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return RequeueAfter(seconds=1)

    ended = await attempt(late, timeout_seconds=0.05)
    assert (ended.outcome.reason, ended.requeue_seconds) == ("AttemptTimeout", None)


async def test_one_that_will_not_end_is_handed_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ATTEMPT_END_SECONDS", 0.05)
    release, refused = asyncio.Event(), 0

    async def stay(resource: Any, context: Any) -> None:
        nonlocal refused
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                refused += 1

    ended = await attempt(stay, timeout_seconds=0.05)
    assert ended.lingering is not None
    assert refused == limits.ATTEMPT_CANCELLATIONS
    again = still_running(ended.lingering)
    assert (again.outcome.reason, again.lingering) == ("AttemptTimeout", ended.lingering)
    release.set()
    await asyncio.wait({ended.lingering})


async def test_a_cancellation_from_outside_reaches_the_function_and_leaves() -> None:
    entered, cancelled = asyncio.Event(), asyncio.Event()

    async def hang(resource: Any, context: Any) -> None:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with open_tasks() as tasks:
        running = tasks.start(attempt(hang), name="attempt")
        await entered.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert cancelled.is_set()


async def test_the_tasks_own_cancellation_stays_inside() -> None:
    async def suicide(resource: Any, context: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.Event().wait()

    assert (await attempt(suicide)).outcome.reason == "Cancelled"
    me = asyncio.current_task()
    assert me is not None
    assert not me.cancelling()


async def test_a_task_apart_ends_when_it_is_asked_to() -> None:
    task = start_apart(asyncio.Event().wait(), name="waits")
    assert await end_apart(task, tries=1, seconds=5.0)
    assert task.cancelled()


def test_an_attempt_that_is_over_is_a_deletion() -> None:
    outcome = Outcome.of(AttemptOver("Crate n/c is being deleted"))
    assert (outcome.ending, outcome.reason) == (Ending.DELETING, "Terminating")
    assert outcome.turn is Turn.NOBODY


def test_an_error_that_cannot_say_itself_has_a_text() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise LookupError("no words")

    assert text_of(Mute()) == "Mute: (its text cannot be read)"
    assert text_of(SpecInvalid(path="spec.a", problem="is bad")) == "spec.a: is bad"


def test_the_early_status_of_a_cleanup_says_that_it_is_one() -> None:
    early = started(4, deleting=True)
    assert (early.ready.status, early.ready.reason) == ("False", "Terminating")
    assert early.observed_generation is None
    assert early.ready.message == "cleanup goes on (nobody must act: waiting)"
