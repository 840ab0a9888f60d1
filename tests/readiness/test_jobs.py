"""The rules for Job and CronJob."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.readiness import Reason, State


def job(*conditions: Any, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "load", "uid": "j", "generation": 1},
        "spec": spec,
        "status": {"active": 1, "conditions": list(conditions)},
    }


def seen(readiness: Any) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


def test_D3_job_running_is_progressing(build: Any) -> None:
    assert seen(build.judge(job())) == (State.PROGRESSING, Reason.RUNNING)


def test_D4_job_resumed_with_suspended_false_is_progressing(build: Any) -> None:
    resumed = job(build.condition("Suspended", "False"), suspend=False)
    assert seen(build.judge(resumed)) == (State.PROGRESSING, Reason.RUNNING)


def test_R5_job_complete_and_suspended(build: Any) -> None:
    complete = build.condition("Complete")
    assert seen(build.judge(job(complete))) == (State.READY, Reason.COMPLETED)
    assert seen(build.judge(job(suspend=True))) == (State.SUSPENDED, Reason.SUSPENDED)
    assert build.judge(job(build.condition("Suspended"))).state is State.SUSPENDED
    resuming = job(build.condition("Suspended"), suspend=False)
    assert build.judge(resuming).state is State.PROGRESSING
    assert build.judge(job(build.condition("Complete", "False"))).state is State.PROGRESSING


@pytest.mark.parametrize("name", ["Failed", "FailureTarget"])
def test_R5_job_failed_tells_its_reason(build: Any, name: str) -> None:
    failed = build.condition(name, "True", "BackoffLimitExceeded", "too many failures")
    verdict = build.judge(job(failed, build.condition("Complete")))
    assert seen(verdict) == (State.FAILED, Reason.JOB_FAILED)
    assert "BackoffLimitExceeded: too many failures" in verdict.message
    assert build.judge(job(build.condition(name, "False"))).state is State.PROGRESSING


def test_R5_job_pods_tell_what_no_retry_mends(build: Any) -> None:
    broken = build.pod("load-1", "j", build.waiting("ErrImagePull"))
    dead = build.pod("load-0", "j", phase="Failed")
    assert seen(build.judge(job(), dead, broken)) == (State.FAILED, Reason.IMAGE_PULL_FAILED)
    assert seen(build.judge(job(), dead)) == (State.PROGRESSING, Reason.RUNNING)


def test_R5_job_that_still_retries_a_crash_is_progressing(build: Any) -> None:
    crashing = build.pod("load-1", "j", build.crashing())
    crashing["spec"]["restartPolicy"] = "OnFailure"
    assert seen(build.judge(job(), crashing)) == (State.PROGRESSING, Reason.CRASH_LOOPING)


def cron_job(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "uid": "c", "generation": 4},
        "spec": spec,
        "status": {},
    }


def run(build: Any, name: str, created: str, *conditions: Any) -> Any:
    made = job(*conditions)
    made["metadata"].update(
        name=name, creationTimestamp=created, ownerReferences=build.owned("c"), generation=1
    )
    return made


def test_R6_cron_job(build: Any) -> None:
    assert seen(build.judge(cron_job())) == (State.READY, Reason.SCHEDULED)
    assert "first run" in build.judge(cron_job()).message
    assert seen(build.judge(cron_job(suspend=True))) == (State.SUSPENDED, Reason.SUSPENDED)


def test_R6_cron_job_whose_last_run_failed_is_failed(build: Any) -> None:
    failed = run(build, "a", "2026-03-01T00:00:00Z", build.condition("Failed"))
    good = run(build, "b", "2026-03-02T00:00:00Z", build.condition("Complete"))
    assert build.judge(cron_job(), failed, good).ready
    failed["metadata"]["creationTimestamp"] = "2026-03-03T00:00:00Z"
    verdict = build.judge(cron_job(), failed, good)
    assert seen(verdict) == (State.FAILED, Reason.JOB_FAILED)
    assert verdict.message.startswith("last run: ")
    assert verdict.generation == 4


def test_R5_job_that_nobody_has_started(build: Any) -> None:
    fresh = build.thing("batch/v1", "Job", {}, spec={})
    verdict = build.judge(fresh)
    assert seen(verdict) == (State.PROGRESSING, Reason.RUNNING)
    assert "has not started" in verdict.message


@pytest.mark.parametrize("reason", ["BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy"])
def test_R5_job_failed_tells_how_its_last_pods_ended(build: Any, reason: str) -> None:
    failed = job(build.condition("Failed", "True", reason, "see the pods"))
    ended = {"name": "web", "ready": False, "state": build.ending(3, "no such table")}
    dead = [build.pod(f"load-{i}", "j", ended, phase="Failed") for i in range(2)]
    verdict = build.judge(failed, *dead)
    assert seen(verdict) == (State.FAILED, Reason.JOB_FAILED)
    assert verdict.message == (
        f"the Job has failed: {reason}: see the pods; 2 of 2 pods: the pod has failed: container"
        " web ended: exit code 3: no such table, e.g. pod load-0; read the pods' logs"
    )


def test_R6_cron_job_with_a_run_under_way_still_tells_that_the_last_one_failed(
    build: Any,
) -> None:
    failed = run(build, "a", "2026-03-01T00:00:00Z", build.condition("Failed"))
    now = run(build, "b", "2026-03-02T00:00:00Z")
    busy = cron_job()
    busy["status"] = {"active": [{"name": "b"}], "lastScheduleTime": "2026-03-02T00:00:00Z"}
    assert seen(build.judge(busy, failed, now)) == (State.FAILED, Reason.JOB_FAILED)
    assert build.judge(busy, now).ready
    assert build.judge(busy, now).message == "a run is under way"


@pytest.mark.parametrize(
    ("scheduled", "succeeded", "active", "state", "words"),
    [
        (None, None, False, State.READY, "waits for its first run"),
        ("12:00", "12:05", False, State.READY, "waits for its next run"),
        ("12:00", "11:05", False, State.FAILED, "the last run did not succeed"),
        ("12:00", "11:05", True, State.READY, "a run is under way"),
        ("12:00", None, False, State.READY, "how its last run ended is not known"),
    ],
)
def test_R6_cron_job_without_jobs_to_look_at_goes_by_its_times(
    build: Any, scheduled: Any, succeeded: Any, active: bool, state: State, words: str
) -> None:
    def stamp(time: Any) -> Any:
        return None if time is None else f"2026-03-01T{time}:00Z"

    nightly = cron_job()
    nightly["status"] = {
        "lastScheduleTime": stamp(scheduled),
        "lastSuccessfulTime": stamp(succeeded),
        "active": [{"name": "x"}] if active else None,
    }
    verdict = build.judge(nightly)
    assert verdict.state is state
    assert words in verdict.message
