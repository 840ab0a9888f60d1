"""The rules for Deployment, ReplicaSet, StatefulSet and DaemonSet.

Each counts as kstatus does, then asks the pods of the newest revision why the counts are short
(`pods`, `causes`). Counters go into the evidence, not into messages: a rollout would write a
status for each pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from konstat.base import limits
from konstat.readiness import reading, wording
from konstat.readiness.causes import Cause, Finding, creation_cause
from konstat.readiness.pods import pod_findings, told_refusals
from konstat.readiness.subject import Found, Subject, told
from konstat.readiness.verdict import Evidence, Readiness, Reason, State

REVISION: Final = "deployment.kubernetes.io/revision"
_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_NO_DEADLINE: Final = 2**31 - 1  # how the API writes "no progress deadline"


class Shortfall(NamedTuple):
    """What a workload's own numbers say is missing."""

    reason: Reason
    text: str


class Pods(NamedTuple):
    """What the pods say; ``problem`` is why they could not be asked, or empty."""

    finding: Finding | None
    problem: str


# --- Deployment -----------------------------------------------------------------------------


def deployment(subject: Subject) -> Readiness:
    """The numbers of kstatus, pod causes, and Paused, which kstatus calls InProgress for ever.

    The deadline runs only during a rollout: scaling from 0 to 1 with a broken image keeps
    Progressing and Available True, so the pods decide.
    """
    if subject.spec.get("paused") is True:
        return _paused(subject)
    wanted = reading.count(subject.spec.get("replicas"), 1)
    if wanted == 0:
        return _scaled_to_zero(subject)
    progressing = subject.condition("Progressing")
    late = progressing is not None and progressing.reason == "ProgressDeadlineExceeded"
    shortfall = _deployment_shortfall(subject, wanted)
    if late and shortfall is None:
        shortfall = Shortfall(Reason.ROLLING_OUT, "the rollout is not complete")
    pods = _pods_of(subject, _newest_pods(subject))
    verdict = _settle(subject, shortfall, pods, evidence=_numbers(subject), late=late)
    if late and verdict.state is not State.FAILED:
        return _deadline_exceeded(subject, verdict)
    return verdict


def _paused(subject: Subject) -> Readiness:
    """Suspended, and what is wrong with the pods that it has."""
    finding = _pods_of(subject, _newest_pods(subject)).finding
    failing = finding is not None and finding.state is State.FAILED
    note = f"meanwhile {finding.message}" if finding is not None and failing else ""
    return subject.verdict(
        State.SUSPENDED,
        Reason.PAUSED,
        wording.sentence("the rollout is paused (spec.paused)", note),
        evidence=[subject.evidence("spec", "paused")],
        recheck_at=finding.recheck_at if finding is not None and failing else None,
    )


def _deployment_shortfall(subject: Subject, wanted: int) -> Shortfall | None:
    replicas, updated, ready, available = (
        reading.count(subject.status.get(field))
        for field in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    )
    if updated < wanted:
        return Shortfall(Reason.ROLLING_OUT, "not all pods are of the new revision yet")
    if replicas > updated:
        return Shortfall(Reason.ROLLING_OUT, "pods of an old revision are still there")
    if replicas > wanted:
        return Shortfall(Reason.SCALING_DOWN, "more pods exist than are wanted")
    if ready < wanted:
        return Shortfall(Reason.PODS_NOT_READY, "not all pods are ready")
    if available < updated:
        return Shortfall(Reason.PODS_NOT_READY, "not all pods have been ready for long enough")
    return _deployment_conditions(subject)


