"""Strategic merge patches: lists of built-in kinds merged by key, and directives (C34).

The schema says which lists merge (``x-kubernetes-patch-strategy``) and by which key
(``x-kubernetes-patch-merge-key``). Directives in the patch: ``$patch: replace | delete`` in a map
or list, ``$retainKeys``, ``$deleteFromPrimitiveList/<field>``, ``$setElementOrder/<field>``.
Errors that the server did not foresee are its 500s, with its texts.

Pure; neither argument is changed. Before: `konstat.embedded.patches` (its errors). After: the PATCH
verb, which decodes the result as the built-in kind.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from konstat.embedded import gotext
from konstat.embedded.fieldset import Element
from konstat.embedded.fieldset import value as identity
from konstat.embedded.patches import PatchError, bad_patch, read_object_patch
from konstat.embedded.status_errors import quoted

Object: TypeAlias = dict[str, Any]
Schema: TypeAlias = Mapping[str, Any]

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"
_BAD_RETAIN: Final = "invalid patch format of retainKeys"
_BAD_DELETE: Final = "invalid patch format of primitive list"
_BAD_ORDER: Final = "invalid patch format of setElementOrder list"


def strategic_merge_patch(document: Object, patch: bytes | Object, schema: Schema) -> Object:
    """The document after a strategic merge patch of a built-in kind with this schema.

    Raises PatchError: 400 for a patch that is no object or has malformed directives, 500 for lists
    that cannot be merged (a missing merge key, mixed types), as the server does.
    The result may hold values that the kind does not take (and null entries): decode it as the
    kind next, which drops and refuses them.
    """
    read = read_object_patch(patch, prefix="")
    merged = _merge_map(copy.deepcopy(document), copy.deepcopy(read or {}), schema)
    if gotext.too_deep(merged):
        raise bad_patch("exceeded max depth")
    return merged


class _Merging(NamedTuple):
    """How a field merges: its strategy, its merge key (empty for scalars), its entries' schema."""

    strategy: str
    key: str
    schema: Schema


def _unexpected(message: str) -> PatchError:
    return PatchError(message, code=500)


def _no_key(entry: Any, key: str) -> PatchError:
    return _unexpected(f"map: {gotext.show(entry)} does not contain declared merge key: {key}")


def _wrong_type(expected: Any, given: Any) -> PatchError:
    return _unexpected(
        f"expected a {gotext.go_type(expected)}, but received a {gotext.go_type(given)}"
    )


def _field(schema: Schema, name: str) -> Schema:
    """The schema of a field; raises PatchError for one that the kind does not have."""
    known: Mapping[str, Schema] = schema.get("properties") or {}
    if name in known:
        return known[name]
    folded = [field for field in known if field.casefold() == name.casefold()]
    if folded:
        return known[folded[0]]
    if not known:
        kind = "slice" if schema.get("type") == "array" else _go_kind(schema)
        raise _unexpected(
            f"merging an object in json but data type is not struct, instead is: {kind}"
        )
    raise _unexpected(
        f"unable to find api field in struct {_struct_name(schema)} for the json field"
        f" {quoted(name)}"
    )


def _go_kind(schema: Schema) -> str:
    if "additionalProperties" in schema:
        return "map"
    return {"integer": "int32", "number": "float64", "boolean": "bool"}.get(
        schema.get("type", ""), "string"
    )


def _struct_name(schema: Schema) -> str:
    """The Go name of a struct, where the schema tells it: that of a kind."""
    kinds = schema.get("x-kubernetes-group-version-kind") or ()
    return kinds[0]["kind"] if kinds else "of the schema"


def _merging(schema: Schema, name: str) -> _Merging:
    """How the list or map ``name`` merges."""
    field = _field(schema, name)
    words = str(field.get("x-kubernetes-patch-strategy", "")).split(",")
    strategies = [word for word in words if word and word != "retainKeys"]
    inner = _resolved(field)
    entries = _resolved(inner.get("items") or {}) if inner.get("type") == "array" else inner
    key = field.get("x-kubernetes-patch-merge-key", "")
    return _Merging(strategies[0] if strategies else "", key, entries)


def _resolved(schema: Schema) -> Schema:
    options = schema.get("allOf")
    if "type" in schema or not options or len(options) != 1:
        return schema
    return {**options[0], **schema}


