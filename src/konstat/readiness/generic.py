"""The general reading: what any object's own status says of it, without code for its kind.

`fields` collects the signals of the status, `signals` and `words` say what each means, the kind's
rule (`kindrule`), where there is one, corrects them. They are weighed here: the worst signal wins;
Ready needs a signal that decides (a summary condition, a phase, a flag) and none against it; what
is at rest by wish is Suspended; where nothing decides, the answer is Unknown, never Ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from konstat.base import limits
from konstat.readiness import predicates, reading, wishes, wording
from konstat.readiness.fields import Walk
from konstat.readiness.kindrule import KindRule
from konstat.readiness.signals import Reader, Signal, of_outcome
from konstat.readiness.subject import Subject
from konstat.readiness.verdict import Evidence, Readiness, Reason, State
from konstat.readiness.vocabulary import word_set
from konstat.readiness.words import split

# Kinds whose name ends so are done when their work is: a phase "Running" is not Ready for them.
_BOUNDED: Final = word_set(
    """
    run job workflow task backup restore scan test execution build migration export import
    clone operation operations request experiment trial attempt snapshot copy upgrade rollback
    benchmark order challenge report check upload download dump replay reboot replacement
    """
)


_SCHEDULED: Final = word_set("cron scheduled scaled")
_RESULTS: Final = {(word,) for word in word_set("backup snapshot copy clone export import build")}


def by_conditions(subject: Subject, rule: KindRule | None = None) -> Readiness:
    """The verdict on an object by its own status and, if given, the rule of its kind."""
    if rule is not None and not rule.ignore and rule.status == "none" and not subject.status:
        return _suspended(subject, rule) or _existing(subject)
    bounded = _is_bounded(subject.kind) if rule is None or rule.work is None else rule.work
    pending = bounded and not _leaves_result(subject.kind)
    reader = Reader(subject.kind, bounded, pending, subject.generation, rule)
    walk = Walk(subject.content, reader)
    walk.run(subject.content.get("status"))
    if rule is not None:
        _add_rule_signals(walk, subject, rule)
    return (
        _suspended(subject, rule, walk)
        or _stale(subject, rule, walk)
        or _weighed(subject, rule, walk, bounded=bounded)
    )


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _is_bounded(kind: str) -> bool:
    words = split(kind)
    return bool(words) and words[-1] in _BOUNDED and words[0] not in _SCHEDULED


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _leaves_result(kind: str) -> bool:
    """Whether bounded work of this kind is also the thing that it makes, such as a backup."""
    return split(kind)[-1:] in _RESULTS


def _existing(subject: Subject) -> Readiness:
    return subject.verdict(State.READY, Reason.EXISTS, "exists")


# --- before the signals ---------------------------------------------------------------------


def _suspended(
    subject: Subject, rule: KindRule | None, walk: Walk | None = None
) -> Readiness | None:
    """Suspended by wish; the message still tells what was wrong before."""
    held = wishes.suspension(subject, rule)
    if held is None:
        return None
    value = "true" if held.value is True else "false" if held.value is False else held.value
    text = f"{held.path} is {value}" if value not in (None, "") else f"{held.path} is set"
    worst = _worst(walk.signals) if walk is not None else None
    before = ""
    if worst is not None and worst.state is State.FAILED:
        before = f"before that: {worst.text}"
    reason = Reason.PAUSED if "paus" in held.path.lower() else Reason.SUSPENDED
    return subject.verdict(State.SUSPENDED, reason, wording.sentence(text, before), evidence=[held])


def _stale(subject: Subject, rule: KindRule | None, walk: Walk) -> Readiness | None:
    """Progressing while the status is about another generation, older or newer (a restore)."""
    if not subject.generation:
        return None
    for path, value in walk.generations:
        observed = _generation(value)
        if observed != subject.generation:
            # A condition that names the present generation is newer than the status as a whole.
            if any(s.dated and s.state is State.FAILED for s in walk.signals):
                return None
            return not_observed(subject, Evidence(path, _scalar(value)), observed)
    if rule is not None and rule.observes and not walk.generations:
        return not_observed(subject, Evidence("status.observedGeneration", None), 0)
    return None


def _generation(value: object) -> int:
    """Also of ``3-<hash>``, as External Secrets writes what it synchronised."""
    if isinstance(value, str):
        value = value.partition("-")[0] or value
    return reading.integer(value)


def _scalar(value: object) -> str | int | float | bool | None:
    return value if isinstance(value, str | int | float | bool) else None


def not_observed(subject: Subject, evidence: Evidence, observed: int) -> Readiness:
    """The verdict on an object whose status is about the generation ``observed``."""
    seen = f"is about generation {observed}" if observed > 0 else "is about no generation yet"
    return subject.verdict(
        State.PROGRESSING,
        Reason.GENERATION_NOT_OBSERVED,
        f"the status {seen}, the spec is at generation {subject.generation}",
        evidence=[evidence],
    )


# --- signals that only a rule gives ---------------------------------------------------------


def _add_rule_signals(walk: Walk, subject: Subject, rule: KindRule) -> None:
    for when in rule.when:
        found = predicates.all_hold(when.if_, subject.content)
        if found is None:
            continue
        told = found[-1]
        signal = of_outcome(
            when.state, text=when.say or _told(told), path=told.path, value=told.value
        )
        if signal is not None:
            walk.add(signal._replace(turn=when.turn, rank=3))
    if subject.status:
        for name in rule.required:
            if name not in walk.types:
                walk.add(_awaited(f"condition {name} is not reported yet", "status.conditions"))
    elif rule.status == "expected":
        walk.add(_awaited("no controller has written a status yet", "status"))


def _told(evidence: Evidence) -> str:
    value = evidence.value
    if value is None:
        return f"{evidence.path} is not set"
    shown = wording.steady(str(value).lower() if isinstance(value, bool) else str(value))
    return f"{evidence.path} is {shown}"


def _awaited(text: str, path: str) -> Signal:
    return Signal(State.PROGRESSING, Reason.STATUS_AWAITED, text, path, None, rank=3)


# --- weighing -------------------------------------------------------------------------------


def _weighed(subject: Subject, rule: KindRule | None, walk: Walk, *, bounded: bool) -> Readiness:
    signals = walk.signals
    if bounded and any(s.reason is Reason.COMPLETED and s.decides for s in signals):
        # Attempts that failed are part of work that ended well.
        signals = [s for s in signals if not s.nested]
    worst = _worst(signals)
    if worst is not None and worst.state in (State.PROGRESSING, State.UNKNOWN):
        worst = _at_rest(signals) or worst
    if worst is None or (worst.state is State.READY and not any(s.decides for s in signals)):
        if rule is not None and rule.status == "none":
            return _existing(subject)
        return _nothing_decides(subject)
    if walk.cut and worst.state is State.READY:
        return subject.verdict(
            State.UNKNOWN,
            Reason.NO_RULE,
            "the status is too large to be read in full, and what was read is not enough",
        )
    if worst.state is State.READY:
        return _ready(subject, walk, signals)
    return _not_ready(subject, worst, signals)


def _worst(signals: Sequence[Signal]) -> Signal | None:
    return max(signals, key=_badness, default=None)


def _badness(signal: Signal) -> tuple[int, int, str]:
    return signal.state.severity, -signal.rank, signal.text


def _at_rest(signals: Iterable[Signal]) -> Signal | None:
    """What says that the object is paused: it explains why nothing goes on."""
    held = [s for s in signals if s.state is State.SUSPENDED and not s.nested]
    return max(held, key=_badness, default=None)


def _not_ready(subject: Subject, worst: Signal, signals: Sequence[Signal]) -> Readiness:
    message = worst.text
    if worst.reason is Reason.STALLED and subject.is_true("Reconciling"):
        message = wording.sentence(message, "Reconciling is True too, which contradicts it")
    same = sorted((s for s in signals if s.state is worst.state), key=_badness, reverse=True)
    evidence = dict.fromkeys(s.evidence for s in (worst, *same))
    return subject.verdict(
        worst.state,
        worst.reason,
        wording.sentence(message, worst.reason.advice),
        evidence=evidence,
        turn=worst.turn,
    )


def _ready(subject: Subject, walk: Walk, signals: Sequence[Signal]) -> Readiness:
    good = sorted(
        (s for s in signals if s.state is State.READY),
        key=lambda s: (not s.decides, s.rank, s.text),
    )
    names = sorted({s.name for s in good if s.name and not s.nested})
    if names:
        many = len(names) > 1
        shown = wording.listed(names) if len(names) > 2 else " and ".join(names)
        message = f"condition{'s' if many else ''} {shown} {'are' if many else 'is'} True"
    else:
        message = good[0].text
    dated = bool(walk.generations) or walk.dated
    if subject.generation > 1 and not dated:
        message += "; the status does not say for which generation"
    completed = all(s.reason is Reason.COMPLETED for s in good if s.decides)
    return subject.verdict(
        State.READY,
        Reason.COMPLETED if completed else Reason.CONDITIONS_MET,
        message,
        evidence=[s.evidence for s in good],
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
