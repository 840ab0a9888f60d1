"""`Signal`: what one observation says about the whole object, and how a condition becomes one.

`fields` finds the conditions and the other signals in a status; `generic` weighs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from konstat.readiness import reading, wording
from konstat.readiness.conditiontypes import TypeRole, role_of
from konstat.readiness.kindrule import ConditionMeaning, KindRule, Meaning, Outcome
from konstat.readiness.verdict import Evidence, Reason, State, Turn
from konstat.readiness.words import (
    Sense,
    at_work,
    blames_user,
    is_left_out,
    is_users,
    of_message,
    of_reason,
)


class Signal(NamedTuple):
    """One observation: the state that it speaks for, and where it stands.

    ``decides`` tells that it is enough for Ready when nothing speaks against it. ``nested`` tells
    that it is about a part of the object. ``rank`` orders signals of one state, the telling ones
    first. ``dated`` tells that it says itself that it is about the present generation.
    """

    state: State
    reason: Reason
    text: str
    path: str
    value: str | int | float | bool | None
    decides: bool = False
    nested: bool = False
    rank: int = 5
    turn: Turn | None = None
    name: str = ""
    dated: bool = False

    @property
    def evidence(self) -> Evidence:
        return Evidence(self.path, self.value)


class Reader(NamedTuple):
    """What the reading of a condition depends on besides itself."""

    kind: str
    bounded: bool
    pending: bool  # bounded work that leaves no thing of its own, which could be ready
    generation: int
    rule: KindRule | None


class Entry(NamedTuple):
    """A condition and where it stands; ``odd`` tells that its status is none of the three,
    ``bare`` that it has none at all."""

    type: str
    status: str
    reason: str
    message: str
    generation: int
    place: str
    odd: bool
    nested: bool
    bare: bool

    @property
    def path(self) -> str:
        return f'{self.place}[type="{self.type}"].status'


_STEADY: Final = frozenset(("AsExpected", "NewReplicaSetAvailable", "Steady", "NotProgressing"))
_RANKS: Final = {"Stalled": 0, "Failed": 1, "Ready": 2, "Degraded": 3}

# What a kind rule's word means: the state, the reason, and whether it decides for Ready.
_OUTCOMES: Final[dict[str, tuple[State, Reason]]] = {
    "Ready": (State.READY, Reason.CONDITIONS_MET),
    "Completed": (State.READY, Reason.COMPLETED),
    "Progressing": (State.PROGRESSING, Reason.RECONCILING),
    "Suspended": (State.SUSPENDED, Reason.SUSPENDED),
    "Failed": (State.FAILED, Reason.FAILURE_REPORTED),
    "Terminating": (State.TERMINATING, Reason.DELETING),
    "Unknown": (State.UNKNOWN, Reason.CONDITION_UNKNOWN),
}


def of_outcome(
    meaning: Outcome | Meaning,
    *,
    text: str,
    path: str,
    value: Any,
    words: tuple[str, str] = ("", ""),
    nested: bool = False,
    decides: bool = True,
) -> Signal | None:
    """The signal of a word that a kind rule explains; None for Ignored."""
    turn: Turn | None = None
    if isinstance(meaning, Meaning):
        turn, text, meaning = meaning.turn, meaning.say or text, meaning.state
    if meaning == "Ignored":
        return None
    state, reason = _OUTCOMES[meaning]
    if state is State.FAILED:
        reason = Reason.CONFIGURATION_REFUSED if turn is Turn.USER else failure(*words)
        reason = reason if turn is not Turn.OWNER else Reason.FAILURE_REPORTED
    return Signal(
        state,
        reason,
        text,
        path,
        value if isinstance(value, str | int | float | bool) else None,
        decides=decides and state is State.READY and not nested,
        nested=nested,
        rank=4,
        turn=turn,
    )


def failure(reason: str, message: str = "") -> Reason:
    """Whose fault a reported failure is, by the words of its reason and phrases of its message."""
    users = is_users(reason) or blames_user(message)
    return Reason.CONFIGURATION_REFUSED if users else Reason.FAILURE_REPORTED


def read_entry(entry: Mapping[str, Any], *, place: str, nested: bool, name: str = "") -> Entry:
    """A condition as it stands in a list, or under its ``name`` in a mapping."""
    raw = entry.get("status")
    status = reading.three_valued(raw)
    generation = entry.get("observedGeneration")
    return Entry(
        reading.text(entry.get("type")) or name,
        status,
        reading.text(entry.get("reason")),
        reading.text(entry.get("message")),
        0 if generation is None else reading.integer(generation),
        place,
        status == "Unknown" and raw not in ("Unknown", "unknown"),
        nested,
        "status" not in entry,
    )


def told(entry: Entry) -> str:
    """``condition Ready is False (Reason): message``, steady, with the part that it is about."""
    reason = f" ({wording.steady(entry.reason)})" if entry.reason else ""
    where = ""
    if entry.nested:
        part = entry.place.removeprefix("status.").rpartition(".conditions")[0]
        where = f"{part or entry.place}: "
    statement = f"{where}condition {wording.steady(entry.type)} is {entry.status}{reason}"
    return wording.with_detail(statement, wording.steady(entry.message))


def of_condition(entry: Entry, reader: Reader) -> Signal | None:
    """What one condition says; None when it says nothing."""
    role, meaning = _role(entry, reader)
    if role == "ignored":
        return None
    if role != "foreign" and _is_stale(entry, reader):
        return _stale(entry)
    signal = _explained(entry, reader, role, meaning)
    if signal is not NOTHING_KNOWN:
        return signal
    if entry.bare and role == "bad":
        entry = entry._replace(status="True")  # listed only while it holds, as Argo CD does
    reason = of_reason(entry.reason) if entry.reason else Sense.NOTHING
    if role == "supporting" and reason is Sense.SUSPENDED and is_left_out(entry.reason):
        return None
    if entry.status == "True":
        return _when_true(entry, role, reason, reader)
    if entry.status == "False":
        return _when_false(entry, role, reason)
    return _when_unknown(entry, role, reason)


NOTHING_KNOWN: Final = Signal(State.UNKNOWN, Reason.NO_RULE, "", "", None)


def _role(entry: Entry, reader: Reader) -> tuple[TypeRole, ConditionMeaning | None]:
    if reader.rule is not None:
        known = reader.rule.conditions.get(entry.type)
        if isinstance(known, ConditionMeaning):
            return known.role, known
        if known is not None:
            return known, None
    return role_of(entry.type, reader.kind), None


def _explained(
    entry: Entry, reader: Reader, role: TypeRole, meaning: ConditionMeaning | None
) -> Signal | None:
    """What the kind's rule says of this reason or value; NOTHING_KNOWN when it is silent."""
    if reader.rule is None:
        return NOTHING_KNOWN
    reasons = reader.rule.reasons
    outcome: Outcome | Meaning | None = reasons.get(f"{entry.type}/{entry.reason}")
    if outcome is None and entry.status != _good_value(role):
        outcome = reasons.get(entry.reason) if role != "foreign" else None
    if outcome is not None and role != "progress" and _flatters(entry, role, outcome):
        outcome = None
    if outcome is None and meaning is not None:
        outcome = _of_value(meaning, entry.status)
    if outcome is None:
        return NOTHING_KNOWN
    signal = of_outcome(
        outcome,
        text=told(entry),
        path=entry.path,
        value=entry.status,
        words=(entry.reason, entry.message),
        nested=entry.nested,
        decides=role in ("summary", "work"),
    )
    return signal and signal._replace(name=entry.type, dated=bool(entry.generation))


