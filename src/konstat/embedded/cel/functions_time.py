"""CEL's accessors of timestamps and durations: getHours and its siblings, with time zones.

Before: `values`. After: `functions`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

from konstat.embedded.cel.operators import no_overload
from konstat.embedded.cel.values import CelError, Duration, Timestamp, Value
from konstat.embedded.structural.gotime import NANOSECONDS

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET: Final = re.compile(r"([+-]?[0-9]{1,4}):([+-]?[0-9]{1,4})")
_MOMENTS: Final[Mapping[str, Callable[[datetime], int]]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
    "getMilliseconds": lambda moment: moment.microsecond // 1000,
}
_LENGTHS: Final = {
    "getHours": 3600 * NANOSECONDS,
    "getMinutes": 60 * NANOSECONDS,
    "getSeconds": NANOSECONDS,
    "getMilliseconds": NANOSECONDS // 1000,
}


def _part(name: str, value: Value, zone: Value = "UTC") -> int:
    if isinstance(value, Duration) and name in _LENGTHS:
        whole = abs(value.nanos) // _LENGTHS[name]
        return -whole if value.nanos < 0 else whole
    if not isinstance(value, Timestamp) or not isinstance(zone, str):
        raise no_overload(value, zone)
    try:
        moment = _EPOCH + timedelta(microseconds=value.nanos // 1000)
        return _MOMENTS[name](moment.astimezone(_zone(zone)))
    except OverflowError as error:
        raise CelError("timestamp overflow") from error


def _zone(name: str) -> tzinfo:
    """A named zone, or a fixed offset such as ``-08:00``."""
    if ":" not in name:
        try:
            return ZoneInfo(name or "UTC")
        except (ValueError, OSError, KeyError) as error:
            raise CelError(f"unknown time zone {name}") from error
    match = _OFFSET.fullmatch(name)
    if match is None:
        raise CelError(f'strconv.Atoi: parsing "{name}": invalid syntax')
    hours, minutes = int(match[1]), int(match[2])
    offset = hours * 60 + (-minutes if name.startswith("-") else minutes)
    if abs(offset) >= 24 * 60:
        raise CelError(f"unknown time zone {name}")
    return timezone(timedelta(minutes=offset))


FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    name: partial(_part, name) for name in _MOMENTS
}
