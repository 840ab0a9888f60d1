"""Values as rules see them: Kubernetes data by its schema, and CEL's own kinds of values.

Scalars are Python's (int is CEL's int; `tree.Uint` is its uint). Objects and lists of a resource
stay plain JSON behind `ObjectValue` and `ListValue`, which read through the schema: absent and
null members are the same, lists that are sets or maps compare without order. Before: `declared`,
`tree`. After: `evaluator`, `functions_*`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from konstat.embedded.cel.declared import escape, unescape, with_meta
from konstat.embedded.cel.tree import Uint
from konstat.embedded.structural import gotime
from konstat.embedded.structural.base64text import url_decoded
from konstat.embedded.structural.correlation import Schema, identical

Value: TypeAlias = Any  # any of the kinds below; CEL is typed at run time

NO_OVERLOAD: Final = "no such overload"


class CelError(Exception):
    """An error value of CEL; the message is cel-go's."""


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A moment, in nanoseconds since 1970."""

    nanos: int


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: ``type(self.x) == int``."""

    name: str


class Optional:
    """A value or none."""

    __slots__ = ("content",)

    def __init__(self, *content: Value) -> None:
        self.content = content

    def get(self) -> Value:
        """What is there; raises CelError when nothing is."""
        if not self.content:
            raise CelError("optional.none() dereference")
        return self.content[0]


class Opaque(Protocol):
    """A value of a library: its type's name, equality, and its size for costs."""

    type_name: str

    def same(self, other: Value) -> bool:
        """Whether another value is equal."""
        ...


class ListValue:
    """A list; of a resource when it has a schema for its entries."""

    __slots__ = ("_items", "elements", "keys", "kind")

    def __init__(
        self,
        elements: Sequence[Value],
        *,
        items: Schema | None = None,
        kind: str = "",
        keys: Sequence[str] = (),
    ) -> None:
        self.elements = elements
        self._items = items
        self.kind = kind
        self.keys = tuple(keys)

    def __len__(self) -> int:
        return len(self.elements)

    def __iter__(self) -> Iterator[Value]:
        return map(self.read, self.elements)

    def read(self, element: Value) -> Value:
        """An entry as rules see it."""
        return element if self._items is None else from_json(element, self._items)

    def at(self, index: Value) -> Value:
        """The entry at an index; raises CelError."""
        position = _index(index)
        if not 0 <= position < len(self.elements):
            raise CelError(f"index out of bounds: {position}")
        if self._items is not None and not isinstance(index, int):
            raise CelError(f"unsupported index: {position}")  # so the server's own lists
        return self.read(self.elements[position])

    def plus(self, other: ListValue) -> ListValue:
        """Both lists; a set takes only what is new, a list map replaces entries by their keys."""
        if self._items is None:
            return ListValue([*self, *other])
        added = [to_json(entry) for entry in other]
        elements = list(self.elements)
        if self.kind == "set":
            for entry in added:
                if not any(identical(entry, known) for known in elements):
                    elements.append(entry)
        elif self.kind == "map":
            places = {_identity(e, self.keys): i for i, e in enumerate(elements)}
            for entry in added:
                place = places.get(_identity(entry, self.keys))
                if place is None:
                    elements.append(entry)
                else:
                    elements[place] = entry
        else:
            elements += added
        return ListValue(elements, items=self._items, kind=self.kind, keys=self.keys)


def _index(index: Value) -> int:
    if isinstance(index, Uint):
        return index.value
    if isinstance(index, float) and index.is_integer():
        return int(index)
    if isinstance(index, int) and not isinstance(index, bool):
        return index
    if isinstance(index, float):
        raise CelError(f"unsupported index value {index:g} in list")
    raise CelError(f"unsupported index type '{type_name(index)}' in list")


def _identity(entry: Any, keys: Sequence[str]) -> tuple[Any, ...]:
    members = entry if isinstance(entry, dict) else {}
    return tuple((type(members.get(key)), str(members.get(key))) for key in keys)


class MapValue:
    """A map that a rule builds, or what a library returns."""

    __slots__ = ("entries",)

    def __init__(
        self, entries: Iterator[tuple[Value, Value]] | Sequence[tuple[Value, Value]]
    ) -> None:
        self.entries: dict[Any, tuple[Value, Value]] = {map_key(k): (k, v) for k, v in entries}

    def __len__(self) -> int:
        return len(self.entries)

    def names(self) -> Iterator[Value]:
        """The keys."""
        return iter([key for key, _ in self.entries.values()])

    def find(self, key: Value) -> tuple[Value, bool]:
        """The value of a key, and whether there is one."""
        found = self.entries.get(map_key(key))
        return (None, False) if found is None else (found[1], True)


