"""Duplicates in lists that are sets or maps: FieldValueDuplicate (C55).

Before: `texts`, `correlation`. After: `custom`, which ratchets the whole check: an object that
had duplicates may keep them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from konstat.embedded import gotext
from konstat.embedded.status_errors import FieldError
from konstat.embedded.structural import texts
from konstat.embedded.structural.correlation import Schema


def list_type_errors(obj: Any, schema: Schema, *, path: str = "") -> list[FieldError]:
    """Every entry of a set or list map that repeats an earlier one; once for each value."""
    if isinstance(obj, list):
        return _list(obj, schema, path)
    if not isinstance(obj, dict):
        return []
    found: list[FieldError] = []
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        for name in sorted(obj):
            found += list_type_errors(obj[name], others, path=texts.key(path, name))
    properties: Schema = schema.get("properties") or {}
    for name in sorted(obj):
        if name in properties:
            found += list_type_errors(obj[name], properties[name], path=texts.child(path, name))
    return found


def _list(entries: list[Any], schema: Schema, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    kind = schema.get("x-kubernetes-list-type")
    if kind == "set":
        found += [
            texts.duplicate(texts.index(path, position), entries[position])
            for position in _repeated(entries)
        ]
    elif kind == "map":
        found += _list_map(entries, schema.get("x-kubernetes-list-map-keys") or (), path)
    items = schema.get("items")
    if isinstance(items, Mapping):
        for position, entry in enumerate(entries):
            found += list_type_errors(entry, items, path=texts.index(path, position))
    return found


def _list_map(entries: list[Any], keys: Sequence[str], path: str) -> list[FieldError]:
    for position, entry in enumerate(entries):
        if entry is not None and not isinstance(entry, dict):
            place = texts.index(path, position)
            return [texts.invalid(place, entry, "must be an object for an array of list-type map")]
    identities = [
        {name: entry[name] for name in keys if name in entry} if isinstance(entry, dict) else {}
        for entry in entries
    ]
    return [
        texts.duplicate(texts.index(path, position), identities[position])
        for position in _repeated(identities)
    ]


def _repeated(entries: Sequence[Any]) -> list[int]:
    """The positions of second occurrences; third ones are not reported."""
    seen: dict[tuple[type, str], int] = {}
    found: list[int] = []
    for position, entry in enumerate(entries):
        identity = (type(entry), gotext.encode(entry))
        seen[identity] = seen.get(identity, 0) + 1
        if seen[identity] == 2:
            found.append(position)
    return found
