"""`CronJobActor`: makes Jobs at their times, as kube-controller-manager's controller.

Before: `konstat.actors.schedule`. After: `konstat.actors.jobs` runs what it makes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar

from konstat.actors import content, job_plan
from konstat.actors.actor import Actor, Trigger
from konstat.actors.content import Obj
from konstat.actors.schedule import Schedule, parse_schedule
from konstat.base import clock
from konstat.errors import AlreadyExists, APIError
from konstat.kinds import CronJob, Job
from konstat.objects.kind import Kind

_CRON = CronJob.kind
_JOB = Job.kind
_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class CronJobActor(Actor):
    """Starts, replaces or skips Jobs by schedule and policy; trims their history.

    A schedule that cannot be read is told in an event of type Warning.
    """

    name: ClassVar[str] = "cronjob-controller"

    def triggers(self) -> Mapping[Kind, Trigger]:
        return {_CRON: self.add_itself, _JOB: self.add_controller}

    async def attempt(self, key: str) -> float | None:
        cron = self.world.by_uid(_CRON, key)
        if cron is None or content.deleting(cron):
            return None
        owned = self.world.controlled(_JOB, key)
        owned = await self._trim(cron, owned)
        cron = await self._observe(cron, owned)
        if content.spec(cron).get("suspend"):
            return None
        try:
            schedule = parse_schedule(
                content.spec(cron).get("schedule") or "",
                zone=content.spec(cron).get("timeZone") or "",
            )
        except ValueError as error:
            self._event(cron, "UnparseableSchedule", f"unparseable schedule: {error}", warning=True)
            return None
        due = latest_due(cron, schedule, now=clock.now())
        if due is not None:
            await self._start(cron, due)
        now = clock.now()
        following = schedule.following(now)
        return None if following is None else (following - now).total_seconds() + 0.05

    # --- the status ---------------------------------------------------------------------------

    async def _observe(self, cron: Obj, owned: Sequence[Obj]) -> Obj:
        """Forget Jobs that have ended, note the last success."""
        status = content.status(cron)
        known = {content.uid(job): job for job in owned}
        active: list[Obj] = []
        for reference in status.get("active") or ():
            job = known.get(reference.get("uid") or "")
            if job is not None and not job_plan.is_over(job):
                active.append(reference)
            elif job is None:
                note = f"Active job went missing: {reference.get('name')}"
                self._event(cron, "MissingJob", note)
            else:
                word = "Complete" if content.is_true(job, job_plan.COMPLETE) else "Failed"
                note = f"Saw completed job: {content.name(job)}, condition: {word}"
                self._event(cron, "SawCompletedJob", note)
        ends = [
            content.status(job).get("completionTime")
            for job in owned
            if content.is_true(job, job_plan.COMPLETE)
        ]
        last = max([e for e in (*ends, status.get("lastSuccessfulTime")) if e], default=None)
        return await self._write(cron, active=active, lastSuccessfulTime=last)

    async def _write(self, cron: Obj, **changed: object) -> Obj:
        status = content.without_empty({**content.status(cron), **changed})
        return await self.world.write_status(_CRON, cron, status)

    async def _trim(self, cron: Obj, owned: Sequence[Obj]) -> list[Obj]:
        """Delete ended Jobs beyond the history limits."""
        left = list(owned)
        for condition, field, default in (
            (job_plan.COMPLETE, "successfulJobsHistoryLimit", 3),
            (job_plan.FAILED, "failedJobsHistoryLimit", 1),
        ):
            limit = job_plan.spec_number(cron, field, default)
            ended = sorted((j for j in left if content.is_true(j, condition)), key=content.by_age)
            for job in ended[: max(0, len(ended) - limit)]:
                await self.world.delete(_JOB, job, propagation="Background")
                self._event(cron, "SuccessfulDelete", f"Deleted job {content.name(job)}")
                left.remove(job)
        return left

    # --- starting -----------------------------------------------------------------------------

    async def _start(self, cron: Obj, due: datetime) -> None:
        """Make the Job of ``due`` as the concurrency policy says."""
        deadline = content.spec(cron).get("startingDeadlineSeconds")
        if deadline is not None and due + timedelta(seconds=deadline) < clock.now():
            note = f"Missed scheduled time to start a job: {clock.timestamp(due)}"
            self._event(cron, "MissSchedule", note, warning=True)
            return
        active: list[Obj] = list(content.status(cron).get("active") or ())
        policy = content.spec(cron).get("concurrencyPolicy") or "Allow"
        if policy == "Forbid" and active:
            note = "Not starting job because prior execution is running and concurrency policy"
            self._event(cron, "JobAlreadyActive", f"{note} is Forbid")
            return
        if policy == "Replace":
            for reference in active:
                job = self.world.by_uid(_JOB, reference.get("uid") or "")
                if job is not None:
                    await self.world.delete(_JOB, job, propagation="Background")
                    self._event(cron, "SuccessfulDelete", f"Deleted job {content.name(job)}")
            active.clear()
        job = await self._create(cron, due)
        if job is not None:
            active.append(_reference(job))
        await self._write(cron, active=active, lastScheduleTime=clock.timestamp(due))

    async def _create(self, cron: Obj, due: datetime) -> Obj | None:
        """The Job of a time has its name from it, so it cannot be made twice."""
        wanted = new_job(cron, due)
        try:
            job = await self.world.create(_JOB, wanted)
        except AlreadyExists:
            return None
        except APIError as error:
            note = f"Error creating job: {error.message}"
            self._event(cron, "FailedCreate", note, warning=True)
            raise
        self._event(cron, "SuccessfulCreate", f"Created job {content.name(job)}")
        return job

    def _event(self, cron: Obj, reason: str, note: str, *, warning: bool = False) -> None:
        kind = "Warning" if warning else "Normal"
        self.world.event(self.name, _CRON, cron, reason, note, type=kind)


def latest_due(cron: Obj, schedule: Schedule, *, now: datetime) -> datetime | None:
    """The latest time that has passed and was not started; None when there is none.

    Times before the last start, the creation, or the starting deadline do not count. Looks back
    further and further, so that a long absence costs no more than a short one.
    """
    status = content.status(cron)
    last = content.moment(status.get("lastScheduleTime")) or content.moment(content.created(cron))
    if last is None:
        return None
    deadline = content.spec(cron).get("startingDeadlineSeconds")
    if deadline is not None:
        last = max(last, now - timedelta(seconds=deadline))
    window = timedelta(minutes=1)
    while True:
        start = max(last, now - window)
        due: datetime | None = None
        moment = schedule.following(start)
        while moment is not None and moment <= now:
            due = moment
            moment = schedule.following(moment)
        if due is not None or start <= last:
            return due
        window *= 2


def new_job(cron: Obj, due: datetime) -> Obj:
    """The Job that ``cron`` starts for the time ``due``."""
    template = content.spec(cron).get("jobTemplate") or {}
    minutes = int(due.timestamp()) // 60
    return {
        "metadata": {
            "name": content.name_with(content.name(cron), str(minutes), most=63),
            "namespace": content.namespace(cron),
            "labels": dict(content.labels(template)),
            "annotations": {**content.annotations(template), _SCHEDULED: clock.timestamp(due)},
            "ownerReferences": [content.controller_reference(_CRON, cron)],
        },
        "spec": content.spec(template),
    }


def _reference(job: Obj) -> Obj:
    return {
        "kind": _JOB.kind,
        "namespace": content.namespace(job),
        "name": content.name(job),
        "uid": content.uid(job),
        "apiVersion": _JOB.api_version,
        "resourceVersion": content.metadata(job).get("resourceVersion"),
    }