# --- maps ---------------------------------------------------------------------------------------


def _merge_map(original: Object, patch: Object, schema: Schema) -> Object:
    """``original`` (which is ours to change) with ``patch`` merged into it."""
    if _PATCH in patch:
        return _replaced_map(patch)
    _retain_keys(original, patch)
    _merge_ordered_lists(original, patch, schema)
    for name, value in patch.items():
        if name.startswith(_DELETE_FROM):
            _delete_from_list(original, _list_name(name, _DELETE_FROM, _BAD_DELETE), value, schema)
        elif value is None:
            original.pop(name, None)
        else:
            _merge_member(original, name, value, schema)
    return original


def _replaced_map(patch: Object) -> Object:
    directive = patch[_PATCH]
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != _PATCH}
    if directive == "delete":
        return {}
    raise _unknown_directive(directive, patch)


def _unknown_directive(directive: Any, place: Object) -> PatchError:
    shown = directive if isinstance(directive, str) else f"%!s({_printed(directive)})"
    return _unexpected(f"unknown patch type: {shown} in map: {gotext.show(place)}")


def _printed(value: Any) -> str:
    """How Go's ``%s`` complains about a value that is no text."""
    return "<nil>" if value is None else f"{gotext.go_type(value)}={gotext.show(value)}"


def _merge_member(original: Object, name: str, value: Any, schema: Schema) -> None:
    if name in original and _alike(original[name], value):
        if isinstance(value, dict):
            merging = _merging(schema, name)
            if merging.strategy == "replace":
                original[name] = value
            else:
                original[name] = _merge_map(original[name], value, merging.schema)
            return
        if isinstance(value, list):
            merging = _merging(schema, name)
            original[name] = _merge_list(original[name], value, merging)
            return
    kept, value = _without_directives(_without_nulls(value))
    if kept:
        original[name] = value
    else:
        original.pop(name, None)


def _alike(left: Any, right: Any) -> bool:
    return gotext.go_type(left) == gotext.go_type(right)


def _without_nulls(value: Any) -> Any:
    """Without null members, at every depth; null entries of lists stay."""
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(entry) for entry in value] if isinstance(value, list) else value


def _without_directives(value: Any) -> tuple[bool, Any]:
    """Whether a new value is kept (a map with ``$patch`` is not), and the value to keep."""
    if isinstance(value, dict):
        if _PATCH in value:
            return False, None
        members = ((name, _without_directives(inner)) for name, inner in value.items())
        return True, {name: inner for name, (kept, inner) in members if kept}
    if isinstance(value, list):
        return True, [inner for kept, inner in map(_without_directives, value) if kept]
    return True, value


def _retain_keys(original: Object, patch: Object) -> None:
    """``$retainKeys``: members that it does not name go."""
    if _RETAIN not in patch:
        return
    names = patch.pop(_RETAIN)
    if not isinstance(names, list):
        raise bad_patch(_BAD_RETAIN)
    if any(isinstance(name, dict | list) for name in names):
        raise _unexpected(
            f"{_RETAIN} holds a map or list: kube-apiserver breaks the connection on this;"
            " it lists the names of members"
        )
    kept = {name for name in names if isinstance(name, str)}
    for name, value in patch.items():
        directive = name.startswith((_DELETE_FROM, _ORDER))
        if value is not None and not directive and name not in kept:
            raise bad_patch(_BAD_RETAIN)
    for name in [name for name in original if name not in kept]:
        del original[name]


# --- lists --------------------------------------------------------------------------------------


def _list_name(directive: str, prefix: str, problem: str) -> str:
    """The field that a directive such as ``$setElementOrder/ports`` is about."""
    start, _, name = directive.partition("/")
    if start != prefix or "/" not in directive:
        raise bad_patch(problem)
    return name


