"""What a reconcile function can do wrong, and what the status of its resource then says.

Each mistake concerns one resource; its neighbour must not notice (L3).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from embedded_stage import embedded_stage
from stage import Crate, Stage, config_map, crates, fill, ready, spin
from story import eventually, message, said

from konstat.controller import Context, worker
from konstat.kinds import ConfigMap, Secret
from konstat.status import RequeueAfter, Stalled, Waiting

Attempt = Callable[[Crate, Context[Crate]], Awaitable[Any]]
Anything: Any = object()


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with embedded_stage() as one:
        yield one


MISTAKES: dict[str, tuple[Attempt, str, str]] = {}


def mistake(reason: str, text: str) -> Callable[[Attempt], Attempt]:
    """A reconcile that does something wrong, and what the status must say of it."""

    def keep(function: Attempt) -> Attempt:
        MISTAKES[getattr(function, "__name__", "")] = (function, reason, text)
        return function

    return keep


def config(metadata: Any = None, **content: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}


# --- how it ends ---------------------------------------------------------------------------------


@mistake("GeneratorExit", "GeneratorExit")
async def raises_generator_exit(crate: Crate, context: Context[Crate]) -> None:
    raise GeneratorExit


@mistake("RecursionError", "maximum recursion depth exceeded")
async def recurs_for_ever(crate: Crate, context: Context[Crate]) -> None:
    def again() -> None:
        again()

    again()


@mistake("MemoryError", "MemoryError")
async def has_no_memory(crate: Crate, context: Context[Crate]) -> None:
    raise MemoryError


@mistake("E", "E: (its text cannot be read)")
async def raises_what_has_no_text(crate: Crate, context: Context[Crate]) -> None:
    class E(Exception):
        def __str__(self) -> Any:
            return 5

    raise E


@mistake("ValueError", "ValueError: one")
async def raises_causes_in_a_circle(crate: Crate, context: Context[Crate]) -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    raise one


@mistake("BadReturn", "returned fill(…) without awaiting it: write await before it")
async def returns_a_coroutine(crate: Crate, context: Context[Crate]) -> Any:
    return fill(crate, context)


@mistake("BadReturn", "returned the class RequeueAfter: return None or RequeueAfter(seconds=…)")
async def returns_a_class(crate: Crate, context: Context[Crate]) -> Any:
    return RequeueAfter


@mistake("ValueError", "Waiting(timeout_seconds=…) is -1: give a number above 0")
async def waits_a_negative_time(crate: Crate, context: Context[Crate]) -> None:
    raise Waiting("Soon", "m", timeout_seconds=-1)


@mistake("ValueError", "Waiting(timeout_seconds=…) is nan: give a number above 0")
async def waits_no_number(crate: Crate, context: Context[Crate]) -> None:
    raise Waiting("Soon", "m", timeout_seconds=math.nan)


@mistake("ValueError", "Waiting(timeout_seconds=…) is '5': give a number above 0")
async def waits_a_text(crate: Crate, context: Context[Crate]) -> None:
    raise Waiting("Soon", "m", timeout_seconds="5")  # type: ignore[arg-type]


@mistake("ValueError", "RequeueAfter(seconds=…) is inf: give a number above 0")
async def comes_back_never(crate: Crate, context: Context[Crate]) -> RequeueAfter:
    return RequeueAfter(seconds=math.inf)


@mistake("ValueError", "RequeueAfter(seconds=…) is True: give a number above 0")
async def comes_back_in_true_seconds(crate: Crate, context: Context[Crate]) -> RequeueAfter:
    return RequeueAfter(seconds=True)


@mistake("TypeError", "Stalled: the reason is None: give a text")
async def stalls_for_no_reason(crate: Crate, context: Context[Crate]) -> None:
    raise Stalled(None, "m")  # type: ignore[arg-type]


@mistake("ValueError", "turn is 'somebody': give one of Turn.USER, Turn.OWNER, Turn.NOBODY")
async def names_nobodys_turn(crate: Crate, context: Context[Crate]) -> None:
    raise Stalled("A", "m", turn="somebody")  # type: ignore[arg-type]


@mistake("RuntimeError", "cannot be called from a running event loop")
async def runs_a_loop_of_its_own(crate: Crate, context: Context[Crate]) -> None:
    work = fill(crate, context)
    try:
        asyncio.run(work)
    finally:
        work.close()


# --- evidence ------------------------------------------------------------------------------------


@mistake("TypeError", "status.content: the reason is 5: give a text")
async def reports_a_number(crate: Crate, context: Context[Crate]) -> None:
    context.status.content.good(5)  # type: ignore[arg-type]


@mistake("ValueError", "turn is 'x': give one of Turn.USER")
async def reports_nobodys_turn(crate: Crate, context: Context[Crate]) -> None:
    context.status.content.bad("A", "m", turn="x")  # type: ignore[arg-type]


@mistake("TypeError", "status.content.observe('a', …) takes a Readiness")
async def observes_nonsense(crate: Crate, context: Context[Crate]) -> None:
    context.status.content.observe("a", "fine")  # type: ignore[arg-type]


@mistake("TypeError", "context.problem: the message is None: give a text")
async def has_a_nameless_problem(crate: Crate, context: Context[Crate]) -> None:
    context.problem("A", None)  # type: ignore[arg-type]


@mistake("TypeError", "judge= of ConfigMap stage/c returned True: return a konstat.readiness.Re")
async def judges_with_a_bool(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config_map(crate), judge=lambda _: True)  # type: ignore[arg-type,return-value]


@mistake("TypeError", "from a function that is not async")
async def judges_later(crate: Crate, context: Context[Crate]) -> None:
    async def judge(_: Any) -> Any: ...

    await context.apply(config_map(crate), judge=judge)  # type: ignore[arg-type]


@mistake("KeyError", "KeyError: 'nowhere'")
async def judges_and_fails(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config_map(crate), judge=lambda o: o["nowhere"])


@mistake("TypeError", "context.apply(ConfigMap c, component='content'): give a component of")
async def names_the_component(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config_map(crate), component="content")  # type: ignore[arg-type]


@mistake("AttributeError", "has no attribute 'nowhere'")
async def sets_an_undeclared_field(crate: Crate, context: Context[Crate]) -> None:
    context.status.nowhere = 1  # type: ignore[attr-defined]


# --- children ------------------------------------------------------------------------------------


@mistake("NotAwaited", "context.apply(…) was called without await, so nothing was done")
async def forgets_to_await(crate: Crate, context: Context[Crate]) -> None:
    context.status.content.good()
    context.apply(config_map(crate))  # type: ignore[unused-coroutine]


@mistake("NotAwaited", "context.delete(…), context.prune(…) was called without await")
async def forgets_to_await_twice(crate: Crate, context: Context[Crate]) -> None:
    context.delete(ConfigMap, "c")  # type: ignore[unused-coroutine]
    context.prune([ConfigMap])  # type: ignore[unused-coroutine]


@mistake("ManifestError", "ConfigMap stage/c is applied twice in one attempt with other content")
async def applies_two_wishes(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config_map(crate, a="1"))
    await context.apply(config_map(crate, a="2"))


@mistake("Invalid", 'ConfigMap "Bad_Name!" is invalid: metadata.name')
async def gives_a_bad_name(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config_map(crate, "Bad_Name!"))


@mistake("ManifestError", "a ConfigMap to apply has no metadata.name")
async def gives_no_name(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config())


@mistake("ManifestError", "metadata of a ConfigMap to apply is 'x': give a mapping")
async def gives_no_metadata(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config("x"))


@mistake("ManifestError", "metadata.labels of a ConfigMap to apply is ['a']: give a mapping")
async def gives_a_list_of_labels(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config({"name": "c", "labels": ["a"]}))


@mistake("ManifestError", "metadata.ownerReferences is 'me': leave it out")
async def gives_a_wrong_owner(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config({"name": "c", "ownerReferences": "me"}))


@mistake("ManifestError", "data.a is nan, which is not a JSON number")
async def applies_no_number(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config({"name": "c"}, data={"a": math.nan}))


@mistake("ManifestError", "data.a is bytes: decode them to text")
async def applies_bytes(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config({"name": "c"}, data={"a": b"x"}))


@mistake("ManifestError", "data.a[1] holds lone surrogates")
async def applies_lone_surrogates(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config({"name": "c"}, data={"a": ["ä", "\udcff"]}))


@mistake("ManifestError", "data has the key 5: keys are texts")
async def applies_a_key_that_is_no_text(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config({"name": "c"}, data={5: "x"}))


@mistake("ManifestError", "is more than 100 levels deep, or contains itself")
async def applies_a_circle(crate: Crate, context: Context[Crate]) -> None:
    data: dict[str, Any] = {}
    data["self"] = data
    await context.apply(config({"name": "c"}, data=data))


@mistake("ManifestError", "ConfigMap c cannot be written as JSON: Encoding objects of type object")
async def applies_an_object(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config({"name": "c"}, data={"a": object()}))


@mistake("ManifestError", "takes an object of an owned kind or a mapping, not <class")
async def applies_a_class(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(ConfigMap)  # type: ignore[arg-type]


@mistake("ManifestError", "is not declared: add it to owns=[…]")
async def reads_an_undeclared_kind(crate: Crate, context: Context[Crate]) -> None:
    context.get(Secret, "c")


@mistake("ManifestError", "context.get takes a Resource class such as ConfigMap, not 'ConfigMap'")
async def reads_a_word(crate: Crate, context: Context[Crate]) -> None:
    context.get("ConfigMap", "c")  # type: ignore[type-var,arg-type]


@mistake("ManifestError", "context.prune takes a list of Resource classes, not <class")
async def prunes_one_class(crate: Crate, context: Context[Crate]) -> None:
    await context.prune(ConfigMap)  # type: ignore[arg-type]


@mistake("ManifestError", "Crate stage/c is the resource itself: use context.client.delete")
async def deletes_itself_as_a_child(crate: Crate, context: Context[Crate]) -> None:
    await context.delete(Crate, crate.name)


@mistake("RequestEntityTooLarge", "limit is 3145728")
async def applies_four_megabytes(crate: Crate, context: Context[Crate]) -> None:
    await context.apply(config_map(crate, a="x" * 4 * 2**20))


@pytest.mark.parametrize("name", MISTAKES)
async def test_H7_L3_a_mistake_is_told_where_it_was_made_and_nowhere_else(
    stage: Stage, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    wrong, reason, text = MISTAKES[name]
    right: list[str] = []

    async def reconcile(crate: Crate, context: Context[Crate]) -> Any:
        if crate.name == "c" and not right:
            return await wrong(crate, context)
        return await fill(crate, context)

    await stage.create()
    async with stage.running(crates(reconcile, concurrency=1)):
        seen = await eventually(stage.look, lambda c: bool(said(c)))
        assert said(seen)["Ready"][0] != "True"
        assert said(seen)["Ready"][1] == reason
        assert text in message(seen, "Ready")
        await stage.create("other")
        await stage.says(ready(), "other")
        # Once the operator is mended, nothing of it is left.
        right.append("now")
        await stage.edit(text="new")
        await stage.says(ready(2))
    assert "konstat made a mistake" not in caplog.text


async def test_H7_a_mistake_of_konstat_is_told_in_the_status_too(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mended: list[str] = []

    def broken(*arguments: Any, **options: Any) -> Any:
        if not mended:
            raise LookupError("as the test asked")
        return settle(*arguments, **options)

    settle = worker.settle
    monkeypatch.setattr(worker, "settle", broken)
    await stage.create()
    async with stage.running(crates()) as manager:
        seen = await eventually(stage.look, lambda c: bool(said(c)))
        assert said(seen)["Ready"] == ("Unknown", "InternalError", 1)
        assert "konstat made a mistake (LookupError): please report it" in message(seen, "Ready")
        assert "as the test asked" in caplog.text
        assert 'konstat_internal_errors_total{kind="Crate"}' in manager.metrics.text().decode()
        mended.append("now")
        await stage.says(ready())


async def test_S1_a_task_that_outlives_its_attempt_changes_nothing(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    ended = asyncio.Event()

    async def linger(crate: Crate, context: Context[Crate]) -> None:
        await ended.wait()
        await context.apply(config_map(crate, "late"))

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        asyncio.get_running_loop().create_task(linger(crate, context))
        await fill(crate, context)

    await stage.create()
    async with stage.running(crates(reconcile)):
        await stage.says(ready())
        ended.set()
        text = "the attempt on Crate stage/c has ended: nothing is changed"
        await spin(lambda: text in caplog.text)
        assert await stage.configs() == ["c"]


async def test_calls_that_are_begun_together_are_not_taken_for_forgotten(stage: Stage) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        content = context.status.content
        names = [f"{crate.name}{n}" for n in range(3)]
        await asyncio.gather(
            *(context.apply(config_map(crate, name), component=content) for name in names)
        )

    await stage.create()
    async with stage.running(crates(reconcile)):
        seen = await eventually(stage.look, lambda c: bool(said(c)))
        assert said(seen)["Ready"][0] == "True"
        assert await stage.configs() == ["c0", "c1", "c2"]


async def test_the_same_wish_twice_is_one_write(stage: Stage) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        for _ in range(2):
            await fill(crate, context)

    await stage.create()
    async with stage.running(crates(reconcile)):
        await stage.says(ready())
        assert [w for w in stage.tap.writes if "configmaps" in w] == [
            "PATCH /api/v1/namespaces/stage/configmaps/c"
        ]
