"""Drops what a structural schema does not know: unknown fields and stray nulls (C49, C50).

`prune` works in place and says what it dropped, in the server's spelling, for strict field
validation. Metadata of the object and of embedded objects is left to `object_meta`. Before: the
schema. After: `custom`, `crd_defaults`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from konstat.embedded.structural.correlation import Schema, member_schema

META_FIELDS: Final = ("apiVersion", "kind", "metadata")
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"


def prune(obj: Any, schema: Schema, *, at_root: bool = True) -> list[str]:
    """Remove the fields that ``schema`` does not declare; their paths, sorted.

    ``at_root``: ``obj`` is a whole object, whose apiVersion, kind and metadata are always known.
    """
    dropped: list[str] = []
    _prune(obj, {**schema, _EMBEDDED: True} if at_root else schema, "", dropped)
    return sorted(dropped)


def _prune(value: Any, schema: Schema | None, path: str, dropped: list[str]) -> None:
    if schema is not None and schema.get(_PRESERVE):
        _prune_known(value, schema, path, dropped)
    elif isinstance(value, dict):
        _prune_object(value, schema or {}, path, dropped)
    elif isinstance(value, list):
        items = _items(schema)
        for position, entry in enumerate(value):
            _prune(entry, items, f"{path}[{position}]", dropped)


def _prune_object(value: dict[str, Any], schema: Schema, path: str, dropped: list[str]) -> None:
    properties = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    for name in list(value):
        if schema.get(_EMBEDDED) and name in META_FIELDS:
            continue
        place = _member(path, name)
        if name in properties:
            _prune(value[name], properties[name], place, dropped)
        elif others is not None:
            _prune(value[name], others if isinstance(others, Mapping) else None, place, dropped)
        else:
            if name not in META_FIELDS or path:
                dropped.append(place)
            del value[name]


def _prune_known(value: Any, schema: Schema, path: str, dropped: list[str]) -> None:
    """Below preserve-unknown-fields: keep everything, but go on where a field is declared."""
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        others = schema.get("additionalProperties")
        for name, member in value.items():
            if schema.get(_EMBEDDED) and name in META_FIELDS:
                continue
            if name in properties:
                _prune(member, properties[name], _member(path, name), dropped)
            elif others is not None:
                inner = others if isinstance(others, Mapping) else None
                _prune(member, inner, _member(path, name), dropped)
    elif isinstance(value, list):
        items = _items(schema)
        for position, entry in enumerate(value):
            if items is not None:
                _prune_known(entry, items, f"{path}[{position}]", dropped)


def _items(schema: Schema | None) -> Schema | None:
    items = (schema or {}).get("items")
    return items if isinstance(items, Mapping) else None


def _member(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def drop_nulls(value: Any, schema: Schema | None) -> None:
    """Remove, in place, null members that are neither nullable nor have a default (C50)."""
    if isinstance(value, dict):
        for name in list(value):
            inner = None if schema is None else member_schema(schema, name)
            if (
                value[name] is None
                and inner is not None
                and not inner.get("nullable")
                and inner.get("default") is None
            ):
                del value[name]
            else:
                drop_nulls(value[name], inner)
    elif isinstance(value, list):
        items = _items(schema)
        for entry in value:
            drop_nulls(entry, items)
