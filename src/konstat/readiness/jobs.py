"""The rules for Job and CronJob: work that has an end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from konstat.readiness import reading, wording
from konstat.readiness.pods import pod_findings, told_refusals
from konstat.readiness.reading import Condition
from konstat.readiness.subject import Subject, evidence_of
from konstat.readiness.verdict import Readiness, Reason, State

_FAILING: Final = ("Failed", "FailureTarget")


def job(subject: Subject) -> Readiness:
    """Running is Progressing (kstatus: Current), Complete is Ready, Failed is Failed.

    Conditions count by their status, not by their presence: a resumed Job keeps Suspended=False.
    """
    for name in _FAILING:
        found = subject.condition(name, bad="True")
        if found is not None and found.status == "True":
            return _failed(subject, found)
    complete = subject.condition("Complete")
    if complete is not None and complete.status == "True":
        return subject.verdict(
            State.READY,
            Reason.COMPLETED,
            "the Job is complete",
            evidence=[evidence_of(complete)],
        )
    # What was asked for last counts: the condition follows it, and may be all that is known.
    asked = subject.spec.get("suspend")
    if asked is True or (asked is None and subject.is_true("Suspended")):
        return subject.verdict(
            State.SUSPENDED,
            Reason.SUSPENDED,
            "the Job is suspended (spec.suspend)",
            evidence=[subject.evidence("spec", "suspend")],
        )
    return _running(subject)


def _failed(subject: Subject, found: Condition) -> Readiness:
    """Failed for the Job's own reason, and how its pods ended where any is left."""
    why = wording.with_detail(
        wording.steady(found.reason) or "no reason given", wording.steady(found.message)
    )
    dead = [
        p for p in subject.owned("", "Pod").objects if reading.at(p, "status", "phase") == "Failed"
    ]
    finding = pod_findings(dead, around=subject)
    reason = Reason.JOB_FAILED
    return subject.verdict(
        State.FAILED,
        reason,
        wording.sentence(
            f"the Job has failed: {why}",
            finding.causes if finding is not None else "",
            reason.advice,
        ),
        evidence=[evidence_of(found), *(finding.evidence if finding is not None else ())],
    )


def _running(subject: Subject) -> Readiness:
    """Progressing, or the failure that the live pods cannot get out of by themselves.

    A crash is what spec.backoffLimit is for: it stays Progressing until the Job gives up.
    """
    found = subject.owned("", "Pod")
    live = [p for p in found.objects if reading.at(p, "status", "phase") != "Failed"]
    active = reading.count(subject.status.get("active"))
    # A Job waits between two tries; only one that has no pod at all may lack the right to make it.
    extra = [] if active or live else told_refusals(subject, after=None)
    finding = pod_findings(live, around=subject, extra=extra)
    if finding is not None and finding.reason.turn.urgency:
        retried = finding.reason is Reason.CRASH_LOOPING
        return subject.verdict(
            State.PROGRESSING if retried else finding.state,
            finding.reason,
            finding.message,
            evidence=finding.evidence,
            recheck_at=finding.recheck_at,
        )
    begun = "startTime" in subject.status or active
    return subject.verdict(
        State.PROGRESSING,
        Reason.RUNNING,
        wording.sentence(
            "the Job has not ended yet" if begun else "the Job has not started yet", found.problem
        ),
        evidence=finding.evidence if finding else (),
    )


def cron_job(subject: Subject) -> Readiness:
    """Suspended, or Failed when the last run that ended has failed, else Scheduled.

    A run that is under way does not excuse the one before it. Where no Job is left to look at,
    a schedule later than the last success says so, once nothing runs any more.
    """
    if subject.spec.get("suspend") is True:
        return subject.verdict(
            State.SUSPENDED,
            Reason.SUSPENDED,
            "no Jobs are made (spec.suspend)",
            evidence=[subject.evidence("spec", "suspend")],
        )
    jobs = subject.owned("batch", "Job")
    verdicts = [(_made(entry), _run(entry, subject)) for entry in jobs.objects]
    over = [(made, v) for made, v in verdicts if v.state in (State.FAILED, State.READY)]
    if over:
        last = max(over, key=lambda pair: pair[0])[1]
        if last.state is State.FAILED:
            return msgspec.structs.replace(
                last, message=f"last run: {last.message}", generation=subject.generation
            )
        return _scheduled(subject, note="")
    return _by_times(subject, jobs.problem)


def _run(content: Mapping[str, Any], around: Subject) -> Readiness:
    """The verdict on one Job; one that is still at work has not failed, whatever its pods say."""
    one = Subject(content, group="batch", kind="Job", related=None, now=around.now)
    return job(one)


def _by_times(subject: Subject, problem: str) -> Readiness:
    """The verdict where no run that ended can be looked at."""
    scheduled = reading.moment(subject.status.get("lastScheduleTime"))
    succeeded = reading.moment(subject.status.get("lastSuccessfulTime"))
    active = reading.mappings(subject.status.get("active"))
    if scheduled and succeeded and succeeded < scheduled and not active:
        return subject.verdict(
            State.FAILED,
            Reason.JOB_FAILED,
            wording.sentence("the last run did not succeed", problem, Reason.JOB_FAILED.advice),
            evidence=[
                subject.evidence("status", "lastScheduleTime"),
                subject.evidence("status", "lastSuccessfulTime"),
            ],
        )
    untold = scheduled is not None and succeeded is None and not active
    return _scheduled(subject, note="how its last run ended is not known" if untold else "")


def _scheduled(subject: Subject, *, note: str) -> Readiness:
    if reading.mappings(subject.status.get("active")):
        message = "a run is under way"
    elif subject.status.get("lastScheduleTime") is not None:
        message = "waits for its next run"
    else:
        message = "waits for its first run"
    seen = [subject.evidence("status", "lastScheduleTime")]
    message = wording.sentence(message, note)
    return subject.verdict(State.READY, Reason.SCHEDULED, message, evidence=seen)


def _made(content: Mapping[str, Any]) -> tuple[str, str]:
    return (
        reading.text(reading.at(content, "metadata", "creationTimestamp")),
        reading.text(reading.at(content, "metadata", "name")),
    )
