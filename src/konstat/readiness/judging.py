"""What one condition says of its object: by its type's role, its status, its reason and message.

`conditiontypes` tells the role, `words` what reasons and messages mean; the kind's rule corrects
both. `fields` finds the conditions, `generic` weighs what they say.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from konstat.base import limits
from konstat.readiness import accomplishments, reading, wording
from konstat.readiness.conditiontypes import TypeRole, role_of, speaks_of_trouble
from konstat.readiness.kindrule import ConditionMeaning, Meaning, Outcome
from konstat.readiness.signals import (
    UNSURE,
    WEAK,
    Entry,
    Reader,
    Signal,
    failure,
    of_outcome,
    told,
)
from konstat.readiness.verdict import Evidence, Reason, State
from konstat.readiness.vocabulary import COMPLETED, ENDED, NEGATION, SUSPENDED
from konstat.readiness.words import (
    Sense,
    at_work,
    begins_with_failure,
    is_left_out,
    of_message,
    of_phase,
    of_reason,
    split,
    waits,
)

BARE: Final = "(none)"
_RANKS: Final = {"Stalled": 0, "Failed": 1, "Ready": 2, "Degraded": 3}
# Reasons that speak of work under way whatever the condition is about.
_UNDER_WAY: Final = frozenset(("Ongoing", "InProgress"))
# Work that has ended so may have ended badly.
_ENDED: Final = frozenset(("Finished", "Done", "Complete", "Completed", "JobComplete"))
# Reasons of an Unknown that says that there is nothing to know.
_NOT_ASKED: Final = frozenset(("noop", "notapplicable", "notrequired", "notneeded", "notused"))
# Reasons of a part that is not there because nobody asked for it.
_LEFT_OUT: Final = frozenset(
    (
        "removed", "notmanaged", "unmanaged", "notconfigured", "notrequired", "notneeded",
        "notapplicable", "notrequested", "notselected", "notused", "skipped",
    )
)  # fmt: skip
# Reasons of an Unknown that nobody has looked into yet.
_AT_FIRST: Final = frozenset(("init", "initial", "initialized", "notobserved", "notchecked"))
_SEVERITIES: Final = ("Error", "Info")
_STEADY: Final = frozenset(
    ("AsExpected", "NewReplicaSetAvailable", "Steady", "NotProgressing", "Idle")
)


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
    elif about == generation and generation and type(about) is int:
        stale, dated = 0, True
    else:
        seen = reading.integer(about)
        stale, dated = (seen if generation and seen != generation else 0), seen != 0
    if type(message) is not str:
        message = ""
    severity = "" if status == "True" else get("severity")
    if type(reason) is not str:
        reason = ""
    if type(kind) is str:
        name = kind
    name = name[: limits.READINESS_WORD_CHARACTERS]  # what it means is remembered
    long = len(message) + len(reason) + len(name) > limits.READINESS_REMEMBERED_CHARACTERS
    judge = _condition if long else _remembered
    return judge(
        reader,
        name,
        status if type(status) is str or type(status) is bool else "",
        reason,
        message,
        place,
        nested,
        stale,
        dated,
        severity if severity in _SEVERITIES else "",
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
    severity: str,
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
            severity,
            raw if odd and isinstance(raw, str) and raw != BARE else "",
        ),
        reader,
    )


# Controllers write the same few conditions again and again.
_remembered = lru_cache(maxsize=limits.READINESS_CACHED_WORDS)(_condition)


def _judged(entry: Entry, reader: Reader) -> Signal | None:
    role, meaning = _role(entry, reader)
    if role == "ignored":
        return None
    if entry.word and entry.type:
        state = _WORDS.get(of_phase(entry.word))
        if state is not None:
            said = failure(f"{entry.word} {entry.reason}", entry.message)
            failed = state is State.FAILED
            return _signal(entry, state, said if failed else Reason.CONDITION_NOT_MET)
    signal = _in_role(entry, reader, role, meaning)
    if signal is None and role == "foreign" and entry.status != "True" and not entry.nested:
        return DOUBT
    return signal


# A status that is a word of its own: {type: Install, status: Failed}.
_WORDS: Final = {Sense.FAILED: State.FAILED, Sense.PROGRESS: State.PROGRESSING}
# An own condition that nobody knows is not True: it may be what the object is waiting for.
DOUBT: Final = Signal(State.READY, Reason.NO_RULE, "", Evidence("", None))


def _in_role(
    entry: Entry, reader: Reader, role: TypeRole, meaning: ConditionMeaning | None
) -> Signal | None:
    if entry.stale:
        # Of a condition that nobody knows, it tells only when nothing else is dated.
        stale = _stale(entry)
        return msgspec.structs.replace(stale, rank=UNSURE) if role in _STRANGE else stale
    signal = _explained(entry, reader, role, meaning)
    if signal is not NOTHING_KNOWN:
        return signal
    if entry.bare and role == "bad":
        entry = entry._replace(status="True")  # listed only while it holds, as Argo CD does
    reason = of_reason(entry.reason) if entry.reason else Sense.NOTHING
    if reason is Sense.PROGRESS and "blocked" in split(entry.reason):
        # By something that comes by itself, unless the message speaks of a failure.
        reason = Sense.FAILED if of_message(entry.message) is Sense.FAILED else reason
    if role == "supporting" and entry.status != "True":
        if reason is Sense.SUSPENDED and is_left_out(entry.reason):
            return None
        if entry.reason.lower() in _LEFT_OUT:
            return None if entry.nested else DOUBT
    if entry.status == "True":
        return _when_true(entry, role, reason, reader)
    signal = (_when_false if entry.status == "False" else _when_unknown)(entry, role, reason)
    if role == "running" and reader.bounded and reason is not Sense.FAILED:
        return None
    if role == "supporting" and entry.severity == "Info" and reason is Sense.NOTHING and signal:
        return msgspec.structs.replace(signal, rank=WEAK)  # as Knative's, which hold nothing back
    if signal is not None and (
        role == "active" or (role == "running" and reason is not Sense.FAILED)
    ):
        return msgspec.structs.replace(signal, rank=WEAK)
    return signal


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
        outcome = reasons.get(entry.reason) if role not in _STRANGE else None
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
    true_type = entry.type if entry.status == "True" and not entry.nested else ""
    return signal and msgspec.structs.replace(signal, entry=entry, true_type=true_type)


def _flatters(entry: Entry, role: TypeRole, outcome: Outcome | Meaning) -> bool:
    """Whether a rule's good word for a reason contradicts what the condition itself says."""
    state = outcome.state if isinstance(outcome, Meaning) else outcome
    return state in ("Ready", "Completed") and entry.status != _good_value(role)


