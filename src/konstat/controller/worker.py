"""The worker of one controller: take a key, attempt, settle, write the status, schedule.

Data comes from the caches and the queue, which hold only uids: an attempt always sees the newest
state, its own writes included. After it: `konstat.writing.StatusWriter` and the server.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from konstat.base import clock, limits
from konstat.base.backoff import Backoff
from konstat.base.tasks import Tasks, open_tasks
from konstat.client import Client
from konstat.controller.attempt import Ended, refused_spec, run_attempt
from konstat.controller.controller import Controller
from konstat.controller.live_context import LiveContext
from konstat.controller.views import Views
from konstat.errors import APIError, KonstatError, QueueClosed, SpecInvalid, StatusInvalid
from konstat.objects.model import Status
from konstat.objects.resource import Resource, stored_status
from konstat.objects.snapshot import Snapshot
from konstat.queue import WorkQueue
from konstat.readiness import Turn
from konstat.services.events import Recorder
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
from konstat.status.condition import READY, STALLED, find
from konstat.writing import Applier, Finalizer, StatusWriter, Written, finalizers_of

log = logging.getLogger("konstat.controller")

_STATUS_RETRY = Backoff(
    first_seconds=limits.STATUS_RETRY_FIRST_SECONDS,
    maximum_seconds=limits.STATUS_RETRY_MAXIMUM_SECONDS,
)


class _Memory(msgspec.Struct):
    """What is remembered of one resource between attempts; dropped when it is gone."""

    waiting_reason: str = ""
    waiting_since: float = 0.0
    failed_writes: int = 0
    ready: str = ""


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
        self._client = client
        self._views = views
        self._recorder = recorder
        self._metrics = metrics
        self._applier = Applier(client, field_manager=controller.field_manager)
        self._finalizer = Finalizer(
            client, controller.finalizer, field_manager=controller.field_manager
        )
        self._writer = StatusWriter(
            client, field_manager=controller.field_manager, on_written=views.put_own
        )
        self._kinds: Mapping[tuple[str, str], type[Resource[Any, Any]]] = {
            (cls.kind.group, cls.kind.kind): cls for cls in (*controller.owns, *controller.optional)
        }
        self._memories: dict[str, _Memory] = {}

    async def run(self) -> None:
        """Attempt keys until the queue is closed; then return after the attempt in hand."""
        while True:
            try:
                uid = await self.queue.take()
            except QueueClosed:
                return
            try:
                await self._attempt(uid)
            finally:
                self.queue.done(uid)

    def forget(self, uid: str) -> None:
        """The resource is gone."""
        self.queue.drop(uid)
        memory = self._memories.pop(uid, None)
        if memory is not None and memory.ready:
            self._metrics.resources.labels(self.controller.kind.kind, memory.ready).dec()

    async def _attempt(self, uid: str) -> None:
        snapshot = self._views.by_uid(self.controller.kind, uid)
        if snapshot is None:
            self.forget(uid)
            return
        kind = self.controller.kind.kind
        begun = clock.monotonic()
        try:
            if snapshot.deleting:
                await self._clean_up(snapshot)
            else:
                await self._reconcile(snapshot)
        except KonstatError as error:
            # Not the author's attempt failed but our own write of finalizer or status: the key
            # comes back on a back-off of its own, so that conflicts do not slow attempts down.
            self._metrics.status_errors.labels(kind).inc()
            self._retry_write(snapshot, error)
        finally:
            self._metrics.attempt_seconds.labels(kind).observe(clock.monotonic() - begun)

    def _retry_write(self, snapshot: Snapshot, error: KonstatError) -> None:
        memory = self._memory(snapshot.uid)
        delay = _STATUS_RETRY.delay_seconds(memory.failed_writes)
        memory.failed_writes += 1
        if isinstance(error, APIError) and error.retry_after_seconds:
            delay = max(delay, error.retry_after_seconds)
        log.warning("%s: %s; trying again in %.1f s", snapshot.ref, error, delay)
        self.queue.add_after(snapshot.uid, delay)

    # --- reconcile ----------------------------------------------------------------------------

    async def _reconcile(self, snapshot: Snapshot) -> None:
        if self.controller.cleanup_function is not None and not self._finalizer.is_on(snapshot):
            marked = await self._finalizer.add(snapshot)
            if marked is None:
                return  # gone or being deleted: its event wakes us
            self._views.put_own(marked)
            snapshot = marked
        resource = self.controller.resource.from_json(snapshot.data)
        context = self._context(resource, snapshot)
        try:
            resource.spec  # noqa: B018 - decoded here, so that a bad spec is settled, not raised
        except SpecInvalid as error:
            await self._finish(snapshot, context, refused_spec(error))
            return
        function = self.controller.require_complete()
        async with open_tasks() as tasks:
            reset = _Reset(self, snapshot)
            reset.begin(tasks)
            ended = await run_attempt(
                function,
                resource,
                context,
                timeout_seconds=self.controller.attempt_timeout_seconds,
            )
            await reset.end()
        await self._finish(snapshot, context, ended)

    def _context(self, resource: Resource[Any, Any], snapshot: Snapshot) -> LiveContext[Any]:
        status_type = self.controller.resource.status_type
        assert issubclass(status_type, Status)
        return LiveContext(
            resource,
            stored_status(status_type, resource.raw("status")),
            kinds=self._kinds,
            views=self._views,
            client=self._client,
            applier=self._applier,
            recorder=self._recorder,
            metrics=self._metrics,
            log=_ResourceLog(log, {"resource": str(snapshot.ref)}),
        )

    async def _finish(self, snapshot: Snapshot, context: LiveContext[Any], ended: Ended) -> None:
        """Settle, write, tell and schedule."""
        ended = self._with_deadline(snapshot.uid, ended)
        self._tell_error(snapshot, ended)
        settlement, ended = self._settle(snapshot, context, ended)
        await self._write(snapshot, context, settlement)
        self._metrics.attempts.labels(self.controller.kind.kind, ended.outcome.ending.value).inc()
        self._schedule(snapshot.uid, ended, settlement)

    def _settle(
        self, snapshot: Snapshot, context: LiveContext[Any], ended: Ended
    ) -> tuple[Settlement, Ended]:
        generation = snapshot.generation
        findings: tuple[Finding, ...] = context.findings
        try:
            settled = settle(
                context.status, ended.outcome, generation=generation, findings=findings
            )
        except StatusInvalid as error:
            log.error("%s: %s", snapshot.ref, error)
            outcome = Outcome(
                ending=Ending.ERROR, reason="StatusInvalid", message=str(error), turn=Turn.OWNER
            )
            reduced = refused(generation, reason="StatusInvalid", message=str(error))
            return reduced, msgspec.structs.replace(ended, outcome=outcome)
        return settled, ended

    def _with_deadline(self, uid: str, ended: Ended) -> Ended:
        """Turn a wait that lasts too long into DeadlineExceeded."""
        memory = self._memory(uid)
        outcome = ended.outcome
        if outcome.ending is not Ending.WAITING:
            memory.waiting_reason = ""
            return ended
        present = clock.monotonic()
        if memory.waiting_reason != outcome.reason:
            memory.waiting_reason, memory.waiting_since = outcome.reason, present
        limit = ended.wait_timeout_seconds
        if limit is None or present - memory.waiting_since < limit:
            return ended
        overdue = Outcome(
            ending=Ending.OVERDUE,
            reason="DeadlineExceeded",
            message=f"{outcome.reason} for more than {limit:.0f} s: {outcome.message}",
            turn=outcome.turn if outcome.turn is not Turn.NOBODY else Turn.OWNER,
        )
        return msgspec.structs.replace(ended, outcome=overdue)

    def _tell_error(self, snapshot: Snapshot, ended: Ended) -> None:
        outcome = ended.outcome
        if outcome.ending is Ending.ERROR:
            # konstat's own errors explain themselves; a traceback helps with the author's.
            own = isinstance(ended.error, KonstatError) or ended.error is None
            log.error(
                "%s: the attempt failed: %s: %s",
                snapshot.ref,
                outcome.reason,
                outcome.message,
                exc_info=None if own else ended.error,
            )
        elif outcome.ending is not Ending.OBSERVED:
            log.info(
                "%s: %s: %s: %s",
                snapshot.ref,
                outcome.ending.value,
                outcome.reason,
                outcome.message,
            )

    async def _write(
        self, snapshot: Snapshot, context: LiveContext[Any], settlement: Settlement
    ) -> None:
        """Write the settlement over the newest view of the object that we have."""
        newest = self._views.by_uid(self.controller.kind, snapshot.uid) or snapshot
        before = newest.content.get("status") or {}
        result = await self._writer.write(newest, settlement)
        memory = self._memory(snapshot.uid)
        memory.failed_writes = 0
        self._metrics.status_writes.labels(self.controller.kind.kind, result.written.value).inc()
        if result.problem:
            log.error("%s: %s", snapshot.ref, result.problem)
        if result.written is Written.SUPERSEDED:
            log.info("%s: another instance has settled a newer generation", snapshot.ref)
        if result.written in (Written.WRITTEN, Written.REDUCED):
            _announce(context, before, settlement)
        self._count(memory, settlement)

    def _count(self, memory: _Memory, settlement: Settlement) -> None:
        ready = settlement.ready.status
        if memory.ready != ready:
            gauge = self._metrics.resources
            if memory.ready:
                gauge.labels(self.controller.kind.kind, memory.ready).dec()
            gauge.labels(self.controller.kind.kind, ready).inc()
            memory.ready = ready

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

    def _memory(self, uid: str) -> _Memory:
        return self._memories.setdefault(uid, _Memory())

    async def write_reset(self, snapshot: Snapshot) -> None:
        """Promise 1: say that a new generation is being worked on."""
        newest = self._views.by_uid(self.controller.kind, snapshot.uid) or snapshot
        await self._writer.write(newest, started(snapshot.generation))

    # --- deletion -----------------------------------------------------------------------------

    async def _clean_up(self, snapshot: Snapshot) -> None:
        if not self._finalizer.is_on(snapshot):
            await self._show_blockers(snapshot)
            return
        function = self.controller.cleanup_function
        if function is not None:
            resource = self.controller.resource.from_json(snapshot.data)
            context = self._context(resource, snapshot)
            ended = await run_attempt(
                function,
                resource,
                context,
                timeout_seconds=self.controller.attempt_timeout_seconds,
            )
            if ended.outcome.ending is not Ending.OBSERVED or ended.requeue_seconds is not None:
                await self._finish(snapshot, context, _still_deleting(ended))
                return
            self._metrics.attempts.labels(self.controller.kind.kind, "cleaned").inc()
        newest = self._views.by_uid(self.controller.kind, snapshot.uid) or snapshot
        left = await self._finalizer.remove(newest)
        self.queue.forget(snapshot.uid)
        if left is not None and finalizers_of(left):
            self._views.put_own(left)
            await self._show_blockers(left)

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
        resource = self.controller.resource.from_json(snapshot.data)
        context = self._context(resource, snapshot)
        settlement = settle(context.status, outcome, generation=snapshot.generation)
        await self._write(snapshot, context, settlement)


class _Reset:
    """The early status write for a slow first reaction to a new generation."""

    def __init__(self, worker: Worker, snapshot: Snapshot) -> None:
        self._worker = worker
        self._snapshot = snapshot
        self._task: Any = None
        self._writing = False

    def begin(self, tasks: Tasks) -> None:
        """Start the timer if this generation has not been settled before."""
        status = self._snapshot.content.get("status") or {}
        if status.get("observedGeneration") != self._snapshot.generation:
            self._task = tasks.start(self._run(), name=f"reset {self._snapshot.ref}")

    async def end(self) -> None:
        """The attempt has ended: drop the timer, or let a write in flight land."""
        if self._task is None:
            return
        if not self._writing:
            self._task.cancel()
            return
        await self._task

    async def _run(self) -> None:
        await clock.sleep(limits.RESET_AFTER_SECONDS)
        self._writing = True
        try:
            await self._worker.write_reset(self._snapshot)
        except KonstatError as error:
            # The attempt's own write follows and reports; this one was only the early notice.
            log.warning("%s: the early status was not written: %s", self._snapshot.ref, error)


class _ResourceLog(logging.LoggerAdapter[logging.Logger]):
    """Puts the resource in front of every line that an author logs."""

    def process(self, msg: Any, kwargs: Any) -> tuple[Any, Any]:
        extra = self.extra or {}
        return f"{extra.get('resource')}: {msg}", kwargs


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
