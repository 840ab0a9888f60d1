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

import msgspec

from konstat.base import limits
from konstat.readiness import (
    accomplishments,
    counts,
    history,
    predicates,
    reading,
    runs,
    wishes,
    wording,
)
from konstat.readiness.fields import Walk
from konstat.readiness.fieldtexts import text_beside
from konstat.readiness.kindrule import KindRule
from konstat.readiness.signals import (
    SOFT,
    TALLY,
    UNSURE,
    WEAK,
    Reader,
    Signal,
    failure,
    of_outcome,
)
from konstat.readiness.subject import Subject
from konstat.readiness.verdict import Evidence, Readiness, Reason, State
from konstat.readiness.words import Sense, begins_with_failure, of_message


def by_conditions(subject: Subject, rule: KindRule | None = None) -> Readiness:
    """The verdict on an object by its own status and, if given, the rule of its kind."""
    return read(subject, Reader(subject.kind, rule))


def read(subject: Subject, reader: Reader) -> Readiness:
    """As `by_conditions`, with a ``reader`` that is kept for all objects of a kind."""
    rule = reader.rule
    if rule is not None and rule.status == "none" and not subject.status and not rule.when:
        return _suspended(subject, reader) or _existing(subject)
    walk = Walk(subject.content, reader, generation=subject.generation)
    walk.run(subject.content.get("status"))
    walk.add(_complaint(subject, reader))
    if "parentRefs" in subject.spec:
        walk.add(counts.parents(subject.content))
    if rule is not None:
        _add_rule_signals(walk, subject, rule)
    return (
        _suspended(subject, reader, walk)
        or _stale(subject, rule, walk)
        or _weighed(subject, rule, walk)
    )


def _existing(subject: Subject) -> Readiness:
    return subject.verdict(State.READY, Reason.EXISTS, "exists")


# --- before the signals ---------------------------------------------------------------------


def _suspended(subject: Subject, reader: Reader, walk: Walk | None = None) -> Readiness | None:
    """Suspended by wish; the message still tells what was wrong before."""
    held = wishes.suspension(subject, reader)
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


def _complaint(subject: Subject, reader: Reader) -> Signal | None:
    """What a message beside the words and flags of the status reports as failed."""
    for key in _COMPLAINTS:
        text = subject.status.get(key)
        if isinstance(text, str) and begins_with_failure(text):
            path = f"status.{key}"
            if path in reader.ignored or path in reader.explained:
                continue
            detail = wording.steady(text)
            reason = failure("", text)
            return Signal(State.FAILED, reason, f"{key}: {detail}", Evidence(path, detail), rank=6)
    return None


_COMPLAINTS: Final = ("message", "statusMessage", "stateReason", "statusReason", "phaseReason")


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
            walk.add(msgspec.structs.replace(signal, turn=when.turn, rank=3))
    if subject.status:
        for name in rule.required or ():
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
    return Signal(State.PROGRESSING, Reason.STATUS_AWAITED, text, Evidence(path, None), rank=3)


# --- weighing -------------------------------------------------------------------------------


_READY: Final = State.READY
_UNDER_SUMMARY: Final = (WEAK, TALLY)
_AT_REST_ONLY: Final = (SOFT, TALLY)


def _weighed(subject: Subject, rule: KindRule | None, walk: Walk) -> Readiness:
    signals = walk.signals
    if walk.reader.bounded and any(s.reason is Reason.COMPLETED and s.decides for s in signals):
        parts_count = not walk.reader.pending
        signals = [
            s for s in signals if not _is_past(s) or (parts_count and s.state is State.FAILED)
        ]
    if any(s.state is not _READY for s in signals):
        signals = _in_doubt(subject, walk, signals)
        worst = _worst(signals)
        if worst is not None and worst.state in (State.PROGRESSING, State.UNKNOWN):
            worst = _at_rest(signals) or worst
        if worst is not None and worst.state is not _READY:
            return _not_ready(subject, worst, signals)
    if not any(s.decides for s in signals):
        undecided = _undecided(subject, rule, walk, signals)
        if undecided is not None:
            return undecided
    if walk.cut:
        return subject.verdict(
            State.UNKNOWN,
            Reason.NO_RULE,
            "the status is too large to be read in full, and what was read is not enough",
        )
    return _ready(subject, walk, signals)


def _is_past(signal: Signal) -> bool:
    """Of work that ended well: attempts that failed, and that it once ran, are its history.

    What leaves a thing, such as a backup, is not whole where a part of it failed.
    """
    if signal.nested or signal.reason is Reason.RUNNING:
        return True
    done = signal.entry is not None and signal.entry.status == "True"
    return done and signal.state is State.PROGRESSING