def _delete_from_list(original: Object, name: str, values: Any, schema: Schema) -> None:
    """``$deleteFromPrimitiveList/…``: these scalars go from the list."""
    if values is None:
        original.pop(name, None)
        return
    current = original.get(name)
    if name not in original or not _alike(current, values) or not isinstance(values, dict | list):
        if name in original and _alike(current, values):
            original[name] = values  # scalars of one type: the server puts the one for the other
        return
    merging = _merging(schema, name)
    if isinstance(values, dict):
        original[name] = _merge_map(original[name], values, merging.schema)
    elif current or values:
        kind = _entry_type(original[name], values)
        if kind is dict:
            original[name] = _merge_entries(original[name], values, merging)
        else:
            gone = {identity(value) for value in values}
            original[name] = [entry for entry in original[name] if identity(entry) not in gone]


def _merge_list(original: list[Any], patch: list[Any], merging: _Merging) -> list[Any]:
    if merging.strategy != "merge":
        return patch
    if not original and not patch:
        return original
    kind = _entry_type(original, patch)
    return _merge_entries(original, patch, merging) if kind is dict else _united(original, patch)


def _entry_type(*lists: list[Any]) -> type:
    """The one type of all entries; raises PatchError when they differ or are lists."""
    entries = [entry for one in lists for entry in one]
    if not entries:
        raise _unexpected("no elements in any of the given slices")
    if entries[0] is None:
        raise _unexpected("list holds null: kube-apiserver breaks the connection on this")
    if isinstance(entries[0], list):
        raise PatchError(
            "the server rejected our request due to an error in our request",
            code=422,
            reason="Invalid",
            details={},
        )
    if len({gotext.go_type(entry) for entry in entries}) > 1:
        raise _unexpected(f"list element types are not identical: {gotext.show(list(lists))}")
    return type(entries[0])


def _united(original: list[Any], patch: list[Any]) -> list[Any]:
    """Two lists of scalars as one without repeats, in order."""
    merged = _deduplicated([*original, *patch])
    return _in_order(merged, patch, original, identity)


def _deduplicated(values: list[Any]) -> list[Any]:
    """Each value once. As the server does it: the last one moves into the place of a repeat."""
    left = list(values)
    at = 0
    while at < len(left) - 1:
        further = at + 1
        while further < len(left):
            if identity(left[further]) == identity(left[at]):
                left[further] = left[-1]
                left.pop()
            else:
                further += 1
        at += 1
    return left


def _merge_entries(original: list[Any], patch: list[Any], merging: _Merging) -> list[Any]:
    """Two lists of maps, merged by key."""
    if not merging.key:
        struct = "struct" if merging.schema.get("properties") else _go_kind(merging.schema)
        raise _unexpected(f"cannot merge lists without merge key for {struct}")
    original, wanted = _with_directives(original, patch, merging.key)
    merged = _merged_entries(original, wanted, merging)
    keyed = _identity_by(merging.key)
    for entry in merged:
        keyed(entry)
    return _in_order(merged, wanted, original, keyed)


def _merged_entries(original: list[Any], wanted: list[Any], merging: _Merging) -> list[Any]:
    merged = list(original)
    for entry in wanted:
        if merging.key not in entry:
            raise _no_key(entry, merging.key)
        at = _find(merged, merging.key, entry[merging.key])
        if at is None:
            merged.append(entry)
        else:
            merged[at] = _merge_map(merged[at], entry, merging.schema)
    return merged


def _find(entries: list[Any], key: str, value: Any) -> int | None:
    wanted = _key_identity(value)
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise _unexpected(f"value for key {index} is not a map")
        if key in entry and _key_identity(entry[key]) == wanted:
            return index
    return None


