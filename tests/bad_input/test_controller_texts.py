"""Odd names, long and hostile texts, secrets, and large or odd values in a status."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
from embedded_stage import embedded_stage
from hypothesis import given
from hypothesis import strategies as st
from stage import Crate, Stage, config_map, crates, fill, ready, spin
from story import eventually, message, said

from konstat.base import limits
from konstat.controller import Context, Controller, Watch
from konstat.controller.logs import PlainLines, printable
from konstat.kinds import ConfigMap, Secret
from konstat.objects.model import Model, Spec, Status, field
from konstat.objects.resource import Resource
from konstat.status import Component

HOSTILE = "\x1b[31mred\x1b[0m \u202ereversed\u202c \0 nul\r\n2026-01-01 INFO forged 👩‍🚀 שלום"


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with embedded_stage() as one:
        yield one


def is_harmless(text: str) -> bool:
    """Whether a terminal shows it as text."""
    return all(c.isprintable() or c == "\n" for c in text)


# --- texts --------------------------------------------------------------------------------------


def line(record: logging.LogRecord) -> str:
    return PlainLines().format(record)


def record(text: str, *arguments: Any, error: BaseException | None = None) -> logging.LogRecord:
    trace = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord("konstat", logging.INFO, __file__, 1, text, arguments, trace)


@given(st.text(), st.text())
def test_no_text_commands_a_terminal_or_forges_a_line(text: str, other: str) -> None:
    shown = line(record("%s: %s", text, other, error=ValueError(other)))
    assert is_harmless(shown.replace("\t", " "))
    first, *rest = shown.split("\n")
    assert "INFO" in first
    assert [one for one in rest if not one.startswith("    ")] == []


def test_what_is_harmless_is_left_as_it_is() -> None:
    assert printable("Köln, 東京: fine") == "Köln, 東京: fine"
    assert printable("\x1b[31m\u202e") == "\\x1b[31m\\u202e"
    assert printable("a\nb") == "a\n    b"


def test_F59_a_trace_of_megabytes_is_cut_in_the_log() -> None:
    shown = line(record("it failed", error=ValueError("x" * 10_000_000)))
    assert "characters are cut" in shown
    assert len(shown) < 2 * limits.LOG_TRACEBACK_CHARACTERS


async def test_hostile_texts_reach_conditions_and_events_without_their_commands(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        context.event("Odd", crate.spec.text)
        context.status.content.bad("Odd", crate.spec.text)
        context.problem(crate.spec.text, crate.spec.text)
        context.status.note = crate.spec.text  # data: stored as it is
        raise ValueError(crate.spec.text)

    await stage.create(text=HOSTILE)
    async with stage.running(crates(reconcile)):
        seen = await eventually(stage.look, lambda c: bool(said(c)))
        assert seen["status"]["note"] == HOSTILE
        for condition in seen["status"]["conditions"]:
            assert is_harmless(condition["message"])
        assert "שלום" in message(seen, "ContentReady")
        (event,) = await eventually(lambda: stage.events("Odd"), bool)
        assert is_harmless(event["note"])
    assert [r for r in caplog.records if not is_harmless(line(r))] == []


async def test_texts_of_a_hundred_kilobytes_are_cut_and_say_so(stage: Stage) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        context.event("L" * 100_000, "e" * 100_000)
        context.status.content.bad("L" * 100_000, "b" * 100_000)
        raise ValueError("v" * 100_000)

    await stage.create()
    async with stage.running(crates(reconcile)):
        seen = await eventually(stage.look, lambda c: bool(said(c)))
        assert "(cut, " in message(seen, "ContentReady")
        assert message(seen, "Ready").endswith("(the operator's owner must act)")
        texts = [str(v) for c in seen["status"]["conditions"] for v in c.values()]
        assert max(map(len, texts)) <= 1024
        assert await eventually(stage.events, bool)


NAMES = ("a" * 253, ".".join("x" * 49 for _ in range(5)), "a.b-c.0", "1")


async def test_every_name_that_the_server_takes_is_worked_on(stage: Stage) -> None:
    for name in NAMES:
        await stage.create(name)
    async with stage.running(crates()):
        for name in NAMES:
            await stage.says(ready(), name)
        await eventually(lambda: stage.events("Ready"), lambda e: len(e) == len(NAMES))


# --- secrets ------------------------------------------------------------------------------------


PASSWORD = "hunter2-and-more"


async def _quotes_it_outside(crate: Crate, context: Context[Crate]) -> None:
    try:
        raise ConnectionError("refused")
    except ConnectionError as error:
        raise RuntimeError(f"no database at postgres://me:{PASSWORD}@db") from error


async def _quotes_it_on_the_way(crate: Crate, context: Context[Crate]) -> None:
    try:
        raise ConnectionError(f"cannot connect to postgres://me:{PASSWORD}@db")
    except ConnectionError:
        raise RuntimeError("no database")  # noqa: B904 - the cause is not named


async def _has_it_refused(crate: Crate, context: Context[Crate]) -> None:
    labelled = {"name": crate.name, "labels": {"app": f"{PASSWORD}!"}}
    child = ConfigMap(metadata=labelled)
    await context.apply(child, component=context.status.content)


@pytest.mark.parametrize("quote", [_quotes_it_outside, _quotes_it_on_the_way, _has_it_refused])
async def test_a_value_of_a_secret_is_hidden_wherever_errors_quote_it(
    stage: Stage, quote: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        context.get(Secret, "db")
        await quote(crate, context)

    metadata = {"name": "db", "namespace": stage.namespace}
    await stage.client.create(Secret(metadata=metadata, stringData={"password": PASSWORD}))
    await stage.create()
    async with stage.running(crates(reconcile, watches=[Watch(Secret, lambda _: [])])):
        seen = await eventually(stage.look, lambda c: bool(said(c)))
        await spin(lambda: "(a value of a Secret)" in caplog.text)
    assert said(seen)["Ready"][0] != "True"
    assert PASSWORD not in str(seen)
    assert PASSWORD not in "".join(line(r) for r in caplog.records)


@pytest.mark.parametrize("way", ["get", "list", "apply"])
async def test_a_value_of_a_secret_that_an_error_quotes_is_not_published(
    stage: Stage, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    secret = Secret(
        metadata={"name": "db", "namespace": stage.namespace},
        stringData={"password": PASSWORD, "user": "me"},
    )

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        if way == "apply":
            await context.apply(secret)
        elif way == "get":
            assert context.get(Secret, "db") is not None
        else:
            assert context.list(Secret)
        url = f"postgres://me:{PASSWORD}@db"
        try:
            raise ConnectionError(f"cannot connect to {url}")
        except ConnectionError as error:
            raise RuntimeError(f"no database at {url}") from error

    await stage.create()
    if way != "apply":
        await stage.client.create(secret)
    owns = {"owns": [Secret]} if way == "apply" else {"watches": [Watch(Secret, lambda _: [])]}
    async with stage.running(crates(reconcile, **owns)):
        seen = await eventually(stage.look, lambda c: bool(said(c)))
        text = "cannot connect to postgres://me:(a value of a Secret)@db"
        assert text in message(seen, "Ready")
        await spin(lambda: "Traceback" in caplog.text)
    shown = "".join(line(r) for r in caplog.records)
    assert text in shown
    assert PASSWORD not in shown
    assert PASSWORD not in str(seen)


# --- values -------------------------------------------------------------------------------------


class Cell(Model):
    width: float = 0.0


class GridSpec(Spec):
    case: str = ""


class GridStatus(Status):
    content: Component
    number: float = 0.0
    names: list[str] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    table: dict[str, Any] = field(default_factory=dict)


class Grid(Resource[GridSpec, GridStatus], group="texts.example.com", version="v1"):
    """Has every sort of status field."""


def circle() -> dict[str, Any]:
    table: dict[str, Any] = {}
    table["again"] = table
    return table


VALUES: dict[str, tuple[str, Any, str]] = {
    "nan": ("number", math.nan, "status.number: nan is not a JSON number"),
    "infinite": ("number", -math.inf, "status.number: -inf is not a JSON number"),
    "huge": ("table", {"n": 2**64}, "status.table.n: 18446744073709551616 does not fit in 64 bits"),
    "bytes": ("names", ["a", b"b"], "status.names[1]: bytes are not JSON: decode them to text"),
    "surrogates": ("names", ["\ud800"], "status.names[0]: it holds lone surrogates"),
    "a nested nan": ("cells", [Cell(width=math.nan)], "status.cells[0].width: nan is not a JSON"),
    "a circle": ("table", circle(), "status.table: it is nested too deeply, or contains itself"),
    "an object": ("table", {"o": object()}, "status.table: "),
    "another type": ("names", "abc", "status.names: expected `array`, got `str`"),
    "a mebibyte": (
        "names",
        ["x" * 1024] * 1024,
        f"status.names alone 1051649, and at most {limits.STATUS_HARD_BYTES} are written: keep a",
    ),
}


@pytest.mark.parametrize("name", VALUES)
async def test_F71_H6_a_value_that_is_no_status_is_named_and_the_old_one_stays(name: str) -> None:
    attribute, value, text = VALUES[name]

    async def reconcile(grid: Grid, context: Context[Grid]) -> None:
        context.status.content.good()
        context.status.names = ["old"]
        if grid.spec.case:
            setattr(context.status, attribute, value)

    controller: Any = Controller(Grid)
    controller.reconcile(reconcile)
    good = {"Ready": ("True", "Ready", 1), "ContentReady": ("True", "Good", 1)}
    async with embedded_stage(install=(Grid,)) as stage:
        await stage.create("c", Grid)
        async with stage.running(controller):
            await stage.says(good, "c", Grid)
            await stage.edit("c", Grid, case=name)
            reason = "StatusTooLarge" if name == "a mebibyte" else "StatusInvalid"
            seen = await eventually(
                lambda: stage.look("c", Grid), lambda c: said(c)["Ready"][1] == reason
            )
            assert text in message(seen, "Ready")
            assert seen["status"]["names"] == ["old"]
            await stage.edit("c", Grid, case="")
            await stage.says({k: (*v[:2], 3) for k, v in good.items()}, "c", Grid)


async def test_many_items_and_nul_are_stored_as_they_are(stage: Stage) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        context.status.content.good()
        context.status.note = "\0" + "ä" * 10_000

    await stage.create()
    async with stage.running(crates(reconcile)):
        seen = await eventually(stage.look, lambda c: bool(said(c)))
        assert said(seen)["Ready"][0] == "True"
        assert len(seen["status"]["note"]) == 10_001


# --- what is shared -----------------------------------------------------------------------------


async def test_S5_what_an_attempt_does_to_objects_reaches_no_other_attempt(stage: Stage) -> None:
    texts: list[Any] = []

    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        child = context.get(ConfigMap, crate.name)
        raw: Any = crate.raw("spec")
        texts.append((raw["text"], child and child.raw("data")))
        raw["text"] = "changed"
        if child is not None:
            child.raw("data")["text"] = "changed"
            child.content["metadata"]["name"] = "changed"

        def judge(content: Any) -> Any:
            from konstat.readiness import exists

            verdict = exists(content)
            content.clear()
            return verdict

        await context.apply(config_map(crate), component=context.status.content, judge=judge)

    await stage.create(text="t")
    async with stage.running(crates(reconcile)):
        await stage.says(ready())
        await stage.edit(size=2)
        await stage.says(ready(2))
    assert [text for text, _ in texts] == ["t"] * len(texts)
    assert texts[-1][1] == {"text": "t"}


async def test_an_attempt_that_deletes_its_resource_ends_with_it(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def reconcile(crate: Crate, context: Context[Crate]) -> None:
        await fill(crate, context)
        await context.client.delete(Crate, crate.name, namespace=crate.namespace)

    await stage.create()
    async with stage.running(crates(reconcile)) as manager:
        await eventually(stage.look, lambda c: c == {})
        (triggers,) = manager._triggers
        await spin(lambda: len(triggers.worker.memories) == 0)
    assert [r for r in caplog.records if r.levelno >= logging.ERROR] == []
