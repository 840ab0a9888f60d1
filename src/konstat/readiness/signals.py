"""`Signal`: what one observation says about the whole object, and how a condition becomes one.

`fields` finds the conditions and the other signals in a status; `generic` weighs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from konstat.base import limits
from konstat.readiness import reading, wording
from konstat.readiness.conditiontypes import TypeRole, role_of
from konstat.readiness.kindrule import ConditionMeaning, KindRule, Meaning, Outcome
from konstat.readiness.verdict import Evidence, Reason, State, Turn
from konstat.readiness.vocabulary import word_set
from konstat.readiness.words import (
    Sense,
    at_work,
    blames_user,
    is_left_out,
    is_users,
    of_message,
    of_reason,
    split,
)


class Entry(NamedTuple):
    """A condition and where it stands.

    ``odd`` tells that its status is none of the three, ``bare`` that it has none at all; ``stale``
    is the other generation that it is about, else 0; ``dated`` that it names the present one.
    """

    type: str
    status: str
    reason: str
    message: str
    place: str
    nested: bool
    stale: int
    dated: bool
    odd: bool
    bare: bool

    @property
    def path(self) -> str:
        return f'{self.place}[type="{self.type}"].status'


class Signal(msgspec.Struct, frozen=True):
    """One observation: the state that it speaks for, and where it stands.

    ``decides`` tells that it is enough for Ready when nothing speaks against it, or that it is a
    pause of the whole object. ``nested`` tells
    that it is about a part of the object. ``rank`` orders signals of one state, the telling ones
    first. A good condition is kept as ``entry`` only: its text is made when it is told.
    """

    state: State
    reason: Reason
    words: str
    evidence: Evidence
    decides: bool = False
    nested: bool = False
    rank: int = 5
    turn: Turn | None = None
    entry: Entry | None = None

    @property
    def text(self) -> str:
        if self.words:
            return self.words
        if self.entry is not None:
            return told(self.entry)
        return shown(self.evidence.path, self.evidence.value)

    @property
    def name(self) -> str:
        """The type of the object's own condition; empty for everything else."""
        return "" if self.entry is None or self.entry.nested else self.entry.type

    @property
    def dated(self) -> bool:
        """Whether it says itself that it is about the present generation."""
        return self.entry is not None and self.entry.dated


class Reader:
    """What the reading of a status depends on besides itself: the kind, and the rule of it.

    Equal only to itself, so that it can stand for both where readings are remembered.
    """

    def __init__(self, kind: str, rule: KindRule | None) -> None:
        self.kind = kind
        self.rule = rule
        known = None if rule is None else rule.work
        self.bounded = is_bounded(kind) if known is None else known
        # Bounded work that leaves no thing of its own, which could be ready.
        self.pending = self.bounded and not leaves_result(kind)
        self.ignored = frozenset(rule.ignore if rule else ())
        self.explained: Mapping[str, Mapping[str, Outcome | Meaning]] = rule.phases if rule else {}
        self.required = bool(rule and rule.required)
        self.marked = bool(self.ignored or self.explained)


# Kinds whose name ends so are done when their work is: a phase "Running" is not Ready for them.
_BOUNDED: Final = word_set(
    """
    run job workflow task backup restore scan test execution build migration export import clone
    operation operations request experiment trial attempt snapshot copy upgrade rollback benchmark
    order challenge report check upload download dump replay reboot replacement
    promotion transfer invocation command action remediation verification rotation failover
    switchover cleanup rebuild
    """
)
# "ActionSet" and "JobFlow" are several pieces of such work.
_TOGETHER: Final = word_set("set group flow")
_SCHEDULED: Final = word_set("cron scheduled scaled")
_RESULTS: Final = word_set("backup snapshot copy clone export import build")


