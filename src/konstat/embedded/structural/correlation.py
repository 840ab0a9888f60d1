"""Old values beside new ones: what of an update is unchanged, for ratcheting (C54, KEP-4008).

`Correlated` walks an object and the stored one together, as its schema allows: members by name,
entries of list maps by their keys; entries of other lists have no old value. Before: the schema.
After: `konstat.embedded.structural.validation` and `konstat.embedded.cel.rules`, which let an
unchanged bad value pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Schema = Mapping[str, Any]
_ABSENT: Final = object()


def identical(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same in Go: 1 is neither 1.0 nor true."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(identical(v, right[k]) for k, v in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(identical, left, right))
    return type(left) is type(right) and left == right


def list_map_keys(schema: Schema) -> tuple[str, ...]:
    """The keys of a list map; empty for other schemas."""
    if schema.get("type") != "array" or schema.get("x-kubernetes-list-type") != "map":
        return ()
    return tuple(schema.get("x-kubernetes-list-map-keys") or ())


def _entry_key(entry: Any, keys: Sequence[str]) -> tuple[Any, ...] | None:
    """What identifies an entry, or None when a key is absent or no scalar."""
    if not isinstance(entry, dict):
        return None
    values: list[Any] = []
    for name in keys:
        value = entry.get(name)
        if not isinstance(value, str | bool | int | float):
            return None
        values.append((type(value), value))
    return tuple(values)


class ListMap:
    """The entries of a stored list by key; the first of a key counts."""

    def __init__(self, schema: Schema, entries: Any) -> None:
        self._keys = list_map_keys(schema)
        self._entries: dict[tuple[Any, ...], Any] = {}
        if self._keys and isinstance(entries, list):
            for entry in entries:
                key = _entry_key(entry, self._keys)
                if key is not None:
                    self._entries.setdefault(key, entry)

    def get(self, entry: Any) -> Any:
        """The stored entry of the same key, or None."""
        key = _entry_key(entry, self._keys) if self._entries else None
        return None if key is None else self._entries.get(key)


class Correlated:
    """One place of an object with its old value."""

    __slots__ = ("_children", "_equal", "_list_map", "new", "old", "schema")

    def __init__(self, new: Any, old: Any, schema: Schema) -> None:
        self.new = new
        self.old = old
        self.schema = schema
        self._children: dict[str | int, Correlated | None] = {}
        self._equal: bool | None = None
        self._list_map: ListMap | None = None

    def member(self, name: str) -> Correlated | None:
        """The member ``name``, if both objects have it and the schema knows it."""
        if name not in self._children:
            self._children[name] = self._member(name)
        return self._children[name]

    def _member(self, name: str) -> Correlated | None:
        if not isinstance(self.old, dict) or not isinstance(self.new, dict):
            return None
        old, new = self.old.get(name, _ABSENT), self.new.get(name, _ABSENT)
        if old is _ABSENT or new is _ABSENT:
            return None
        schema = member_schema(self.schema, name)
        return None if schema is None else Correlated(new, old, schema)

    def entry(self, position: int) -> Correlated | None:
        """The list entry at ``position`` with the old entry of its key."""
        if position not in self._children:
            self._children[position] = self._entry(position)
        return self._children[position]

    def _entry(self, position: int) -> Correlated | None:
        items = self.schema.get("items")
        if not isinstance(items, Mapping) or not isinstance(self.new, list):
            return None
        if self._list_map is None:
            self._list_map = ListMap(self.schema, self.old)
        old = self._list_map.get(self.new[position])
        return None if old is None else Correlated(self.new[position], old, items)

    def unchanged(self) -> bool:
        """Whether new and old are equal; list maps are equal in any order of their entries."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _compare(self) -> bool:
        new, old = self.new, self.old
        if isinstance(new, dict) and isinstance(old, dict):
            return len(new) == len(old) and all(
                child is not None and child.unchanged() for child in map(self.member, new)
            )
        if not (isinstance(new, list) and isinstance(old, list)):
            return identical(new, old)
        if len(new) != len(old):
            return False
        if not list_map_keys(self.schema):
            return identical(new, old)
        return all(
            child is not None and child.unchanged() for child in map(self.entry, range(len(new)))
        )


def member_schema(schema: Schema, name: str) -> Schema | None:
    """The schema of one member: a property, or what ``additionalProperties`` says."""
    found = (schema.get("properties") or {}).get(name)
    if found is None:
        found = schema.get("additionalProperties")
    return found if isinstance(found, Mapping) else None
