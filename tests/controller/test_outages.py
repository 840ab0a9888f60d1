"""Two instances at once, a server that restarts, and a process that is told to end at once."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from stage import Crate, Stage, crates, fill, operating, quiet, ready
from story import eventually, keeps_contract, said

from konstat.base.tasks import open_tasks
from konstat.client import Client
from konstat.controller import Context
from konstat.controller.run import install_kinds
from konstat.kinds import ConfigMap
from konstat.status import contract
from konstat.testing import Options

pytestmark = pytest.mark.realapi

OPERATOR = Path(__file__).parent / "operators/rude.py"


class Witness:
    """Watches the Crates of a namespace and holds every step against the contract."""

    def __init__(self) -> None:
        self.states: dict[str, list[dict[str, Any]]] = {}
        self.broken: list[str] = []

    @property
    def steps(self) -> int:
        return sum(len(states) for states in self.states.values())

    def see(self, content: dict[str, Any]) -> None:
        keeps_contract(content)
        states = self.states.setdefault(content["metadata"]["uid"], [])
        if states:
            self.broken += [str(v) for v in contract.check_step(states[-1], content)]
        states.append(content)

    async def watch(self, client: Client, namespace: str) -> None:
        async with client.watch(
            Crate.kind, namespace=namespace, resource_version="0", timeout_seconds=250
        ) as changes:
            async for change in changes:
                if change.type in ("ADDED", "MODIFIED"):
                    self.see(json.loads(bytes(change.object)))


@asynccontextmanager
async def witnessing(stage: Stage) -> AsyncIterator[Witness]:
    witness = Witness()
    async with open_tasks() as tasks:
        tasks.start(witness.watch(stage.client, stage.namespace), name="witness")
        yield witness
    assert witness.broken == []


async def test_H8_two_instances_never_take_a_status_back_and_come_to_rest(stage: Stage) -> None:
    names = ("a", "b", "c")
    for name in names:
        await stage.create(name)
    first, second = Stage(stage.client, stage.namespace), Stage(stage.client, stage.namespace)
    async with (
        witnessing(stage) as witness,
        first.running(crates()),
        second.running(crates()),
    ):
        for number in range(1, 8):
            for name in names:
                await stage.edit(name, text=f"text {number}", size=number)
                if number % 3 == 0:
                    await stage.client.delete(ConfigMap, name, namespace=stage.namespace)
        newest = await stage.look("a")
        generation = newest["metadata"]["generation"]
        for name in names:
            await stage.says(ready(generation), name)
        for one in (first, second):
            await quiet(one.tap)
        before = (len(first.tap.requests), len(second.tap.requests))
        await quiet(first.tap, looks=40)
        assert (len(first.tap.requests), len(second.tap.requests)) == before
        # Both worked, and each step was seen.
        assert first.tap.writes
        assert second.tap.writes
        await eventually(_steps(witness), lambda n: n >= 3 * generation)


def _steps(witness: Witness) -> Any:
    async def steps() -> int:
        return witness.steps

    return steps


async def test_a_stale_instance_does_not_take_a_newer_outcome_back(stage: Stage) -> None:
    """One instance hangs on an old generation while the other settles the new one."""
    entered, leave = asyncio.Event(), asyncio.Event()

    async def slow(crate: Crate, context: Context[Crate]) -> None:
        entered.set()
        if crate.generation == 1:
            await leave.wait()
        await fill(crate, context)

    await stage.create(text="one")
    late, quick = Stage(stage.client, stage.namespace), Stage(stage.client, stage.namespace)
    async with witnessing(stage), late.running(crates(slow)):
        await entered.wait()
        async with quick.running(crates()):
            await stage.edit(text="two")
            await stage.says(ready(2))
        leave.set()
        await quiet(late.tap)
        seen = await stage.says(ready(2))
        assert seen["status"]["observedGeneration"] == 2
        config = await stage.config()
        assert config is not None
        assert config["data"] == {"text": "two"}


async def test_F29_a_restart_of_the_server_is_survived_without_a_storm(
    start_control_plane: Any,
) -> None:
    plane = start_control_plane(Options(scheduler=False))
    async with plane.client() as client:
        await install_kinds(client, [Crate])
        stage = Stage(client, "default")
        for number in range(20):
            await stage.create(f"c{number}")
        async with operating(stage.manager(crates())) as manager:
            for number in range(20):
                await stage.says(ready(), f"c{number}")
            await quiet(stage.tap)
            before = len(stage.tap.writes)
            await plane.restart_apiserver()
            await stage.edit("c0", text="new")
            await stage.says(ready(2), "c0")
            await quiet(stage.tap)
            # The one change is all that was written: no child and no status again.
            assert len(stage.tap.writes) == before + 2
            plane.kill_apiserver()
            await plane.start_apiserver()
            await stage.client.delete(ConfigMap, "c1", namespace="default")
            await eventually(lambda: stage.config("c1"), lambda c: c is not None)
            await stage.says(ready(), "c1")
            assert manager._ready() == {}


# --- a process ----------------------------------------------------------------------------------


class Process:
    """``rude.py`` as an operator process."""

    def __init__(self, kubeconfig: Path, log: Path, namespace: str) -> None:
        self._command = (sys.executable, str(OPERATOR), str(kubeconfig), namespace)
        self._log = log
        self.running: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Process:
        with self._log.open("wb") as log:
            self.running = await asyncio.create_subprocess_exec(
                *self._command, stdout=log, stderr=log
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.running is not None and self.running.returncode is None:
            self.running.kill()
            await self.running.wait()

    async def ends(self) -> int:
        assert self.running is not None
        async with asyncio.timeout(40):
            return await self.running.wait()

    async def says(self, words: str) -> None:
        async def text() -> str:
            return self._log.read_text()

        await eventually(text, lambda t: words in t)

    @property
    def text(self) -> str:
        return self._log.read_text()


@pytest.fixture
def process(control_plane: Any, stage: Stage, tmp_path: Path) -> Process:
    return Process(control_plane.kubeconfig, tmp_path / "operator.log", stage.namespace)


async def test_a_keyboard_interrupt_in_an_attempt_ends_the_process(
    stage: Stage, process: Process
) -> None:
    async with process:
        await process.says("running:")
        await stage.create(text="interrupt")
        assert await process.ends() in (130, -signal.SIGINT)
    assert "was destroyed but it is pending" not in process.text


async def test_a_second_signal_ends_a_process_whose_attempt_cannot_be_cancelled(
    stage: Stage, process: Process
) -> None:
    async with process:
        await process.says("running:")
        await stage.create(text="hold on")
        await process.says("holding on")
        assert process.running is not None
        process.running.send_signal(signal.SIGTERM)
        await process.says("once more to stop at once")
        process.running.send_signal(signal.SIGTERM)
        assert await process.ends() == -signal.SIGTERM


async def test_a_system_exit_in_an_attempt_is_an_outcome(stage: Stage, process: Process) -> None:
    async with process:
        await stage.create(text="exit")
        await eventually(stage.look, lambda c: said(c).get("Ready", ("",) * 3)[1] == "SystemExit")
        await stage.edit(text="fine")
        await eventually(stage.look, lambda c: said(c)["Ready"][0] == "True")
        assert process.running is not None
        process.running.send_signal(signal.SIGTERM)
        assert await process.ends() == 0