def _undecided(
    subject: Subject, rule: KindRule | None, walk: Walk, signals: Sequence[Signal]
) -> Readiness | None:
    """The verdict where nothing decides and nothing is bad; None where the good news is enough."""
    if rule is not None and rule.status == "none":
        return _existing(subject)
    if walk.reader.pending and signals:
        # Its controller has taken it on, and has not said that the work has ended.
        told = min(signals, key=_prominence)
        return subject.verdict(
            State.PROGRESSING,
            Reason.RUNNING,
            wording.sentence("the work has not ended yet", told.text),
            evidence=[told.evidence],
        )
    doubted = walk.doubted or of_message(text_beside(subject.status)) is not Sense.NOTHING
    if not doubted and (by_times := runs.told(subject, walk.reader)) is not None:
        return by_times
    if doubted or walk.reader.bounded or not _convince(walk, signals):
        return _nothing_decides(subject)
    return None


def _convince(walk: Walk, signals: Sequence[Signal]) -> bool:
    if not (walk.generations or walk.dated):
        # Crossplane's Synced tells that the object was asked for elsewhere, not that it is there.
        signals = [s for s in signals if s.name != "Synced"]
    return accomplishments.convince(s.worth for s in signals)


def _in_doubt(subject: Subject, walk: Walk, signals: list[Signal]) -> list[Signal]:
    """The signals without those that count only under a condition which does not hold."""
    if any(s.rank in _UNDER_SUMMARY for s in signals) and any(
        s.decides and s.state is State.READY for s in signals
    ):
        signals = [s for s in signals if s.rank not in _UNDER_SUMMARY]
    if any(s.rank == UNSURE for s in signals):
        sure = [s for s in signals if s.rank != UNSURE]
        if walk.generations or any(s.dated for s in sure):
            signals = sure
    if any(s.state is State.PROGRESSING for s in signals):
        signals = [s for s in signals if s.rank not in _AT_REST_ONLY]
        if all(s.state in (State.PROGRESSING, State.READY) for s in signals):
            signals = history.without(subject, signals)
    return signals


def _worst(signals: Iterable[Signal]) -> Signal | None:
    """The worst signal; of several, the one that tells most."""
    worst: list[Signal] = []
    worst_key = (-1, 0)
    for signal in signals:
        key = (signal.state.severity, -signal.rank)
        if key > worst_key:
            worst, worst_key = [signal], key
        elif key == worst_key:
            worst.append(signal)
    return max(worst, key=_text) if len(worst) > 1 else worst[0] if worst else None


def _text(signal: Signal) -> str:
    return signal.text


def _at_rest(signals: Iterable[Signal]) -> Signal | None:
    """What says that the object is paused: it explains why nothing goes on."""
    return _worst(s for s in signals if s.state is State.SUSPENDED and s.decides)


def _not_ready(subject: Subject, worst: Signal, signals: Sequence[Signal]) -> Readiness:
    message = worst.text
    if worst.reason is Reason.STALLED and subject.is_true("Reconciling"):
        message = wording.sentence(message, "Reconciling is True too, which contradicts it")
    same = [s for s in signals if s.state is worst.state and s is not worst]
    same.sort(key=_prominence)
    return subject.verdict(
        worst.state,
        worst.reason,
        wording.sentence(message, worst.reason.advice),
        evidence=dict.fromkeys(s.evidence for s in (worst, *same)),
        turn=worst.turn,
    )


def _prominence(signal: Signal) -> tuple[bool, int, str, str]:
    return not signal.decides, signal.rank, signal.evidence.path, str(signal.evidence.value)


def _ready(subject: Subject, walk: Walk, signals: list[Signal]) -> Readiness:
    good = sorted(signals, key=_prominence)
    true = [s.true_type for s in good if s.true_type]
    message = _are_true(tuple(true)) if true else good[0].text
    if subject.generation > 1 and not walk.dated and not walk.generations:
        message += "; the status does not say for which generation"
    deciding = [s.reason for s in good if s.decides]
    reason = Reason.CONDITIONS_MET if deciding else Reason.ALL_REPORTED_GOOD
    if deciding and all(r is Reason.COMPLETED for r in deciding):
        reason = Reason.COMPLETED
    return subject.verdict(
        State.READY,
        reason,
        message,
        evidence=[s.evidence for s in good[: limits.READINESS_EVIDENCE]],
    )


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _are_true(types: tuple[str, ...]) -> str:
    """``conditions Ready and Synced are True``."""
    names = sorted(set(types))
    if len(names) == 1:
        return f"condition {names[0]} is True"
    return f"conditions {wording.listed(names) if len(names) > 2 else ' and '.join(names)} are True"


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
