"""What a Job controller decides: which pods count, what is created, how a Job ends. Pure.

Pods carry a finalizer until they are counted, so that no result is lost with a deleted pod
(KEP-2307). An attempt first notes finished pods in ``uncountedTerminatedPods``, then removes
their finalizers, then counts them. Before: `konstat.actors.pods`. After: `konstat.actors.jobs`.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from konstat.actors import content, pods
from konstat.actors.content import Obj
from konstat.base import clock, limits
from konstat.kinds import Job

TRACKING: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
MANAGED_BY: Final = "kubernetes.io/job-controller"
NOT_PLAYED: Final = ("podFailurePolicy", "successPolicy", "backoffLimitPerIndex")

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
CRITERIA_MET: Final = "SuccessCriteriaMet"
FAILURE_TARGET: Final = "FailureTarget"

_BACKOFF_FIRST_SECONDS: Final = 10.0
_BACKOFF_MAXIMUM_SECONDS: Final = 600.0


class Ending(msgspec.Struct, frozen=True):
    """How a Job ends: the type, reason and message of the condition to come."""

    type: Literal["SuccessCriteriaMet", "FailureTarget"]
    reason: str
    message: str


class Tally(msgspec.Struct, kw_only=True):
    """The pods of a Job, sorted by what they mean.

    ``succeeded`` and ``failed`` count everything, noted and uncounted pods included;
    ``newly_…`` are uids to note now, ``settled`` pods whose finalizer can go.
    """

    active: list[Obj]
    terminating: int
    ready: int
    succeeded: int
    failed: int
    newly_succeeded: list[str]
    newly_failed: list[str]
    settled: list[Obj]
    indexes: set[int]


def spec_number(job: Obj, field: str, default: int) -> int:
    found = content.spec(job).get(field)
    return default if found is None else found


def is_indexed(job: Obj) -> bool:
    return content.spec(job).get("completionMode") == "Indexed"


def is_suspended(job: Obj) -> bool:
    return bool(content.spec(job).get("suspend"))


def is_over(job: Obj) -> bool:
    return content.is_true(job, COMPLETE) or content.is_true(job, FAILED)


def completions(job: Obj) -> int | None:
    """None means: any success will do, once all pods have ended."""
    return content.spec(job).get("completions")


def uncounted(job: Obj) -> tuple[list[str], list[str]]:
    """Uids of succeeded and of failed pods that are noted but not counted."""
    found = content.status(job).get("uncountedTerminatedPods") or {}
    return list(found.get("succeeded") or ()), list(found.get("failed") or ())


# --- counting ---------------------------------------------------------------------------------


def has_failed(job: Obj, pod: Obj) -> bool:
    """A failed pod; where replacements need not wait, one that is being deleted too."""
    if pods.phase(pod) == "Failed":
        return True
    replaces_early = content.spec(job).get("podReplacementPolicy") != "Failed"
    return replaces_early and content.deleting(pod) and pods.phase(pod) != "Succeeded"


def tally(job: Obj, owned: Sequence[Obj]) -> Tally:
    """Sort the pods of a Job; with pods that were counted long ago left out."""
    noted_good, noted_bad = uncounted(job)
    status = content.status(job)
    tracked = [pod for pod in owned if TRACKING in content.finalizers(pod)]
    good = [p for p in tracked if pods.phase(p) == "Succeeded"]
    bad = [p for p in tracked if has_failed(job, p)]
    newly_good = [content.uid(p) for p in good if content.uid(p) not in noted_good]
    newly_bad = [content.uid(p) for p in bad if content.uid(p) not in noted_bad]
    active = [p for p in owned if pods.active(p)]
    indexes = parse_indexes(status.get("completedIndexes"))
    if is_indexed(job):
        limit = completions(job) or 0
        indexes |= {n for p in good if (n := index_of(p)) is not None and n < limit}
        newly_good, noted_good = [], []
    return Tally(
        active=active,
        terminating=sum(pods.terminating(p) for p in owned),
        ready=sum(pods.ready(p) for p in active),
        succeeded=len(indexes)
        if is_indexed(job)
        else (status.get("succeeded") or 0) + len(noted_good) + len(newly_good),
        failed=(status.get("failed") or 0) + len(noted_bad) + len(newly_bad),
        newly_succeeded=newly_good,
        newly_failed=newly_bad,
        settled=[*good, *bad],
        indexes=indexes,
    )


def index_of(pod: Mapping[str, Any]) -> int | None:
    text = content.annotations(pod).get(INDEX, "")
    return int(text) if text.isdecimal() else None


def parse_indexes(text: str | None) -> set[int]:
    """``1,3-5`` as numbers; parts that are neither are left out."""
    found: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last.isdecimal() or not last):
            stop = int(last or first)
            found |= set(range(int(first), min(stop, int(first) + limits.JOB_INDEXES) + 1))
    return found


def format_indexes(indexes: Iterable[int]) -> str:
    """Numbers as ``1,3-5``; two in a row are written as two."""
    parts: list[str] = []
    ordered = sorted(indexes)
    while ordered:
        first = last = ordered.pop(0)
        while ordered and ordered[0] == last + 1:
            last = ordered.pop(0)
        if last - first >= 2:
            parts.append(f"{first}-{last}")
        else:
            parts += [str(n) for n in range(first, last + 1)]
    return ",".join(parts)


# --- the end ----------------------------------------------------------------------------------


def ending(job: Obj, found: Tally, *, now: datetime) -> Ending | None:
    """How the Job ends, if it does; what was decided once stays."""
    status = content.status(job)
    for type in (FAILURE_TARGET, CRITERIA_MET):
        condition = content.condition(status, type)
        if condition is not None and condition.get("status") == "True":
            return Ending(type, condition.get("reason") or "", condition.get("message") or "")
    if found.failed > spec_number(job, "backoffLimit", 6) or _restarts_exceed(job, found):
        text = "Job has reached the specified backoff limit"
        return Ending(FAILURE_TARGET, "BackoffLimitExceeded", text)
    if past_deadline(job, now=now) == 0.0:
        text = "Job was active longer than specified deadline"
        return Ending(FAILURE_TARGET, "DeadlineExceeded", text)
    if is_suspended(job):
        return None
    wanted = completions(job)
    done = found.succeeded > 0 and not found.active if wanted is None else found.succeeded >= wanted
    if done:
        text = "Reached expected number of succeeded pods"
        return Ending(CRITERIA_MET, "CompletionsReached", text)
    return None


def _restarts_exceed(job: Obj, found: Tally) -> bool:
    """With OnFailure, restarts of containers count against the back-off limit."""
    template = content.spec(content.spec(job).get("template") or {})
    if template.get("restartPolicy") != "OnFailure":
        return False
    limit = spec_number(job, "backoffLimit", 6)
    total = sum(
        entry.get("restartCount") or 0
        for pod in found.active
        if pods.phase(pod) in ("Running", "Pending")
        for field in ("initContainerStatuses", "containerStatuses")
        for entry in content.status(pod).get(field) or ()
    )
    return total > 0 if limit == 0 else total >= limit


def past_deadline(job: Obj, *, now: datetime) -> float | None:
    """Seconds until ``activeDeadlineSeconds`` has passed (0.0: it has); None when none runs."""
    deadline = content.spec(job).get("activeDeadlineSeconds")
    since = content.seconds_since(content.status(job).get("startTime"), now)
    if deadline is None or since is None or is_suspended(job):
        return None
    return max(0.0, deadline - since)


def wanted_active(job: Obj, found: Tally) -> int:
    """How many pods should run at once now."""
    parallelism = spec_number(job, "parallelism", 1)
    wanted = completions(job)
    if wanted is None:
        return len(found.active) if found.succeeded else parallelism
    return max(0, min(parallelism, wanted - found.succeeded))


def occupied(job: Obj, found: Tally) -> int:
    """Pods that stand in the way of new ones: terminating ones too, where it is asked for."""
    waits = content.spec(job).get("podReplacementPolicy") == "Failed"
    return len(found.active) + (found.terminating if waits else 0)


def backoff_seconds(job: Obj, owned: Sequence[Obj], *, now: datetime) -> float:
    """How long to wait before a pod takes the place of a failed one; 0.0 for not at all.

    10 s after a failure, twice as long after each more in a row, at most 10 minutes.
    """
    ends = sorted(
        (moment, pods.phase(pod) == "Succeeded")
        for pod in owned
        if pods.finished(pod) and (moment := _finish_time(pod)) is not None
    )
    last_good = max((moment for moment, good in ends if good), default=None)
    streak = [m for m, good in ends if not good and (last_good is None or m > last_good)]
    if not streak:
        return 0.0
    delay = min(_BACKOFF_FIRST_SECONDS * 2 ** (len(streak) - 1), _BACKOFF_MAXIMUM_SECONDS)
    return max(0.0, delay - (now - streak[-1]).total_seconds())


def _finish_time(pod: Obj) -> datetime | None:
    found = [
        moment
        for entry in content.status(pod).get("containerStatuses") or ()
        if (moment := _ended_at(entry)) is not None
    ]
    if found:
        return max(found)
    ready = content.condition(content.status(pod), "Ready") or {}
    return content.moment(ready.get("lastTransitionTime")) or content.moment(content.created(pod))


def _ended_at(entry: Mapping[str, Any]) -> datetime | None:
    return content.moment(((entry.get("state") or {}).get("terminated") or {}).get("finishedAt"))


def missing_indexes(job: Obj, found: Tally, count: int) -> list[int]:
    """The first ``count`` indexes that have neither succeeded nor a pod."""
    taken = found.indexes | {n for p in found.active if (n := index_of(p)) is not None}
    result: list[int] = []
    for number in range(completions(job) or 0):
        if len(result) >= count:
            break
        if number not in taken:
            result.append(number)
    return result


def surplus(found: Tally, count: int, *, now: datetime) -> list[Obj]:
    """``count`` active pods to delete, those first that are missed least."""
    return pods.deletion_order(found.active, related=found.active, now=now)[:count]


# --- pods, conditions, status -----------------------------------------------------------------


def new_pod(job: Obj, *, index: int | None) -> Obj:
    """A pod of the Job; ``index`` of an indexed one."""
    template = content.spec(job).get("template") or {}
    prefix = f"{content.name(job)}-" if index is None else f"{content.name(job)}-{index}-"
    pod = pods.from_template(template, owner_kind=Job.kind, owner=job, prefix=prefix)
    metadata = pod["metadata"]
    metadata["finalizers"] = [*(metadata.get("finalizers") or ()), TRACKING]
    if index is None:
        return pod
    metadata["labels"] = {**(metadata.get("labels") or {}), INDEX: str(index)}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), INDEX: str(index)}
    spec = pod["spec"]
    spec["hostname"] = f"{content.name(job)}-{index}"
    for field in ("initContainers", "containers"):
        for container in spec.get(field) or ():
            _add_index_variable(container)
    return pod


def _add_index_variable(container: Obj) -> None:
    name = "JOB_COMPLETION_INDEX"
    variables = copy.copy(container.get("env") or [])
    if all(variable.get("name") != name for variable in variables):
        path = f"metadata.labels['{INDEX}']"
        variables.append({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
        container["env"] = variables


def with_condition(
    conditions: Sequence[Obj],
    type: str,
    status: Literal["True", "False"],
    reason: str,
    message: str,
    *,
    now: datetime,
) -> list[Obj]:
    """``conditions`` with one more, or with the one of that type replaced in its place."""
    moment = clock.timestamp(now)
    entry = {
        "type": type,
        "status": status,
        "lastProbeTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }
    for index, present in enumerate(conditions):
        if present.get("type") == type:
            if present.get("status") == status:
                return list(conditions)
            return [*conditions[:index], entry, *conditions[index + 1 :]]
    return [*conditions, entry]


def status(
    job: Obj,
    *,
    conditions: Sequence[Obj],
    active: int,
    ready: int,
    terminating: int,
    succeeded: int,
    failed: int,
    noted_succeeded: Collection[str],
    noted_failed: Collection[str],
    indexes: Iterable[int],
    start_time: str | None,
    completion_time: str | None = None,
) -> Obj:
    """The status in the form that the server keeps."""
    noted = {"succeeded": list(noted_succeeded), "failed": list(noted_failed)}
    optional = {
        "conditions": list(conditions),
        "startTime": start_time,
        "completionTime": completion_time,
        "active": active,
        "succeeded": succeeded,
        "failed": failed,
        "completedIndexes": format_indexes(indexes),
    }
    return {
        **content.without_empty(optional),
        "terminating": terminating,
        "uncountedTerminatedPods": content.without_empty(noted),
        "ready": ready,
    }
