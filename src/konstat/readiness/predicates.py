"""The questions of rule files (`kindrule.Test`), asked of an object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from konstat.readiness.kindrule import Test
from konstat.readiness.paths import first_at, found_at, parse_path
from konstat.readiness.verdict import Evidence


def all_hold(tests: Iterable[Test], content: Mapping[str, Any]) -> list[Evidence] | None:
    """What was found at each tested path if all tests hold, else None."""
    found: list[Evidence] = []
    for test in tests:
        evidence = holds(test, content)
        if evidence is None:
            return None
        found.append(evidence)
    return found


def holds(test: Test, content: Mapping[str, Any]) -> Evidence | None:
    """The first place where the test holds; None when it holds nowhere.

    A path that leads nowhere is asked once, as null.
    """
    asked = False
    for place, value in found_at(content, parse_path(test.path)):
        asked = True
        if _answers(test, value, content):
            scalar = value if isinstance(value, str | int | float | bool) else None
            return Evidence(place, scalar)
    if not asked and _answers(test, None, content):
        return Evidence(test.path, None)
    return None


def _answers(test: Test, value: Any, content: Mapping[str, Any]) -> bool:
    if test.exists is not None and (value not in (None, "", [], {})) != test.exists:
        return False
    if test.equals is not msgspec.UNSET and not _same(value, test.equals):
        return False
    if test.differs is not msgspec.UNSET and _same(value, test.differs):
        return False
    if test.in_ is not None and not any(_same(value, wanted) for wanted in test.in_):
        return False
    if test.contains is not None and not _contains(value, test.contains):
        return False
    if test.less_than is not None and not _less(value, _at(test.less_than, content)):
        return False
    return test.differs_from is None or not _same(value, _at(test.differs_from, content))


def _at(path: str, content: Mapping[str, Any]) -> Any:
    return first_at(content, parse_path(path))


def _same(value: Any, other: Any) -> bool:
    """Equal as JSON: ``true`` is not 1."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _contains(value: Any, part: str) -> bool:
    if isinstance(value, str):
        return part in value
    return isinstance(value, list | tuple | Mapping) and part in value


def _less(value: Any, other: Any) -> bool:
    numbers = (value, other)
    if any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
        return False
    return value < other
