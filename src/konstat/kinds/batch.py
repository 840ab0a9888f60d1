"""Typed views of the batch group: Job and CronJob."""

from __future__ import annotations

from konstat.kinds.pods import PodTemplate
from konstat.kinds.view import BuiltIn, Condition, LabelSelector, ObjectReference, View


class JobSpec(View):
    """What a Job asks for; ``completions`` None with parallelism means any success counts."""

    parallelism: int = 1
    completions: int | None = None
    backoff_limit: int = 6
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    completion_mode: str = "NonIndexed"
    selector: LabelSelector = LabelSelector()
    template: PodTemplate = PodTemplate()


class JobStatus(View):
    """How far a Job is."""

    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    start_time: str | None = None
    completion_time: str | None = None
    conditions: tuple[Condition, ...] = ()


class Job(BuiltIn[JobSpec, JobStatus], group="batch", version="v1"):
    """Pods that run to an end."""

    __slots__ = ()


class JobTemplate(View):
    """``jobTemplate`` of a CronJob."""

    spec: JobSpec = JobSpec()


class CronJobSpec(View):
    """When Jobs are made, and what they do."""

    schedule: str = ""
    time_zone: str | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    starting_deadline_seconds: int | None = None
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1
    job_template: JobTemplate = JobTemplate()


class CronJobStatus(View):
    """What runs now and what ran last."""

    active: tuple[ObjectReference, ...] = ()
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(
    BuiltIn[CronJobSpec, CronJobStatus], group="batch", version="v1", short_names=("cj",)
):
    """A Job on a schedule."""

    __slots__ = ()