def _of_value(meaning: ConditionMeaning, status: str) -> Outcome | None:
    if status == "Unknown":
        return meaning.unknown
    return meaning.true if status == "True" else meaning.false


def _good_value(role: TypeRole) -> str:
    return "True" if role in _POSITIVE else "False"


_PER_PARENT: Final = (
    "status.parents[", "status.listeners[", "status.ancestors[", "status.controllers[",
)  # fmt: skip
_STRANGE: Final = frozenset(("foreign", "aside"))
_STRANGE_OR_WORK: Final = frozenset(("foreign", "aside", "progress"))
_POSITIVE: Final = frozenset(("summary", "supporting", "work", "running", "active"))


def _is_own_generation(place: str) -> bool:
    """Gateway API's nested conditions are about the generation of the object that has them."""
    return place.startswith(_PER_PARENT)


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
    worth: int = accomplishments.NEUTRAL,
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
        worth=accomplishments.NEUTRAL if entry.nested else worth,
        true_type=entry.type if entry.status == "True" and not entry.nested else "",
    )


def _when_true(entry: Entry, role: TypeRole, reason: Sense, reader: Reader) -> Signal | None:
    if role == "bad":
        return _signal(entry, State.FAILED, _bad_reason(entry))
    if role == "suspended":
        if entry.type == "Stopped" and not COMPLETED.isdisjoint(split(entry.reason)):
            return None  # it stopped because it was done
        return _signal(entry, State.SUSPENDED, Reason.PAUSED, decides=True)
    if role == "terminating":
        return _signal(entry, State.TERMINATING, Reason.DELETING)
    if role in _STRANGE:
        trouble = _is_trouble(entry, role, reason)
        return _signal(entry, State.FAILED, _bad_reason(entry)) if trouble else None
    if reason is Sense.FAILED:
        if role == "progress" or not _is_denied(entry.reason):
            return _contradicted(entry, role)
        reason = Sense.NOTHING  # "NoSideInputs" of a condition that is True is no failure
    if role == "progress":
        return _in_progress(entry, reason)
    if role in ("running", "active"):
        if role == "running" and (reader.bounded or reader.checks):
            return _signal(entry, State.PROGRESSING, Reason.RUNNING)
        if entry.type == entry.reason == "Running":
            # Of operators made with Ansible it says that a playbook runs just now.
            return _signal(entry, State.PROGRESSING, Reason.RECONCILING)
        worth = accomplishments.of_type(entry.type, reader.kind)
        return _signal(entry, State.READY, Reason.CONDITIONS_MET, worth=worth)
    if role == "summary" and reason is Sense.TERMINATING:
        return _signal(entry, State.TERMINATING, Reason.DELETING)
    if role != "supporting" and (at_work(entry.reason) or _denies(entry.reason, reason)):
        return _signal(entry, State.PROGRESSING, Reason.RECONCILING)
    if role == "work":
        if entry.type in _ENDED and of_message(entry.message) is Sense.FAILED:
            return _signal(entry, State.FAILED, failure(entry.reason, entry.message))
        return _signal(entry, State.READY, Reason.COMPLETED, decides=True)
    worth = accomplishments.of_type(entry.type, reader.kind)
    if entry.reason == "ReconcileSuccess":
        worth = accomplishments.STEP  # Crossplane's Synced: the object was asked for elsewhere
    if reader.pending and worth == accomplishments.WHOLE and split(entry.type)[-1] in ENDED:
        return _signal(entry, State.READY, Reason.COMPLETED, decides=True)
    # To accept a request is not yet to do the work.
    decides = role == "summary" and (entry.type == "Ready" or not reader.pending)
    return _signal(entry, State.READY, Reason.CONDITIONS_MET, decides=decides, worth=worth)