def _with_directives(
    original: list[Any], patch: list[Any], key: str
) -> tuple[list[Any], list[Any]]:
    """The list after the entries with ``$patch`` in them, and the patch without those."""
    original = list(original)
    wanted: list[Any] = []
    replace = False
    for entry in patch:
        if _PATCH not in entry:
            wanted.append(entry)
            continue
        directive = entry[_PATCH]
        if directive == "delete":
            if key not in entry:
                raise _no_key(entry, key)
            while (at := _find(original, key, entry[key])) is not None:
                del original[at]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise _unexpected("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(directive, entry)
    return (wanted, []) if replace else (original, wanted)


# --- order --------------------------------------------------------------------------------------


def _merge_ordered_lists(original: Object, patch: Object, schema: Schema) -> None:
    """``$setElementOrder/…``: merges the lists that have one, and takes both out of the patch."""
    for directive in [name for name in patch if name.startswith(_ORDER)]:
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise _wrong_type([], order)
        name = _list_name(directive, _ORDER, _BAD_ORDER)
        for place in (original, patch):
            if name in place and not isinstance(place[name], list):
                raise _wrong_type([], place[name])
        merging = _merging(schema, name)
        current, wanted = original.get(name), patch.pop(name, None)
        _check_order(wanted or [], order, merging.key)
        if current is None and wanted is None:
            continue
        before: list[Any] = current or []
        if wanted is None:
            merged = before
        elif current is None:
            merged = _without_directives(wanted)[1]
        else:
            merged = _merge_list(list(current), wanted, merging)
            before = _order_left_behind(current, wanted, merging)
        keyed = _identity_by(merging.key) if merging.key else identity
        _entry_type(current or [], wanted or [])
        original[name] = _in_order(merged, order, before, keyed)


def _order_left_behind(current: list[Any], wanted: list[Any], merging: _Merging) -> list[Any]:
    """The stored entries in the order that the server looks at after it has merged a list.

    It merges in place: where entries were deleted, others move up and new ones take the places
    that become free, and that is what new entries are put in order by.
    """
    key = merging.key
    if merging.strategy != "merge" or not key:
        return current
    left, size = list(current), len(current)
    directives = [entry for entry in wanted if _PATCH in entry]
    for entry in directives:
        if entry[_PATCH] == "delete":
            while (at := _find(left[:size], key, entry[key])) is not None:
                left[at : size - 1] = left[at + 1 : size]
                size -= 1
    if any(entry[_PATCH] == "replace" for entry in directives):
        return left
    for entry in wanted:
        if _PATCH not in entry and _find(left[:size], key, entry[key]) is None:
            if size == len(left):
                break
            left[size] = entry
            size += 1
    return left


def _check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """The entries of the patch stand in the order that the directive gives."""
    if not order or not patch:
        return
    wanted = [entry for entry in patch if not (isinstance(entry, dict) and _PATCH in entry)]
    at = 0
    for place in order:
        if at < len(wanted) and _equal_by(wanted[at], place, key):
            at += 1
    if at < len(wanted):
        raise _unexpected(
            f"The order in patch list:\n{gotext.show(patch)}\n doesn't match {_ORDER} list:"
            f"\n{gotext.show(order)}\n"
        )


def _equal_by(left: Any, right: Any, key: str) -> bool:
    if not key:
        return identity(left) == identity(right)
    keyed = _identity_by(key)
    return keyed(left) == keyed(right)


def _identity_by(key: str) -> Callable[[Any], Element]:
    """What identifies an entry: the value of its merge key; raises PatchError without one."""

    def identity_of(entry: Any) -> Element:
        if not isinstance(entry, dict):
            raise _wrong_type({}, entry)
        if key not in entry:
            raise _no_key(entry, key)
        return _key_identity(entry[key])

    return identity_of


def _key_identity(value: Any) -> Element:
    if isinstance(value, dict | list):
        raise _unexpected(
            f"merge key holds {gotext.show(value)}: kube-apiserver breaks the connection on this"
        )
    return identity(value)


def _in_order(
    merged: list[Any], order: list[Any], current: list[Any], keyed: Callable[[Any], Element]
) -> list[Any]:
    """``merged`` with the entries of ``order`` in that order, the others where they were.

    An entry that the order does not name comes before the first named one that it stood before.
    """
    wanted = _positions(order, keyed)
    before = _positions(current, keyed)
    named = [entry for entry in merged if keyed(entry) in wanted]
    others = [entry for entry in merged if keyed(entry) not in wanted]
    named.sort(key=lambda entry: wanted[keyed(entry)])
    others.sort(key=lambda entry: before.get(keyed(entry), len(before)))
    made: list[Any] = []
    while named and others:
        here, there = before.get(keyed(others[0])), before.get(keyed(named[0]))
        first = here is not None and there is not None and here < there
        made.append(others.pop(0) if first else named.pop(0))
    return made + others + named


def _positions(entries: list[Any], keyed: Callable[[Any], Element]) -> dict[Element, int]:
    found: dict[Element, int] = {}
    for index, entry in enumerate(entries):
        found.setdefault(keyed(entry), index)
    return found
