"""Field sets of typed values: the fields of an object, an object without some, sets that follow.

Continues `konstat.embedded.typed` where one object meets a `FieldSet`. Pure.
After: `konstat.embedded.managed` and `konstat.embedded.apply`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from konstat.embedded import fieldset
from konstat.embedded.fieldset import Element, FieldSet, Path
from konstat.embedded.typed import element_of
from konstat.embedded.typed_structure import ListStructure, MapStructure, Structure


def fields_of(value: Any, structure: Structure) -> FieldSet:
    """The fields that a manager owns by applying ``value``."""
    found = FieldSet()
    _add_fields(value, structure, (), found)
    return found


def _add_fields(value: Any, structure: Structure, place: Path, found: FieldSet) -> None:
    form = structure.walked_as(structure.form(value))
    if form == "map":
        assert structure.map is not None
        _add_map(value, structure.map, place, found)
    elif form == "list":
        assert structure.list is not None
        _add_list(value, structure.list, place, found)
    else:
        found.insert(place)


def _add_map(value: Any, members: MapStructure, place: Path, found: FieldSet) -> None:
    if members.atomic:
        found.insert(place)
        return
    for name, inner in (value or {}).items():
        structure = members.member(name)
        if structure is None:
            continue
        deeper = (*place, fieldset.field(name))
        _add_fields(inner, structure, deeper, found)
        if inner is None or inner == {} or not members.declares(name):
            found.insert(deeper)


def _add_list(value: Any, items: ListStructure, place: Path, found: FieldSet) -> None:
    if not items.associative:
        found.insert(place)
        return
    entries: list[Any] = value or []
    elements = [element_of(entry, items) for entry in entries]
    repeats = Counter(elements)
    for entry, element in zip(entries, elements, strict=True):
        # Repeated entries are owned as one whole.
        if repeats[element] == 1:
            _add_fields(entry, items.item, (*place, element), found)
        found.insert((*place, element))


def remove(value: Any, fields: FieldSet, structure: Structure) -> Any:
    """``value`` without ``fields``; a map or list that loses its last member becomes null."""
    form = structure.walked_as(structure.form(value))
    if form == "map" and isinstance(value, dict) and value:
        assert structure.map is not None
        return _remove_from_map(value, fields, structure.map)
    if form == "list" and isinstance(value, list) and value:
        assert structure.list is not None
        return _remove_from_list(value, fields, structure.list)
    return value if form == "scalar" else None


def _remove_from_map(value: dict[str, Any], fields: FieldSet, members: MapStructure) -> Any:
    if members.atomic:
        return None
    left: dict[str, Any] = {}
    for name, inner in value.items():
        element = fieldset.field(name)
        if element in fields.members:
            continue
        below = fields.under(element)
        structure = members.member(name)
        left[name] = remove(inner, below, structure) if below and structure is not None else inner
    return left or None


def _remove_from_list(value: list[Any], fields: FieldSet, items: ListStructure) -> Any:
    if not items.associative:
        return None
    left: list[Any] = []
    for entry in value:
        element = element_of(entry, items)
        if element in fields.members:
            continue
        below = fields.under(element)
        left.append(remove(entry, below, items.item) if below else entry)
    return left or None


def with_parents(fields: FieldSet, structure: Structure | None) -> FieldSet:
    """``fields`` and the declared fields above them, which FieldsV1 does not spell out."""
    members = None if structure is None else structure.map
    named = {
        element
        for element in fields.below
        if members is not None and members.declares(fieldset.field_name(element) or "")
    }
    below = {
        element: with_parents(inner, _child(structure, element))
        for element, inner in fields.below.items()
    }
    return FieldSet(fields.members | named, below)


def _child(structure: Structure | None, element: Element) -> Structure | None:
    if structure is None:
        return None
    name = fieldset.field_name(element)
    if name is not None:
        return None if structure.map is None else structure.map.member(name)
    if fieldset.selects_by_key(element) and structure.list is not None:
        return structure.list.item
    return None


def fitted(fields: FieldSet, structure: Structure) -> FieldSet:
    """``fields``, written under an older schema, as owned under this one.

    Where a list or map has become atomic since, its owner owns the whole.
    """
    atomic = FieldSet()
    _find_atomic(fields, structure, (), atomic)
    return fields.without(atomic).union(atomic) if atomic else fields


def _find_atomic(
    fields: FieldSet | None,
    structure: Structure,
    place: Path,
    atomic: FieldSet,
    *,
    whole: bool = False,
) -> None:
    """``whole`` tells that the place itself is owned and nothing below it."""
    form = structure.walked_as("any")
    if form == "map":
        assert structure.map is not None
        if structure.map.deduced:
            return
        if structure.map.atomic and not whole:
            if fields:
                atomic.insert(place)
            return
    elif form == "list":
        assert structure.list is not None
        if not structure.list.associative and not whole:
            atomic.insert(place)
            return
    if form == "scalar" or fields is None:
        return
    for element in fields.members | set(fields.below):
        inner = structure.list.item if form == "list" and structure.list else None
        if form == "map" and structure.map:
            name = fieldset.field_name(element)
            inner = structure.map.rest if name is None else structure.map.member(name)
        if inner is not None:
            below = fields.below.get(element)
            owned = element in fields.members and below is None
            _find_atomic(below, inner, (*place, element), atomic, whole=owned)