def map_key(key: Value) -> Any:
    """What equal keys have in common; numbers are equal across their types."""
    if isinstance(key, bool):
        return ("bool", key)
    if isinstance(key, Uint):
        return key.value
    if isinstance(key, str | int | float):
        return key
    raise CelError(f"unsupported key type: {type_name(key)}")


class ObjectValue:
    """An object or map of a resource: plain JSON read through its schema."""

    __slots__ = ("_is_object", "content", "schema")

    def __init__(self, content: Mapping[str, Any], schema: Schema) -> None:
        self.content = content
        self.schema = schema
        self._is_object = bool(schema.get("properties"))

    def __len__(self) -> int:
        return len(self.content)

    def inner_schema(self, name: str) -> Schema | None:
        """The schema of a member, or None for one that rules cannot see."""
        if self._is_object or self.schema.get("x-kubernetes-embedded-resource"):
            return (self.schema.get("properties") or {}).get(name)
        others = self.schema.get("additionalProperties")
        return others if isinstance(others, Mapping) else None

    def names(self) -> Iterator[str]:
        """The keys that rules can see, as rules write them."""
        for name in self.content:
            if self.inner_schema(name) is not None:
                yield (escape(name) or name) if self._is_object else name

    def find(self, key: Value) -> tuple[Value, bool]:
        """The value of a member and whether it is there; null in an object is not."""
        if not isinstance(key, str):
            raise CelError(NO_OVERLOAD)
        name = unescape(key) if self._is_object else key
        if name is None or name not in self.content:
            return None, False
        content, schema = self.content[name], self.inner_schema(name)
        if schema is None or (self._is_object and content is None):
            return None, False
        return from_json(content, schema), True


@dataclass(frozen=True, slots=True)
class Preserved:
    """A value without a schema: it can be compared, and nothing else."""

    content: Any


# --- Kubernetes data --------------------------------------------------------------------------


def from_json(content: Any, schema: Schema) -> Value:
    """What a rule sees of JSON data; raises CelError where the data does not fit the schema."""
    if content is None:
        if schema.get("nullable"):
            return None
        raise CelError("invalid data, got null for schema with nullable=false")
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(content, str) or (isinstance(content, int) and content is not True):
            return content
        raise CelError("invalid data, expected XIntOrString value to be either a string or integer")
    convert = _CONVERSIONS.get(str(schema.get("type")))
    if convert is not None:
        return convert(content, schema)
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return Preserved(content)
    raise CelError(
        "invalid type, expected object, array, number, integer, boolean or string, or no type with"
        " x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got "
    )


def _object(content: Any, schema: Schema) -> Value:
    if not isinstance(content, dict):
        raise CelError("invalid data, expected a map for the provided schema with type=object")
    if schema.get("x-kubernetes-embedded-resource"):
        schema = with_meta(schema)
    return ObjectValue(content, schema)


def _list(content: Any, schema: Schema) -> Value:
    if not isinstance(content, list):
        raise CelError("invalid data, expected an array for the provided schema with type=array")
    items = schema.get("items")
    if not isinstance(items, Mapping):
        raise CelError("invalid array type, expected Items with a non-empty Schema")
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    return ListValue(
        content, items=items, kind=schema.get("x-kubernetes-list-type") or "", keys=keys
    )


def _text(content: Any, schema: Schema) -> Value:
    if not isinstance(content, str):
        raise CelError(f"invalid data, expected string, got {_go_type(content)}")
    name = schema.get("format")
    if name == "duration":
        length = gotime.parse_duration(content)
        if length is None:
            problem = f"unable to parse {content} as duration"
            raise CelError(f"Invalid duration {content}: {problem}")
        return Duration(length)
    if name == "date":
        day = gotime.day_number(content)
        if day is None:
            raise CelError(f"Invalid date formatted string {content}")
        return Timestamp(day * 86400 * gotime.NANOSECONDS)
    if name == "date-time":
        moment = 0 if content == "" else gotime.parse_date_time(content)
        if moment is None:
            raise CelError(f"Invalid date-time formatted string {content}")
        return Timestamp(moment)
    if name == "byte":
        decoded = url_decoded(content)
        if decoded is None:
            raise CelError(f"Invalid byte formatted string {content}: illegal base64 data")
        return decoded
    return content


def _number(content: Any, schema: Schema) -> Value:
    if isinstance(content, int | float) and not isinstance(content, bool):
        return float(content)
    raise CelError(f"invalid data, expected float, got {_go_type(content)}")


