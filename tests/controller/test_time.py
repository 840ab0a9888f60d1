"""Attempts that take long, hang or block, and the graceful stop."""

from __future__ import annotations

import asyncio
import logging

import pytest
from stage import (
    Crate,
    Stage,
    config_map,
    crates,
    fill,
    operating,
    quiet,
    ready,
    spin,
    unready,
    worker_of,
)
from story import eventually, message, said

from konstat.base import clock, limits
from konstat.base.tasks import open_tasks
from konstat.controller import Context
from konstat.errors import AttemptOver, TransportError
from konstat.kinds import ConfigMap

pytestmark = pytest.mark.realapi


class Gate:
    """Holds the attempts on one resource until the test opens it."""

    def __init__(self, name: str = "c") -> None:
        self.name = name
        self.entered = asyncio.Event()
        self.open = asyncio.Event()
        self.attempts: list[str] = []

    async def reconcile(self, crate: Crate, context: Context[Crate]) -> None:
        self.attempts.append(crate.name)
        if crate.name == self.name:
            self.entered.set()
            await self.open.wait()
        await fill(crate, context)


async def test_F69_an_attempt_that_hangs_is_ended_while_others_go_on(stage: Stage) -> None:
    gate = Gate()
    await stage.create()
    controller = crates(gate.reconcile, attempt_timeout_seconds=1.5, concurrency=2)
    async with stage.running(controller):
        await gate.entered.wait()
        await stage.create("other")
        await stage.says(ready(), "other")
        seen = await stage.says(unready("Unknown", "AttemptTimeout", "Reconciling"))
        assert "the attempt did not end within 1.5 s" in message(seen, "Ready")
        await spin(lambda: gate.attempts.count("c") > 1)
        gate.open.set()
        await stage.says(ready())


