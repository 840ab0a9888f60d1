"""`Cause`: why one pod is not ready; and how the causes of many pods become one finding.

`containers` and `pods` produce causes, `combine` groups them: the worst first, equal ones counted
once ("2 of 3 pods: …, e.g. pod y"), a few named, the rest counted. `workloads` asks for findings.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from konstat.base import limits
from konstat.readiness import wording
from konstat.readiness.reading import Condition
from konstat.readiness.subject import evidence_of
from konstat.readiness.verdict import Evidence, Reason, State, Turn

# The classes of causes, the most telling first. State is compared before class, so that a pod
# that may still find a node does not make a broken image look like progress.
_ORDER = {
    reason: place
    for place, reason in enumerate(
        (
            Reason.QUOTA_EXCEEDED,
            Reason.POD_SECURITY_VIOLATED,
            Reason.SERVICE_ACCOUNT_MISSING,
            Reason.WEBHOOK_FAILED,
            Reason.PODS_FORBIDDEN,
            Reason.NODE_NOT_READY,
            Reason.CLAIM_NOT_FOUND,
            Reason.CLAIM_LOST,
            Reason.STORAGE_CLASS_NOT_FOUND,
            Reason.VOLUME_NOT_PROVIDED,
            Reason.UNSCHEDULABLE,
            Reason.SCHEDULING_GATED,
            Reason.VOLUME_NOT_ATTACHED,
            Reason.VOLUME_NOT_MOUNTED,
            Reason.SANDBOX_FAILED,
            Reason.IMAGE_PULL_FAILED,
            Reason.CONTAINER_CONFIG_INVALID,
            Reason.CONTAINER_START_FAILED,
            Reason.CRASH_LOOPING,
            Reason.POD_EVICTED,
            Reason.POD_FAILED,
            Reason.DELETION_STUCK,
            Reason.READINESS_GATE_NOT_MET,
            Reason.PODS_NOT_READY,
            Reason.PODS_STARTING,
        )
    )
}


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """Why one pod, or a workload's making of pods, does not get on.

    ``text`` is equal for equal causes whatever the pod. ``restarts`` is the count of the container
    that crashes; ``until`` the moment when time alone may lift the cause.
    """

    state: State
    reason: Reason
    text: str
    evidence: tuple[Evidence, ...] = ()
    restarts: int = 0
    until: datetime | None = None

    @property
    def rank(self) -> tuple[int, int, str]:
        """The worst and most telling cause is the smallest."""
        return (-self.state.severity, _ORDER.get(self.reason, len(_ORDER)), self.text)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What the causes of a workload's pods amount to; ``causes`` is the message without advice."""

    state: State
    reason: Reason
    message: str
    causes: str
    evidence: tuple[Evidence, ...]
    recheck_at: datetime | None

    @property
    def turn(self) -> Turn:
        return self.reason.turn


class _Group(NamedTuple):
    cause: Cause
    pods: list[str]
    restarts: int

    @property
    def rank(self) -> tuple[Any, ...]:
        severity, place, text = self.cause.rank
        return (severity, place, -len(self.pods), text)


def combine(causes: Iterable[tuple[str, Cause]], *, pods: int) -> Finding | None:
    """The one finding of ``causes``, each with the name of its pod; None without causes.

    ``pods`` is how many pods were looked at. An empty name stands for a cause that is not in a
    pod. The order of ``causes`` does not matter.
    """
    found = sorted(causes, key=lambda entry: (entry[1].rank, entry[0]))
    if not found:
        return None
    groups = sorted(_grouped(found), key=lambda group: group.rank)
    worst = groups[0].cause
    # Lesser causes come and go while the worst one stays: naming them would be unrest.
    shown = [
        g
        for g in groups
        if g.cause.state is worst.state and g.cause.reason.turn is worst.reason.turn
    ]
    clauses = [_clause(group, pods=pods) for group in shown[: limits.MESSAGE_CAUSES]]
    if len(shown) > limits.MESSAGE_CAUSES:
        clauses.append(f"and {len(shown) - limits.MESSAGE_CAUSES} other causes")
    evidence = [
        Evidence(f"Pod {name}: {entry.path}" if name else entry.path, entry.value)
        for name, cause in found
        for entry in cause.evidence
    ]
    deadlines = [cause.until for _, cause in found if cause.until is not None]
    return Finding(
        state=worst.state,
        reason=worst.reason,
        message=wording.sentence(*clauses, worst.reason.advice),
        causes=wording.sentence(*clauses),
        evidence=tuple(evidence[: limits.READINESS_EVIDENCE]),
        recheck_at=min(deadlines, default=None),
    )


