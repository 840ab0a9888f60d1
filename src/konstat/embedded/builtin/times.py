"""metav1.Time and metav1.MicroTime as Go reads and writes them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from konstat.base import clock

_TWO: Final = r"[0-9]{2}"
_PARTS: Final = (
    ("2006", r"[0-9]{4}"), ("-", "-"), ("01", _TWO), ("-", "-"), ("02", _TWO), ("T", "T"),
    ("15", _TWO), (":", ":"), ("04", _TWO), (":", ":"), ("05", _TWO),
)  # fmt: skip
_SECONDS: Final = "2006-01-02T15:04:05Z07:00"
_MICRO: Final = "2006-01-02T15:04:05.000000Z07:00"


def canonical(text: str, *, micro: bool = False) -> str:
    """The moment in UTC, in the spelling of its type; raises ValueError in Go's words."""
    layout = _MICRO if micro else _SECONDS
    start = f'parsing time "{text}" as "{layout}": cannot parse '
    position = 0
    for word, pattern in _PARTS:
        match = re.compile(pattern).match(text, position)
        if match is None:
            raise ValueError(f'{start}"{text[position:]}" as "{word}"')
        position = match.end()
    fraction = re.compile(r"\.[0-9]{6}(?![0-9])" if micro else r"(\.[0-9]+)?").match(text, position)
    if fraction is None:
        raise ValueError(f'{start}"{text[position:]}" as ".000000"')
    zone = re.compile(r"Z|[+-][0-9]{2}:[0-9]{2}").match(text, fraction.end())
    if zone is None:
        raise ValueError(f'{start}"{text[fraction.end() :]}" as "Z07:00"')
    if zone.end() != len(text):
        raise ValueError(f'parsing time "{text}": extra text: "{text[zone.end() :]}"')
    return _written(text, micro=micro)


def _written(text: str, *, micro: bool) -> str:
    try:
        moment = clock.parse_timestamp(text)
    except ValueError as error:
        month, day, hour = int(text[5:7]), int(text[8:10]), int(text[11:13])
        part = "month" if not 1 <= month <= 12 else "day" if not 1 <= day <= 31 else "hour"
        part = part if part != "hour" or hour > 23 else "minute"
        raise ValueError(f'parsing time "{text}": {part} out of range') from error
    return clock.micro_timestamp(moment) if micro else clock.timestamp(moment)


def moment(text: object) -> datetime | None:
    """The moment of a field, or None when there is none."""
    if not isinstance(text, str):
        return None
    try:
        return clock.parse_timestamp(text)
    except ValueError:
        return None
