"""The rules for Job and CronJob: work that has an end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from konstat.readiness import reading, wording
from konstat.readiness.pods import pod_findings
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
            why = wording.with_detail(
                wording.steady(found.reason) or "no reason given", wording.steady(found.message)
            )
            return subject.verdict(
                State.FAILED,
                Reason.JOB_FAILED,
                wording.sentence(f"the Job has failed: {why}", Reason.JOB_FAILED.advice),
                evidence=[evidence_of(found)],
            )
    complete = subject.condition("Complete")
    if complete is not None and complete.status == "True":
        return subject.verdict(
            State.READY,
            Reason.COMPLETED,
            "the Job is complete",
            evidence=[evidence_of(complete)],
        )
    if subject.spec.get("suspend") is True:
        return subject.verdict(
            State.SUSPENDED,
            Reason.SUSPENDED,
            "the Job is suspended (spec.suspend)",
            evidence=[subject.evidence("spec", "suspend")],
        )
    return _running(subject)


def _running(subject: Subject) -> Readiness:
    """Progressing, or the failure that the live pods cannot get out of by themselves.

    A crash is what spec.backoffLimit is for: it stays Progressing until the Job gives up.
    """
    found = subject.owned("", "Pod")
    live = [p for p in found.objects if reading.at(p, "status", "phase") != "Failed"]
    finding = pod_findings(live, around=subject)
    if finding is not None and finding.reason.turn.urgency:
        retried = finding.reason is Reason.CRASH_LOOPING
        return subject.verdict(
            State.PROGRESSING if retried else finding.state,
            finding.reason,
            finding.message,
            evidence=finding.evidence,
            recheck_at=finding.recheck_at,
        )
    return subject.verdict(
        State.PROGRESSING,
        Reason.RUNNING,
        wording.sentence("the Job has not ended yet", found.problem),
        evidence=finding.evidence if finding else (),
    )


def cron_job(subject: Subject) -> Readiness:
    """Suspended, or Failed when the last Job that was made has failed, else Scheduled."""
    if subject.spec.get("suspend") is True:
        return subject.verdict(
            State.SUSPENDED,
            Reason.SUSPENDED,
            "no Jobs are made (spec.suspend)",
            evidence=[subject.evidence("spec", "suspend")],
        )
    jobs = subject.owned("batch", "Job")
    last = max(jobs.objects, key=_made, default=None)
    if last is not None:
        verdict = job(Subject(last, group="batch", kind="Job", related=None, now=subject.now))
        if verdict.state is State.FAILED:
            return msgspec.structs.replace(
                verdict, message=f"last run: {verdict.message}", generation=subject.generation
            )
    ran = subject.status.get("lastScheduleTime") is not None
    message = "waits for its next run" if ran else "waits for its first run"
    return subject.verdict(State.READY, Reason.SCHEDULED, message)


def _made(content: Mapping[str, Any]) -> tuple[str, str]:
    return (
        reading.text(reading.at(content, "metadata", "creationTimestamp")),
        reading.text(reading.at(content, "metadata", "name")),
    )