def is_bounded(kind: str) -> bool:
    """Whether objects of a kind are work that ends, by its name."""
    words = split(kind)
    if len(words) > 1 and words[-1] in _TOGETHER:
        words = words[:-1]
    return bool(words) and words[-1] in _BOUNDED and words[0] not in _SCHEDULED


def leaves_result(kind: str) -> bool:
    """Whether bounded work of this kind is also the thing that it makes, such as a backup."""
    return any(word in _RESULTS for word in split(kind)[-1:])


_STEADY: Final = frozenset(("AsExpected", "NewReplicaSetAvailable", "Steady", "NotProgressing"))
# Reasons that speak of work under way whatever the condition is about.
_UNDER_WAY: Final = frozenset(("Ongoing", "InProgress"))
# Work that has ended so may have ended badly.
_ENDED: Final = frozenset(("Finished", "Done", "Complete", "Completed", "JobComplete"))
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
        Evidence(path, value if isinstance(value, str | int | float | bool) else None),
        decides=not nested and (state is State.SUSPENDED or (decides and state is State.READY)),
        nested=nested,
        rank=4,
        turn=turn,
    )


def failure(reason: str, message: str = "") -> Reason:
    """Whose fault a reported failure is, by the words of its reason and phrases of its message."""
    users = is_users(reason) or blames_user(message)
    return Reason.CONFIGURATION_REFUSED if users else Reason.FAILURE_REPORTED


def shown(path: str, value: object) -> str:
    """``phase is 'Running'``: a field of the status, and what stands there, steady."""
    if isinstance(value, bool):
        said = "true" if value else "false"
    else:
        said = repr(wording.steady(value)) if isinstance(value, str) else str(value)
    return f"{path.removeprefix('status.')} is {said}"


def told(entry: Entry) -> str:
    """``condition Ready is False (Reason): message``, steady, with the part that it is about."""
    reason = f" ({wording.steady(entry.reason)})" if entry.reason else ""
    where = ""
    if entry.nested:
        part = entry.place.removeprefix("status.").rpartition(".conditions")[0]
        where = f"{part or entry.place}: "
    statement = f"{where}condition {wording.steady(entry.type)} is {entry.status}{reason}"
    return wording.with_detail(statement, wording.steady(entry.message))


UNSURE: Final = 99  # the rank of a signal that counts only where nothing better is known
BARE: Final = "(none)"


def of_condition(
    reader: Reader, raw: Mapping[str, Any], generation: int, place: str, nested: bool, name: str
) -> Signal | None:
    """What one condition says of an object at ``generation``; None when it says nothing.

    ``name`` is its type where it does not name one itself.
    """
    get = raw.get
    kind, status, reason, message = get("type"), get("status", BARE), get("reason"), get("message")
    about = get("observedGeneration")
    if about is None:
        stale, dated = 0, False
    else:
        seen = reading.integer(about)
        stale, dated = (seen if generation and seen != generation else 0), seen != 0
    if type(message) is not str:
        message = ""
    judge = _remembered if len(message) <= limits.READINESS_DETAIL_CHARACTERS else _condition
    return judge(
        reader,
        kind if type(kind) is str else name,
        status if type(status) is str or type(status) is bool else "",
        reason if type(reason) is str else "",
        message,
        place,
        nested,
        stale,
        dated,
    )


def _condition(
    reader: Reader,
    name: str,
    raw: str | bool,
    reason: str,
    message: str,
    place: str,
    nested: bool,
    stale: int,
    dated: bool,
) -> Signal | None:
    status = reading.three_valued(raw)
    odd = status == "Unknown" and raw not in ("Unknown", "unknown")
    if nested and not _is_own_generation(place):
        stale = 0  # the generations in a list of parts may be those of the parts
    return _judged(
        Entry(
            name,
            status,
            reason,
            message,
            place,
            nested,
            stale,
            dated and not stale,
            odd,
            raw == BARE,
        ),
        reader,
    )


# Controllers write the same few conditions again and again.
_remembered = lru_cache(maxsize=limits.READINESS_CACHED_WORDS)(_condition)


