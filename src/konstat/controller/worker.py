"""The worker of one controller: take a key, attempt, settle, write the status, schedule.

Data comes from the caches and the queue, which hold only uids: an attempt always sees the newest
state, its own writes included. After it: `konstat.writing.StatusWriter` and the server.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from konstat.base import clock, limits
from konstat.base.tasks import open_tasks
from konstat.client import Client
from konstat.client.tally import tally
from konstat.controller.attempt import (
    AttemptFunction,
    Ended,
    not_awaited,
    refused_spec,
    run_attempt,
    still_running,
    without_secrets,
)
from konstat.controller.controller import Controller
from konstat.controller.live_context import LiveContext
from konstat.controller.memory import Memories
from konstat.controller.reset import Reset
from konstat.controller.views import Views
from konstat.errors import (
    APIError,
    KonstatError,
    ModelError,
    QueueClosed,
    SpecInvalid,
    StatusInvalid,
    TransportError,
)
from konstat.objects import codec
from konstat.objects.meta import Ref
from konstat.objects.model import Status
from konstat.objects.resource import Resource, stored_status
from konstat.objects.snapshot import Snapshot
from konstat.queue import WorkQueue
from konstat.readiness import Turn
from konstat.services.events import Recorder, Regarding
from konstat.services.metrics import Metrics
from konstat.status import (
    Ending,
    Finding,
    Outcome,
    Settlement,
    refused,
    settle,
    started,
)
from konstat.status.condition import READY, STALLED, find, usable_message
from konstat.writing import Applier, Finalizer, StatusWriter, Written, finalizers_of

log = logging.getLogger("konstat.controller")

_CONTESTED = (
    f"another writer undid our status {limits.CONTESTED_CORRECTIONS} times within"
    f" {limits.CONTESTED_WINDOW_SECONDS:.0f} s, so it is left alone for a while: is a second,"
    " different instance of this operator running?"
)

_LEAK = (
    "its finalizer {} was removed before its cleanup was confirmed here: what the cleanup releases"
    " may be left behind"
)


class Worker:
    """Runs the attempts of one controller."""

    def __init__(
        self,
        controller: Controller[Any],
        *,
        client: Client,
        views: Views,
        recorder: Recorder,
        metrics: Metrics,
    ) -> None:
        self.controller = controller
        self.queue = WorkQueue()
        self._free = asyncio.Event()
        self._ends = False
        self.memories = Memories(metrics, controller.kind.kind)
        self._client = client
        self._views = views
        self._recorder = recorder
        self._metrics = metrics
        self._applier = Applier(client, field_manager=controller.field_manager)
        self._finalizer = Finalizer(
            client,
            controller.finalizer,
            field_manager=controller.field_manager,
            overlay=views,
        )
        self._writer = StatusWriter(client, field_manager=controller.field_manager, overlay=views)
        self._kinds: Mapping[tuple[str, str], type[Resource[Any, Any]]] = {
            (cls.kind.group, cls.kind.kind): cls for cls in (*controller.owns, *controller.optional)
        }

    async def run(self) -> None:
        """Attempt keys until `end`; then return after the attempt in hand."""
        async with open_tasks() as tasks:
            reset = Reset(self._write_reset)
            tasks.start(reset.run(), name="early status")
            while True:
                try:
                    uid = await self.queue.take()
                except QueueClosed:
                    return
                with tally() as sent:
                    try:
                        await self._free.wait()
                        if not self._ends:
                            await self._attempt(uid, reset)
                    finally:
                        self.queue.done(uid, asked=sent.requests > 0)

    def hold(self, problem: str) -> None:
        """Begin no attempt while there is a problem with the kind; an empty one lets go.

        After `end` nothing is held any more, as nothing begins.
        """
        if problem and not self._ends:
            self._free.clear()
        else:
            self._free.set()

    def end(self) -> None:
        """Take nothing more; attempts in hand go on."""
        self._ends = True
        self.queue.close()
        self._free.set()

    def gone(self, last: Snapshot) -> None:
        """The resource is gone; ``last`` is its last state."""
        self.queue.drop(last.uid)
        memory = self.memories.forget(last.uid)
        leaked = memory.marked or self._finalizer.is_on(last)
        if self.controller.cleanup_function and leaked and not memory.cleaned:
            self._tell_leak(last)

    async def _attempt(self, uid: str, reset: Reset) -> None:
        snapshot = self._views.by_uid(self.controller.kind, uid)
        if snapshot is None:
            self.queue.drop(uid)
            return
        kind = self.controller.kind.kind
        begun = clock.monotonic()
        try:
            if snapshot.deleting:
                await self._clean_up(snapshot, reset)
            else:
                await self._reconcile(snapshot, reset)
        except KonstatError as error:
            # Not the author's attempt failed but our own write of finalizer or status: the key
            # comes back on a back-off of its own, so that conflicts do not slow attempts down.
            self._metrics.status_errors.labels(kind).inc()
            self._retry_write(snapshot, error)
        except Exception as error:
            # One resource that konstat makes a mistake about must not end the others (L3).
            log.exception("%s: konstat made a mistake: please report it", snapshot.ref)
            self._metrics.internal_errors.labels(kind).inc()
            self.queue.retry(uid)
            await self._confess(snapshot, error)
        finally:
            self._metrics.attempt_seconds.labels(kind).observe(clock.monotonic() - begun)
            if self._views.by_uid(self.controller.kind, uid) is None:
                self.memories.forget(uid)  # it went while it was attempted

    async def _confess(self, snapshot: Snapshot, error: Exception) -> None:
        """A mistake of ours is told in the status too, if anything can be written (H7)."""
        text = f"konstat made a mistake ({type(error).__name__}): please report it, with the log"
        settlement = refused(snapshot.generation, reason="InternalError", message=text)
        newest = self._views.by_uid(self.controller.kind, snapshot.uid) or snapshot
        try:
            await self._writer.write(newest, settlement)
        except Exception as second:  # noqa: BLE001 - the first one is told with its traceback
            log.error("%s: nor could its status say so: %s", snapshot.ref, second)

    def _retry_write(self, snapshot: Snapshot, error: KonstatError) -> None:
        delay = self.memories[snapshot.uid].write_delay()
        if isinstance(error, APIError) and error.retry_after_seconds:
            delay = max(delay, error.retry_after_seconds)
        log.warning("%s: %s; trying again in %.1f s", snapshot.ref, error, delay)
        if not isinstance(error, TransportError):
            # What the status cannot say must be said elsewhere (F62, H7).
            self._record(snapshot, "WriteFailed", str(error), "Warning")
        self.queue.add_after(snapshot.uid, delay)

    def _record(
        self, snapshot: Snapshot, reason: str, message: str, type: Literal["Normal", "Warning"]
    ) -> None:
        regarding = Regarding(
            api_version=snapshot.kind.api_version,
            kind=snapshot.kind.kind,
            name=snapshot.name,
            namespace=snapshot.namespace,
            uid=snapshot.uid,
            resource_version=snapshot.resource_version,
        )
        self._recorder.record(regarding, reason, message, type=type)

    # --- reconcile ----------------------------------------------------------------------------

    async def _reconcile(self, snapshot: Snapshot, reset: Reset) -> None:
        if self.controller.cleanup_function is not None:
            if not self._finalizer.is_on(snapshot):
                marked = await self._finalizer.add(snapshot)
                if marked is None:
                    return  # gone or being deleted: its event wakes us
                self._views.put_own(marked)
                snapshot = marked
            self.memories[snapshot.uid].marked = True
        context = self._context(snapshot)
        try:
            context.resource.spec  # noqa: B018 - so that a bad spec is settled, not raised
        except SpecInvalid as error:
            await self._finish(snapshot, context, refused_spec(error))
        except ModelError as error:
            await self._finish(snapshot, context, Ended(outcome=Outcome.of(error), error=error))
        else:
            function = self.controller.require_complete()
            ended = await self._run(function, snapshot, context, reset)
            await self._finish(snapshot, context, ended)

    async def _run(
        self,
        function: AttemptFunction,
        snapshot: Snapshot,
        context: LiveContext[Any],
        reset: Reset,
    ) -> Ended:
        """Call the author's function, with an early status when it takes its time (promise 1)."""
        memory = self.memories[snapshot.uid]
        if memory.lingering is not None and not memory.lingering.done():
            return still_running(memory.lingering)
        reset.begin(snapshot)
        try:
            ended = await run_attempt(
                function,
                context.resource,
                context,
                timeout_seconds=self.controller.attempt_timeout_seconds,
            )
        finally:
            forgotten = context.close()
            reset.stop()
        if forgotten and ended.outcome.ending is Ending.OBSERVED:
            ended = not_awaited(forgotten)
        await reset.land()
        memory.lingering = ended.lingering
        if ended.lingering is not None:
            ended.lingering.add_done_callback(lambda _: self.queue.add(snapshot.uid))
        return ended

    async def _write_reset(self, snapshot: Snapshot) -> None:
        newest = self._views.by_uid(self.controller.kind, snapshot.uid) or snapshot
        settlement = started(snapshot.generation, deleting=snapshot.deleting)
        await self._writer.write(newest, settlement)

    def _context(self, snapshot: Snapshot) -> LiveContext[Any]:
        resource = self.controller.resource.from_json(snapshot.data)
        status_type = self.controller.resource.status_type
        assert issubclass(status_type, Status)
        return LiveContext(
            resource,
            stored_status(status_type, resource.raw("status")),
            kinds=self._kinds,
            views=self._views,
            client=self._client,
            applier=self._applier,
            record=functools.partial(self._record, snapshot),
            metrics=self._metrics,
            log=_ResourceLog(log, {"resource": str(snapshot.ref)}),
        )

    async def _finish(self, snapshot: Snapshot, context: LiveContext[Any], ended: Ended) -> None:
        """Settle, write, tell and schedule."""
        ended = without_secrets(ended, context.secrets)
        ended = self.memories[snapshot.uid].with_deadline(ended, snapshot.generation)
        _tell_error(snapshot.ref, ended)
        settlement, ended = _settled(snapshot, context, ended)
        await self._write(snapshot, context, settlement)
        self._metrics.attempts.labels(self.controller.kind.kind, ended.outcome.ending.value).inc()
        self._schedule(snapshot.uid, ended, settlement)

    async def _write(
        self, snapshot: Snapshot, context: LiveContext[Any], settlement: Settlement
    ) -> None:
        """Write the settlement over the newest view of the object that we have."""
        newest = self._views.by_uid(self.controller.kind, snapshot.uid) or snapshot
        before = newest.status or {}
        memory = self.memories[snapshot.uid]
        if memory.is_contested(settlement):
            log.error("%s: %s", snapshot.ref, _CONTESTED)
            self._record(snapshot, "StatusContested", _CONTESTED, "Warning")
            self.queue.add_after(snapshot.uid, limits.CONTESTED_WINDOW_SECONDS)
            return
        result = await self._writer.write(newest, settlement)
        self._metrics.status_writes.labels(self.controller.kind.kind, result.written.value).inc()
        if result.problem:
            log.error("%s: %s", snapshot.ref, result.problem)
        if result.written is Written.SUPERSEDED:
            log.info("%s: another instance has settled a newer generation", snapshot.ref)
        if result.written in (Written.WRITTEN, Written.REDUCED):
            memory.note_written(settlement)
            _announce(context, before, settlement)
        self.memories.count(snapshot.uid, settlement.ready.status)

    def _schedule(self, uid: str, ended: Ended, settlement: Settlement) -> None:
        ending = ended.outcome.ending
        if ended.requeue_seconds is not None:
            self.queue.add_after(uid, ended.requeue_seconds)
        if ending in (Ending.STALLED, Ending.DELETING):
            self.queue.forget(uid)
        elif ending is Ending.OBSERVED:
            self.queue.forget(uid)
            if settlement.recheck_at is not None:
                seconds = (settlement.recheck_at - clock.now()).total_seconds()
                self.queue.add_after(uid, max(seconds, limits.RECHECK_LEAST_SECONDS))
        else:
            self.queue.retry(uid)
            limit = ended.wait_timeout_seconds
            if ending is Ending.WAITING and limit is not None:
                # The back-off may be long; a deadline is told when it passes.
                self.queue.add_after(uid, self.memories[uid].seconds_left(limit))

    # --- deletion -----------------------------------------------------------------------------

    async def _clean_up(self, snapshot: Snapshot, reset: Reset) -> None:
        memory = self.memories[snapshot.uid]
        function = self.controller.cleanup_function
        if not self._finalizer.is_on(snapshot):
            if function is not None and memory.marked and not memory.cleaned:
                memory.cleaned = True  # told once
                self._tell_leak(snapshot)
            await self._show_blockers(snapshot)
            return
        memory.marked = True
        if function is not None:
            context = self._context(snapshot)
            ended = await self._run(function, snapshot, context, reset)
            if ended.outcome.ending is not Ending.OBSERVED or ended.requeue_seconds is not None:
                await self._finish(snapshot, context, _still_deleting(ended))
                return
            self._metrics.attempts.labels(self.controller.kind.kind, "cleaned").inc()
        memory.cleaned = True
        newest = self._views.by_uid(self.controller.kind, snapshot.uid) or snapshot
        left = await self._finalizer.remove(newest)
        self.queue.forget(snapshot.uid)
        if left is not None and finalizers_of(left):
            await self._show_blockers(left)

    def _tell_leak(self, snapshot: Snapshot) -> None:
        """Somebody else removed our finalizer (F50)."""
        text = _LEAK.format(self.controller.finalizer)
        log.warning("%s: %s", snapshot.ref, text)
        self._record(snapshot, "CleanupSkipped", text, "Warning")

    async def _show_blockers(self, snapshot: Snapshot) -> None:
        """Deletion waits for others: say for whom (promise 11)."""
        blockers = sorted(finalizers_of(snapshot))
        if not blockers:
            return
        shown = ", ".join(blockers[: limits.MESSAGE_NAMES])
        rest = len(blockers) - limits.MESSAGE_NAMES
        more = f" and {rest} more" if rest > 0 else ""
        outcome = Outcome(
            ending=Ending.DELETING,
            reason="Terminating",
            message=f"deletion waits for finalizers {shown}{more}",
            turn=Turn.NOBODY,
        )
        context = self._context(snapshot)
        settlement = settle(context.status, outcome, generation=snapshot.generation)
        await self._write(snapshot, context, settlement)


