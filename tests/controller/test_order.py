"""Whose turn it is: what changed does not wait for everything that is settled already."""

from __future__ import annotations

import asyncio

import pytest
from stage import Crate, Stage, crates, fill, ready, spin

from konstat.controller import Context

pytestmark = pytest.mark.realapi

NAMES = tuple(f"c{number}" for number in range(6))


class Gate:
    """A reconcile that notes names, and whose attempts wait until the gate is opened."""

    def __init__(self) -> None:
        self.attempts: list[str] = []
        self.opened = asyncio.Event()

    async def reconcile(self, crate: Crate, context: Context[Crate]) -> None:
        self.attempts.append(crate.name)
        await self.opened.wait()
        await fill(crate, context)


async def _settled(stage: Stage) -> None:
    async with stage.running(crates()):
        for name in NAMES:
            await stage.create(name)
        for name in NAMES:
            await stage.says(ready(), name)


async def test_a_change_does_not_wait_for_the_settled_objects_of_the_first_list(
    stage: Stage,
) -> None:
    await _settled(stage)
    gate = Gate()
    async with stage.running(crates(gate.reconcile, concurrency=1)) as manager:
        (triggers,) = manager._triggers
        await spin(lambda: len(gate.attempts) == 1)
        last = next(name for name in reversed(NAMES) if name not in gate.attempts)
        edited = await stage.edit(last, text="changed")
        uid = edited["metadata"]["uid"]

        def is_seen() -> bool:
            snapshot = triggers._views.by_uid(Crate.kind, uid)
            return snapshot is not None and snapshot.generation == 2

        await spin(is_seen)
        gate.opened.set()
        await spin(lambda: len(gate.attempts) == len(NAMES))
    assert gate.attempts[1] == last


async def test_what_changed_while_nobody_looked_comes_before_what_is_settled(
    stage: Stage,
) -> None:
    await _settled(stage)
    await stage.edit(NAMES[-1], text="changed")
    gate = Gate()
    gate.opened.set()
    async with stage.running(crates(gate.reconcile, concurrency=1)):
        await spin(lambda: len(gate.attempts) == len(NAMES))
    assert gate.attempts[0] == NAMES[-1]
