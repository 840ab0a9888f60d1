"""What a call has cost, from the sizes of its arguments: the server's run-time accounting.

Before: `values`. After: `evaluator`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from konstat.embedded.cel.call_costs import REGEX, TRAVERSAL
from konstat.embedded.cel.values import ListValue, MapValue, ObjectValue, Value, size_of

_LIST_BASE: Final = 10
_Counter = Callable[[Sequence[Value], Value], int]


def call_cost(name: str, overloads: Sequence[str], args: Sequence[Value], result: Value) -> int:
    """The cost of one call."""
    overload = overloads[0] if len(overloads) == 1 else ""
    for key in (overload, name):
        counter = _COUNTERS.get(key)
        if counter is not None:
            return counter(args, result)
    return 1


def _traversed(factor: float) -> _Counter:
    return lambda args, result: math.ceil(size_of(args[0]) * factor * TRAVERSAL)


def _built(args: Sequence[Value], result: Value) -> int:
    return math.ceil(size_of(result) * 2 * TRAVERSAL)


def _regex(args: Sequence[Value], result: Value) -> int:
    text = math.ceil((1 + size_of(args[0])) * TRAVERSAL)
    return text * math.ceil(size_of(args[1]) * REGEX)


def _contains(args: Sequence[Value], result: Value) -> int:
    return math.ceil(size_of(args[0]) * TRAVERSAL) * math.ceil(size_of(args[1]) * TRAVERSAL)


def _smaller(args: Sequence[Value], result: Value) -> int:
    return math.ceil(min(size_of(args[0]), size_of(args[1])) * TRAVERSAL)


def _add(args: Sequence[Value], result: Value) -> int:
    if isinstance(args[0], str | bytes):
        return math.ceil((size_of(args[0]) + size_of(args[1])) * TRAVERSAL)
    return 1


def _in(args: Sequence[Value], result: Value) -> int:
    return size_of(args[1]) if isinstance(args[1], ListValue) else 1


def _walked(args: Sequence[Value], result: Value) -> int:
    return _walk(args[0])


def _walk(value: Value) -> int:
    if isinstance(value, str | bytes):
        return int(len(value) * TRAVERSAL)
    if isinstance(value, ListValue):
        return sum(_walk(entry) for entry in value)
    if isinstance(value, MapValue | ObjectValue):
        return sum(_walk(name) + _walk(value.find(name)[0]) for name in value.names())
    return 1


def _allocated(factor: float, size: int) -> int:
    return int(size * factor) + 1 + _LIST_BASE


def _output(args: Sequence[Value], result: Value) -> int:
    return _allocated(1, size_of(result))


def _flattened(args: Sequence[Value], result: Value) -> int:
    return _allocated(float(args[1]) if len(args) == 2 else 1, size_of(args[0]))


def _compared(position: int) -> _Counter:
    def counted(args: Sequence[Value], result: Value) -> int:
        values = args[position]
        size = size_of(values)
        texts = isinstance(values, ListValue) and size and isinstance(values.at(0), str | bytes)
        return _allocated(2 + (TRAVERSAL if texts else 0), size * size)

    return counted


def _sets(factor: int) -> _Counter:
    return lambda args, result: 1 + size_of(args[0]) * size_of(args[1]) * factor


def _within(args: Sequence[Value], result: Value) -> int:
    network, other = size_of(args[0]), args[1]
    cost = math.ceil(2 * network * TRAVERSAL)
    return cost + (math.ceil(len(other) * TRAVERSAL) if isinstance(other, str) else 0)


def _within_network(args: Sequence[Value], result: Value) -> int:
    return _within(args, result) + math.ceil(size_of(args[0]) * TRAVERSAL) + 1


def _equal(args: Sequence[Value], result: Value) -> int:
    return 1 if hasattr(args[0], "same") else _smaller(args, result)


_COUNTERS: Final[Mapping[str, _Counter]] = {
    "string_to_bytes": _traversed(1),
    "bytes_to_string": _traversed(1),
    "startsWith": _traversed(1),
    "endsWith": _traversed(1),
    "strings.quote": _traversed(1),
    "format": _traversed(1),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _traversed(1)),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "string_to_ip"), _traversed(1)),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _traversed(1)),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _traversed(2)),
    "join": _built,
    **dict.fromkeys(("find", "findAll", "matches_string"), _regex),
    "validate": lambda args, result: math.ceil((1 + size_of(args[1])) * TRAVERSAL) * 32,
    "contains_string": _contains,
    "@in": _in,
    "_+_": _add,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_", "_!=_"), _smaller),
    "_==_": _equal,
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _walked),
    **dict.fromkeys(("slice", "lists.range", "reverse"), _output),
    "flatten": _flattened,
    "distinct": _compared(0),
    "sort": _compared(0),
    "@sortByAssociatedKeys": _compared(1),
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
    "containsIP": _within,
    "containsCIDR": _within_network,
}