def _grouped(found: Sequence[tuple[str, Cause]]) -> list[_Group]:
    members: dict[tuple[State, Reason, str], list[tuple[str, Cause]]] = defaultdict(list)
    for name, cause in found:
        members[cause.state, cause.reason, cause.text].append((name, cause))
    return [
        _Group(
            entries[0][1],
            sorted(name for name, _ in entries),
            max(cause.restarts for _, cause in entries),
        )
        for entries in members.values()
    ]


def _clause(group: _Group, *, pods: int) -> str:
    text = group.cause.text + _restarted(group.restarts)
    example = group.pods[0]
    if not example:
        return text
    # A wait that ends by itself moves from pod to pod; how many wait is not worth a write each.
    if group.cause.reason.turn is Turn.NOBODY:
        return text
    if pods <= 1:
        return f"{text} (pod {example})"
    return f"{len(group.pods)} of {pods} pods: {text}, e.g. pod {example}"


def _restarted(restarts: int) -> str:
    """Restarts in coarse steps, so that a message does not change with each of them."""
    for step in (1000, 100, 10):
        if restarts >= step:
            return f", restarted at least {step} times"
    return ""


# What a controller puts before the server's words; the claim is one of a StatefulSet's own.
_CREATING = re.compile(
    r"^(?:Error creating: "
    r"|create (?:Claim \S+ )?(?:for )?Pod \S+ in StatefulSet \S+ failed error: )"
)
_POD_NAME = re.compile(r'\bpods? "[^"]*"', re.IGNORECASE)
_FORBIDDEN = re.compile(r"^pods is forbidden: ")
_QUOTA = re.compile(
    r"exceeded quota: (?P<quota>[^,]+), requested: (?P<requested>.+?), used: .+?,"
    r" limited: (?P<limited>.+)$"
)
# Looked for in this order in the server's refusal; where none is found the refusal is a policy's.
_REFUSALS: Final = (
    ("exceeded quota", Reason.QUOTA_EXCEEDED),
    ("violates PodSecurity", Reason.POD_SECURITY_VIOLATED),
    ("error looking up service account", Reason.SERVICE_ACCOUNT_MISSING),
    ("failed calling webhook", Reason.WEBHOOK_FAILED),
    ("failed to call webhook", Reason.WEBHOOK_FAILED),
)


def creation_cause(failure: Condition | None) -> Cause | None:
    """Why no pods can be made, from a ReplicaFailure condition; None unless that is True."""
    if failure is None or failure.status != "True":
        return None
    return refusal_cause(failure.message or failure.reason, seen=(evidence_of(failure),))


def refusal_cause(
    message: str, *, seen: tuple[Evidence, ...], until: datetime | None = None
) -> Cause:
    """Why the server refuses a workload's pods, from its words.

    The name in them is of a pod that never was, another one at each try, and what is used of a
    quota moves with other workloads: both are left out.
    """
    plain = _CREATING.sub("", " ".join(message.split()))
    denial = _FORBIDDEN.sub("", _POD_NAME.sub("pods", plain))
    quota = _QUOTA.search(denial)
    if quota:
        text = (
            f"quota {quota['quota']} leaves no room for the pods: one asks for"
            f" {quota['requested']}, the quota is {quota['limited']}"
        )
    else:
        text = wording.with_detail("the server refuses the pods", wording.steady(denial))
    return Cause(
        state=State.FAILED,
        reason=next((r for word, r in _REFUSALS if word in denial), Reason.PODS_FORBIDDEN),
        text=wording.capped(text, characters=2 * limits.READINESS_DETAIL_CHARACTERS),
        evidence=seen,
        until=until,
    )
