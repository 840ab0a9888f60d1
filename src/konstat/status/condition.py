"""Conditions as metav1.Condition has them, and the rules for changing them.

A transition time moves only when ``status`` flips (H4), never backwards (F39), and is compared
in whole seconds, as the server keeps it. What is cut or reshaped to fit the API's limits is
declared by the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from konstat.base import clock, limits

ConditionStatus = Literal["True", "False", "Unknown"]

READY = "Ready"
RECONCILING = "Reconciling"
STALLED = "Stalled"

# metav1.Condition's pattern: no hyphen, dot or space; must not end in a comma or colon.
_REASON = re.compile(r"[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?")


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One observation about a resource, without its transition time until it is merged."""

    type: str
    status: ConditionStatus
    reason: str
    message: str = ""
    observed_generation: int | None = None

    def merged(self, stored: Mapping[str, Any] | None, *, now: datetime) -> dict[str, Any]:
        """The entry to store, given the one stored now (None: there is none).

        The time is the stored one unless ``status`` flips; it never goes back.
        """
        entry: dict[str, Any] = {
            "type": self.type,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": _transition_time(self.status, stored, now=now),
        }
        if self.observed_generation is not None:
            entry["observedGeneration"] = self.observed_generation
        return entry


def find(conditions: Iterable[Any], type: str) -> Mapping[str, Any] | None:
    """The entry of that type in a list of plain conditions; None when absent or unreadable."""
    for entry in conditions:
        if isinstance(entry, Mapping) and entry.get("type") == type:
            return entry
    return None


def usable_reason(text: str, *, otherwise: str = "Error") -> str:
    """``text`` as a reason that the API accepts: CamelCase letters and digits, 1–1024 long."""
    if len(text) <= limits.REASON_CHARACTERS and _REASON.fullmatch(text):
        return str(text)  # a plain text also of a member of an enum
    words = re.findall(r"[A-Za-z0-9]+", text)
    joined = "".join(word[:1].upper() + word[1:] for word in words).lstrip("0123456789")
    return joined[: limits.REASON_CHARACTERS] or otherwise


def require_words(where: str, reason: Any, message: Any) -> None:
    """Refuse, with TypeError, a reason or message that is no text: an author's mistake."""
    for name, value in (("reason", reason), ("message", message)):
        if not isinstance(value, str):
            raise TypeError(f"{where}: the {name} is {value!r}: give a text")


def usable_message(text: str) -> str:
    """``text`` without control characters, at most `limits.MESSAGE_CHARACTERS` long.

    A cut is declared: the text then ends in "… (cut, N characters)".
    """
    text = text.strip()
    # Of a text of megabytes only what may be shown is looked at, for the event loop waits.
    beyond = max(0, len(text) - 2 * limits.MESSAGE_CHARACTERS)
    shown = text[: len(text) - beyond]
    clean = "".join(c if c == "\n" or c.isprintable() else " " for c in shown).strip()
    # Lone surrogates cannot be encoded as UTF-8; they come from os.fsdecode and broken input.
    clean = clean.encode("utf-8", "replace").decode("utf-8")
    if len(clean) <= limits.MESSAGE_CHARACTERS and not beyond:
        return clean
    note = f"… (cut, {len(text) if beyond else len(clean)} characters)"
    return clean[: limits.MESSAGE_CHARACTERS - len(note)] + note


def _transition_time(status: str, stored: Mapping[str, Any] | None, *, now: datetime) -> str:
    present = clock.timestamp(now)
    before = stored.get("lastTransitionTime") if stored is not None else None
    if not isinstance(before, str) or not before:
        return present
    if stored is not None and stored.get("status") == status:
        return before
    try:
        return max(present, clock.timestamp(clock.parse_timestamp(before)))
    except ValueError:
        return present
