"""Cron schedules: five fields or a word such as ``@hourly``, and the times that they name. Pure.

As the library that Kubernetes uses: lists, ranges, steps, ``*`` and ``?``, names of months and
days; if both day fields are restricted, either may match. Times are taken in the schedule's
time zone. After: `konstat.actors.cronjobs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from konstat.base import limits

_MONTHS: Final = {
    "jan": 1,
    "feb": 2,
    "mar": 3,
    "apr": 4,
    "may": 5,
    "jun": 6,
    "jul": 7,
    "aug": 8,
    "sep": 9,
    "oct": 10,
    "nov": 11,
    "dec": 12,
}
_DAYS: Final = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_WORDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class Field(msgspec.Struct, frozen=True):
    """The numbers that match, and whether the field was ``*`` or ``?``."""

    numbers: frozenset[int]
    any: bool


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed schedule; days of the week count from 0 for Sunday."""

    minutes: Field
    hours: Field
    days: Field
    months: Field
    weekdays: Field
    zone: tzinfo

    def following(self, after: datetime) -> datetime | None:
        """The first time after ``after`` (aware); None if there is none in five years.

        A local time that a clock change skips is not named, one that it repeats is named once.
        """
        local = after.astimezone(self.zone).replace(tzinfo=None, second=0, microsecond=0)
        day = local.date()
        for _ in range(limits.CRON_SEARCH_DAYS):
            if self._matches_day(day.month, day.day, (day.weekday() + 1) % 7):
                for hour in sorted(self.hours.numbers):
                    for minute in sorted(self.minutes.numbers):
                        named = datetime(
                            day.year, day.month, day.day, hour, minute, tzinfo=self.zone
                        )
                        moment = named.astimezone(UTC)
                        skipped = moment.astimezone(self.zone).replace(
                            tzinfo=None
                        ) != named.replace(tzinfo=None)
                        if moment > after and not skipped:
                            return moment
            day += timedelta(days=1)
        return None

    def _matches_day(self, month: int, day: int, weekday: int) -> bool:
        if month not in self.months.numbers:
            return False
        by_day, by_weekday = day in self.days.numbers, weekday in self.weekdays.numbers
        if self.days.any or self.weekdays.any:
            return by_day and by_weekday
        return by_day or by_weekday


def parse_schedule(text: str, *, zone: str = "") -> Schedule:
    """Read a schedule; ``zone`` is a name of the time zone database (empty: UTC).

    Raises ValueError that says which field is wrong.
    """
    found: tzinfo = UTC
    if text.startswith(("TZ=", "CRON_TZ=")):
        raise ValueError("the schedule names a time zone: write it in spec.timeZone")
    if zone:
        try:
            found = ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(f"unknown time zone {zone!r}") from error
    if text.startswith("@") and text not in _WORDS:
        raise ValueError(f"{text!r}: write five fields or one of {', '.join(sorted(_WORDS))}")
    fields = _WORDS.get(text, text).split()
    if len(fields) != 5:
        raise ValueError(f"{text!r} has {len(fields)} fields: write 5")
    return Schedule(
        minutes=_field(fields[0], "minute", 0, 59),
        hours=_field(fields[1], "hour", 0, 23),
        days=_field(fields[2], "day of the month", 1, 31),
        months=_field(fields[3], "month", 1, 12, names=_MONTHS),
        weekdays=_field(fields[4], "day of the week", 0, 6, names=_DAYS),
        zone=found,
    )


def _field(
    text: str, what: str, low: int, high: int, *, names: Mapping[str, int] | None = None
) -> Field:
    numbers: set[int] = set()
    for part in text.split(","):
        try:
            numbers |= _part(part, low, high, names or {})
        except ValueError as error:
            raise ValueError(f"{what} {text!r}: {error}") from error
    return Field(frozenset(numbers), text.split("/")[0] in ("*", "?") and "," not in text)


def _part(text: str, low: int, high: int, names: Mapping[str, int]) -> set[int]:
    span, slash, step_text = text.partition("/")
    if slash and (not step_text.isdecimal() or not int(step_text)):
        raise ValueError(f"the step {step_text!r} is not a number above 0")
    step = int(step_text) if slash else 1
    if span in ("*", "?"):
        first, last = low, high
    else:
        start, dash, end = span.partition("-")
        first = _number(start, names)
        last = _number(end, names) if dash else (high if slash else first)
    if not low <= first <= last <= high:
        raise ValueError(f"{span!r} is not within {low} and {high}")
    return set(range(first, last + 1, step))


def _number(text: str, names: Mapping[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not text.isascii() or not text.isdecimal():
        raise ValueError(f"{text!r} is not a number")
    return int(text)
