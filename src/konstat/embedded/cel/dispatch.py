"""Calls one function of CEL, and names it in the error when no overload takes its arguments.

Arguments of dynamic type (int-or-string, ``dyn(…)``) are known at run time only. cel-go looks at
the type of each argument and at the first entry of a list. Before: `functions`. After:
`evaluator`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from konstat.embedded.cel.functions import FUNCTIONS
from konstat.embedded.cel.values import (
    NO_OVERLOAD,
    CelError,
    ListValue,
    MapValue,
    ObjectValue,
    Value,
    type_name,
)

_DURATION: Final = "google.protobuf.Duration"
_TIMESTAMP: Final = "google.protobuf.Timestamp"
_CONVERTED: Final[Mapping[str, frozenset[str]]] = {
    "bool": frozenset(("bool", "string")),
    "bytes": frozenset(("bytes", "string")),
    "double": frozenset(("double", "int", "string", "uint")),
    "duration": frozenset((_DURATION, "int", "string")),
    "int": frozenset(("int", "double", _DURATION, "string", _TIMESTAMP, "uint")),
    "timestamp": frozenset((_TIMESTAMP, "int", "string")),
    "uint": frozenset(("uint", "double", "int", "string")),
}
_TEXTLESS: Final = frozenset(
    ("null_type", "list", "map", "type", "optional_type", "kubernetes.URL")
)
_ORDERED: Final = frozenset(
    ("int", "uint", "double", "bool", "string", "bytes", _DURATION, _TIMESTAMP)
)
_FIRST_ENTRIES: Final[Mapping[str, frozenset[str]]] = {
    "isSorted": _ORDERED,
    "min": _ORDERED,
    "max": _ORDERED,
    "sum": frozenset(("int", "uint", "double", _DURATION)),
    "join": frozenset(("string",)),
    "unwrapOpt": frozenset(("optional_type",)),
    "optional.unwrap": frozenset(("optional_type",)),
}
_OF_QUANTITIES: Final = frozenset(("asApproximateFloat", "asInteger", "isInteger", "sign"))
# Those that cel-go finds by what their target can do, not by its type.
_UNNAMED: Final = frozenset(("contains", "startsWith", "endsWith", "matches"))
_UNNAMED_FOR_OTHERS: Final = frozenset(("find", "findAll"))
_NAMED_ONLY: Final[Mapping[str, str]] = {
    "size": "size",
    "sort": "sort",
    "@sortByAssociatedKeys": "sort",
}


def invoke(name: str, args: Sequence[Value]) -> Value:
    """The result of a function; raises CelError."""
    if not _taken(name, args):
        raise _refusal(name, args)
    try:
        return FUNCTIONS[name](*args)
    except CelError as error:
        if str(error) == NO_OVERLOAD and not _unnamed(name, args):
            raise _refusal(name, args) from error
        raise


def _taken(name: str, args: Sequence[Value]) -> bool:
    if name in _CONVERTED:
        return type_name(args[0]) in _CONVERTED[name]
    if name == "string":
        return hasattr(args[0], "text") or type_name(args[0]) not in _TEXTLESS
    if name in _OF_QUANTITIES:
        return type_name(args[0]) == "kubernetes.Quantity"
    if name in _FIRST_ENTRIES and isinstance(args[0], ListValue) and len(args[0]):
        return type_name(args[0].at(0)) in _FIRST_ENTRIES[name]
    return True


def _unnamed(name: str, args: Sequence[Value]) -> bool:
    if name in _UNNAMED_FOR_OTHERS:
        return not isinstance(args[0], str)
    return name in _UNNAMED or not name[:1].isalpha()


def _refusal(name: str, args: Sequence[Value]) -> CelError:
    if name in _NAMED_ONLY:
        return CelError(f"{NO_OVERLOAD}: {_NAMED_ONLY[name]}")
    kinds = [type_name(arg) for arg in args]
    if name == "flatten":
        return CelError(f"{NO_OVERLOAD}: {kinds[0]}.flatten({', '.join(kinds[1:])})")
    return CelError(f"{NO_OVERLOAD}: {name}({', '.join(kinds)})")


# --- members ----------------------------------------------------------------------------------

_GO_TYPES: Final[Mapping[str, str]] = {
    _DURATION: "types.Duration",
    _TIMESTAMP: "types.Timestamp",
    "null_type": "types.Null",
    "optional_type": "*types.Optional",
    "type": "*types.Type",
    "kubernetes.URL": "cel.URL",
    **{name: f"types.{name.title()}" for name in ("bool", "bytes", "double", "int", "string")},
    "uint": "types.Uint",
}


def no_entries(value: Value, *, two: bool) -> CelError:
    """The error of a loop over what has no entries."""
    kind = type_name(value)
    shown = _GO_TYPES.get(kind, kind)
    if two:
        return CelError(f"unsupported comprehension range type: {shown}")
    return CelError(f"got '{shown}', expected iterable type")


def find_member(value: Value, field: str) -> tuple[Value, bool]:
    """A member and whether it is there; nothing but maps and objects has any."""
    if isinstance(value, ListValue):
        value.at(field)  # raises: a list has no names
    return value.find(field) if isinstance(value, MapValue | ObjectValue) else (None, False)