async def test_F69_one_that_swallows_its_cancellation_is_given_up_and_not_doubled(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ATTEMPT_END_SECONDS", 0.1)
    release = asyncio.Event()
    late: list[BaseException] = []
    attempts: list[str] = []

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        attempts.append(crate.name)
        if crate.name != "c" or release.is_set():
            return await fill(crate, context)
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        try:
            await context.apply(config_map(crate, "too-late"))
        except AttemptOver as error:
            late.append(error)
        return None

    await stage.create()
    controller = crates(reconcile, attempt_timeout_seconds=0.5, concurrency=1)
    async with stage.running(controller):
        seen = await stage.says(unready("Unknown", "AttemptTimeout", "Reconciling"))
        assert "ignores its cancellation" in message(seen, "Ready")
        # Its only worker is free for others (L3), and no second attempt runs beside it.
        await stage.create("other")
        await stage.says(ready(), "other")
        seen = await eventually(
            stage.look, lambda c: "still runs: nothing new" in message(c, "Ready")
        )
        assert attempts.count("c") == 1
        release.set()
        await stage.says(ready())
        # What it still wants to write after its time is refused.
        assert len(late) == 1
        assert await stage.configs() == ["c", "other"]


async def test_a_loop_that_is_blocked_is_reported(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def block(crate: Crate, context: Context[Crate]) -> None:
        until = clock.monotonic() + limits.LOOP_BLOCKED_SECONDS + limits.LOOP_WATCH_SECONDS + 0.5
        while clock.monotonic() < until:
            pass
        await fill(crate, context)

    async with stage.running(crates(block)) as manager:
        await stage.create()
        await stage.says(ready())
        await spin(lambda: "the event loop turns again after" in caplog.text)
        # Who, and where.
        assert f"the attempt Crate {stage.namespace}/c blocks it at {__file__}:" in caplog.text
        assert "in block: use await" in caplog.text
        assert "while clock.monotonic() < until" in caplog.text
        samples = manager.metrics.text().decode()
        (line,) = (
            s for s in samples.splitlines() if s.startswith("konstat_loop_blocked_seconds_t")
        )
        assert float(line.split()[1]) > limits.LOOP_BLOCKED_SECONDS


# --- promise 1 ----------------------------------------------------------------------------------

NEW: dict[str, tuple[str, str, int | None]] = {
    "Ready": ("Unknown", "NewGeneration", 1),
    "Reconciling": ("True", "NewGeneration", 1),
}


async def test_H2_a_slow_first_reaction_is_told_and_a_fast_one_is_not(stage: Stage) -> None:
    gate = Gate()
    await stage.create()
    async with stage.running(crates(gate.reconcile)):
        # A fresh object: nothing is observed yet, and that is what it says.
        seen = await stage.says(NEW)
        assert "observedGeneration" not in seen["status"]
        assert message(seen, "Ready").endswith("(nobody must act: waiting)")
        gate.open.set()
        await stage.says(ready())
        gate.open.clear()
        await stage.edit(text="new")
        seen = await stage.says(
            {
                "Ready": ("Unknown", "NewGeneration", 2),
                "ContentReady": ("True", "Exists", 1),
                "Reconciling": ("True", "NewGeneration", 2),
            }
        )
        assert seen["status"]["observedGeneration"] == 1
        gate.open.set()
        await stage.says(ready(2))
        # A slow attempt on a generation that was settled before says nothing in between.
        version = (await stage.look())["metadata"]["resourceVersion"]
        gate.open.clear()
        gate.entered.clear()
        await stage.client.delete(ConfigMap, "c", namespace=stage.namespace)
        await gate.entered.wait()
        end = clock.monotonic() + limits.RESET_AFTER_SECONDS + 0.5
        while clock.monotonic() < end:
            assert (await stage.look())["metadata"]["resourceVersion"] == version
            await clock.sleep(0.1)
        gate.open.set()
        await eventually(stage.config, lambda found: found is not None)


async def test_H2_a_fast_reaction_writes_once(stage: Stage) -> None:
    await stage.create()
    async with stage.running(crates()):
        await stage.says(ready())
        await quiet(stage.tap)
        before = len(stage.tap.writes)
        await stage.edit(size=2)
        await stage.says(ready(2))
        await quiet(stage.tap)
        path = f"/namespaces/{stage.namespace}/crates/c/status"
        assert [w.rpartition("v1")[2] for w in stage.tap.writes[before:]] == [path]


async def test_a_slow_cleanup_says_that_it_goes_on(stage: Stage) -> None:
    entered, leave = asyncio.Event(), asyncio.Event()
    controller = crates()

    @controller.cleanup
    async def cleanup(crate: Crate, context: Context[Crate]) -> None:
        entered.set()
        await leave.wait()

    await stage.create()
    async with stage.running(controller):
        await stage.says(ready())
        await stage.delete()
        await entered.wait()
        seen = await stage.says(
            {
                "Ready": ("False", "Terminating", 2),
                "ContentReady": ("True", "Exists", 1),
                "Reconciling": ("True", "Terminating", 2),
            }
        )
        assert seen["status"]["observedGeneration"] == 1
        leave.set()
        await eventually(stage.look, lambda c: c == {})
        assert running_attempts() == []


def running_attempts() -> list[str]:
    """The tasks of attempts that run at this moment."""
    return [t.get_name() for t in asyncio.all_tasks() if t.get_name().startswith("attempt ")]


# --- the stop -----------------------------------------------------------------------------------


async def test_F45_a_running_attempt_ends_and_its_status_is_written(stage: Stage) -> None:
    gate = Gate()
    await stage.create()
    manager = stage.manager(crates(gate.reconcile))
    async with operating(manager):
        await gate.entered.wait()
        await stage.create("late")
        await eventually(lambda: stage.look("late"), lambda c: said(c) == ready())
        manager.stop()
        manager.stop()  # a second one changes nothing
        gate.open.set()
    assert said(await stage.look()) == ready()
    # Its event was written too, although it came last.
    assert {e["regarding"]["name"] for e in await stage.events("Ready")} == {"c", "late"}
    manager.stop()  # nor does one after the end


async def test_F45_a_hanging_attempt_is_cancelled_after_the_grace(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(limits, "STOP_GRACE_SECONDS", 0.3)
    cancelled: list[str] = []

    async def hang(crate: Crate, context: Context[Crate]) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(crate.name)

    before = asyncio.all_tasks()
    await stage.create()
    async with stage.running(crates(hang)) as manager:
        await stage.says(NEW)
        (key,) = worker_of(manager).queue._running
        assert key
    assert cancelled == ["c"]
    assert "1 attempts did not end in time and are cancelled" in caplog.text
    assert asyncio.all_tasks() <= before


async def test_F45_one_that_cannot_be_cancelled_does_not_hold_the_stop_up(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(limits, "STOP_GRACE_SECONDS", 0.1)
    monkeypatch.setattr(limits, "ATTEMPT_END_SECONDS", 0.1)
    release, entered = asyncio.Event(), asyncio.Event()

    async def swallow(crate: Crate, context: Context[Crate]) -> None:
        entered.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    await stage.create()
    async with stage.running(crates(swallow)):
        await entered.wait()
    assert f"Crate {stage.namespace}/c: the attempt ignores its cancellation" in caplog.text
    release.set()
    await spin(lambda: running_attempts() == [])


async def test_a_manager_that_is_stopped_before_it_starts_ends_at_once(stage: Stage) -> None:
    manager = stage.manager(crates())
    manager.stop()
    await manager.run()


async def test_a_cancelled_manager_leaves_nothing_behind(stage: Stage) -> None:
    before = asyncio.all_tasks()
    gate = Gate()
    await stage.create()
    manager = stage.manager(crates(gate.reconcile))
    async with open_tasks() as tasks:
        running = tasks.start(manager.run(), name="manager")
        await gate.entered.wait()
        running.cancel()
        await asyncio.wait((running,))
    assert asyncio.all_tasks() <= before


async def test_a_stop_while_the_server_is_away_is_bounded(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(limits, "STOP_GRACE_SECONDS", 1.0)
    monkeypatch.setattr(limits, "EVENT_FLUSH_SECONDS", 0.5)
    caplog.set_level(logging.WARNING)
    async with stage.running(crates()):
        stage.tap.fault = lambda _: TransportError("refused (as the test asked)", sent=False)
        await stage.create()
