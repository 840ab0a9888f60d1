"""Suspension by wish: what in a spec or in annotations asks the controller to leave the object.

Who suspends an object does not expect it to become ready, whatever its status says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from konstat.readiness import predicates, reading
from konstat.readiness.keys import FALSE_WORDS, PAUSING_FIELDS, STATE_FIELDS, STATES_AT_REST, pauses
from konstat.readiness.kindrule import KindRule
from konstat.readiness.paths import joined
from konstat.readiness.subject import Subject
from konstat.readiness.verdict import Evidence


def suspension(subject: Subject, rule: KindRule | None) -> Evidence | None:
    """What holds the object; None when nothing does."""
    if rule is not None:
        for test in rule.suspended:
            found = predicates.holds(test, subject.content)
            if found is not None:
                return found
    return _by_spec(subject.spec, frozenset(rule.ignore if rule else ())) or _by_annotation(
        reading.mapping(subject.metadata.get("annotations"))
    )


def _by_spec(spec: Mapping[str, Any], ignored: frozenset[str]) -> Evidence | None:
    for key in PAUSING_FIELDS:
        value = spec.get(key)
        if (value is True or value in ("true", "True")) and f"spec.{key}" not in ignored:
            return Evidence(f"spec.{key}", value)
    for key in ("enabled", "running"):
        if spec.get(key) is False and f"spec.{key}" not in ignored:
            return Evidence(f"spec.{key}", False)
    for key in STATE_FIELDS:
        value = spec.get(key)
        if (
            isinstance(value, str)
            and value.lower() in STATES_AT_REST
            and f"spec.{key}" not in ignored
        ):
            return Evidence(f"spec.{key}", value)
    return None


def _by_annotation(annotations: Mapping[str, Any]) -> Evidence | None:
    for key, value in annotations.items():
        if not isinstance(key, str) or not isinstance(value, str):
            continue
        how = pauses(key)
        if how and (value.lower() in FALSE_WORDS) == (how == "when false"):
            return Evidence(joined("metadata.annotations", key), value)
    return None
