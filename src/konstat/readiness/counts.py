"""Pairs of numbers: how many parts are wanted, and how many are there.

Names tell which belong together: ``replicas`` and ``readyReplicas``, ``desiredNodes`` and
``nodesReady``, ``total`` and ``available``. What is wanted may stand in the spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from konstat.base import limits
from konstat.readiness import reading
from konstat.readiness.kindrule import Count
from konstat.readiness.paths import first_at, joined, parse_path
from konstat.readiness.signals import Signal
from konstat.readiness.verdict import Reason, State
from konstat.readiness.vocabulary import word_set
from konstat.readiness.words import split

_HAVE: Final = word_set("ready available updated healthy running")
_WANTED: Final = word_set("desired total expected wanted target")
_NOISE: Final = word_set("number count of num scheduled")
_PLAIN: Final = word_set(
    """
    replicas replica size nodes node instances instance members member pods pod brokers
    servers workers
    """
)
_LACKING: Final = word_set("unavailable unready notready")


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _named(key: str) -> tuple[str, str]:
    """What a number counts: ("have", "replicas"), ("wanted", ""), or ("", "") for anything else."""
    words = [word for word in split(key) if word not in _NOISE]
    have = [word for word in words if word in _HAVE]
    wanted = [word for word in words if word in _WANTED]
    lacking = [word for word in words if word in _LACKING]
    rest = [word for word in words if word not in _HAVE | _WANTED | _LACKING]
    if len(rest) > 1 or len(have) + len(wanted) + len(lacking) > 1:
        return "", ""
    noun = rest[0] if rest else ""
    if have:
        return "have", noun
    if wanted:
        return "wanted", noun
    if lacking and (not noun or noun in _PLAIN):
        return "lacking", noun
    return ("plain", noun) if noun in _PLAIN else ("", "")


def signals(
    numbers: Mapping[str, int], content: Mapping[str, Any], place: str, *, nested: bool
) -> Iterator[Signal]:
    """The signals of the numbers in one mapping; ``content`` is the object at the root only."""
    wanted: dict[str, tuple[str, int]] = {}
    have: list[tuple[str, str, int]] = []
    for key, value in numbers.items():
        sort, noun = _named(key)
        if sort == "wanted" or (sort == "plain" and noun not in wanted):
            wanted[noun] = (joined(place, key), value)
        elif sort == "have":
            have.append((joined(place, key), noun, value))
        elif sort == "lacking" and value > 0:
            yield _short(
                joined(place, key), value, f"{_shown(joined(place, key))} is {value}", nested
            )
    spec = reading.mapping(content.get("spec"))
    for path, noun, value in have:
        asked = _asked(spec, noun)
        if asked is None:
            asked = wanted.get(noun) or (wanted.get("replicas") if not noun else None)
        if asked is None:
            continue
        where, number = asked
        if value < number:
            text = f"{_shown(path)} is {value} of {number} ({where})"
            yield _short(path, value, text, nested)
        elif number > 0 and "ready" in path.lower():
            text = f"{_shown(path)} is {value} of {number}"
            decides = not nested and where.startswith("spec.")
            yield Signal(
                State.READY, Reason.CONDITIONS_MET, text, path, value, decides=decides, rank=7
            )
    if not nested:
        yield from _scaling(spec, wanted)


def _asked(spec: Mapping[str, Any], noun: str) -> tuple[str, int] | None:
    """The number that the spec asks for under the same name."""
    for key in (noun,) if noun else ("replicas", "size"):
        value = spec.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return f"spec.{key}", value
    return None


def _scaling(spec: Mapping[str, Any], wanted: Mapping[str, tuple[str, int]]) -> Iterator[Signal]:
    """Fewer replicas exist than the spec asks for."""
    asked, there = _asked(spec, "replicas"), wanted.get("replicas")
    if asked is not None and there is not None and there[1] < asked[1]:
        path, number = there
        yield _short(
            path, number, f"{_shown(path)} is {number} of {asked[1]} (spec.replicas)", False
        )


def _short(path: str, value: int, text: str, nested: bool) -> Signal:
    return Signal(
        State.PROGRESSING, Reason.COUNTS_NOT_MET, text, path, value, nested=nested, rank=6
    )


def _shown(path: str) -> str:
    return path.removeprefix("status.")


def of_rule(count: Count, content: Mapping[str, Any]) -> Signal | None:
    """The signal of a pair that a kind's rule names."""
    wanted = _number(first_at(content, parse_path(count.wanted)), count.default)
    have = _number(first_at(content, parse_path(count.have)), count.absent)
    if wanted is None or have is None:
        return None
    text = f"{_shown(count.have)} is {have} of {wanted} ({count.wanted})"
    if have < wanted:
        return _short(count.have, have, text, False)
    return Signal(State.READY, Reason.CONDITIONS_MET, text, count.have, have, rank=7)


def _number(value: Any, otherwise: int | None) -> int | None:
    return otherwise if value is None else reading.count(value)
