"""What a word of the status comes to: a state, a reason, and whether it decides for the object.

`words` tells the sense of a phase; here it is weighed against what the object is. `fields` asks.
"""

from __future__ import annotations

from typing import Final

from konstat.readiness.signals import Reader
from konstat.readiness.verdict import Reason, State
from konstat.readiness.words import Sense

Outcome = tuple[State, Reason, bool]

_BAD: Final[dict[Sense, Outcome]] = {
    Sense.FAILED: (State.FAILED, Reason.FAILURE_REPORTED, False),
    Sense.PROGRESS: (State.PROGRESSING, Reason.RECONCILING, False),
}
_OF_WHOLE: Final[dict[Sense, Outcome]] = {
    Sense.SUSPENDED: (State.SUSPENDED, Reason.SUSPENDED, True),
    Sense.TERMINATING: (State.TERMINATING, Reason.DELETING, False),
    Sense.UNKNOWN: (State.UNKNOWN, Reason.CONDITION_UNKNOWN, False),
}
# A check that is switched on looks again and again: this is its rest.
_SWITCHED_ON: Final = frozenset(("active", "enabled"))


def outcome(sense: Sense, word: str, reader: Reader, *, whole: bool) -> Outcome | None:
    """The outcome of a ``word`` about the object, or about a side of it; None for no news."""
    runs = reader.bounded or (reader.checks and word.lower() not in _SWITCHED_ON)
    if sense in (Sense.RUNNING, Sense.EARLY) and runs:
        return State.PROGRESSING, Reason.RUNNING, False
    if sense in (Sense.GOOD, Sense.EARLY, Sense.READY, Sense.RUNNING):
        # "Ready" work may still have to be done; of a backup it is the result.
        deciding = sense is Sense.RUNNING or (sense is Sense.READY and not reader.pending)
        return State.READY, Reason.CONDITIONS_MET, whole and deciding
    if sense is Sense.COMPLETED:
        return State.READY, Reason.COMPLETED, whole
    return _BAD.get(sense) or (_OF_WHOLE.get(sense) if whole else None)