def _is_trouble(entry: Entry, role: TypeRole, reason: Sense) -> bool:
    """Whether a condition that is True and of no known type tells of a trouble all the same."""
    failed = reason is Sense.FAILED and not _is_denied(entry.reason)
    if role == "aside":
        return failed and split(entry.type)[-1] in SUSPENDED
    if entry.nested:
        return speaks_of_trouble(entry.type)
    return failed or speaks_of_trouble(entry.type) or begins_with_failure(entry.message)


def _denies(reason: str, sense: Sense) -> bool:
    """Whether a reason says itself that it is not so: "NotReady"."""
    return sense is Sense.PROGRESS and split(reason)[0] == "not"


def _is_denied(reason: str) -> bool:
    """Whether a reason says that there is none of something."""
    return split(reason)[0] in NEGATION


def _contradicted(entry: Entry, role: TypeRole) -> Signal:
    if role == "supporting":
        return _signal(entry, State.UNKNOWN, Reason.CONDITION_UNKNOWN)
    return _signal(entry, State.FAILED, failure(entry.reason, entry.message))


def _in_progress(entry: Entry, reason: Sense) -> Signal:
    if entry.reason in _STEADY or reason is Sense.GOOD or _tells_of_all(entry.reason):
        ended = not COMPLETED.isdisjoint(split(entry.reason))
        worth = accomplishments.WHOLE if ended else accomplishments.NEUTRAL
        return _signal(entry, State.READY, Reason.CONDITIONS_MET, worth=worth)
    if reason is Sense.SUSPENDED:
        return _signal(entry, State.SUSPENDED, Reason.PAUSED)
    if begins_with_failure(entry.message) and not waits(entry.reason):
        return _signal(entry, State.FAILED, failure(entry.reason, entry.message))  # and tries again
    return _signal(entry, State.PROGRESSING, Reason.RECONCILING)


