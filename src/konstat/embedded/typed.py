"""Walks over objects along their `Structure`: check, merge, compare, and the fields of a value.

These are the operations that server-side apply is made of. None changes its input; results may
share parts with it. ``MISSING`` stands for an absent value, which null is not.

Pure. Before: `konstat.embedded.fieldset` and `typed_structure`. After: `konstat.embedded.managed`
and `konstat.embedded.apply`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from konstat.embedded import fieldset, gotext
from konstat.embedded.fieldset import Element, FieldSet, Path
from konstat.embedded.typed_structure import Form, ListStructure, MapStructure, Structure
from konstat.objects.diff import same

MISSING: Final = object()


class TypedError(ValueError):
    """A value that does not fit its structure, in the words of the server."""

    def __init__(self, problems: list[str]) -> None:
        only_one = len(problems) == 1
        super().__init__(problems[0] if only_one else "\n  ".join(["errors:", *problems]))
        self.problems = problems


class Comparison(NamedTuple):
    """The fields in which two objects differ."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    def without(self, ignored: FieldSet) -> Comparison:
        """The comparison of what is neither in ``ignored`` nor below it."""
        if not ignored:
            return self
        return Comparison(*(part.without(ignored) for part in self))


def element_of(entry: Any, items: ListStructure) -> Element:
    """How an entry of an associative list is selected; raises TypedError when it cannot be."""
    if items.keys:
        return _keyed_element(entry, items)
    if isinstance(entry, dict):
        raise TypedError(["associative list without keys has an element that's a map type"])
    if isinstance(entry, list):
        raise TypedError(["not supported: associative list with lists as elements"])
    if entry is None:
        raise TypedError(["associative list without keys has an element that's an explicit null"])
    return fieldset.value(entry)


def _keyed_element(entry: Any, items: ListStructure) -> Element:
    if entry is None:
        raise TypedError(["associative list with keys may not have a null element"])
    if not isinstance(entry, dict):
        raise TypedError(["associative list with keys may not have non-map elements"])
    values: dict[str, Any] = {}
    for name in items.keys:
        if name in entry:
            values[name] = entry[name]
        elif (default := items.key_default(name)) is not None:
            values[name] = default
    if not values:
        keys = " ".join(f'"{name}"' for name in items.keys)
        raise TypedError(
            [
                f"associative list with keys has an element that omits all key fields [{keys}]"
                " (and doesn't have default values for any key fields)"
            ]
        )
    return fieldset.key(values)


# --- check --------------------------------------------------------------------------------------


def check(value: Any, structure: Structure, *, repeated_entries: bool) -> None:
    """Raise TypedError unless ``value`` fits; stored objects may have repeated list entries."""
    problems = list(_problems(value, structure, "", repeated_entries=repeated_entries))
    if problems:
        raise TypedError(problems)


def _problems(
    value: Any, structure: Structure, place: str, *, repeated_entries: bool
) -> Iterator[str]:
    form = structure.walked_as(structure.form(value))
    if value is None:
        return
    if form == "scalar":
        problem = _scalar_problem(value, structure)
        if problem:
            yield _at(place, problem)
    elif form == "map":
        assert structure.map is not None
        if not isinstance(value, dict):
            yield _at(place, f"expected map, got &{{{gotext.show(value)}}}")
            return
        yield from _map_problems(value, structure.map, place, repeated_entries=repeated_entries)
    else:
        assert structure.list is not None
        if not isinstance(value, list):
            yield _at(place, f"expected list, got &{{{gotext.show(value)}}}")
            return
        yield from _list_problems(value, structure.list, place, repeated_entries=repeated_entries)


def _map_problems(
    value: dict[str, Any], members: MapStructure, place: str, *, repeated_entries: bool
) -> Iterator[str]:
    for name in sorted(value):
        inner = members.member(name)
        if inner is None:
            yield _at(f"{place}.{name}", "field not declared in schema")
            return  # the server looks no further either
        yield from _problems(
            value[name], inner, f"{place}.{name}", repeated_entries=repeated_entries
        )


