"""`JobActor`: runs pods to their end, as kube-controller-manager's job and TTL controllers.

Decisions are in `konstat.actors.job_plan`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from konstat.actors import claims, content, job_plan, patch
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.actors.job_plan import Ending, Tally
from konstat.actors.replicasets import create_pod, delete_pod, namespace_is_terminating
from konstat.base import clock
from konstat.cache.store import Change
from konstat.errors import KonstatError, NotFound
from konstat.kinds import Job, Pod
from konstat.objects.kind import Kind

_JOB = Job.kind


class JobActor(Actor):
    """Plays Jobs, indexed ones and suspended ones too, and their time to live.

    *Not played.* ``podFailurePolicy``, ``successPolicy`` and ``backoffLimitPerIndex``: an event of
    type Warning says so and no pods are made.
    """

    name: ClassVar[str] = "job-controller"

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {_JOB: self.add_itself, Pod.kind: self._on_pod}

    def _on_pod(self, change: Change) -> None:
        self.add_controller(change)
        pod = change.new
        if pod is not None and not pod.controller_uid and pod.label_items:
            self.add_namespace(_JOB, pod)

    async def attempt(self, key: str) -> float | None:
        job = self.world.by_uid(_JOB, key)
        if job is None:
            await self._release(self.world.controlled(Pod.kind, key))
            return None
        if content.spec(job).get("managedBy") not in (None, "", job_plan.MANAGED_BY):
            return None
        selector = content.selector(job)
        if selector is None:
            return None
        if job_plan.is_over(job):
            await self._release(self.world.controlled(Pod.kind, key))
            return await self._end_of_life(job)
        if self._refused(job):
            return None
        await claims.claim(
            self.world,
            _JOB,
            job,
            Pod.kind,
            self.world.list(Pod.kind, content.namespace(job)),
            selector=selector,
        )
        if content.deleting(job):
            await self._release(
                [p for p in self.world.controlled(Pod.kind, key) if content.deleting(p)]
            )
            return None
        return await self._run(job)

    def _refused(self, job: Obj) -> bool:
        """Whether the Job asks for what is not played; then it is told."""
        asked = [field for field in job_plan.NOT_PLAYED if content.spec(job).get(field) is not None]
        if asked:
            note = f"spec.{asked[0]} is not played here: no pods are made for this Job"
            self._event(job, "NotPlayed", note, warning=True)
        return bool(asked)

    # --- one attempt --------------------------------------------------------------------------

    async def _run(self, job: Obj) -> float | None:
        """Act, note what has ended, let it go, count it."""
        now = clock.now()
        uid = content.uid(job)
        before = job_plan.tally(job, self.world.controlled(Pod.kind, uid))
        ending = job_plan.ending(job, before, now=now)
        conditions, start_time = self._conditions(job, ending)
        job_now = {**job, "status": {**content.status(job), "startTime": start_time}}
        seconds, error = await self._manage(job_now, before, ending)
        found = job_plan.tally(job, self.world.controlled(Pod.kind, uid))
        noted_good, noted_bad = job_plan.uncounted(job)
        job = await self._write(
            job,
            found,
            conditions,
            start_time,
            noted=([*noted_good, *found.newly_succeeded], [*noted_bad, *found.newly_failed]),
        )
        if found.settled or any(job_plan.uncounted(job)):
            await self._release(found.settled)
            job = await self._count(job, conditions, start_time)
        if ending is not None:
            await self._finish(job, ending)
        if error is not None:
            raise error
        waits = (seconds, job_plan.past_deadline(job, now=clock.now()))
        left = content.earliest(wait for wait in waits if wait)
        return None if left is None else left + 0.01

    def _conditions(self, job: Obj, ending: Ending | None) -> tuple[list[Obj], str | None]:
        """Conditions before the end, and the start time, which a resumption renews."""
        now = clock.now()
        status = content.status(job)
        conditions: list[Obj] = list(status.get("conditions") or ())
        start_time = status.get("startTime")
        if ending is not None:
            conditions = job_plan.with_condition(
                conditions, ending.type, "True", ending.reason, ending.message, now=now
            )
            return conditions, start_time or clock.timestamp(now)
        was = content.is_true(job, job_plan.SUSPENDED)
        if job_plan.is_suspended(job):
            if not was:
                conditions = self._put_suspended(job, conditions, "True")
            return conditions, None
        if was:
            conditions = self._put_suspended(job, conditions, "False")
        return conditions, start_time or clock.timestamp(now)

    def _put_suspended(
        self, job: Obj, conditions: list[Obj], status: Literal["True", "False"]
    ) -> list[Obj]:
        word = "Suspended" if status == "True" else "Resumed"
        text = f"Job {word.lower()}"
        self._event(job, word, text)
        return job_plan.with_condition(
            conditions, job_plan.SUSPENDED, status, f"Job{word}", text, now=clock.now()
        )

    async def _manage(
        self, job: Obj, found: Tally, ending: Ending | None
    ) -> tuple[float | None, KonstatError | None]:
        """Create or delete pods; seconds to wait before a replacement, and a failure."""
        if ending is not None:
            return None, await self.world.each(found.active, lambda pod: self._delete(job, pod))
        if job_plan.is_suspended(job):
            return None, await self.world.each(found.active, lambda pod: self._retire(job, pod))
        wanted = job_plan.wanted_active(job, found)
        excess = len(found.active) - wanted
        if excess > 0:
            doomed = job_plan.surplus(found, excess, now=clock.now())
            return None, await self.world.each(doomed, lambda pod: self._retire(job, pod))
        missing = wanted - job_plan.occupied(job, found)
        if missing <= 0:
            return None, None
        owned = self.world.controlled(Pod.kind, content.uid(job))
        delay = job_plan.backoff_seconds(job, owned, now=clock.now())
        if delay > 0:
            return delay, None
        return None, await self._create(job, found, missing)

    async def _create(self, job: Obj, found: Tally, missing: int) -> KonstatError | None:
        indexes: Sequence[int | None] = [None] * missing
        if job_plan.is_indexed(job):
            indexes = job_plan.missing_indexes(job, found, missing)
        new = [job_plan.new_pod(job, index=index) for index in indexes]
        error = await self.world.slow_start(new, lambda pod: create_pod(self, _JOB, job, pod))
        return None if error is not None and namespace_is_terminating(error) else error

    async def _delete(self, job: Obj, pod: Obj) -> None:
        await delete_pod(self, _JOB, job, pod)

    async def _retire(self, job: Obj, pod: Obj) -> None:
        """Delete a pod that nobody shall count as failed."""
        await self._release([pod])
        await delete_pod(self, _JOB, job, pod)

    async def _release(self, owned: Sequence[Obj]) -> None:
        """Take our finalizer off pods."""

        async def release(pod: Obj) -> None:
            left = [f for f in content.finalizers(pod) if f != job_plan.TRACKING]
            try:
                await self.world.change(Pod.kind, pod, patch.metadata_patch(pod, finalizers=left))
            except NotFound:
                return

        tracked = [pod for pod in owned if job_plan.TRACKING in content.finalizers(pod)]
        error = await self.world.each(tracked, release)
        if error is not None:
            raise error

    # --- the status ---------------------------------------------------------------------------

    async def _write(
        self,
        job: Obj,
        found: Tally,
        conditions: list[Obj],
        start_time: str | None,
        *,
        noted: tuple[list[str], list[str]],
        counted: tuple[int, int] | None = None,
        completion_time: str | None = None,
    ) -> Obj:
        stored = content.status(job)
        succeeded, failed = counted or (stored.get("succeeded") or 0, stored.get("failed") or 0)
        if job_plan.is_indexed(job):
            succeeded = len(found.indexes)
        status = job_plan.status(
            job,
            conditions=conditions,
            active=len(found.active),
            ready=found.ready,
            terminating=found.terminating,
            succeeded=succeeded,
            failed=failed,
            noted_succeeded=noted[0],
            noted_failed=noted[1],
            indexes=found.indexes if job_plan.is_indexed(job) else (),
            start_time=start_time,
            completion_time=completion_time,
        )
        return await self.world.write_status(_JOB, job, status)

    async def _count(self, job: Obj, conditions: list[Obj], start_time: str | None) -> Obj:
        """Move noted pods whose finalizer is gone into the counts."""
        found = job_plan.tally(job, self.world.controlled(Pod.kind, content.uid(job)))
        held = {content.uid(pod) for pod in found.settled}
        good, bad = job_plan.uncounted(job)
        left = ([u for u in good if u in held], [u for u in bad if u in held])
        status = content.status(job)
        counted = (
            (status.get("succeeded") or 0) + len(good) - len(left[0]),
            (status.get("failed") or 0) + len(bad) - len(left[1]),
        )
        return await self._write(job, found, conditions, start_time, noted=left, counted=counted)

    async def _finish(self, job: Obj, ending: Ending) -> None:
        """The last condition, once every pod has ended and is counted."""
        found = job_plan.tally(job, self.world.controlled(Pod.kind, content.uid(job)))
        if found.active or found.terminating or any(job_plan.uncounted(job)):
            return
        now = clock.now()
        good = ending.type == job_plan.CRITERIA_MET
        last = job_plan.COMPLETE if good else job_plan.FAILED
        status = dict(content.status(job))
        status["conditions"] = job_plan.with_condition(
            status.get("conditions") or [], last, "True", ending.reason, ending.message, now=now
        )
        if good:
            status["completionTime"] = clock.timestamp(now)
        await self.world.write_status(_JOB, job, status)
        if good:
            self._event(job, "Completed", "Job completed")
        else:
            self._event(job, ending.reason, ending.message, warning=True)

    async def _end_of_life(self, job: Obj) -> float | None:
        """Delete a Job whose ``ttlSecondsAfterFinished`` has passed; seconds until it has."""
        ttl = content.spec(job).get("ttlSecondsAfterFinished")
        if ttl is None or content.deleting(job):
            return None
        status = content.status(job)
        last = content.condition(status, job_plan.COMPLETE) or content.condition(
            status, job_plan.FAILED
        )
        since = content.seconds_since((last or {}).get("lastTransitionTime"), clock.now())
        if since is None:
            return None
        if since < ttl:
            return ttl - since + 0.01
        version = content.metadata(job).get("resourceVersion")
        await self.world.delete(_JOB, job, propagation="Foreground", resource_version=version)
        return None

    def _event(self, job: Obj, reason: str, note: str, *, warning: bool = False) -> None:
        self.world.event(
            self.name, _JOB, job, reason, note, type="Warning" if warning else "Normal"
        )
