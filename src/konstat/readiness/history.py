"""Conditions that are a history: left True after what they tell of has ended.

Some operators add a condition for each phase that an object goes through and never turn it back:
``initializing`` stays True beside ``ready``. A word such as ``state: ready`` beside a summary
that turned True later tells that it is over; of stages that come only once the summary does.
"""

from __future__ import annotations

from typing import Final

from konstat.readiness import reading
from konstat.readiness.signals import Signal
from konstat.readiness.subject import Subject
from konstat.readiness.verdict import State


def without(subject: Subject, signals: list[Signal]) -> list[Signal]:
    """The signals of what is true now; all of them where nothing tells the old from the new."""
    summaries = [s.name for s in signals if s.name and s.decides]
    worded = any(s.decides and s.entry is None for s in signals)
    if not summaries or not (worded or any(s.name in _FIRST for s in signals)):
        return signals
    times = {
        reading.text(raw.get("type")): reading.moment(raw.get("lastTransitionTime"))
        for raw in reading.mappings(subject.status.get("conditions"))
    }
    since = [moment for name in summaries if (moment := times.get(name)) is not None]
    if len(since) < len(summaries):
        return signals
    newest = min(since)
    return [
        s
        for s in signals
        if not (_is_over(s) and (worded or s.name in _FIRST))
        or (times.get(s.name) or newest) >= newest
    ]


# Stages that an object goes through once, before it is ready for the first time.
_FIRST: Final = frozenset(("Initializing", "Bootstrapping", "Starting", "Queued"))


def _is_over(signal: Signal) -> bool:
    """Whether a signal could be of a phase that is past: work that a condition says is True."""
    true = signal.entry is not None and signal.entry.status == "True"
    return signal.state is State.PROGRESSING and true and bool(signal.name)