def _list_problems(
    value: list[Any], items: ListStructure, place: str, *, repeated_entries: bool
) -> Iterator[str]:
    seen: set[Element] = set()
    for index, entry in enumerate(value):
        text = f"[{index}]"
        if items.associative:
            try:
                element = element_of(entry, items)
            except TypedError as error:
                yield _at(place, f"element {index}: {error}")
                return
            text = fieldset.element_text(element)
            if element in seen and not repeated_entries:
                yield _at(place, f"duplicate entries for key {text}")
            seen.add(element)
        yield from _problems(entry, items.item, place + text, repeated_entries=repeated_entries)


def _at(place: str, problem: str) -> str:
    return f"{place}: {problem}" if place else problem


def _scalar_problem(value: Any, structure: Structure) -> str:
    kind = structure.scalar
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "numeric" and not is_number:
        return f"expected numeric (int or float), got {gotext.go_type(value)}"
    if kind == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{gotext.debug(value)}}}"
    if kind == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got &{{{gotext.show(value)}}}"
    if kind == "untyped" and isinstance(value, dict | list):
        return f"expected any scalar, got &{{{gotext.show(value)}}}"
    return ""


# --- both sides ---------------------------------------------------------------------------------


def _forms(left: Any, right: Any, structure: Structure) -> tuple[Form, ...]:
    """As what two values are walked: once, or as each of the two when their types differ."""
    if right is MISSING:
        return (structure.walked_as(structure.form(left)),)
    form = structure.form(right)
    if left is MISSING or structure.form(left) == form:
        return (structure.walked_as(form),)
    return (structure.walked_as(structure.form(left)), structure.walked_as(form))


def _is_leaf(left: Any, right: Any, atomic: bool) -> bool:
    """Whether two maps or lists are taken whole; empty ones are, which keeps {} and null apart."""
    return atomic or not (left or right)


def _as(kind: type, value: Any) -> Any:
    """A map or list for walking; what is none (null, absent, another type) counts as empty."""
    return value if isinstance(value, kind) else kind()


def merge(left: Any, right: Any, structure: Structure) -> Any:
    """``left`` with ``right`` (what is applied) merged over it."""
    made: Any = MISSING
    for form in _forms(left, right, structure):
        if form == "map":
            assert structure.map is not None
            made = _merge_maps(left, right, structure.map)
        elif form == "list":
            assert structure.list is not None
            made = _merge_lists(left, right, structure.list)
        else:
            made = left if right is MISSING else right
    return made


def _merge_maps(left: Any, right: Any, members: MapStructure) -> Any:
    mine, theirs = _as(dict, left), _as(dict, right)
    if _is_leaf(mine, theirs, members.atomic):
        return left if right is MISSING else right
    made: dict[str, Any] = {}
    for name in mine | theirs:
        inner = members.member(name)
        if inner is None:
            continue
        value = merge(mine.get(name, MISSING), theirs.get(name, MISSING), inner)
        if value is not MISSING:
            made[name] = value
    return made or MISSING


def _merge_lists(left: Any, right: Any, items: ListStructure) -> Any:
    mine, theirs = _as(list, left), _as(list, right)
    if _is_leaf(mine, theirs, not items.associative):
        return left if right is MISSING else right
    return _Weave(mine, theirs, items).woven() or MISSING


class _Weave:
    """Merges two associative lists in order.

    Entries of both follow the order of the right list; entries that only the left has stay after
    the same neighbours as before, as far as that order allows.
    """

    def __init__(self, left: list[Any], right: list[Any], items: ListStructure) -> None:
        self.items = items
        self.left = left
        self.right = right
        self.left_elements = [element_of(entry, items) for entry in left]
        self.right_elements = [element_of(entry, items) for entry in right]
        self.in_right = dict(zip(self.right_elements, right, strict=True))
        self.in_left: dict[Element, Any] = {}
        for element, entry in zip(self.left_elements, left, strict=True):
            # Entries that repeat in a stored list are replaced, not merged.
            self.in_left[element] = None if element in self.in_left else entry
        shared = [element for element in self.right_elements if element in self.in_left]
        self.shared = iter(shared)
        self.next_shared = next(self.shared, None)
        self.done: set[Element] = set()
        self.made: list[Any] = []

    def woven(self) -> list[Any]:
        at_left = at_right = 0
        lefts, rights = len(self.left), len(self.right)
        while at_left < lefts or at_right < rights:
            mine = self.left_elements[at_left] if at_left < lefts else None
            if mine is not None and at_right < rights and mine == self.right_elements[at_right]:
                self._take_right(mine)
                self.next_shared = next(self.shared, None)
                at_left, at_right = at_left + 1, at_right + 1
                continue
            if mine is not None and mine not in self.in_right:
                self._put(merge(self.left[at_left], MISSING, self.items.item))
                at_left += 1
                continue
            if mine is not None and at_right < rights and self._waits(mine):
                at_left += 1
                continue
            if mine is not None and mine in self.done:
                at_left += 1
            if at_right < rights:
                theirs = self.right_elements[at_right]
                self._take_right(theirs)
                at_right += 1
                if theirs == self.next_shared:
                    self.next_shared = next(self.shared, None)
        return self.made

    def _waits(self, element: Element) -> bool:
        """Whether the right list brings another shared entry first."""
        return self.next_shared is not None and element != self.next_shared

    def _take_right(self, element: Element) -> None:
        self.done.add(element)
        mine = self.in_left.get(element, MISSING)
        self._put(merge(mine, self.in_right[element], self.items.item))

    def _put(self, entry: Any) -> None:
        if entry is not MISSING:
            self.made.append(entry)


