"""Dates, times and durations as the API server's libraries read them.

For the formats ``date``, ``date-time`` and ``duration``, and for the values that CEL rules see of
such fields: `parse_duration` gives nanoseconds, `parse_date_time` nanoseconds since 1970. After:
`formats`, `konstat.embedded.cel`.
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Final

from konstat.embedded.status_errors import quoted

NANOSECONDS: Final = 1_000_000_000
_INT64: Final = 2**63
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_CLOCK: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_PIECE: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_ANY_PIECE: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([^.0-9]*)")
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # micro sign
    "μs": 1_000,  # Greek mu
    "ms": 1_000_000,
    "s": NANOSECONDS,
    "m": 60 * NANOSECONDS,
    "h": 3600 * NANOSECONDS,
}
_WORDY_PIECE: Final = re.compile(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)")
# The last spelling of a unit also counts as the beginning of a longer word: milliseconds.
_WORDY_UNITS: Final = (
    (("ns", "nano"), 1),
    (("us", "µs", "micro"), 1_000),
    (("ms", "milli"), 1_000_000),
    (("s", "sec"), NANOSECONDS),
    (("m", "min"), 60 * NANOSECONDS),
    (("h", "hr", "hour"), 3600 * NANOSECONDS),
    (("d", "day"), 86400 * NANOSECONDS),
    (("w", "wk", "week"), 7 * 86400 * NANOSECONDS),
)
_EPOCH: Final = datetime.date(1970, 1, 1).toordinal()


def day_number(text: str) -> int | None:
    """Days since 1970 of ``2006-01-02``, or None; the year 0 is a year for Go."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = (int(part) for part in match.groups())
    # Python begins with year 1; 400 years are 146,097 days.
    shift = 1 if year == 0 else 0
    try:
        ordinal = datetime.date(year + 400 * shift, month, day).toordinal()
    except ValueError:
        return None
    return ordinal - 146_097 * shift - _EPOCH


def is_date(text: str) -> bool:
    """Whether the text is a ``date``."""
    return day_number(text) is not None


def is_date_time(text: str) -> bool:
    """Whether the text is a ``date-time``: a date, t, a clock time below 24:00:00, a zone."""
    parts = text.lower().split("t")
    if len(parts) < 2 or not is_date(parts[0]):
        return False
    match = _CLOCK.fullmatch(parts[1])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def parse_date_time(text: str) -> int | None:
    """Nanoseconds since 1970 of a timestamp (RFC 3339, or without a zone for UTC), or None."""
    match = _TIMESTAMP.fullmatch(text)
    day = day_number(match[1]) if match else None
    if match is None or day is None:
        return None
    hour, minute, second = int(match[2]), int(match[3]), int(match[4])
    if hour > 23 or minute > 59 or second > 59:
        return None
    offset = _offset_seconds(match[6] or "Z")
    if offset is None:
        return None
    seconds = day * 86400 + hour * 3600 + minute * 60 + second - offset
    return seconds * NANOSECONDS + int((match[5] or "")[:9].ljust(9, "0"))


def _offset_seconds(zone: str) -> int | None:
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 24 or minutes > 60:
        return None
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def is_duration(text: str) -> bool:
    """Whether the text is a ``duration``: Go's, or Scala's ``2 days``."""
    return parse_duration(text) is not None


def parse_duration(text: str) -> int | None:
    """Nanoseconds of a ``duration``, or None."""
    plain = parse_go_duration(text)
    return _wordy_duration(text) if plain is None else plain


def parse_go_duration(text: str) -> int | None:
    """Nanoseconds of what Go's ``time.ParseDuration`` takes, or None."""
    body = text[1:] if text[:1] in ("+", "-") else text
    sign = -1 if text.startswith("-") else 1
    if body == "0":
        return 0
    total, position = 0, 0
    while match := _PIECE.match(body, position):
        if len(match[1]) > 100:
            return None
        total += int(Decimal(match[1]) * _UNITS[match[2]])
        position = match.end()
    if not body or position != len(body) or total > (_INT64 if sign < 0 else _INT64 - 1):
        return None
    return sign * total


def go_duration_problem(text: str) -> str:
    """What Go's ``time.ParseDuration`` says of a text that it does not take, else nothing."""
    if parse_go_duration(text) is not None:
        return ""
    shown = quoted(text)
    position = 1 if text[:1] in ("+", "-") else 0
    while match := _ANY_PIECE.match(text, position):
        if not match[2]:
            return f"time: missing unit in duration {shown}"
        if match[2] not in _UNITS:
            return f"time: unknown unit {quoted(match[2])} in duration {shown}"
        position = match.end()
    return f"time: invalid duration {shown}"


def _wordy_duration(text: str) -> int | None:
    total, found = 0, False
    for match in _WORDY_PIECE.finditer(text):
        if len(match[1]) > 19 or int(match[1]) >= _INT64:
            return None
        unit = match[2].lower()
        for names, length in _WORDY_UNITS:
            for name in names:
                if unit == name or (name == names[-1] and unit.startswith(name)):
                    found = True
                    total += int(match[1]) * length
    # Go's int64 wraps around.
    return (total + _INT64) % (2 * _INT64) - _INT64 if found else None


def has_zone(text: str) -> bool:
    """Whether a timestamp says its zone."""
    match = _TIMESTAMP.fullmatch(text)
    return match is not None and match[6] is not None


def seconds_text(nanos: int) -> str:
    """Seconds with as many digits as they need: ``1.5``."""
    sign = "-" if nanos < 0 else ""
    whole, rest = divmod(abs(nanos), NANOSECONDS)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{sign}{whole}{fraction}"


def timestamp_text(nanos: int) -> str:
    """A moment as RFC 3339 in UTC, with as many digits of a second as it needs."""
    seconds, rest = divmod(nanos, NANOSECONDS)
    days, clock = divmod(seconds, 86400)
    date = datetime.date.fromordinal(days + _EPOCH)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    hour, minute, second = clock // 3600, clock // 60 % 60, clock % 60
    return f"{date:%Y-%m-%d}T{hour:02d}:{minute:02d}:{second:02d}{fraction}Z"
