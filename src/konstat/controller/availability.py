"""Says which kinds cannot be worked on, and why, for as long as that lasts; for log and /readyz.

Two things can be wrong with a kind: it cannot be read (not installed, forbidden, failing), or it
can but the cluster's definition does not fit the class. The latter holds back the workers of its
controller, because no status could be written. Other controllers go on (L3); all recovers by
itself. Before it: informers and `definition`. After it: the manager.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

import msgspec

from konstat.base import clock, limits
from konstat.cache import Informer
from konstat.client import Client
from konstat.controller.definition import INSTALL, dropped_fields, misfit, why_not_served
from konstat.controller.triggers import Triggers
from konstat.errors import APIError, TransportError

log = logging.getLogger("konstat.manager")


class _Told(msgspec.Struct):
    """What was last said about a kind, when, and when the cluster is asked again."""

    text: str = ""
    at: float = 0.0
    reason: str = ""
    asked_at: float = 0.0
    troubled: bool = False


class _Fit(msgspec.Struct):
    """Whether the definition of a controller's own kind fits, and when to look again.

    ``known`` is False while the cluster has not told it, as during a start of the server.
    """

    triggers: Triggers
    synced: bool = False
    known: bool = False
    problem: str = ""
    due: float = 0.0
    suspected: list[str] = msgspec.field(default_factory=list)
    fields_due: float | None = None
    fields_asked: int = 0


class Availability:
    """Looks after the kinds of a manager's controllers."""

    def __init__(self, client: Client, triggers: Iterable[Triggers]) -> None:
        self._client = client
        self._fits = [_Fit(one) for one in triggers]
        self._required = {informer for fit in self._fits for informer in fit.triggers.required}
        everything = (informer for fit in self._fits for informer in fit.triggers.informers)
        self._told = {informer: _Told() for informer in everything}

    async def run(self) -> None:
        """Look, say what changed, and say again what stays, until cancelled."""
        while True:
            for informer, told in self._told.items():
                self._tell(informer, told, await self._problem_of(informer, told))
            for fit in self._fits:
                await self._look(fit)
            await clock.sleep(limits.AVAILABILITY_LOOK_SECONDS)

    async def begin(self, triggers: Triggers) -> None:
        """Judge a controller's own kind before its first attempt, if it can be read."""
        await self._look(next(fit for fit in self._fits if fit.triggers is triggers))

    def problems(self) -> Mapping[str, str]:
        """What keeps controllers from their work, by kind; empty when nothing does."""
        found = {
            name_of(informer): self._told[informer].text or informer.problem or informer.state
            for informer in self._required
            if informer.state != "synced"
        }
        held = ((fit.triggers.worker.controller.kind.resource, fit.problem) for fit in self._fits)
        return {**found, **{name: problem for name, problem in held if problem}}

    # --- kinds that cannot be read ------------------------------------------------------------

    async def _problem_of(self, informer: Informer, told: _Told) -> str:
        """Why a kind cannot be read, worth telling; a first list that is under way is not.

        A kind that was read stays so while the server is away; that is told when it lasts.
        """
        if informer.state == "synced":
            lasting = informer.problem if told.troubled else ""
            told.troubled = bool(informer.problem)
            return f"{lasting}; what was read before serves until then" if lasting else ""
        if informer.state == "unsynced" and not informer.statistics().watcher.errors:
            return ""
        if informer.state != "not installed":
            told.reason = ""
            return informer.problem
        present = clock.monotonic()
        if not told.reason or present - told.asked_at >= limits.UNAVAILABLE_RETRY_SECONDS:
            told.reason = await why_not_served(self._client, informer.kind)
            told.asked_at = present
        return told.reason

    def _tell(self, informer: Informer, told: _Told, problem: str) -> None:
        present = clock.monotonic()
        again = present - told.at >= limits.AVAILABILITY_TOLD_SECONDS
        if problem and (problem != told.text or again):
            level = logging.WARNING if informer in self._required else logging.INFO
            log.log(level, "%s cannot be read: %s", name_of(informer), problem)
            told.at = present
        elif told.text and not problem:
            log.info("%s can be read again", name_of(informer))
        told.text = problem

    # --- kinds that do not fit ----------------------------------------------------------------

    async def _look(self, fit: _Fit) -> None:
        """Judge a kind when it becomes readable, and again until it is known to fit."""
        synced = any(informer.state == "synced" for informer in fit.triggers.own)
        fresh = synced and not fit.synced
        fit.synced = synced
        present = clock.monotonic()
        unsettled = bool(fit.problem) or not fit.known
        if fresh or (synced and unsettled and present >= fit.due):
            await self._judge(fit)
            fit.due = present + limits.UNAVAILABLE_RETRY_SECONDS
            fit.suspected, fit.fields_due, fit.fields_asked = [], present, 0
        if synced and fit.fields_due is not None and present >= fit.fields_due:
            await self._judge_fields(fit)

    async def _judge(self, fit: _Fit) -> None:
        worker = fit.triggers.worker
        kind = worker.controller.kind
        try:
            problem = await misfit(self._client, worker.controller.resource)
        except (APIError, TransportError) as error:
            log.debug("the definition of %s could not be looked at: %s", kind.resource, error)
            problem = None
        fit.known = problem is not None
        if problem is None:
            problem = fit.problem
        if problem:
            log.error("%s: %s; nothing is done for it until then", kind.resource, problem)
        elif fit.problem:
            log.info("%s fits now: its resources are worked on", kind.resource)
        fit.problem = problem
        worker.hold(problem)

    async def _judge_fields(self, fit: _Fit) -> None:
        """Tell fields that the cluster drops, once the schema has said so twice.

        It is published a moment after the kind, and after each of its changes.
        """
        controller = fit.triggers.worker.controller
        dropped = await dropped_fields(self._client, controller.resource)
        fit.fields_due = None
        fit.fields_asked += 1
        if dropped != fit.suspected:
            fit.suspected = dropped or []
            if dropped != [] and fit.fields_asked < limits.AVAILABILITY_SCHEMA_TRIES:
                fit.fields_due = clock.monotonic() + limits.AVAILABILITY_SURE_SECONDS
            return
        if not dropped:
            return
        shown = ", ".join(dropped[: limits.MESSAGE_NAMES])
        rest = len(dropped) - limits.MESSAGE_NAMES
        log.warning(
            "%s: the CRD on the cluster does not know %s%s, so the server drops what is set there:"
            " %s",
            controller.kind.resource,
            shown,
            f" and {rest} more" if rest > 0 else "",
            INSTALL,
        )


def name_of(informer: Informer) -> str:
    """A kind, and the namespace if it is not read in all."""
    place = f" in {informer.namespace}" if informer.namespace else ""
    return f"{informer.kind.resource}{place}"