class _ResourceLog(logging.LoggerAdapter[logging.Logger]):
    """Puts the resource in front of every line that an author logs."""

    def process(self, msg: Any, kwargs: Any) -> tuple[Any, Any]:
        extra = self.extra or {}
        return f"{extra.get('resource')}: {msg}", kwargs


def _settled(
    snapshot: Snapshot, context: LiveContext[Any], ended: Ended
) -> tuple[Settlement, Ended]:
    generation = snapshot.generation
    findings: tuple[Finding, ...] = context.findings
    reason, text = "StatusTooLarge", ""
    settlement: Settlement | None = None
    try:
        settlement = settle(context.status, ended.outcome, generation=generation, findings=findings)
        text = _too_large(settlement.fields)
    except StatusInvalid as error:
        reason, text = "StatusInvalid", str(error)
    if settlement is not None and not text:
        return settlement, ended
    log.error("%s: %s", snapshot.ref, text)
    outcome = Outcome(
        ending=Ending.ERROR, reason=reason, message=usable_message(text), turn=Turn.OWNER
    )
    reduced = refused(generation, reason=reason, message=text)
    return reduced, msgspec.structs.replace(ended, outcome=outcome)


def _too_large(fields: Mapping[str, Any]) -> str:
    """Why the fields of a status are too large to be written at every change; empty if not."""
    if len(codec.encode(fields)) <= limits.STATUS_HARD_BYTES:
        return ""
    sizes = {name: len(codec.encode(value)) for name, value in fields.items()}
    largest = max(sizes, key=lambda name: sizes[name])
    return (
        f"the fields have {sum(sizes.values())} bytes, status.{largest} alone {sizes[largest]}, and"
        f" at most {limits.STATUS_HARD_BYTES} are written: keep a summary, and the rest in a"
        " ConfigMap or elsewhere"
    )


