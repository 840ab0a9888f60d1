"""The rule for an object that is being deleted: what holds it, and since when.

`compute` asks this before the rule of any kind. A deletion that lasts is told by the moment at
which it was due, not by how long it has lasted: a text that ticks would cost a write each time.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, NamedTuple

from konstat.base import limits
from konstat.readiness import placement, reading, wording
from konstat.readiness.reading import Condition
from konstat.readiness.subject import Subject, evidence_of
from konstat.readiness.verdict import Evidence, Readiness, Reason, State

# What the namespace controller reports, the failures first.
_NAMESPACE_CONDITIONS: Final = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
)


class Overdue(NamedTuple):
    """Whether a deletion has lasted too long; ``until`` is when it will have, if it has not."""

    is_overdue: bool
    until: datetime | None


def terminating(subject: Subject) -> Readiness | None:
    """Terminating, naming finalizers and what else holds it; None unless it is being deleted.

    The deletion timestamp already holds the grace period. Long after it the reason is
    DeletionStuck and somebody must act; without a clock nothing is long ago.
    """
    since = subject.metadata.get("deletionTimestamp")
    if since is None:
        return None
    overdue = is_overdue(since, now=subject.now)
    reason = Reason.DELETION_STUCK if overdue.is_overdue else Reason.DELETING
    seen = [subject.evidence("metadata", "deletionTimestamp")]
    finalizers = finalizers_of(subject.metadata)
    seen += [Evidence("metadata.finalizers", name) for name in sorted(finalizers)]
    remains = _remains(subject)
    seen += [evidence_of(entry) for entry in remains]
    told = [f"waits for finalizers: {wording.listed(finalizers)}"] if finalizers else []
    told += [text for entry in remains if (text := wording.steady(entry.message))]
    trouble = _node_trouble(subject) if overdue.is_overdue else None
    if trouble is not None:
        told.append(trouble[0])
        seen.append(trouble[1])
    if not told and overdue.is_overdue:
        told.append("no finalizer holds it: its node or its controller must let it go")
    return subject.verdict(
        State.TERMINATING,
        reason,
        wording.sentence(f"is being deleted{_dated(since, overdue)}", *told, reason.advice),
        evidence=seen,
        recheck_at=overdue.until,
    )


def _node_trouble(subject: Subject) -> tuple[str, Evidence] | None:
    is_pod = (subject.group, subject.kind) == ("", "Pod")
    return placement.node_trouble(subject.content, subject) if is_pod else None


def is_overdue(since: Any, *, now: datetime | None) -> Overdue:
    """Whether a deletion that was due at ``since`` should long have ended."""
    due = reading.moment(since)
    if due is None or now is None:
        return Overdue(False, None)
    until = reading.later(due, seconds=limits.DELETION_STUCK_SECONDS)
    if until is None:
        return Overdue(False, None)
    return Overdue(True, None) if now >= until else Overdue(False, until)


def _dated(since: Any, overdue: Overdue) -> str:
    return f" since {reading.text(since)}" if overdue.is_overdue else ""


def finalizers_of(metadata: Any) -> list[str]:
    """The finalizers that stand in an object's metadata."""
    value = reading.at(metadata, "finalizers")
    if not isinstance(value, list | tuple):
        return []
    return [wording.steady(name) for name in value if isinstance(name, str)]


def _remains(subject: Subject) -> list[Condition]:
    """Why a namespace is still there, as its conditions tell."""
    if (subject.group, subject.kind) != ("", "Namespace"):
        return []
    found = [subject.condition(name, bad="True") for name in _NAMESPACE_CONDITIONS]
    return [entry for entry in found if entry is not None and entry.status == "True"]
