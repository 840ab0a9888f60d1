"""`Signal`: what one observation says about the whole object; `Reader`: what a reading depends on.

`fields` finds the signals in a status, `judging` makes them of conditions, `generic` weighs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from konstat.readiness import accomplishments, wording
from konstat.readiness.kindrule import KindRule, Meaning, Outcome
from konstat.readiness.verdict import Evidence, Reason, State, Turn
from konstat.readiness.vocabulary import word_set
from konstat.readiness.words import blames_user, is_users, split

# How an operator of konstat ends a message; it goes before what other words make us think.
_OWNER_MUST_ACT: Final = "(the operator's owner must act)"


class Entry(NamedTuple):
    """A condition and where it stands.

    ``odd`` tells that its status is none of the three, ``bare`` that it has none at all; ``stale``
    is the other generation that it is about, else 0; ``dated`` that it names the present one;
    ``severity`` how grave it calls itself while not True, as Cluster API's and Knative's do;
    ``word`` is an odd status.
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
    severity: str
    word: str

    @property
    def path(self) -> str:
        return f'{self.place}[type="{self.type}"].status'


class Signal(msgspec.Struct, frozen=True):
    """One observation: the state that it speaks for, and where it stands.

    ``decides`` tells that it is enough for Ready when nothing speaks against it, or that it is a
    pause of the whole object. ``nested`` tells
    that it is about a part of the object. ``rank`` orders signals of one state, the telling ones
    first. A good condition is kept as ``entry`` only: its text is made when it is told.
    ``worth`` (`accomplishments`) is that of good news where nothing decides; ``true_type`` the type
    of the object's own condition that is True.
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
    worth: int = accomplishments.NEUTRAL
    true_type: str = ""

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
        # A check runs again and again, or once: "Running" is no rest of it.
        self.checks = known is None and split(kind)[-1:] == ("check",)
        # A schedule counts the runs of the past, good and bad.
        self.scheduled = is_scheduled(kind)
        self.counts_runs = self.bounded or self.scheduled
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
    order challenge report upload download dump replay reboot replacement
    promotion transfer invocation command action remediation verification rotation failover
    switchover cleanup rebuild
    rebalance maintenance
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
    if words == ("spark", "application"):
        return True  # an application that ends, unlike others
    if words[-2:] in (("service", "export"), ("service", "import")):
        return False
    return bool(words) and words[-1] in _BOUNDED and words[0] not in _SCHEDULED


def is_scheduled(kind: str) -> bool:
    """Whether objects of a kind start work again and again, by its name."""
    words = split(kind)
    return words[:1] in (("cron",), ("scheduled",)) or words[-1:] == ("schedule",)


def leaves_result(kind: str) -> bool:
    """Whether bounded work of this kind is also the thing that it makes, such as a backup."""
    return any(word in _RESULTS for word in split(kind)[-1:])


# What a kind rule's word means.
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
    said = message.rstrip().endswith(_OWNER_MUST_ACT)
    users = not said and (is_users(reason) or blames_user(message))
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


# Ranks of signals that count only under a condition.
UNSURE: Final = 99  # where nothing better is known
WEAK: Final = 98  # where no summary decides
TALLY: Final = 96  # where no summary decides, and nothing is on its way
SOFT: Final = 97  # a failure, unless the object is on its way