def _still_deleting(ended: Ended) -> Ended:
    """A cleanup that is not done: Terminating, with what it waits for."""
    outcome = ended.outcome
    if outcome.ending is Ending.OBSERVED:
        outcome = Outcome(
            ending=Ending.DELETING,
            reason="Terminating",
            message="cleanup goes on",
            turn=Turn.NOBODY,
        )
    return msgspec.structs.replace(ended, outcome=outcome)


def _tell_error(ref: Ref, ended: Ended) -> None:
    outcome = ended.outcome
    if outcome.ending is Ending.ERROR:
        # konstat's own errors explain themselves; a traceback helps with the author's.
        own = isinstance(ended.error, KonstatError) or ended.error is None
        trace = None if own or ended.trace else ended.error
        named = outcome.message.startswith(outcome.reason)
        text = outcome.message if named else f"{outcome.reason}: {outcome.message}"
        if ended.trace and not own:
            text = f"{text}\n{ended.trace}"
        log.error("%s: the attempt failed: %s", ref, text, exc_info=trace)
    elif outcome.ending is not Ending.OBSERVED:
        log.info("%s: %s: %s: %s", ref, outcome.ending.value, outcome.reason, outcome.message)


def _announce(context: LiveContext[Any], before: Mapping[str, Any], settlement: Settlement) -> None:
    """Events for what people wait for: the resource became Ready, or it stalled."""
    stored = before.get("conditions") or []
    was_ready = (find(stored, READY) or {}).get("status")
    ready = settlement.ready
    if ready.status == "True" and was_ready != "True":
        context.event("Ready", ready.message)
    stalled = settlement.condition(STALLED)
    was_stalled = find(stored, STALLED)
    if stalled and (was_stalled or {}).get("reason") != stalled.reason:
        context.event(stalled.reason, stalled.message, type="Warning")
