"""Every way in which an attempt can end, and what the status then says."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from stage import Crate, Stage, config_map, crates, fill, operating, ready, spin, unready, worker_of
from story import eventually, message

from konstat.base import chance
from konstat.controller import Context, Controller
from konstat.errors import NotFound
from konstat.kinds import CustomResourceDefinition
from konstat.objects.crd import crd
from konstat.objects.model import Spec, Status
from konstat.objects.resource import Resource
from konstat.queue import WorkQueue
from konstat.status import Component, Failed, RequeueAfter, Stalled, Waiting

pytestmark = pytest.mark.realapi

Attempt = Callable[[Crate, Context[Crate]], Awaitable[Any]]


class Script:
    """A reconcile whose behaviour tests swap while it runs, and which counts its attempts."""

    def __init__(self, first: Attempt) -> None:
        self.act = first
        self.attempts = 0

    async def __call__(self, crate: Crate, context: Context[Crate]) -> Any:
        self.attempts += 1
        return await self.act(crate, context)

    def controller(self, **options: Any) -> Any:
        async def reconcile(crate: Crate, context: Context[Crate]) -> Any:
            return await self(crate, context)

        return crates(reconcile, **options)


# --- a spec that our types refuse ---------------------------------------------------------------


class LooseSpec(Spec):
    size: Any = None


class TightSpec(Spec):
    size: int = 1


class BoxStatus(Status):
    content: Component


async def test_a_spec_that_our_types_refuse_is_settled_once_and_heals(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    group = f"{chance.suffix(6)}.example.com"
    loose, tight = _boxes(group)
    await stage.client.apply(CustomResourceDefinition.kind, crd(loose), force=True)
    attempts: list[str] = []

    async def reconcile(box: Any, context: Any) -> None:
        attempts.append(box.name)
        context.status.content.good()

    controller = Controller(tight)
    controller.reconcile(reconcile)
    await _served(stage, loose)
    await stage.create("bad", loose, size={"not": "a number"})
    await stage.create("good", loose, size=3)
    async with stage.running(controller):
        seen = await stage.says(
            {
                "Ready": ("False", "SpecInvalid", 1),
                "ContentReady": ("Unknown", "NotObserved", 1),
                "Stalled": ("True", "SpecInvalid", 1),
            },
            "bad",
            tight,
        )
        assert "spec.size: expected `int`" in message(seen, "Ready")
        assert "(the user must act)" in message(seen, "Ready")
        # L3: the bad one does not disturb its neighbour.
        good = {"Ready": ("True", "Ready", 1), "ContentReady": ("True", "Good", 1)}
        await stage.says(good, "good", tight)
        assert attempts == ["good"]
        # Its events: one; it is not tried again by itself.
        version = (await stage.look("bad", tight))["metadata"]["resourceVersion"]
        await stage.edit("good", tight, size=4)
        await stage.says(
            {"Ready": ("True", "Ready", 2), "ContentReady": ("True", "Good", 2)}, "good", tight
        )
        assert (await stage.look("bad", tight))["metadata"]["resourceVersion"] == version
        await stage.edit("bad", tight, size=5)
        await stage.says(
            {"Ready": ("True", "Ready", 2), "ContentReady": ("True", "Good", 2)}, "bad", tight
        )
    assert "Traceback" not in caplog.text


def _boxes(group: str) -> tuple[Any, Any]:
    class Loose(Resource[LooseSpec, BoxStatus], group=group, version="v1", kind="Box"):
        """What the cluster has."""

    class Tight(Resource[TightSpec, BoxStatus], group=group, version="v1", kind="Box"):
        """What the operator expects."""

    return Loose, Tight


async def _served(stage: Stage, cls: type[Resource[Any, Any]]) -> None:
    async def served() -> bool:
        try:
            await stage.client.list(cls, namespace=stage.namespace)
        except NotFound:
            return False
        return True

    await eventually(served, bool)


# --- exceptions ---------------------------------------------------------------------------------


async def test_an_exception_is_told_by_its_innermost_cause_and_heals(stage: Stage) -> None:
    async def broken(crate: Crate, context: Context[Crate]) -> None:
        try:
            raise LookupError("no such shelf")
        except LookupError as error:
            raise RuntimeError("cannot store") from error

    script = Script(broken)
    await stage.create()
    async with stage.running(script.controller()):
        seen = await stage.says(unready("Unknown", "LookupError", "Reconciling"))
        assert "LookupError: no such shelf" in message(seen, "Ready")
        assert "(the operator's owner must act)" in message(seen, "Ready")
        # The generation was looked at, although in vain.
        assert seen["status"]["observedGeneration"] == 1
        await spin(lambda: script.attempts >= 3)  # it backs off, but it comes back by itself
        script.act = fill
        await stage.says(ready())


async def test_bad_evidence_beside_an_exception_says_false(stage: Stage) -> None:
    async def half(crate: Crate, context: Context[Crate]) -> None:
        context.status.content.bad("Torn", "the box is torn")
        raise ValueError("and then this")

    await stage.create()
    async with stage.running(crates(half)):
        await stage.says(
            {
                "Ready": ("False", "ValueError", 1),
                "ContentReady": ("False", "Torn", 1),
                "Reconciling": ("True", "ValueError", 1),
            }
        )


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


def _group_of_cancellations() -> BaseException:
    return BaseExceptionGroup("several", [asyncio.CancelledError(), ValueError("x")])


ENDINGS: dict[str, tuple[Callable[[], BaseException], str]] = {
    "SystemExit": (lambda: SystemExit(3), "SystemExit"),
    "CancelledError": (asyncio.CancelledError, "Cancelled"),
    "an own BaseException": (lambda: type("Odd", (BaseException,), {})("odd"), "Odd"),
    "a group": (lambda: ExceptionGroup("g", [KeyError("first"), ValueError("second")]), "KeyError"),
    "a base group": (_group_of_cancellations, "CancelledError"),
    "StopAsyncIteration": (StopAsyncIteration, "StopAsyncIteration"),
    "an author's TimeoutError": (TimeoutError, "TimeoutError"),
    "an unspeakable error": (Unspeakable, "Unspeakable"),
    "an error of ten megabytes": (lambda: ValueError("x" * 10_000_000), "ValueError"),
}


@pytest.mark.parametrize("name", ENDINGS)
async def test_whatever_is_raised_becomes_a_status(stage: Stage, name: str) -> None:
    make, reason = ENDINGS[name]

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        if crate.name == "c":
            raise make()
        await fill(crate, context)

    await stage.create("c")
    async with stage.running(crates(reconcile, concurrency=1)):
        await stage.says(unready("Unknown", reason, "Reconciling"))
        await stage.create("other")
        await stage.says(ready(), "other")


async def test_an_attempt_that_cancels_its_own_task_costs_no_worker(stage: Stage) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        if crate.name != "c":
            return await fill(crate, context)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.Event().wait()
        return None

    await stage.create("c")
    async with stage.running(crates(reconcile, concurrency=1)):
        await stage.says(unready("Unknown", "Cancelled", "Reconciling"))
        await stage.create("other")
        await stage.says(ready(), "other")


@pytest.mark.parametrize("answer", [42, "done", False, {"requeue": 5}, RequeueAfter])
async def test_nonsense_that_is_returned_is_named(stage: Stage, answer: Any) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> Any:
        await fill(crate, context)
        return answer

    await stage.create()
    async with stage.running(crates(reconcile)):
        seen = await stage.says(
            {
                "Ready": ("Unknown", "BadReturn", 1),
                "ContentReady": ("True", "Exists", 1),
                "Reconciling": ("True", "BadReturn", 1),
            }
        )
        shown = "the class RequeueAfter" if answer is RequeueAfter else type(answer).__name__
        text = f"reconcile returned {shown}: return None or RequeueAfter"
        assert text in message(seen, "Ready")


async def test_a_task_of_the_author_that_dies_is_heard_of(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def dies() -> None:
        raise RuntimeError("nobody awaits me")

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        asyncio.get_running_loop().create_task(dies())
        await fill(crate, context)

    await stage.create()
    with caplog.at_level(logging.ERROR):
        async with stage.running(crates(reconcile)):
            await stage.says(ready())
            await spin(lambda: "nobody awaits me" in caplog.text)


# --- signals ------------------------------------------------------------------------------------


async def test_stalled_is_not_tried_again_by_itself(stage: Stage) -> None:
    async def refuse(crate: Crate, context: Context[Crate]) -> None:
        if not crate.spec.text:
            raise Stalled("NoText", "spec.text is empty: write something")
        await fill(crate, context)

    script = Script(refuse)
    await stage.create()
    async with stage.running(script.controller()) as manager:
        seen = await stage.says(unready("False", "NoText", "Stalled"))
        assert "spec.text is empty" in message(seen, "Ready")
        await spin(lambda: worker_of(manager).queue.statistics().running == 0)
        assert (script.attempts, worker_of(manager).queue.statistics().delayed) == (1, 0)
        await stage.edit(text="x")
        await stage.says(ready(2))
    assert [e["type"] for e in await stage.events("NoText")] == ["Warning"]


async def test_a_wait_that_lasts_too_long_is_overdue_until_there_is_progress(stage: Stage) -> None:
    async def wait(crate: Crate, context: Context[Crate]) -> None:
        raise Waiting("NoDelivery", "the text has not come", timeout_seconds=2.5)

    script = Script(wait)
    await stage.create()
    async with stage.running(script.controller()):
        await stage.says(unready("False", "NoDelivery", "Reconciling"))
        seen = await stage.says(unready("False", "DeadlineExceeded", "Stalled"))
        text = (
            "NoDelivery for more than 2.5 s: the text has not come (the operator's owner must act)"
        )
        assert message(seen, "Ready") == text
        before = script.attempts
        await spin(lambda: script.attempts > before)  # slow retries go on
        script.act = fill
        await stage.says(ready())


async def test_a_deadline_is_noticed_when_it_passes_not_at_a_late_retry(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def wait(crate: Crate, context: Context[Crate]) -> None:
        raise Waiting("NoDelivery", "the text has not come", timeout_seconds=1.0)

    await stage.create()
    controller = crates(wait)
    manager = stage.manager(controller)
    # A key that has failed for long: its back-off is at its end.
    monkeypatch.setattr(WorkQueue, "retry", lambda self, key: self.add_after(key, 3600.0))
    async with operating(manager):
        await stage.says(unready("False", "NoDelivery", "Reconciling"))
        await stage.says(unready("False", "DeadlineExceeded", "Stalled"))


async def test_another_reason_to_wait_begins_another_wait(stage: Stage) -> None:
    reasons = iter(["First", "Second", "First"])

    async def wait(crate: Crate, context: Context[Crate]) -> None:
        raise Waiting(next(reasons, "First"), "not yet", timeout_seconds=30)

    await stage.create()
    async with stage.running(crates(wait)):
        await stage.says(unready("False", "Second", "Reconciling"))
        await stage.says(unready("False", "First", "Reconciling"))


async def test_failed_backs_off_and_is_the_owners(stage: Stage) -> None:
    async def fail(crate: Crate, context: Context[Crate]) -> None:
        raise Failed("LostKeys", "the store does not let us in")

    script = Script(fail)
    await stage.create()
    async with stage.running(script.controller()):
        seen = await stage.says(unready("False", "LostKeys", "Reconciling"))
        assert message(seen, "Ready").endswith("(the operator's owner must act)")
        await spin(lambda: script.attempts >= 2)
        script.act = fill
        await stage.says(ready())


async def test_a_problem_is_reported_without_ending_the_attempt(stage: Stage) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        if crate.spec.size > 9:
            context.problem("TooLarge", f"spec.size is {crate.spec.size}: at most 9")
        await fill(crate, context)

    await stage.create(size=10)
    async with stage.running(crates(reconcile)):
        seen = await stage.says(
            {
                "Ready": ("False", "TooLarge", 1),
                "ContentReady": ("True", "Exists", 1),
                "Stalled": ("True", "TooLarge", 1),
            }
        )
        assert "TooLarge: spec.size is 10: at most 9 (the user must act)" in message(seen, "Ready")
        assert (await stage.config()) is not None
        await stage.edit(size=9)
        await stage.says(ready(2))


async def test_evidence_by_hand(stage: Stage) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> RequeueAfter | None:
        part = context.status.content
        match crate.spec.text:
            case "good":
                part.good("Packed", "all is in")
            case "moving":
                part.progressing("Packing", "half is in")
                return RequeueAfter(seconds=60)
            case "unseen":
                part.unknown("Dark", "the light is off")
            case "bad":
                part.bad("Broken", "it fell")
        return None

    await stage.create(text="good")
    async with stage.running(crates(reconcile)):
        await stage.says({"Ready": ("True", "Ready", 1), "ContentReady": ("True", "Packed", 1)})
        for generation, (text, status, reason, second) in enumerate(
            (
                ("moving", "False", "Packing", "Reconciling"),
                ("unseen", "Unknown", "Dark", "Reconciling"),
                ("bad", "False", "Broken", "Stalled"),
            ),
            start=2,
        ):
            await stage.edit(text=text)
            await stage.says(
                {
                    "Ready": (status, reason, generation),
                    "ContentReady": (status, reason, generation),
                    second: ("True", reason, generation),
                }
            )
        await stage.edit(text="nothing")
        seen = await stage.says(
            {
                "Ready": ("Unknown", "ComponentNotReported", 5),
                "ContentReady": ("Unknown", "NotObserved", 5),
                "Reconciling": ("True", "ComponentNotReported", 5),
            }
        )
        assert "CrateStatus.content" in message(seen, "Ready")


async def test_requeue_after_comes_back(stage: Stage) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> RequeueAfter:
        await fill(crate, context)
        return RequeueAfter(seconds=0.2)

    script = Script(reconcile)
    await stage.create()
    async with stage.running(script.controller()):
        await spin(lambda: script.attempts >= 4)
        await stage.says(ready())


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (float("nan"), "status.note"),
        (b"bytes", "status.note"),
        ("lone \udcff surrogate", "status.note"),
        (7, "status.note"),
    ],
)
async def test_F71_a_status_value_that_cannot_be_stored_is_named(
    stage: Stage, value: Any, path: str
) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        await fill(crate, context)
        if crate.spec.size > 1:
            context.status.note = value

    await stage.create()
    async with stage.running(crates(reconcile)):
        await stage.says(ready())
        await stage.edit(size=2)
        seen = await stage.says(
            {
                "Ready": ("Unknown", "StatusInvalid", 2),
                "ContentReady": ("True", "Exists", 1),
                "Reconciling": ("True", "StatusInvalid", 2),
            }
        )
        assert f"{path}: " in message(seen, "Ready")
        # The other fields stay as they were.
        assert seen["status"]["size"] == 1
        await stage.edit(size=1)
        await stage.says(ready(3))


async def test_a_component_that_is_assigned_to_is_named(stage: Stage) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        context.status.content = "good"  # type: ignore[assignment]

    await stage.create()
    async with stage.running(crates(reconcile)):
        seen = await stage.says(
            {"Ready": ("Unknown", "StatusInvalid", 1), "Reconciling": ("True", "StatusInvalid", 1)}
        )
        assert "status.content: is a str" in message(seen, "Ready")


async def test_a_message_of_lone_surrogates_ends_nothing(stage: Stage) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        context.event("Odd\udcff", "an odd \udcff text")
        await context.apply(config_map(crate), component=context.status.content)
        raise ValueError("from the \udcff file system")

    await stage.create()
    async with stage.running(crates(reconcile)):
        await stage.says(
            {
                "Ready": ("Unknown", "ValueError", 1),
                "ContentReady": ("True", "Exists", 1),
                "Reconciling": ("True", "ValueError", 1),
            }
        )
        await stage.create("other")
        await stage.says(
            {
                "Ready": ("Unknown", "ValueError", 1),
                "ContentReady": ("True", "Exists", 1),
                "Reconciling": ("True", "ValueError", 1),
            },
            "other",
        )
