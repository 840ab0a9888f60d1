"""Shapes and texts inside a status: what a mapping holds, and what it says about itself in words.

`fields` walks the status and asks here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from konstat.readiness import reading, wording
from konstat.readiness.keys import FALSE_WORDS
from konstat.readiness.words import Sense, of_phase

_TEXTS: Final = (
    "message", "reason", "description", "statusMessage", "error", "errorMessage", "phaseReason",
    "stateReason", "statusReason", "phaseMessage", "detail", "details",
)  # fmt: skip


def names_parts(node: Mapping[str, Any]) -> bool:
    """Whether a mapping holds names of parts, and a word of each: ``{db: Ready, web: Failed}``."""
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