def _deployment_conditions(subject: Subject) -> Shortfall | None:
    """What the conditions lack once all numbers are as wanted."""
    available = subject.condition("Available")
    if available is None or available.status != "True":
        text = "condition Available is missing" if available is None else told(available)
        return Shortfall(Reason.CONDITION_NOT_MET, text)
    deadline = reading.integer(subject.spec.get("progressDeadlineSeconds"), _NO_DEADLINE)
    progressing = subject.condition("Progressing")
    done = progressing is not None and (
        progressing.status == "True" and progressing.reason == "NewReplicaSetAvailable"
    )
    if deadline != _NO_DEADLINE and not done:
        text = "condition Progressing is missing" if progressing is None else told(progressing)
        return Shortfall(Reason.CONDITION_NOT_MET, text)
    return None


def _deadline_exceeded(subject: Subject, verdict: Readiness) -> Readiness:
    """Failed; with the pods' reason where they have one that somebody must act on."""
    telling = verdict.reason == Reason.UNSCHEDULABLE
    reason = Reason.UNSCHEDULABLE if telling else Reason.PROGRESS_DEADLINE_EXCEEDED
    return subject.verdict(
        State.FAILED,
        reason,
        wording.sentence(
            verdict.message,
            "the rollout made no progress within spec.progressDeadlineSeconds",
            "" if telling else reason.advice,
        ),
        evidence=verdict.evidence,
        recheck_at=verdict.recheck_at,
    )


def _newest_pods(subject: Subject) -> tuple[Found, list[Cause]]:
    """The pods of the newest ReplicaSet, and why it cannot make more of them.

    The newest is the one with the Deployment's own revision; a cache that has not seen it yet has
    no pods to show, rather than those of the revision that is being replaced.
    """
    own = subject.condition("ReplicaFailure", bad="True")
    sets = subject.owned("apps", "ReplicaSet")
    newest = _newest(sets.objects, _revision(subject.content))
    if newest is None:
        cause = creation_cause(own)
        return Found((), sets.problem), [cause] if cause else []
    conditions = reading.conditions(reading.at(newest, "status", "conditions"))
    cause = creation_cause(reading.condition(conditions, "ReplicaFailure", bad="True"))
    uid = reading.text(reading.at(newest, "metadata", "uid"))
    return subject.owned_by(uid, "", "Pod"), [cause] if cause else []


def _newest(sets: Iterable[Mapping[str, Any]], revision: int) -> Mapping[str, Any] | None:
    known = [entry for entry in sets if not revision or _revision(entry) == revision]
    return max(
        known,
        key=lambda entry: (
            _revision(entry),
            reading.text(reading.at(entry, "metadata", "creationTimestamp")),
            reading.text(reading.at(entry, "metadata", "name")),
            reading.text(reading.at(entry, "metadata", "uid")),
        ),
        default=None,
    )


def _revision(content: Mapping[str, Any]) -> int:
    return reading.count(reading.at(content, "metadata", "annotations", REVISION))


# --- ReplicaSet, StatefulSet, DaemonSet ------------------------------------------------------


def replica_set(subject: Subject) -> Readiness:
    """All wanted replicas are available; ReplicaFailure, progress to kstatus, is Failed.

    A ReplicationController is judged alike.
    """
    wanted = reading.count(subject.spec.get("replicas"), 1)
    if wanted == 0:
        return _scaled_to_zero(subject)
    cause = creation_cause(subject.condition("ReplicaFailure", bad="True"))
    found = subject.owned("", "Pod")
    pods = _pods_of(subject, (found, [cause] if cause else []))
    shortfall = _available_shortfall(subject, wanted)
    labelled = subject.status.get("fullyLabeledReplicas")
    if shortfall is None and labelled is not None and reading.count(labelled) < wanted:
        shortfall = Shortfall(Reason.ROLLING_OUT, "not all pods carry the template's labels yet")
    return _settle(subject, shortfall, pods, evidence=_numbers(subject))


