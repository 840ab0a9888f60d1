"""However the world is shaken, the end state depends on the last spec alone (L1)."""

from __future__ import annotations

import random
from contextlib import AsyncExitStack
from typing import Any

import pytest
from stage import Crate, Stage, config_map, crates, operating, ready
from story import eventually, said

from konstat.controller import Context, Manager
from konstat.errors import NotFound
from konstat.kinds import ConfigMap

pytestmark = pytest.mark.realapi

STEPS = 12


async def reconcile(crate: Crate, context: Context[Crate]) -> None:
    """As many ConfigMaps as the size says."""
    for number in range(crate.spec.size):
        await context.apply(
            config_map(crate, f"{crate.name}-{number}", text=crate.spec.text),
            component=context.status.content,
        )
    await context.prune([ConfigMap])
    context.status.size = crate.spec.size


class Shaken:
    """One Crate, and an operator that comes and goes."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self.stage = stage
        self.random = random.Random(seed)
        self.name = f"s{seed}"
        self._running: AsyncExitStack | None = None
        self._manager: Manager | None = None

    async def start(self) -> None:
        self._running = AsyncExitStack()
        manager = self.stage.manager(crates(reconcile))
        self._manager = await self._running.enter_async_context(operating(manager))

    async def stop(self) -> None:
        if self._running is not None:
            await self._running.aclose()
        self._running = None

    async def step(self) -> None:
        draw = self.random
        match draw.choice(("spec", "spec", "edit", "delete", "foreign", "restart", "stop")):
            case "spec":
                await self.stage.edit(self.name, text=draw.choice("abc"), size=draw.randint(1, 4))
            case "edit":
                await self._child({"data": {"text": "by hand"}})
            case "foreign":
                await self._child({"metadata": {"labels": {"theirs": draw.choice("xyz")}}})
            case "delete":
                await self._child(None)
            case "restart":
                await self.stop()
                await self.start()
            case "stop":
                await self.stop()

    async def _child(self, patch: dict[str, Any] | None) -> None:
        """Patch or delete one of the ConfigMaps by hand, if it is there."""
        name = f"{self.name}-{self.random.randint(0, 3)}"
        client, namespace = self.stage.client, self.stage.namespace
        try:
            if patch is None:
                await client.delete(ConfigMap, name, namespace=namespace)
            else:
                await client.patch(ConfigMap.kind, name, patch, type="merge", namespace=namespace)
        except NotFound:
            return

    async def children(self) -> dict[str, str]:
        found = await self.stage.client.list(ConfigMap.kind, namespace=self.stage.namespace)
        return {
            c["metadata"]["name"]: c["data"]["text"]
            for c in found
            if c["metadata"]["name"].startswith(f"{self.name}-")
        }


@pytest.mark.parametrize("seed", range(10))
async def test_L1_the_end_state_is_that_of_the_last_spec(stage: Stage, seed: int) -> None:
    shaken = Shaken(stage, seed)
    await stage.create(shaken.name, text="first", size=2)
    await shaken.start()
    try:
        for _ in range(STEPS):
            await shaken.step()
        await shaken.stop()
        await shaken.start()
        content = await stage.look(shaken.name)
        spec, generation = content["spec"], content["metadata"]["generation"]
        wanted = {f"{shaken.name}-{n}": spec["text"] for n in range(spec["size"])}
        await eventually(shaken.children, lambda c: c == wanted)
        seen = await eventually(
            lambda: stage.look(shaken.name), lambda c: said(c) == ready(generation)
        )
        assert seen["status"]["size"] == spec["size"]
    finally:
        await shaken.stop()