def _integer(content: Any, schema: Schema) -> Value:
    if isinstance(content, int) and not isinstance(content, bool):
        return content
    raise CelError(f"invalid data, expected int, got {_go_type(content)}")


def _boolean(content: Any, schema: Schema) -> Value:
    if isinstance(content, bool):
        return content
    raise CelError(f"invalid data, expected bool, got {_go_type(content)}")


def _go_type(content: Any) -> str:
    names = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}"}
    return names.get(type(content), "map[string]interface {}")


_CONVERSIONS: Final[Mapping[str, Callable[[Any, Schema], Value]]] = {
    "object": _object,
    "array": _list,
    "string": _text,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
}


def to_json(value: Value) -> Any:
    """Plain data of a value that is put into a list of a resource."""
    if isinstance(value, ObjectValue | Preserved):
        return value.content
    if isinstance(value, ListValue):
        return [to_json(entry) for entry in value]
    if isinstance(value, MapValue):
        return {str(key): to_json(inner) for key, inner in value.entries.values()}
    return value.value if isinstance(value, Uint) else value


# --- types and equality -----------------------------------------------------------------------

_TYPE_NAMES: Final[Mapping[type, str]] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    ListValue: "list",
    MapValue: "map",
    ObjectValue: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Optional: "optional_type",
    TypeValue: "type",
    Preserved: "unknown",
}


def type_name(value: Value) -> str:
    """The name of a value's type."""
    return _TYPE_NAMES.get(type(value)) or value.type_name


def is_number(value: Value) -> bool:
    """Whether a value is an int, uint or double."""
    return isinstance(value, int | float | Uint) and not isinstance(value, bool)


def number(value: Value) -> int | float:
    """The amount of a number."""
    return value.value if isinstance(value, Uint) else value


def equal(left: Value, right: Value) -> bool:
    """CEL's equality: numbers across their types, no error for values of different types."""
    if is_number(left) and is_number(right):
        return _equal_numbers(number(left), number(right))
    if isinstance(left, ListValue):
        return isinstance(right, ListValue) and _equal_lists(left, right)
    if isinstance(left, MapValue | ObjectValue):
        return isinstance(right, MapValue | ObjectValue) and _equal_maps(left, right)
    if isinstance(left, Optional):
        return isinstance(right, Optional) and _equal_all(left.content, right.content)
    if isinstance(left, Preserved):
        other = right.content if isinstance(right, Preserved) else right
        return identical(left.content, other)
    if type(left) is not type(right):
        return False
    return left.same(right) if hasattr(left, "same") else left == right


def _equal_numbers(left: float, right: float) -> bool:
    if isinstance(left, float) and not math.isfinite(left):
        return left == right
    return left == right


def _equal_all(left: Sequence[Value], right: Sequence[Value]) -> bool:
    return len(left) == len(right) and all(
        equal(one, other) for one, other in zip(left, right, strict=True)
    )


def _equal_lists(left: ListValue, right: ListValue) -> bool:
    if len(left) != len(right):
        return False
    if left.kind == "set":
        return all(any(equal(one, other) for other in left) for one in right)
    if left.kind == "map":
        known = {_identity(to_json(one), left.keys): one for one in left}
        for other in right:
            one = known.get(_identity(to_json(other), left.keys))
            if one is None or not equal(one, other):
                return False
        return True
    return all(equal(one, other) for one, other in zip(left, right, strict=True))


def _equal_maps(left: MapValue | ObjectValue, right: MapValue | ObjectValue) -> bool:
    if len(left) != len(right):
        return False
    for name in left.names():
        one, found = left.find(name)
        other, other_found = right.find(name)
        if found is not other_found or (found and not equal(one, other)):
            return False
    if isinstance(left, ObjectValue) and isinstance(right, ObjectValue):
        # Members without a schema: those that both have must be the same.
        return all(
            identical(content, right.content[name])
            for name, content in left.content.items()
            if left.inner_schema(name) is None and name in right.content
        )
    return True


def contains(container: ListValue, wanted: Value) -> bool:
    """Whether an entry of a list is equal to a value; an error only if none is."""
    problem: CelError | None = None
    for element in container.elements:
        try:
            if equal(container.read(element), wanted):
                return True
        except CelError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return False


def size_of(value: Value) -> int:
    """The size of a value as costs count it: characters, bytes, entries; 1 for the rest."""
    if isinstance(value, str | bytes | ListValue | MapValue | ObjectValue):
        return len(value)
    return int(getattr(value, "size", 1))
