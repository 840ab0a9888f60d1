"""Suspension by wish: what in a spec or in annotations asks the controller to leave the object.

Who suspends an object does not expect it to become ready, whatever its status says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from konstat.readiness import predicates, reading
from konstat.readiness.keys import (
    FALSE_WORDS,
    NESTED_WISHES,
    PAUSING_FIELDS,
    STATE_FIELDS,
    STATES_AT_REST,
    SWITCHES,
    pauses,
)
from konstat.readiness.paths import joined
from konstat.readiness.signals import Reader
from konstat.readiness.subject import Subject
from konstat.readiness.verdict import Evidence


def suspension(subject: Subject, reader: Reader) -> Evidence | None:
    """What holds the object; None when nothing does."""
    if reader.rule is not None:
        for test in reader.rule.suspended:
            found = predicates.holds(test, subject.content)
            if found is not None:
                return found
    held = _by_spec(subject.spec, reader.ignored)
    annotations = subject.metadata.get("annotations")
    if held is None and annotations:
        return _by_annotation(reading.mapping(annotations))
    return held


_YES: Final = ("true", "True", "yes", "Yes", "on", "1")
_ASKING: Final = frozenset(
    (*PAUSING_FIELDS, *STATE_FIELDS, *SWITCHES, *(outer for outer, _ in NESTED_WISHES))
)


def _by_spec(spec: Mapping[str, Any], ignored: frozenset[str]) -> Evidence | None:
    if _ASKING.isdisjoint(spec):
        return None
    for key in PAUSING_FIELDS:
        value = spec.get(key)
        if (value is True or value in _YES) and f"spec.{key}" not in ignored:
            return Evidence(f"spec.{key}", value)
    for key in SWITCHES:
        if spec.get(key) is False and f"spec.{key}" not in ignored:
            return Evidence(f"spec.{key}", False)
    for key in STATE_FIELDS:
        value = spec.get(key)
        if _is_rest(value) and f"spec.{key}" not in ignored:
            return Evidence(f"spec.{key}", value)
    return _deeper(spec, ignored)


def _is_rest(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and value.lower() in STATES_AT_REST


def _deeper(spec: Mapping[str, Any], ignored: frozenset[str]) -> Evidence | None:
    """``spec.job.state: suspended``, ``spec.runPolicy.suspend``, ``spec.hibernation.enabled``."""
    for outer, key in NESTED_WISHES:
        inner = spec.get(outer)
        if type(inner) is dict or isinstance(inner, Mapping):
            value = inner.get(key)
            path = f"spec.{outer}.{key}"
            if (value is True or _is_rest(value)) and path not in ignored:
                return Evidence(path, value)
    return None


def _by_annotation(annotations: Mapping[str, Any]) -> Evidence | None:
    for key, value in annotations.items():
        if not isinstance(key, str) or not isinstance(value, str):
            continue
        how = pauses(key)
        if how and (value.lower() in FALSE_WORDS) == (how == "when false"):
            return Evidence(joined("metadata.annotations", key), value)
    return None
