"""What happens to a resource while an attempt on it runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from stage import Crate, Stage, config_map, crates, fill, quiet, ready, spin
from story import Said, eventually, keeps_contract, message, said

from konstat.base.transport import Request
from konstat.controller import Context
from konstat.errors import AttemptOver, NotFound
from konstat.kinds import ConfigMap

pytestmark = pytest.mark.realapi


class Held:
    """A reconcile that stops between reading its spec and its first write."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.leave = asyncio.Event()
        self.errors: list[BaseException] = []
        self.specs: list[str] = []

    async def reconcile(self, crate: Crate, context: Context[Crate]) -> None:
        self.specs.append(crate.spec.text)
        self.entered.set()
        await self.leave.wait()
        try:
            await fill(crate, context)
        except Exception as error:
            self.errors.append(error)
            raise


async def deleted(stage: Stage, manager: Any) -> None:
    """Wait until the manager has seen the deletion of the Crate."""
    (triggers,) = manager._triggers
    (informer,) = triggers.worker._views.open(Crate.kind)

    def seen() -> bool:
        found = informer.store.get(stage.namespace, "c")
        return found is None or found.deleting

    await spin(seen)


async def test_F46_after_a_deletion_no_child_is_created(stage: Stage) -> None:
    held = Held()
    controller = crates(held.reconcile)
    cleaned: list[str] = []

    @controller.cleanup
    async def cleanup(crate: Crate, context: Context[Crate]) -> None:
        cleaned.append(crate.name)

    await stage.create()
    async with stage.running(controller) as manager:
        await held.entered.wait()
        await stage.delete()
        await deleted(stage, manager)
        held.leave.set()
        await eventually(stage.look, lambda c: c == {})
        assert cleaned == ["c"]
        assert [type(e) for e in held.errors] == [AttemptOver]
        assert await stage.config() is None
        await quiet(stage.tap)
        assert await stage.configs() == []


async def test_F46_a_cleanup_may_apply_what_it_needs(stage: Stage) -> None:
    controller = crates()

    @controller.cleanup
    async def cleanup(crate: Crate, context: Context[Crate]) -> None:
        await context.apply(config_map(crate, "farewell", text="bye"))
        assert context.get(ConfigMap, "farewell") is not None

    await stage.create()
    async with stage.running(controller):
        await stage.says(ready())
        await stage.delete()
        await eventually(stage.look, lambda c: c == {})
        created = [w for w in stage.tap.writes if w.endswith("/configmaps/farewell")]
        assert len(created) == 1


async def test_F47_nothing_of_an_old_attempt_lands_on_a_new_object(stage: Stage) -> None:
    held = Held()
    old = await stage.create(text="old")
    async with stage.running(crates(held.reconcile)) as manager:
        await held.entered.wait()
        await stage.delete()
        new = await stage.create(text="new")
        (triggers,) = manager._triggers
        (informer,) = triggers.worker._views.open(Crate.kind)
        await spin(lambda: informer.store.by_uid(new["metadata"]["uid"]) is not None)
        # Its own attempt waits for the same gate; only the old one has passed the first half.
        await spin(lambda: held.specs == ["old", "new"])
        held.leave.set()
        seen = await stage.says(ready())
        assert seen["metadata"]["uid"] == new["metadata"]["uid"] != old["metadata"]["uid"]
        config = await stage.config()
        assert config is not None
        assert config["data"] == {"text": "new"}
        (owner,) = config["metadata"]["ownerReferences"]
        assert owner["uid"] == new["metadata"]["uid"]
        assert [type(e) for e in held.errors] == [AttemptOver]


async def test_F47_a_status_does_not_land_on_a_new_object_that_was_not_seen_yet(
    stage: Stage,
) -> None:
    """The recreation happens at the last moment: right before the status is sent."""
    recreated: list[dict[str, Any]] = []

    async def recreate(request: Request) -> None:
        if request.method == "PATCH" and "/crates/c/status" in request.path and not recreated:
            await stage.delete()
            recreated.append(await stage.create(text="new"))

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        context.status.note = crate.uid
        await fill(crate, context)

    await stage.create(text="old")
    stage.tap.before = recreate
    async with stage.running(crates(reconcile)):
        seen = await stage.says(ready())
        assert seen["metadata"]["uid"] == recreated[0]["metadata"]["uid"]
        assert seen["status"]["note"] == seen["metadata"]["uid"]