def _flatters(entry: Entry, role: TypeRole, outcome: Outcome | Meaning) -> bool:
    """Whether a rule's good word for a reason contradicts what the condition itself says."""
    state = outcome.state if isinstance(outcome, Meaning) else outcome
    return state in ("Ready", "Completed") and entry.status != _good_value(role)


def _of_value(meaning: ConditionMeaning, status: str) -> Outcome | None:
    if status == "Unknown":
        return meaning.unknown
    return meaning.true if status == "True" else meaning.false


def _good_value(role: TypeRole) -> str:
    return "True" if role in ("summary", "supporting", "work", "running") else "False"


def _is_stale(entry: Entry, reader: Reader) -> bool:
    """Unequal either way: after a restore the observed generation may be ahead.

    The generations in a list of parts may be those of the parts.
    """
    if not entry.generation or not reader.generation or entry.generation == reader.generation:
        return False
    return not entry.nested or _is_own_generation(entry.place)


def _is_own_generation(place: str) -> bool:
    """Gateway API's nested conditions are about the generation of the object that has them."""
    return place.startswith(("status.parents[", "status.listeners[", "status.ancestors["))


def _stale(entry: Entry) -> Signal:
    text = (
        f"condition {wording.steady(entry.type)} is about generation {entry.generation},"
        " not the present one"
    )
    return _signal(entry, State.PROGRESSING, Reason.GENERATION_NOT_OBSERVED, text=text)