def _judged(entry: Entry, reader: Reader) -> Signal | None:
    role, meaning = _role(entry, reader)
    if role == "ignored":
        return None
    if entry.stale:
        # Of a condition that nobody knows, it tells only when nothing else is dated.
        stale = _stale(entry)
        return msgspec.structs.replace(stale, rank=UNSURE) if role == "foreign" else stale
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


NOTHING_KNOWN: Final = Signal(State.UNKNOWN, Reason.NO_RULE, "", Evidence("", None))


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
    return signal and msgspec.structs.replace(signal, entry=entry)


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


def _is_own_generation(place: str) -> bool:
    """Gateway API's nested conditions are about the generation of the object that has them."""
    return place.startswith(("status.parents[", "status.listeners[", "status.ancestors["))


def _stale(entry: Entry) -> Signal:
    text = (
        f"condition {wording.steady(entry.type)} is about generation {entry.stale},"
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
    if state is not State.READY:
        text = text or told(entry)
    return Signal(
        state,
        reason,
        text,
        Evidence(entry.path, entry.status),
        decides=decides and not entry.nested,
        nested=entry.nested,
        rank=_RANKS.get(entry.type, 4) + (5 if entry.nested else 0),
        entry=entry,
    )


def _when_true(entry: Entry, role: TypeRole, reason: Sense, reader: Reader) -> Signal | None:
    if role == "bad":
        return _signal(entry, State.FAILED, _bad_reason(entry))
    if role == "suspended":
        return _signal(entry, State.SUSPENDED, Reason.PAUSED, decides=True)
    if role == "terminating":
        return _signal(entry, State.TERMINATING, Reason.DELETING)
    if role == "foreign":
        return None
    if reason is Sense.FAILED:
        if role == "supporting" and split(entry.reason)[:1] == ("no",):
            # True for want of anything that could be otherwise: "NoWorkers".
            return _signal(entry, State.READY, Reason.CONDITIONS_MET)
        if role == "supporting":
            return _signal(entry, State.UNKNOWN, Reason.CONDITION_UNKNOWN)  # it contradicts itself
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
    if role == "summary" and reason is Sense.TERMINATING:
        return _signal(entry, State.TERMINATING, Reason.DELETING)
    if role != "supporting" and at_work(entry.reason):
        return _signal(entry, State.PROGRESSING, Reason.RECONCILING)
    if role == "work":
        if entry.type in _ENDED and of_message(entry.message) is Sense.FAILED:
            return _signal(entry, State.FAILED, failure(entry.reason, entry.message))
        return _signal(entry, State.READY, Reason.COMPLETED, decides=True)
    # To accept a request is not yet to do the work.
    decides = role == "summary" and (entry.type == "Ready" or not reader.pending)
    return _signal(entry, State.READY, Reason.CONDITIONS_MET, decides=decides)


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
    if role == "foreign" and entry.reason in _UNDER_WAY:
        return _signal(entry, State.PROGRESSING, Reason.RECONCILING)
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
    if role in ("summary", "work", "progress") and reason is Sense.FAILED and not entry.odd:
        return _signal(entry, State.FAILED, failure(entry.reason, entry.message))
    if role == "work":
        # Bounded work: Unknown is how it says that it runs.
        return _signal(entry, State.PROGRESSING, Reason.RUNNING)
    if reason is Sense.SUSPENDED:
        return _signal(entry, State.SUSPENDED, Reason.PAUSED)
    if role in ("bad", "progress") or entry.odd or reason is Sense.UNKNOWN:
        return _signal(entry, State.UNKNOWN, Reason.CONDITION_UNKNOWN)
    if role == "summary" and reason is Sense.TERMINATING:
        return _signal(entry, State.TERMINATING, Reason.DELETING)
    return _signal(entry, State.PROGRESSING, Reason.CONDITION_UNKNOWN)
