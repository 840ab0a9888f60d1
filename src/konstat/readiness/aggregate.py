"""`aggregate`: many named verdicts as one, for a component with several children."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from konstat.base import limits
from konstat.readiness import wording
from konstat.readiness.verdict import Evidence, Readiness, Reason, State, Turn


def aggregate(parts: Sequence[tuple[str, Readiness]]) -> Readiness:
    """One verdict on several named objects: the worst state of any of them.

    The reason is that of the worst parts if they agree, else MultipleIssues with the most urgent
    turn among them. The message groups equal texts, the worst first, with
    how many of all parts each group is; it names a few objects each and counts the rest.
    No parts give Unknown, because nothing has been seen. The order of parts does not matter, and
    the result is never better than a part. An aggregate is about no generation (0), except that
    of a single part.
    """
    if not parts:
        return Readiness(
            state=State.UNKNOWN,
            reason=Reason.NOTHING_TO_JUDGE,
            message="there is nothing to judge",
            turn=Reason.NOTHING_TO_JUDGE.turn,
        )
    ordered = sorted(parts, key=lambda part: (-part[1].state.severity, part[0], part[1].message))
    worst = ordered[0][1].state
    bad = [part for part in ordered if part[1].state is worst]
    reasons = {readiness.reason for _, readiness in bad}
    if len(reasons) == 1:
        reason = bad[0][1].reason
    else:
        reason = Reason.ALL_READY if worst is State.READY else Reason.MULTIPLE_ISSUES
    return Readiness(
        state=worst,
        reason=reason,
        message=_message(ordered, worst),
        turn=_most_urgent(readiness.turn for _, readiness in bad),
        evidence=tuple(
            Evidence(f"{name}: {entry.path}", entry.value)
            for name, readiness in bad
            for entry in readiness.evidence
        )[: limits.READINESS_EVIDENCE],
        generation=parts[0][1].generation if len(parts) == 1 else 0,
        recheck_at=min((r.recheck_at for _, r in parts if r.recheck_at is not None), default=None),
    )


def _most_urgent(turns: Iterable[Turn]) -> Turn:
    return max(turns, key=lambda turn: turn.urgency)


def _message(ordered: Sequence[tuple[str, Readiness]], worst: State) -> str:
    """The texts of all parts that are not ready, the worst first; one line when all are ready."""
    if worst is State.READY and len(ordered) > 1:
        return "all parts are ready"
    groups: dict[tuple[State, str], list[str]] = defaultdict(list)
    for name, readiness in ordered:
        if worst is State.READY or not readiness.ready:
            groups[readiness.state, readiness.message].append(name)
    ranked = sorted(groups.items(), key=lambda g: (-g[0][0].severity, -len(g[1]), g[1], g[0][1]))
    shown = ranked[: limits.MESSAGE_CAUSES]
    # Each gets its share, so that a long first text does not push out the others.
    characters = limits.MESSAGE_CHARACTERS // len(shown) - len("; and 1000000 more")
    clauses = [
        wording.capped(f"{_counted(names, len(ordered))}: {text}", characters=characters)
        for (_, text), names in shown
    ]
    hidden = sum(len(names) for _, names in ranked[limits.MESSAGE_CAUSES :])
    if hidden:
        clauses.append(f"and {hidden} more")
    return wording.sentence(*clauses)


def _counted(names: Sequence[str], total: int) -> str:
    """The names, and of several parts how many of all they are: ``3 of 5 (a, b, c)``."""
    listed = wording.listed(names)
    return listed if len(names) == 1 else f"{len(names)} of {total} ({listed})"