def _signal(
    entry: Entry,
    state: State,
    reason: Reason,
    *,
    text: str = "",
    decides: bool = False,
) -> Signal:
    return Signal(
        state,
        reason,
        text or told(entry),
        entry.path,
        entry.status,
        decides=decides and not entry.nested,
        nested=entry.nested,
        rank=_RANKS.get(entry.type, 4) + (5 if entry.nested else 0),
        name=entry.type,
        dated=bool(entry.generation),
    )


def _when_true(entry: Entry, role: TypeRole, reason: Sense, reader: Reader) -> Signal | None:
    if role == "bad":
        return _signal(entry, State.FAILED, _bad_reason(entry))
    if role == "suspended":
        return _signal(entry, State.SUSPENDED, Reason.PAUSED)
    if role == "terminating":
        return _signal(entry, State.TERMINATING, Reason.DELETING)
    if role == "foreign":
        return None
    if reason is Sense.FAILED:
        return _signal(entry, State.FAILED, failure(entry.reason, entry.message))
    if role == "progress":
        if entry.reason in _STEADY or reason is Sense.GOOD:
            return _signal(entry, State.READY, Reason.CONDITIONS_MET)
        if reason is Sense.SUSPENDED:
            return _signal(entry, State.SUSPENDED, Reason.PAUSED)
        return _signal(entry, State.PROGRESSING, Reason.RECONCILING)
    if role == "running":
        if reader.bounded:
            return _signal(entry, State.PROGRESSING, Reason.RUNNING)
        return _signal(entry, State.READY, Reason.CONDITIONS_MET)
    if role != "supporting" and at_work(entry.reason):
        return _signal(entry, State.PROGRESSING, Reason.RECONCILING)
    if role == "work":
        return _signal(entry, State.READY, Reason.COMPLETED, decides=True)
    return _signal(entry, State.READY, Reason.CONDITIONS_MET, decides=role == "summary")


def _bad_reason(entry: Entry) -> Reason:
    if entry.type in ("Stalled", "Failed"):
        return Reason.STALLED
    if entry.type == "Degraded":
        return Reason.DEGRADED
    return failure(f"{entry.type} {entry.reason}", entry.message)


def _when_false(entry: Entry, role: TypeRole, reason: Sense) -> Signal | None:
    if role in ("bad", "suspended", "terminating"):
        return None
    if reason is Sense.FAILED:
        return _signal(entry, State.FAILED, failure(entry.reason, entry.message))
    if role in ("foreign", "running"):
        return None
    if role == "progress":
        return _signal(entry, State.READY, Reason.CONDITIONS_MET)
    if role == "work":
        if entry.type == "Succeeded" and reason is not Sense.PROGRESS:
            return _signal(entry, State.FAILED, Reason.STALLED)
        return _signal(entry, State.PROGRESSING, Reason.RUNNING)
    return _not_met(entry, reason)


def _not_met(entry: Entry, reason: Sense) -> Signal:
    """A summary or a part that is False says only "not ready": its words tell failure from work."""
    if reason is Sense.SUSPENDED:
        return _signal(entry, State.SUSPENDED, Reason.PAUSED)
    if reason is Sense.TERMINATING:
        return _signal(entry, State.TERMINATING, Reason.DELETING)
    if reason is not Sense.PROGRESS and of_message(entry.message) is Sense.FAILED:
        return _signal(entry, State.FAILED, failure(entry.reason, entry.message))
    return _signal(entry, State.PROGRESSING, Reason.CONDITION_NOT_MET)


def _when_unknown(entry: Entry, role: TypeRole, reason: Sense) -> Signal | None:
    if role in ("foreign", "suspended", "terminating", "running"):
        return None
    if role == "work":
        # Bounded work: Unknown is how it says that it runs.
        return _signal(entry, State.PROGRESSING, Reason.RUNNING)
    if reason is Sense.SUSPENDED:
        return _signal(entry, State.SUSPENDED, Reason.PAUSED)
    if role == "bad" or entry.odd or reason is Sense.UNKNOWN:
        return _signal(entry, State.UNKNOWN, Reason.CONDITION_UNKNOWN)
    if role != "progress" and (role == "summary" or reason is Sense.PROGRESS):
        return _signal(entry, State.PROGRESSING, Reason.CONDITION_UNKNOWN)
    return _signal(entry, State.UNKNOWN, Reason.CONDITION_UNKNOWN)
