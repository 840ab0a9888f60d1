"""The rule for kinds that have none: what the object's own conditions say of this generation.

Polarity cannot be guessed from a name, so only well-known names decide: Ready, Available, Healthy
and Succeeded where True is good, Synced (Crossplane) where only trouble counts, and Reconciling,
Stalled (kstatus), Degraded, Failed where True is bad. All others are left alone. Where conditions
contradict each other the worse one wins; where none decides, the answer is Unknown, never Ready.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from konstat.readiness import wording
from konstat.readiness.reading import Condition
from konstat.readiness.subject import Subject, evidence_of, told
from konstat.readiness.verdict import Readiness, Reason, State

_DECIDING: Final = ("Ready", "Available", "Healthy", "Succeeded")
_SUPPORTING: Final = ("Synced",)  # Ready=True with Synced=False is legal and hid weeks of failure
_BAD_NEWS: Final = {
    "Stalled": (State.FAILED, Reason.STALLED),
    "Failed": (State.FAILED, Reason.STALLED),
    "Degraded": (State.FAILED, Reason.DEGRADED),
    "Reconciling": (State.PROGRESSING, Reason.RECONCILING),
}


class Vote(NamedTuple):
    """What one condition says about the whole."""

    state: State
    reason: Reason
    text: str
    condition: Condition


def by_conditions(subject: Subject) -> Readiness:
    """The worst that a well-known condition says; Unknown when none decides."""
    votes = [*_bad_news(subject), *_good_news(subject)]
    # All bad conditions may be absent or False without anything being good.
    decided = any(v.condition.type in _DECIDING for v in votes)
    worst = max(votes, key=lambda vote: vote.state.severity, default=None)
    if worst is None or (worst.state is State.READY and not decided):
        return _nothing_decides(subject)
    if worst.state is State.READY:
        return _ready(subject, votes)
    message = worst.text
    if worst.reason is Reason.STALLED and subject.is_true("Reconciling"):
        message = wording.sentence(message, "Reconciling is True too, which contradicts it")
    return subject.verdict(
        worst.state,
        worst.reason,
        wording.sentence(message, worst.reason.advice),
        evidence=[evidence_of(worst.condition)],
    )


def _bad_news(subject: Subject) -> Iterator[Vote]:
    for name, (state, reason) in _BAD_NEWS.items():
        found = subject.condition(name, bad="True")
        if found is None or found.status == "False":
            continue
        if _is_stale(subject, found):
            yield _stale(subject, found)
        elif found.status == "True":
            yield Vote(state, reason, told(found), found)
        else:
            yield Vote(State.UNKNOWN, Reason.CONDITION_UNKNOWN, told(found), found)


def _good_news(subject: Subject) -> Iterator[Vote]:
    for name in (*_DECIDING, *_SUPPORTING):
        found = subject.condition(name)
        if found is None:
            continue
        if _is_stale(subject, found):
            yield _stale(subject, found)
        elif found.status == "True":
            yield Vote(State.READY, Reason.CONDITIONS_MET, told(found), found)
        elif found.status == "False":
            yield _negative(name, found)
        elif name == "Succeeded":
            # Bounded work: Unknown is how it says that it runs.
            yield Vote(State.PROGRESSING, Reason.RUNNING, told(found), found)
        else:
            yield Vote(State.UNKNOWN, Reason.CONDITION_UNKNOWN, told(found), found)


def _negative(name: str, found: Condition) -> Vote:
    """Ready=False says only "not ready"; Succeeded=False says that the work has ended badly."""
    if name == "Succeeded":
        return Vote(State.FAILED, Reason.STALLED, told(found), found)
    return Vote(State.PROGRESSING, Reason.CONDITION_NOT_MET, told(found), found)


def _is_stale(subject: Subject, found: Condition) -> bool:
    """Unequal either way: after a restore the observed generation may be ahead."""
    return bool(found.generation and subject.generation and found.generation != subject.generation)


def _stale(subject: Subject, found: Condition) -> Vote:
    text = (
        f"condition {found.type} is about generation {found.generation},"
        f" the spec is at generation {subject.generation}"
    )
    return Vote(State.PROGRESSING, Reason.GENERATION_NOT_OBSERVED, text, found)


def _ready(subject: Subject, votes: list[Vote]) -> Readiness:
    names = sorted({vote.condition.type for vote in votes})
    many = len(names) > 1
    message = f"condition{'s' if many else ''} {' and '.join(names)} {'are' if many else 'is'} True"
    dated = "observedGeneration" in subject.status or any(v.condition.generation for v in votes)
    if subject.generation > 1 and not dated:
        message += "; the status does not say for which generation"
    return subject.verdict(
        State.READY,
        Reason.COMPLETED if names == ["Succeeded"] else Reason.CONDITIONS_MET,
        message,
        evidence=[evidence_of(vote.condition) for vote in votes],
    )


def _nothing_decides(subject: Subject) -> Readiness:
    if not subject.status:
        return subject.verdict(
            State.UNKNOWN,
            Reason.STATUS_NOT_REPORTED,
            "no controller has written a status, and the kind has no rule of its own",
        )
    names = wording.listed(entry.type for entry in subject.conditions)
    has = f"its conditions are {names}" if names else "it has no conditions"
    return subject.verdict(
        State.UNKNOWN,
        Reason.NO_RULE,
        wording.sentence(f"nothing decides: {has}", Reason.NO_RULE.advice),
    )