def stateful_set(subject: Subject) -> Readiness:
    """The numbers of kstatus, but OnDelete must be ready too, and the pods say why it is not.

    There are no conditions. Pods of every revision count, because a broken old one blocks the
    next revision until somebody deletes it (k8s #137409).
    """
    wanted = reading.count(subject.spec.get("replicas"), 1)
    if wanted == 0:
        return _scaled_to_zero(subject)
    on_delete = reading.at(subject.spec, "updateStrategy", "type") == "OnDelete"
    shortfall = _available_shortfall(subject, wanted)
    if shortfall is None and not on_delete:
        shortfall = _revision_shortfall(subject, wanted)
    note = ""
    if on_delete:
        updated = min(wanted, reading.count(subject.status.get("updatedReplicas")))
        if updated < wanted:
            note = f"{updated} of {wanted} pods are of the new revision, the others wait (OnDelete)"
    found = subject.owned("", "Pod")
    made = reading.count(subject.status.get("replicas"))
    pods = _own_pods(subject, found, short=shortfall is not None, uncreated=made < wanted)
    return _settle(subject, shortfall, pods, evidence=_numbers(subject), note=note)


def _revision_shortfall(subject: Subject, wanted: int) -> Shortfall | None:
    partition = reading.count(
        reading.at(subject.spec, "updateStrategy", "rollingUpdate", "partition")
    )
    updated = reading.count(subject.status.get("updatedReplicas"))
    current, update = (
        reading.text(subject.status.get(f)) for f in ("currentRevision", "updateRevision")
    )
    # A server leaves out a zero; where the revisions are equal too, it does not count them at all.
    counted = "updatedReplicas" in subject.status or partition > 0
    behind = counted and updated < wanted - partition
    if behind or (current != update and not partition):
        return Shortfall(Reason.ROLLING_OUT, "not all pods are of the new revision yet")
    return None


def _available_shortfall(subject: Subject, wanted: int) -> Shortfall | None:
    replicas, ready, available = (
        reading.count(subject.status.get(field))
        for field in ("replicas", "readyReplicas", "availableReplicas")
    )
    if replicas > wanted:
        return Shortfall(Reason.SCALING_DOWN, "more pods exist than are wanted")
    if ready < wanted:
        return Shortfall(Reason.PODS_NOT_READY, "not all pods are ready")
    # Servers before 1.22 count available pods of a StatefulSet not at all.
    counted = "availableReplicas" in subject.status or subject.kind != "StatefulSet"
    if available < wanted and (counted or subject.spec.get("minReadySeconds")):
        return Shortfall(Reason.PODS_NOT_READY, "not all pods have been ready for long enough")
    return None


def daemon_set(subject: Subject) -> Readiness:
    """Every matching node runs an available pod of the newest template; no node is Ready too."""
    desired, updated, ready, available = (
        reading.count(subject.status.get(field))
        for field in (
            "desiredNumberScheduled",
            "updatedNumberScheduled",
            "numberReady",
            "numberAvailable",
        )
    )
    evidence = _numbers(subject)
    if "desiredNumberScheduled" not in subject.status:
        return subject.verdict(
            State.UNKNOWN, Reason.STATUS_NOT_REPORTED, "no controller has counted the nodes"
        )
    if desired == 0:
        return subject.verdict(
            State.READY, Reason.NO_MATCHING_NODES, "no node matches", evidence=evidence
        )
    shortfall: Shortfall | None = None
    note = ""
    if updated < desired and reading.at(subject.spec, "updateStrategy", "type") == "OnDelete":
        note = f"{updated} of {desired} pods are of the new revision, the others wait (OnDelete)"
    elif updated < desired:
        shortfall = Shortfall(Reason.ROLLING_OUT, "not all pods are of the new revision yet")
    if ready < desired or available < desired:
        shortfall = shortfall or Shortfall(Reason.PODS_NOT_READY, "not all pods are available")
    made = reading.count(subject.status.get("currentNumberScheduled"), desired)
    found = _of_newest_template(subject)
    pods = _own_pods(subject, found, short=shortfall is not None, uncreated=made < desired)
    return _settle(subject, shortfall, pods, evidence=evidence, note=note)


