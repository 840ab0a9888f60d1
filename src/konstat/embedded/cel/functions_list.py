"""CEL's functions of lists, sets and optional values, of Kubernetes and of cel-go's extensions.

Before: `operators`, `functions_text` (indexOf of texts). After: `functions`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key
from typing import Final

from konstat.base import limits
from konstat.embedded.cel import functions_text
from konstat.embedded.cel.operators import FUNCTIONS as OPERATORS
from konstat.embedded.cel.operators import compare, is_int, no_overload
from konstat.embedded.cel.tree import Uint
from konstat.embedded.cel.values import (
    CelError,
    Duration,
    ListValue,
    MapValue,
    ObjectValue,
    Optional,
    Value,
    contains,
    equal,
    type_name,
)


def _list(value: Value) -> ListValue:
    if not isinstance(value, ListValue):
        raise no_overload(value)
    return value


def _is_sorted(values: Value) -> bool:
    entries = list(_list(values))
    return all(compare(a, b) <= 0 for a, b in itertools.pairwise(entries))


def _sum(values: Value) -> Value:
    entries = list(_list(values))
    if not entries:
        return 0
    zeroes = {float: 0.0, Uint: Uint(0), Duration: Duration(0)}
    total: Value = zeroes.get(type(entries[0]), 0)
    for entry in entries:
        total = OPERATORS["_+_"](total, entry)
    return total


def _extreme(name: str, wanted: int) -> Callable[[Value], Value]:
    def found(values: Value) -> Value:
        entries = list(_list(values))
        if not entries:
            raise CelError(f"{name} called on empty list")
        best = entries[0]
        for entry in entries[1:]:
            if compare(best, entry) == wanted:
                best = entry
        return best

    return found


def _index_of(values: Value, wanted: Value, *offset: Value) -> int:
    if isinstance(values, str):
        return functions_text.index_of(values, wanted, *offset)
    return next((i for i, entry in enumerate(_list(values)) if equal(entry, wanted)), -1)


def _last_index_of(values: Value, wanted: Value, *offset: Value) -> int:
    if isinstance(values, str):
        return functions_text.last_index_of(values, wanted, *offset)
    found = [i for i, entry in enumerate(_list(values)) if equal(entry, wanted)]
    return found[-1] if found else -1


def _sets_contains(values: Value, wanted: Value) -> bool:
    container = _list(values)
    return all(contains(container, entry) for entry in _list(wanted))


def _sets_equivalent(left: Value, right: Value) -> bool:
    return _sets_contains(left, right) and _sets_contains(right, left)


def _sets_intersects(left: Value, right: Value) -> bool:
    container = _list(right)
    return any(_quietly_contains(container, entry) for entry in _list(left))


def _quietly_contains(container: ListValue, wanted: Value) -> bool:
    try:
        return contains(container, wanted)
    except CelError:
        return False


def _slice(values: Value, start: Value, end: Value) -> ListValue:
    entries = list(_list(values))
    if not is_int(start) or not is_int(end):
        raise no_overload(values, start, end)
    problem = ""
    if start < 0 or end < 0:
        problem = "negative indexes not supported"
    elif start > end:
        problem = "start index must be less than or equal to end index"
    elif len(entries) < end:
        problem = f"list is length {len(entries)}"
    if problem:
        raise CelError(f"cannot slice({start}, {end}), {problem}")
    return ListValue(entries[start:end])


def _flatten(values: Value, depth: Value = 1) -> ListValue:
    if not is_int(depth):
        raise no_overload(values, depth)
    if depth < 0:
        raise CelError("level must be non-negative")
    return ListValue(_flat(_list(values), min(depth, limits.EMBEDDED_JSON_DEPTH)))


def _flat(values: ListValue, depth: int) -> list[Value]:
    found: list[Value] = []
    for entry in values:
        found += _flat(entry, depth - 1) if isinstance(entry, ListValue) and depth else [entry]
    return found


def _range(count: Value) -> ListValue:
    if not is_int(count):
        raise no_overload(count)
    if count > limits.EMBEDDED_RULE_COST:
        raise CelError(f"lists.range({count}) is too long")
    return ListValue(range(max(0, count)))


def _reverse(values: Value) -> ListValue:
    return ListValue(list(_list(values))[::-1])


def _distinct(values: Value) -> ListValue:
    found: list[Value] = []
    for entry in _list(values):
        if not any(equal(entry, known) for known in found):
            found.append(entry)
    return ListValue(found)


def _sort(values: Value) -> ListValue:
    return _sorted_by(values, values)


def _sorted_by(values: Value, keys: Value) -> ListValue:
    entries, by = list(_list(values)), list(_list(keys))
    if len(entries) != len(by):
        raise CelError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list,"
            f" but got {len(entries)} and {len(by)} elements respectively"
        )
    if not entries:
        return ListValue(entries)
    if len({type_name(key) for key in by}) > 1:
        raise CelError("list elements must have the same type")
    if isinstance(by[0], ListValue | MapValue | ObjectValue):
        raise CelError("list elements must be comparable")
    order: Sequence[int] = sorted(
        range(len(by)), key=cmp_to_key(lambda one, other: compare(by[one], by[other]))
    )
    return ListValue([entries[position] for position in order])


# --- maps and optional values -----------------------------------------------------------------


def _insert(target: Value, *more: Value) -> MapValue:
    if not isinstance(target, MapValue):
        raise no_overload(target)
    added: list[tuple[Value, Value]] = []
    if len(more) == 2:
        added.append((more[0], more[1]))
    elif isinstance(more[0], MapValue | ObjectValue):
        added = [(name, more[0].find(name)[0]) for name in more[0].names()]
    else:
        raise no_overload(target, *more)
    for name, _ in added:
        if target.find(name)[1]:
            raise CelError(f"insert failed: key {name} already exists")
    return MapValue([*target.entries.values(), *added])


def _optional(value: Value) -> Optional:
    if not isinstance(value, Optional):
        raise no_overload(value)
    return value


def _of_non_zero(value: Value) -> Optional:
    amount = value.value if isinstance(value, Uint) else value
    if isinstance(value, ListValue | MapValue | ObjectValue):
        return Optional(value) if len(value) else Optional()
    if isinstance(value, Duration) and value.nanos == 0:
        return Optional()
    return Optional() if amount in (None, "", b"", 0, False) else Optional(value)


def _first(values: Value) -> Optional:
    entries = _list(values)
    return Optional(entries.at(0)) if len(entries) else Optional()


def _last(values: Value) -> Optional:
    entries = _list(values)
    return Optional(entries.at(len(entries) - 1)) if len(entries) else Optional()


def _unwrap(values: Value) -> ListValue:
    found: list[Value] = []
    for entry in _list(values):
        found += _optional(entry).content
    return ListValue(found)


_UNARY: Final[Mapping[str, Callable[[Value], Value]]] = {
    "value": lambda value: _optional(value).get(),
    "hasValue": lambda value: bool(_optional(value).content),
}
FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    **_UNARY,
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": _extreme("min", 1),
    "max": _extreme("max", -1),
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "sets.contains": _sets_contains,
    "sets.equivalent": _sets_equivalent,
    "sets.intersects": _sets_intersects,
    "slice": _slice,
    "flatten": _flatten,
    "lists.range": _range,
    "reverse": _reverse,
    "distinct": _distinct,
    "sort": _sort,
    "@sortByAssociatedKeys": _sorted_by,
    "cel.@mapInsert": _insert,
    "optional.of": Optional,
    "optional.ofNonZeroValue": _of_non_zero,
    "optional.none": Optional,
    "first": _first,
    "last": _last,
    "optional.unwrap": _unwrap,
    "unwrapOpt": _unwrap,
}
