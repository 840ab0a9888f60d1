"""Cleanups that never end, namespaces that go, and map functions that fail for everything."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from embedded_stage import embedded_stage
from stage import Crate, Stage, crates, fill, ready, spin
from story import eventually, message, said

from konstat.controller import Context, Watch
from konstat.kinds import ConfigMap, Namespace, Secret


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with embedded_stage() as one:
        yield one


async def test_L4_a_cleanup_that_fails_is_told_and_tried_again_until_it_does_not(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    mended: list[str] = []
    tries: list[str] = []
    controller = crates()

    @controller.cleanup
    async def cleanup(crate: Crate, context: Context[Crate]) -> None:
        tries.append(crate.name)
        if not mended:
            raise ConnectionError("the store does not answer")

    await stage.create()
    async with stage.running(controller):
        await stage.says(ready())
        await stage.delete()
        seen = await eventually(stage.look, lambda c: said(c)["Ready"][1] == "ConnectionError")
        assert said(seen)["Reconciling"] == ("True", "ConnectionError", 2)
        assert "the store does not answer" in message(seen, "Ready")
        assert "(the operator's owner must act)" in message(seen, "Ready")
        await spin(lambda: len(tries) >= 3)
        assert seen["metadata"]["finalizers"] == [controller.finalizer]
        # The others do not wait for it.
        await stage.create("other")
        await stage.says(ready(), "other")
        mended.append("now")
        await eventually(stage.look, lambda c: c == {})


@pytest.mark.parametrize("answer", ["done", False])
async def test_L4_a_cleanup_that_returns_nonsense_confirms_nothing(
    stage: Stage, answer: Any
) -> None:
    controller = crates()

    @controller.cleanup
    async def cleanup(crate: Crate, context: Context[Crate]) -> Any:
        return answer

    await stage.create()
    async with stage.running(controller):
        await stage.says(ready())
        await stage.delete()
        seen = await eventually(stage.look, lambda c: said(c)["Ready"][1] == "BadReturn")
        assert f"cleanup returned {type(answer).__name__}" in message(seen, "Ready")
        assert seen["metadata"]["finalizers"] == [controller.finalizer]


async def test_L4_a_cleanup_that_forgets_to_await_confirms_nothing(stage: Stage) -> None:
    controller = crates()

    @controller.cleanup
    async def cleanup(crate: Crate, context: Context[Crate]) -> None:
        context.delete(ConfigMap, crate.name)  # type: ignore[unused-coroutine]

    await stage.create()
    async with stage.running(controller):
        await stage.says(ready())
        await stage.delete()
        seen = await eventually(stage.look, lambda c: said(c)["Ready"][1] == "NotAwaited")
        assert seen["metadata"]["finalizers"] == [controller.finalizer]
        assert await stage.config() is not None


async def test_F60_a_namespace_that_goes_is_no_error(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        context.event("Tried", f"attempt on {crate.metadata.resource_version}")
        await fill(crate, context)

    await stage.create()
    async with stage.running(crates(reconcile)):
        await stage.says(ready())
        await stage.client.delete(Namespace, stage.namespace)
        await stage.client.delete(ConfigMap, "c", namespace=stage.namespace)
        seen = await eventually(stage.look, lambda c: said(c)["Ready"][1] == "NamespaceTerminating")
        assert said(seen)["Ready"][0] == "False"
        assert "(nobody must act: waiting)" in message(seen, "Ready")
        assert "Stalled" not in said(seen)
        await spin(lambda: "an event (Tried) was not recorded" in caplog.text)
    loud = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert loud == []


async def test_a_map_function_that_fails_for_everything_is_no_storm_of_tracebacks(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(secret: Secret) -> list[str]:
        raise KeyError(secret.name)

    for number in range(20):
        metadata = {"name": f"s{number}", "namespace": stage.namespace}
        await stage.client.create(Secret(metadata=metadata))
    await stage.create()
    async with stage.running(crates(watches=[Watch(Secret, broken)])):
        await stage.says(ready())
    for number in range(20):
        text = f"Watch(Secret) failed for Secret {stage.namespace}/s{number}: KeyError: 's{number}'"
        assert caplog.text.count(text) == 1
    assert caplog.text.count("Traceback") == 1
