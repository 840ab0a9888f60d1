"""Shapes and texts inside a status: what a mapping holds, and what it says about itself in words.

`fields` walks the status and asks here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from konstat.readiness import reading, wording
from konstat.readiness.keys import FALSE_WORDS
from konstat.readiness.signals import Signal
from konstat.readiness.verdict import State
from konstat.readiness.vocabulary import TERMINATING
from konstat.readiness.words import Sense, of_phase, split

_TEXTS: Final = (
    "message", "reason", "description", "statusMessage", "error", "errorMessage", "phaseReason",
    "stateReason", "statusReason", "phaseMessage", "detail", "details",
)  # fmt: skip

_NESTED_DECIDING: Final = ("Accepted", "Programmed")


class Beside(NamedTuple):
    """What stands side by side in one mapping: numbers, and names of versions."""

    numbers: dict[str, int]
    versions: list[str]


def names_parts(node: Mapping[str, Any]) -> bool:
    """Whether a mapping holds names of parts, and a word of each: ``{db: Ready, web: Failed}``."""
    if "level" in node or "severity" in node:
        return False
    for word in node.values():
        if type(word) is not str or not word.isalpha() or of_phase(word) is Sense.NOTHING:
            return False
    return True


def is_condition(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("type"), str)
        and reading.three_valued(value.get("status")) != "Unknown"
    )


def is_echo(node: Mapping[str, Any]) -> bool:
    """Whether a mapping is a whole other object, of which the status keeps what it last saw."""
    kind = node.get("kind")
    return (
        isinstance(kind, str)
        and isinstance(node.get("metadata"), Mapping)
        and ("status" in node or "spec" in node)
    )


def is_grave(place: str, level: str) -> bool:
    """Whether the ``level`` of an entry in a list of findings on the object is that of an error."""
    name = split(place.rpartition(".")[2].partition("[")[0])
    return level.lower() in _GRAVE and not _FINDINGS.isdisjoint(name)


_GRAVE: Final = frozenset(("error", "fatal", "critical", "emergency"))
_FINDINGS: Final = frozenset(
    (
        "message", "messages", "analysis", "validation", "validations", "diagnostics", "issues",
        "problems", "findings",
    )
)  # fmt: skip


def text_beside(node: Mapping[str, Any]) -> str:
    """The message or reason that stands beside a word, steady; empty when there is none."""
    for key in _TEXTS:
        value = node.get(key)
        if isinstance(value, str) and value and value.lower() not in FALSE_WORDS:
            return wording.steady(value)
    return ""


def first_text(value: Any) -> str:
    """The first text in an error field: a string, or the first telling one of what it holds."""
    for _ in range(3):
        if isinstance(value, str):
            return value
        if isinstance(value, list | tuple):
            value = next((item for item in value if item), None)
        elif isinstance(value, Mapping):
            texts = (
                value.get(key) for key in ("message", "description", "error", "reason", "code")
            )
            value = next((text for text in texts if text), None) or next(
                (item for item in value.values() if item and isinstance(item, str)), None
            )
        else:
            return ""
    return value if isinstance(value, str) else ""


def decides_for_parent(signal: Signal, place: str) -> bool:
    """Gateway API keeps the summaries of routes and policies per parent, others per controller."""
    return (
        signal.state is State.READY
        and signal.entry is not None
        and signal.entry.type in _NESTED_DECIDING
        and place.startswith(("status.parents[", "status.ancestors[", "status.controllers["))
    )


def is_current(place: str, record: Mapping[str, Any]) -> bool:
    """Whether a record tells how the object came to be as it is: not of its end, nor of a run."""
    name = split(place.rpartition(".")[2])
    kind = record.get("type") or record.get("action")
    ends = isinstance(kind, str) and ("delete" in split(kind) or kind.lower() in TERMINATING)
    return name[0] == "last" and "run" not in name and not ends