def _tells_of_all(reason: str) -> bool:
    """Whether a reason says that the last of something is done: "AllReplicasUpdated"."""
    words = split(reason)
    return words[:1] == ("all",) and words[-1].endswith("ed") and NEGATION.isdisjoint(words)


def _bad_reason(entry: Entry) -> Reason:
    if entry.type in ("Stalled", "Failed"):
        return Reason.STALLED
    if entry.type == "Degraded":
        return Reason.DEGRADED
    return failure(f"{entry.type} {entry.reason}", entry.message)


def _when_false(entry: Entry, role: TypeRole, reason: Sense) -> Signal | None:
    if role in ("bad", "suspended", "terminating"):
        return None
    if reason is Sense.FAILED and role in _STRANGE_OR_WORK and _is_denied(entry.reason):
        reason = Sense.NOTHING  # "NoData" of something that nobody knows, "NoMatchingNode" of work
    if reason is Sense.FAILED:
        said = f"invalid {entry.reason}" if entry.type == "Valid" else entry.reason
        return _signal(entry, State.FAILED, failure(said, entry.message))
    if entry.severity == "Error" and role not in _STRANGE:
        return _signal(entry, State.FAILED, failure(entry.reason, entry.message))
    if role in _STRANGE and entry.reason in _UNDER_WAY:
        return _signal(entry, State.PROGRESSING, Reason.RECONCILING)
    if role in _STRANGE:
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
    said = of_message(entry.message)
    if reason is Sense.PROGRESS:
        failed = said is Sense.FAILED and begins_with_failure(entry.message)
        failed = failed and not waits(entry.reason)
    else:
        failed = said is Sense.FAILED or (said is Sense.NOTHING and _says_refused(entry))
    if failed:
        invalid = "invalid" if split(entry.type)[-1:] == ("valid",) else ""
        return _signal(entry, State.FAILED, failure(entry.reason or invalid, entry.message))
    return _signal(entry, State.PROGRESSING, Reason.CONDITION_NOT_MET)


def _says_refused(entry: Entry) -> bool:
    """Whether the type says by itself that what is not so has failed."""
    last = split(entry.type)[-1:]
    if last == ("synced",):
        return bool(entry.message) and not entry.reason
    return last in (("healthy",), ("valid",))


def _when_unknown(entry: Entry, role: TypeRole, reason: Sense) -> Signal | None:
    if role in ("foreign", "aside", "suspended", "terminating", "running", "active"):
        return None
    if role == "supporting" and entry.reason.lower() in _NOT_ASKED:
        return None
    if reason is Sense.FAILED and _is_denied(entry.reason):
        reason = Sense.UNKNOWN  # "NoData"
    if role in ("summary", "work", "progress") and reason is Sense.FAILED and not entry.odd:
        return _signal(entry, State.FAILED, failure(entry.reason, entry.message))
    if role == "work":
        # Bounded work: Unknown is how it says that it runs.
        return _signal(entry, State.PROGRESSING, Reason.RUNNING)
    if reason is Sense.SUSPENDED:
        return _signal(entry, State.SUSPENDED, Reason.PAUSED)
    if role == "bad" and entry.reason.lower() in _AT_FIRST and not entry.odd:
        unseen = _signal(entry, State.UNKNOWN, Reason.CONDITION_UNKNOWN)
        return msgspec.structs.replace(unseen, rank=WEAK)
    if role in ("bad", "progress") or entry.odd or reason is Sense.UNKNOWN:
        return _signal(entry, State.UNKNOWN, Reason.CONDITION_UNKNOWN)
    if role == "summary" and reason is Sense.TERMINATING:
        return _signal(entry, State.TERMINATING, Reason.DELETING)
    return _signal(entry, State.PROGRESSING, Reason.CONDITION_UNKNOWN)