# --- compare ------------------------------------------------------------------------------------


def compare(left: Any, right: Any, structure: Structure) -> Comparison:
    """The fields that ``right`` lacks, has otherwise, or has newly."""
    found = Comparison(FieldSet(), FieldSet(), FieldSet())
    _compare(left, right, structure, (), found)
    return found


def _compare(left: Any, right: Any, structure: Structure, place: Path, found: Comparison) -> None:
    whole = False
    for form in _forms(left, right, structure):
        if form == "map":
            assert structure.map is not None
            whole = _compare_maps(left, right, structure.map, place, found)
        elif form == "list":
            assert structure.list is not None
            whole = _compare_lists(left, right, structure.list, place, found)
        else:
            whole = _compare_whole(left, right, place, found)
    if not whole:
        if left is MISSING:
            found.added.insert(place)
        elif right is MISSING:
            found.removed.insert(place)


def _compare_whole(left: Any, right: Any, place: Path, found: Comparison) -> bool:
    if left is MISSING:
        found.added.insert(place)
    elif right is MISSING:
        found.removed.insert(place)
    elif not same(left, right):
        found.modified.insert(place)
    return True


def _compare_maps(
    left: Any, right: Any, members: MapStructure, place: Path, found: Comparison
) -> bool:
    mine, theirs = _as(dict, left), _as(dict, right)
    if _is_leaf(mine, theirs, members.atomic):
        return _compare_whole(left, right, place, found)
    for name in mine | theirs:
        inner = members.member(name)
        if inner is not None:
            before, after = mine.get(name, MISSING), theirs.get(name, MISSING)
            _compare(before, after, inner, (*place, fieldset.field(name)), found)
    return False


def _compare_lists(
    left: Any, right: Any, items: ListStructure, place: Path, found: Comparison
) -> bool:
    mine, theirs = _as(list, left), _as(list, right)
    if _is_leaf(mine, theirs, not items.associative):
        return _compare_whole(left, right, place, found)
    before, after = _by_element(mine, items), _by_element(theirs, items)
    for element in before | after:
        old, new = before.get(element, []), after.get(element, [])
        _compare_entries(old, new, items, (*place, element), found)
    return False


def _by_element(entries: list[Any], items: ListStructure) -> dict[Element, list[Any]]:
    found: dict[Element, list[Any]] = {}
    for entry in entries:
        found.setdefault(element_of(entry, items), []).append(entry)
    return found


def _compare_entries(
    old: list[Any], new: list[Any], items: ListStructure, place: Path, found: Comparison
) -> None:
    """Entries under one key: normally one on a side; repeated ones count as one whole."""
    if len(old) <= 1 and len(new) <= 1:
        before, after = (old or [MISSING])[0], (new or [MISSING])[0]
        _compare(before, after, items.item, place, found)
    elif len(old) >= 2 and len(new) >= 2:
        if not same(old, new):
            found.modified.insert(place)
    elif len(old) >= 2:
        if new:
            _compare(MISSING, new[0], items.item, place, found)
        found.removed.insert(place)
    else:
        if old:
            _compare(old[0], MISSING, items.item, place, found)
        found.added.insert(place)
