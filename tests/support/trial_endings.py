"""Scenarios of `trials`: the ways in which an attempt ends, and what it reports by hand."""

from __future__ import annotations

from typing import Any

from trials import Seen, Trial, TrialContext, scenario

from konstat.readiness import Turn
from konstat.status import Failed, RequeueAfter, Stalled, Waiting


@scenario()
async def by_hand(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.good("Checked", "all is well")
    context.status.note, context.status.count = "done", 3


@scenario()
async def nothing_reported(trial: Trial, context: TrialContext, seen: Seen) -> None:
    seen.append(context.status.main.reported)


@scenario()
async def optional_component(trial: Trial, context: TrialContext, seen: Seen) -> None:
    assert context.status.side is not None
    context.status.main.good()
    context.status.side.bad("Broken", "the side is broken", turn=Turn.OWNER)


@scenario()
async def hidden_component(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.good()
    context.status.hidden.unknown("NotAsked", "nobody asked")


@scenario()
async def stalled(trial: Trial, context: TrialContext, seen: Seen) -> None:
    raise Stalled("NoSuchSize", "spec.size is odd")


@scenario()
async def waiting(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.progressing("OnItsWay", "soon")
    raise Waiting("NotYet", "the moon is not full", timeout_seconds=600)


@scenario()
async def failed(trial: Trial, context: TrialContext, seen: Seen) -> None:
    raise Failed("Broken", "cannot do it")


@scenario()
async def own_mistake(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.note = "before"
    try:
        raise KeyError("first")
    except KeyError as error:
        raise RuntimeError("then") from error


@scenario()
async def requeue(trial: Trial, context: TrialContext, seen: Seen) -> RequeueAfter:
    context.status.main.good()
    return RequeueAfter(seconds=3600)


@scenario()
async def bad_return(trial: Trial, context: TrialContext, seen: Seen) -> Any:
    context.status.main.good()
    return "done"


@scenario()
async def problem(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.good()
    context.problem("bad reason", "the new spec is not usable")


@scenario()
async def status_invalid(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.good()
    context.status.note = "kept back"
    context.status.count = 2**70


@scenario()
async def status_of_another_type(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.bad("Broken", "it is")
    context.status.count = "three"  # type: ignore[assignment]
