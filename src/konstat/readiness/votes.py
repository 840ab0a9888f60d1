"""`Vote`: what one part or condition of an object says of the whole; `decide`: the worst of them.

For the built-in kinds and the Gateway API, whose conditions are known by name and also stand in
lists of their own, one for each parent, listener or ancestor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from konstat.base import limits
from konstat.readiness import reading, wording
from konstat.readiness.reading import Condition
from konstat.readiness.subject import Subject, told
from konstat.readiness.verdict import Evidence, Readiness, Reason, State

STATUS_CONDITIONS: Final = "status.conditions"


class Vote(NamedTuple):
    """What one part says; ``until`` is when time alone may change it."""

    state: State
    reason: Reason
    text: str
    evidence: Evidence
    until: datetime | None = None


class Part(NamedTuple):
    """One list of conditions: ``label`` names it in messages ("" for the object itself)."""

    label: str
    path: str
    conditions: Sequence[Condition]


def part(value: Any, *, label: str = "", path: str = STATUS_CONDITIONS) -> Part:
    """The conditions list ``value``, which stands at ``path``."""
    return Part(label, path, reading.conditions(value))


def evidence_at(where: Part, name: str, value: str | None) -> Evidence:
    """The status of the condition ``name`` as evidence."""
    return Evidence(f'{where.path}[type="{name}"].status', value)


def missing(where: Part, name: str) -> Vote:
    """A condition that its controller always writes is not there: nobody has said True."""
    text = _labelled(where, f"condition {name} is missing")
    seen = evidence_at(where, name, None)
    return Vote(State.PROGRESSING, Reason.CONDITION_NOT_MET, text, seen)


def stale(where: Part, found: Condition, generation: int) -> Vote | None:
    """The vote of a condition about another generation, older or newer; None when it is not."""
    if not found.generation or not generation or found.generation == generation:
        return None
    text = (
        f"condition {wording.steady(found.type)} is about generation {found.generation},"
        f" the spec is at generation {generation}"
    )
    seen = evidence_at(where, found.type, found.status)
    return Vote(State.PROGRESSING, Reason.GENERATION_NOT_OBSERVED, _labelled(where, text), seen)


def vote(where: Part, found: Condition, state: State, reason: Reason) -> Vote:
    """``state`` because of the condition ``found``, in its own words."""
    seen = evidence_at(where, found.type, found.status)
    return Vote(state, reason, _labelled(where, told(found)), seen)


def _labelled(where: Part, text: str) -> str:
    return f"{where.label}: {text}" if where.label else text


def decide(subject: Subject, votes: Iterable[Vote], *, ready: str, reason: Reason) -> Readiness:
    """The worst vote, with all that share its state and reason; Ready when all are ready.

    The order of votes does not matter. ``ready`` and ``reason`` are of the good verdict.
    """
    cast = sorted(votes, key=_rank)
    if not cast or cast[0].state is State.READY:
        seen = [each.evidence for each in cast]
        return subject.verdict(State.READY, reason, ready, evidence=seen)
    worst = cast[0]
    texts = list(
        dict.fromkeys(
            each.text for each in cast if (each.state, each.reason) == (worst.state, worst.reason)
        )
    )
    shown = texts[: limits.MESSAGE_CAUSES]
    hidden = len(texts) - len(shown)
    return subject.verdict(
        worst.state,
        worst.reason,
        wording.sentence(*shown, f"and {hidden} more" if hidden else "", worst.reason.advice),
        evidence=[each.evidence for each in cast if each.state is worst.state],
        recheck_at=min((each.until for each in cast if each.until is not None), default=None),
    )


def _rank(each: Vote) -> tuple[int, int, str, str, str]:
    urgency = each.reason.turn.urgency
    return (-each.state.severity, -urgency, each.reason, each.text, each.evidence.path)


class Age(NamedTuple):
    """Whether a condition has lasted for a while; ``until`` is when it will have."""

    is_old: bool
    until: datetime | None


def age(subject: Subject, name: str, *, seconds: float) -> Age:
    """Whether the condition ``name`` last moved at least ``seconds`` ago; unknown times are old."""
    moments = [
        reading.moment(entry.get("lastTransitionTime"))
        for entry in reading.mappings(subject.status.get("conditions"))
        if entry.get("type") == name
    ]
    since = min((m for m in moments if m is not None), default=None)
    if since is None or subject.now is None:
        return Age(True, None)
    until = reading.later(since, seconds=seconds)
    if until is None:
        return Age(False, None)
    return Age(True, None) if subject.now >= until else Age(False, until)


def entries(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The mappings of a list with their places in it."""
    if isinstance(value, list | tuple):
        for place, item in enumerate(value):
            if isinstance(item, Mapping):
                yield place, item
