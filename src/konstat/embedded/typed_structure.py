"""How the parts of an object merge: a view of its schema for apply and field ownership.

A `Structure` says what a value at one place may be: a scalar, a list (replaced as a whole, or
merged by keys, or a set) or a map (atomic or granular). It is read lazily from a structural
schema, which may contain itself, and remembered. What the schema leaves open
(``x-kubernetes-preserve-unknown-fields``) takes its structure from the value: maps are granular,
lists atomic.

Pure. Before: nothing. After: `konstat.embedded.typed`, which walks objects along structures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from konstat.base import limits

Schema: TypeAlias = Mapping[str, Any]
Scalar: TypeAlias = Literal["", "numeric", "string", "boolean", "untyped"]
Form: TypeAlias = Literal["scalar", "list", "map", "any"]

_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_KIND: Final = "x-kubernetes-group-version-kind"
_TEXT: Final[Schema] = {"type": "string"}
_TEXTS: Final[Schema] = {"type": "object", "additionalProperties": _TEXT}
_TIME: Final[Schema] = {"type": "string", "format": "date-time"}
_NUMBER: Final[Schema] = {"type": "integer"}
_FLAG: Final[Schema] = {"type": "boolean"}
_OWNER: Final[Schema] = {
    "type": "object",
    "x-kubernetes-map-type": "atomic",
    "properties": {
        "apiVersion": _TEXT,
        "kind": _TEXT,
        "name": _TEXT,
        "uid": _TEXT,
        "controller": _FLAG,
        "blockOwnerDeletion": _FLAG,
    },
}
# What ObjectMeta is for merging; schemas of custom resources do not spell it out.
_OBJECT_META: Final[Schema] = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "generateName": _TEXT,
        "namespace": _TEXT,
        "selfLink": _TEXT,
        "uid": _TEXT,
        "resourceVersion": _TEXT,
        "generation": _NUMBER,
        "creationTimestamp": _TIME,
        "deletionTimestamp": _TIME,
        "deletionGracePeriodSeconds": _NUMBER,
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "finalizers": {"type": "array", "items": _TEXT, "x-kubernetes-list-type": "set"},
        "ownerReferences": {
            "type": "array",
            "items": _OWNER,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
        },
        "managedFields": {
            "type": "array",
            "items": {"type": "object"},
            "x-kubernetes-list-type": "atomic",
        },
    },
}
_TYPE_META: Final[Schema] = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _OBJECT_META}


class Structure:
    """What a value may be at one place; at least one of scalar, list and map."""

    __slots__ = ("list", "map", "scalar")

    def __init__(
        self,
        scalar: Scalar = "",
        list_: ListStructure | None = None,
        map_: MapStructure | None = None,
    ) -> None:
        self.scalar: Scalar = scalar
        self.list = list_
        self.map = map_

    def form(self, value: Any) -> Form:
        """What ``value`` is here; "any" when its type does not tell, as null does not."""
        if isinstance(value, dict):
            if self.map is not None:
                return "map"
        elif isinstance(value, list):
            if self.list is not None:
                return "list"
        elif value is not None and self.scalar:
            return "scalar"
        if (self.map is not None) + (self.list is not None) + bool(self.scalar) > 1:
            return "any"
        return self.walked_as("any")

    def walked_as(self, form: Form) -> Form:
        """The form to treat a value as: what is "any" is a map where maps are allowed."""
        if form != "any":
            return form
        if self.map is not None:
            return "map"
        return "scalar" if self.scalar else "list"


class ListStructure:
    """A list: atomic, or associative: merged by ``keys``, or a set when there are none."""

    __slots__ = ("_item", "_preserve", "_schema", "associative", "keys")

    def __init__(self, schema: Schema, *, preserve: bool) -> None:
        self.associative, self.keys = _list_merge(schema)
        self._schema: Schema | None = schema.get("items")
        self._preserve = preserve
        self._item: Structure | None = None

    @property
    def item(self) -> Structure:
        """The structure of the entries."""
        if self._item is None:
            schema = self._schema
            self._item = UNTYPED if schema is None else _read(schema, preserve=self._preserve)
        return self._item

    def key_default(self, name: str) -> Any:
        """The value of a key that an entry leaves out, or None."""
        entry = self.item.map
        return None if entry is None else entry.default(name)


class MapStructure:
    """An object or map: named fields, and what further members are (None: not allowed)."""

    __slots__ = ("_fields", "_preserve", "_rest", "_rest_schema", "_schemas", "atomic", "deduced")

    def __init__(self, schema: Schema, *, preserve: bool) -> None:
        self._schemas: Mapping[str, Schema] = _properties(schema)
        self._preserve = preserve
        self._fields: dict[str, Structure] = {}
        self._rest: Structure | None = None
        self._rest_schema: Schema | None = None
        self.deduced = False
        self.atomic = schema.get("x-kubernetes-map-type") == "atomic"
        further = schema.get("additionalProperties")
        if isinstance(further, Mapping):
            self._rest_schema = further
        elif further is True or (further is None and (preserve or not self._schemas)):
            self._rest = DEDUCED
            # Ownership below a map without declared members is not fitted to a changed schema.
            self.deduced = not self._schemas

    def declares(self, name: str) -> bool:
        """Whether ``name`` is a named field, not a further member."""
        return name in self._schemas

    def member(self, name: str) -> Structure | None:
        """The structure of a member; None where the schema has no such member."""
        known = self._fields.get(name)
        if known is not None:
            return known
        schema = self._schemas.get(name)
        if schema is None:
            return self.rest
        made = self._fields[name] = _read(schema, preserve=self._preserve)
        return made

    @property
    def rest(self) -> Structure | None:
        """The structure of members that are not declared."""
        if self._rest is None and self._rest_schema is not None:
            self._rest = _read(self._rest_schema, preserve=self._preserve)
        return self._rest

    def default(self, name: str) -> Any:
        """The default of a declared member, or None."""
        return self._schemas.get(name, {}).get("default")


def _properties(schema: Schema) -> Mapping[str, Schema]:
    declared: Mapping[str, Schema] = schema.get("properties") or {}
    return {**declared, **_TYPE_META} if schema.get(_EMBEDDED) is True else declared


def _list_merge(schema: Schema) -> tuple[bool, tuple[str, ...]]:
    """Whether a list is merged, and by which keys; lists without a mark are atomic."""
    kind = schema.get("x-kubernetes-list-type")
    if kind is not None:
        keys = schema.get("x-kubernetes-list-map-keys", ()) if kind == "map" else ()
        return kind in ("map", "set"), tuple(keys)
    if schema.get("x-kubernetes-patch-strategy") in ("merge", "merge,retainKeys"):
        key = schema.get("x-kubernetes-patch-merge-key")
        return True, () if key is None else (key,)
    return False, ()


def _read(schema: Schema, *, preserve: bool) -> Structure:
    """The structure of a schema; ``preserve`` when a part around it keeps unknown fields."""
    schema = _with_reference(schema)
    preserve = preserve or schema.get(_PRESERVE) is True
    kind = schema.get("type", "")
    if kind == "object":
        return Structure(map_=MapStructure(schema, preserve=preserve))
    if kind == "array":
        return Structure(list_=ListStructure(schema, preserve=preserve))
    if kind in ("integer", "number"):
        return Structure("numeric")
    if kind == "boolean":
        return Structure("boolean")
    if kind == "string":
        return Structure("string" if schema.get("format", "") in ("", "byte") else "untyped")
    return Structure(
        "untyped",
        ListStructure(schema, preserve=preserve),
        MapStructure(schema, preserve=preserve),
    )


def _with_reference(schema: Schema) -> Schema:
    """Built-in schemas say a type in a single ``allOf`` and keywords beside it."""
    options = schema.get("allOf")
    if "type" in schema or not options or len(options) != 1 or "type" not in options[0]:
        return schema
    return {**options[0], **{name: value for name, value in schema.items() if name != "allOf"}}


def _made(scalar: Scalar, *, atomic: bool) -> Structure:
    made = Structure(scalar)
    made.list = ListStructure({}, preserve=False)
    made.map = MapStructure(
        {
            "x-kubernetes-map-type": "atomic" if atomic else "granular",
            "additionalProperties": False,
        },
        preserve=False,
    )
    return made


UNTYPED: Final = _made("untyped", atomic=True)
DEDUCED: Final = _made("untyped", atomic=False)
for _open in (UNTYPED, DEDUCED):
    assert _open.map is not None
    _open.map._rest = _open  # pyright: ignore[reportPrivateUsage]
    _open.map.deduced = _open is DEDUCED

_remembered: dict[int, tuple[Schema, Structure]] = {}


def structure_of(schema: Schema) -> Structure:
    """The structure of a whole object of a kind.

    ``schema`` is that of a built-in kind (with ``x-kubernetes-group-version-kind``) or of a custom
    resource, whose apiVersion, kind and metadata are filled in. It must not change afterwards.
    """
    known = _remembered.get(id(schema))
    if known is not None and known[0] is schema:
        return known[1]
    made = _read(schema if is_builtin(schema) else _as_custom(schema), preserve=False)
    while len(_remembered) >= limits.EMBEDDED_STRUCTURES:
        del _remembered[next(iter(_remembered))]
    _remembered[id(schema)] = (schema, made)
    return made


def is_builtin(schema: Schema) -> bool:
    """Whether a schema is that of a built-in kind, which is a Go struct on the server."""
    return _KIND in schema


def _as_custom(schema: Schema) -> Schema:
    declared: Mapping[str, Schema] = schema.get("properties") or {}
    return {"type": "object", **schema, "properties": {**declared, **_TYPE_META}}


def empty_object(schema: Schema) -> dict[str, Any]:
    """An object of a kind before anything is set: what its first writer is compared with.

    Nothing for custom resources; for built-in kinds the parts that Go always writes: structs, and
    null for required lists and pointers.
    """
    return _empty_struct(schema, 0) if is_builtin(schema) else {}


def _empty_struct(schema: Schema, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if depth > limits.EMBEDDED_JSON_DEPTH:
        return made
    required = schema.get("required") or ()
    for name, member in (schema.get("properties") or {}).items():
        inner = _with_reference(member)
        default = member.get("default")
        if default == {} and inner.get("type") == "object":
            made[name] = _empty_struct(inner, depth + 1)
        elif default is None and name in required and inner.get("type") in ("array", "object"):
            made[name] = None
        elif default is not None and name in required:
            made[name] = default
    return made