async def test_F48_a_spec_that_changes_meanwhile_is_told_by_its_generation(stage: Stage) -> None:
    held = Held()
    await stage.create(text="one")
    states: list[Said] = []
    async with stage.running(crates(held.reconcile)):
        await held.entered.wait()
        content = await stage.look()
        async with stage.client.watch(
            Crate.kind,
            namespace=stage.namespace,
            resource_version=content["metadata"]["resourceVersion"],
            timeout_seconds=60,
        ) as changes:
            await stage.edit(text="two")
            held.leave.set()
            await _read(changes, states, until=ready(2))
        assert ready(1) in states
        assert held.specs == ["one", "two"]
        config = await stage.config()
        assert config is not None
        assert config["data"] == {"text": "two"}


async def _read(changes: Any, states: list[Said], *, until: Said) -> None:
    import json

    async for change in changes:
        if change.type == "BOOKMARK":
            continue
        content = json.loads(bytes(change.object))
        assert keeps_contract(content)
        states.append(said(content))
        if states[-1] == until:
            return


async def test_F49_there_and_back_ends_where_it_began(stage: Stage) -> None:
    held = Held()
    await stage.create(text="A")
    async with stage.running(crates(held.reconcile)):
        await held.entered.wait()
        await stage.edit(text="B")
        await stage.edit(text="A")
        held.leave.set()
        await stage.says(ready(3))
        config = await stage.config()
        assert config is not None
        assert config["data"] == {"text": "A"}
        for text in "BABABA":
            await stage.edit(text=text)
        await stage.says(ready(9))
        config = await stage.config()
        assert config is not None
        assert config["data"] == {"text": "A"}


# --- finalizers ---------------------------------------------------------------------------------

FINALIZER = "controller.example.com/crates"


def with_cleanup(outcome: list[str]) -> Any:
    """A controller whose cleanup never ends."""
    controller = crates()

    @controller.cleanup
    async def cleanup(crate: Crate, context: Context[Crate]) -> None:
        outcome.append(crate.name)
        raise LookupError("the store does not answer")

    return controller


async def strip(stage: Stage) -> None:
    patch = {"metadata": {"finalizers": None}}
    await stage.client.patch(Crate.kind, "c", patch, type="merge", namespace=stage.namespace)


async def test_F50_a_finalizer_that_a_user_takes_from_a_living_object_comes_back(
    stage: Stage,
) -> None:
    await stage.create()
    async with stage.running(with_cleanup([])):
        seen = await stage.says(ready())
        assert seen["metadata"]["finalizers"] == [FINALIZER]
        await strip(stage)
        await eventually(stage.look, lambda c: c["metadata"].get("finalizers") == [FINALIZER])
    await strip(stage)  # nobody is there any more to put it back


async def test_F50_a_cleanup_that_a_user_skips_is_told(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    attempts: list[str] = []
    await stage.create()
    async with stage.running(with_cleanup(attempts)):
        await stage.says(ready())
        await stage.delete()
        seen = await eventually(stage.look, lambda c: said(c)["Ready"][1] == "LookupError")
        assert "the store does not answer" in message(seen, "Ready")
        await strip(stage)
        await eventually(stage.look, lambda c: c == {})
        (found,) = await eventually(lambda: stage.events("CleanupSkipped"), bool)
        assert f"its finalizer {FINALIZER} was removed" in found["note"]
        assert found["regarding"]["uid"] == seen["metadata"]["uid"]
        assert "CleanupSkipped" not in caplog.text
        assert "what the cleanup releases may be left behind" in caplog.text


async def test_a_cleanup_that_ends_well_is_not_told_as_skipped(stage: Stage) -> None:
    controller = crates()

    @controller.cleanup
    async def cleanup(crate: Crate, context: Context[Crate]) -> None:
        context.log.info("done")

    await stage.create()
    async with stage.running(controller):
        await stage.says(ready())
        await stage.delete()
        await eventually(stage.look, lambda c: c == {})
        await quiet(stage.tap)
    assert await stage.events("CleanupSkipped") == []


async def test_F60_a_namespace_that_goes_takes_its_crates_along(stage: Stage) -> None:
    from konstat.kinds import Namespace

    name = f"{stage.namespace}-b"
    content = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await stage.client.create(Namespace.kind, content)
    other = Stage(stage.client, name)
    await other.create()
    controller = crates()

    @controller.cleanup
    async def cleanup(crate: Crate, context: Context[Crate]) -> None:
        context.log.info("done")

    async with other.running(controller):
        await other.says(ready())
        await stage.client.delete(Namespace.kind, name)

        async def gone() -> bool:
            try:
                await stage.client.get(Namespace.kind, name)
            except NotFound:
                return True
            return False

        await eventually(gone, bool)
        await quiet(other.tap)
