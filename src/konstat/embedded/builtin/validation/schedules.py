"""Reads the schedule of a CronJob, in order to say what is wrong with it.

Five fields (minute, hour, day of month, month, day of week) or a descriptor such as ``@daily``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
        start=1,
    )
}
_DAYS: Final = {
    name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])
}
_FIELDS: Final[tuple[tuple[int, int, Mapping[str, int]], ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_DESCRIPTORS: Final = frozenset(
    ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
)
_UNITS: Final = ("ns", "us", "µs", "ms", "s", "m", "h")


def problem(schedule: str) -> str:
    """What the server's parser says of a schedule; empty when it can be read."""
    text = schedule
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, _, text = text.partition(" ")
        if not text:
            return f"provided bad location {zone.partition('=')[2]}: unknown time zone"
        text = text.strip()
    if text.startswith("@"):
        return _descriptor_problem(text)
    fields = text.split()
    if len(fields) != 5:
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    for field, (low, high, names) in zip(fields, _FIELDS, strict=True):
        for part in field.split(","):
            if found := _part_problem(part, low, high, names):
                return found
    return ""


def _descriptor_problem(text: str) -> str:
    if text in _DESCRIPTORS:
        return ""
    if text.startswith("@every "):
        amount = text.removeprefix("@every ")
        number = amount.rstrip("hmsnuµ")
        good = number.replace(".", "", 1).isdigit() and amount.endswith(_UNITS)
        return "" if good else f'failed to parse duration {text}: time: invalid duration "{amount}"'
    return f"unrecognized descriptor: {text}"


def _part_problem(part: str, low: int, high: int, names: Mapping[str, int]) -> str:
    """What is wrong with ``start[-end][/step]``."""
    bounds, *steps = part.split("/")
    if len(steps) > 1:
        return f"too many slashes: {part}"
    begin, *ends = bounds.split("-")
    if len(ends) > 1:
        return f"too many hyphens: {part}"
    first, last, found = _bounds(begin, ends, low, high, names)
    if found:
        return found
    step = 1
    if steps:
        step, found = _number(steps[0], {})
        if found:
            return found
        if not ends and begin not in ("*", "?"):
            last = high
    if first < low:
        return f"beginning of range ({first}) below minimum ({low}): {part}"
    if last > high:
        return f"end of range ({last}) above maximum ({high}): {part}"
    if first > last:
        return f"beginning of range ({first}) beyond end of range ({last}): {part}"
    return f"step of range should be a positive number: {part}" if step == 0 else ""


def _bounds(
    begin: str, ends: list[str], low: int, high: int, names: Mapping[str, int]
) -> tuple[int, int, str]:
    if begin in ("*", "?"):
        return low, high, ""
    first, found = _number(begin, names)
    if found or not ends:
        return first, first, found
    last, found = _number(ends[0], names)
    return first, last, found


def _number(text: str, names: Mapping[str, int]) -> tuple[int, str]:
    if text.lower() in names:
        return names[text.lower()], ""
    digits = text.removeprefix("-").removeprefix("+")
    if not digits.isascii() or not digits.isdigit():
        return 0, f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax'
    number = int(text)
    return number, f"negative number ({number}) not allowed: {text}" if number < 0 else ""