def _of_newest_template(subject: Subject) -> Found:
    """The DaemonSet's pods without those of an older template, where both name it."""
    found = subject.owned("", "Pod")
    newest = reading.at(subject.metadata, "annotations", _TEMPLATE_GENERATION)
    labelled = (
        (pod, reading.at(pod, "metadata", "labels", "pod-template-generation"))
        for pod in found.objects
    )
    kept = tuple(pod for pod, its in labelled if newest is None or its is None or its == newest)
    return Found(kept, found.problem)


# --- what all have in common -----------------------------------------------------------------

_NUMBERS: Final = (
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "desiredNumberScheduled",
    "updatedNumberScheduled",
    "numberReady",
    "numberAvailable",
)


def _numbers(subject: Subject) -> list[Evidence]:
    return [subject.evidence("status", field) for field in _NUMBERS if field in subject.status]


def _scaled_to_zero(subject: Subject) -> Readiness:
    evidence = [subject.evidence("status", "replicas")]
    if reading.count(subject.status.get("replicas")):
        return subject.verdict(
            State.PROGRESSING, Reason.SCALING_DOWN, "the last pods are ending", evidence=evidence
        )
    return subject.verdict(
        State.READY, Reason.SCALED_TO_ZERO, "scaled to zero: no pods wanted", evidence=evidence
    )


def _pods_of(subject: Subject, found: tuple[Found, list[Cause]]) -> Pods:
    pods, extra = found
    return Pods(pod_findings(pods.objects, around=subject, extra=extra), pods.problem)


def _own_pods(subject: Subject, found: Found, *, short: bool, uncreated: bool) -> Pods:
    """The pods of a workload that makes each under a name or on a node of its own.

    A pod that does not go keeps the next one from coming (``short``). Why pods are ``uncreated``
    stands in no status, only in Events; one that is older than the newest pod is past.
    """
    extra: list[Cause] = []
    if uncreated:
        born = (
            reading.moment(reading.at(pod, "metadata", "creationTimestamp"))
            for pod in found.objects
        )
        after = max((moment for moment in born if moment is not None), default=None)
        extra = told_refusals(subject, after=after)
    finding = pod_findings(found.objects, around=subject, extra=extra, leaving_matter=short)
    return Pods(finding, found.problem)


def _settle(
    subject: Subject,
    shortfall: Shortfall | None,
    pods: Pods,
    *,
    evidence: list[Evidence],
    note: str = "",
    late: bool = False,
) -> Readiness:
    """The verdict from the numbers and the pods: the worse of the two.

    Ready numbers outlive pods that were not read, and pods that are not ready only in the cache;
    they do not outlive a failure, because a crash loop without a probe is available in between.
    A wait that pods report during a rollout is evidence only, because it moves from pod to pod,
    unless the rollout is ``late``.
    """
    finding = pods.finding
    failing = finding is not None and finding.state is State.FAILED
    if shortfall is None and not failing:
        message = wording.sentence("all pods are available", note)
        return subject.verdict(State.READY, Reason.AVAILABLE, message, evidence=evidence)
    if finding is not None and (failing or late or _telling(finding, shortfall)):
        return subject.verdict(
            finding.state,
            finding.reason,
            finding.message,
            evidence=[*finding.evidence, *evidence],
            recheck_at=finding.recheck_at,
        )
    assert shortfall is not None
    seen = [*evidence, *(finding.evidence if finding else ())]
    return subject.verdict(
        State.PROGRESSING,
        shortfall.reason,
        wording.sentence(shortfall.text, pods.problem),
        evidence=seen[: limits.READINESS_EVIDENCE],
    )


def _telling(finding: Finding, shortfall: Shortfall | None) -> bool:
    """Whether what the pods say is worth more than what the numbers say."""
    somebody_must_act = finding.reason.turn.urgency > 0
    return somebody_must_act or (
        shortfall is not None and shortfall.reason is Reason.PODS_NOT_READY
    )
