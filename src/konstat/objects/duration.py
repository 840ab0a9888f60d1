"""Durations as Go and Kubernetes write them (``1h30m``), in seconds and back."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from konstat.base import limits

_PIECE: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS: Final = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),  # micro sign
    "μs": Decimal("1e-6"),  # Greek mu: Go takes both
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
}


def duration_seconds(text: str) -> float:
    """The length of ``text`` in seconds.

    Takes what Go's ``time.ParseDuration`` takes: a sign, then pieces of a number and a unit
    (``ns``, ``us``, ``ms``, ``s``, ``m``, ``h``), or a bare ``0``. Raises ValueError otherwise.
    """
    if len(text) > limits.DURATION_CHARACTERS:
        raise ValueError(
            f"a duration of {len(text)} characters: {limits.DURATION_CHARACTERS} at most"
        )
    body = text[1:] if text[:1] in ("+", "-") else text
    total, position = Decimal(0), 0
    while body != "0" and (match := _PIECE.match(body, position)):
        total += Decimal(match[1]) * _SECONDS[match[2]]
        position = match.end()
    if body != "0" and (position != len(body) or not body):
        raise ValueError(f"{text!r} is not a duration: write it as 1h30m, 90s or 500ms")
    return float(-total if text.startswith("-") else total)
