"""Reads an object of a built-in kind as Go's decoder would, into the form that Go would write.

A built-in kind is a Go struct on the server: a value of another type than its field's is a 400
with Go's words, unknown members vanish, null is absent, an empty optional member is not written,
a struct is always written, quantities, times and bytes have one spelling. `decode` does this to
a plain dict, so that what is stored is what the real server would store.

Before: `definitions` (the forms). After: `defaults`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from konstat.embedded.builtin import definitions, quantities, times
from konstat.embedded.builtin.definitions import META, Field

Object = dict[str, Any]

_API: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_JSON_PROPS: Final = f"{_API}JSONSchemaProps"
QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_RANGES: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_ABSENT: Final = object()


class DecodeError(ValueError):
    """A JSON value that the Go type does not take; the text is the decoder's."""


def decode(obj: Object, name: str) -> None:
    """Bring ``obj`` (of the definition ``name``) into the form that the server writes, in place.

    Raises DecodeError, with Go's text, for a value of the wrong type.
    """
    decoded = _struct(obj, name, _Place("", ""))
    obj.clear()
    obj.update(decoded)


def empty(name: str, field: str) -> Any:
    """What Go writes for a field of ``name`` that holds nothing; None when it writes nothing."""
    schema = definitions.definitions()[name]["properties"][field]
    written = _when_empty(definitions.form(name)[field], schema)
    return None if written is _ABSENT else written


class _Place:
    """Where a value stands, as the decoder's errors say it: the struct, the names of fields."""

    __slots__ = ("path", "struct")

    def __init__(self, struct: str, path: str) -> None:
        self.struct = struct
        self.path = path

    def field(self, struct: str, name: str) -> _Place:
        return _Place(struct, f"{self.path}.{name}" if self.path else name)

    def refuse(self, value: Any, go_type: str) -> DecodeError:
        shown = _json_kind(value)
        if shown == "number" and go_type.startswith(("int", "float")):
            shown = f"number {json.dumps(value)}"
        into = f"Go struct field {self.struct}.{self.path}" if self.path else "Go value"
        return DecodeError(f"json: cannot unmarshal {shown} into {into} of type {go_type}")


def _json_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "number"


def _struct(value: Any, name: str, place: _Place) -> Object:
    """A struct: its members in the order of the text, then what Go writes besides."""
    struct = name.rpartition(".")[2]
    fields = definitions.form(name)
    properties = definitions.definitions()[name].get("properties", {})
    made: Object = {}
    for key, member in value.items():
        field = fields.get(key)
        if field is None or member is None:
            continue
        schema = properties[key]
        decoded = _value(member, schema, field.go_type, place.field(struct, key))
        if field.code == "k" and decoded in ([], {}):
            decoded = None  # protobuf, in which built-in kinds are stored, has no empty list
        if not _left_out(decoded, field, schema):
            made[key] = decoded
    for key, field in fields.items():
        if key not in made:
            written = _when_empty(field, properties[key])
            if written is not _ABSENT:
                made[key] = written
    return made


def _left_out(value: Any, field: Field, schema: Mapping[str, Any]) -> bool:
    """Whether Go leaves out a value because it is empty."""
    if field.code not in ("e", "t"):
        return False
    if field.code == "t" and _is_struct(schema):
        return False
    return value in ("", 0, False) if not isinstance(value, dict | list) else not value


def _when_empty(field: Field, schema: Mapping[str, Any]) -> Any:
    """What Go writes for a field that was not given, or _ABSENT."""
    if field.code in ("e", "n"):
        return _ABSENT
    if field.code == "p":
        return None
    target = definitions.reference(schema)
    if target == QUANTITY:
        return "0"
    if target == INT_OR_STRING:
        return 0
    if _is_struct(schema):
        return _struct({}, target, _Place("", ""))
    if target:  # Time, RawExtension, JSON: structs that write null
        return None
    if field.code == "t":
        return _ABSENT
    kind = schema.get("type")
    if kind in ("array", "object") or field.go_type.startswith(("[", "map[")):
        return None
    return {"string": "", "boolean": False}.get(str(kind), 0)


def _is_struct(schema: Mapping[str, Any]) -> bool:
    target = definitions.reference(schema)
    return bool(target) and "properties" in definitions.definitions()[target]


# --- values -----------------------------------------------------------------------------------


def _value(value: Any, schema: Mapping[str, Any], go_type: str, place: _Place) -> Any:
    """One value that is not null."""
    target = definitions.reference(schema)
    if target:
        return _referred(value, target, go_type, place)
    kind = schema.get("type")
    if kind == "array":
        return _list(value, schema, go_type, place)
    if kind == "object":
        return _map(value, schema, go_type, place)
    if kind == "string" and schema.get("format") == "byte":
        return _bytes(value, place)
    return _scalar(value, schema, go_type, place)


def _referred(value: Any, target: str, go_type: str, place: _Place) -> Any:
    special = _SPECIAL.get(target)
    if special is not None:
        return special(value, place)
    definition = definitions.definitions()[target]
    if "properties" in definition:
        if not isinstance(value, dict):
            raise place.refuse(value, go_type)
        return _struct(value, target, place)
    if definition.get("type") == "object" and not definition.keys() - {"type", "description"}:
        return value
    return _value(value, definition, go_type, place)


def _list(value: Any, schema: Mapping[str, Any], go_type: str, place: _Place) -> list[Any]:
    if not isinstance(value, list):
        raise place.refuse(value, go_type)
    inner = schema["items"]
    element = go_type.removeprefix("[]")
    return [_element(one, inner, element, place) for one in value]


def _map(value: Any, schema: Mapping[str, Any], go_type: str, place: _Place) -> Object:
    if not isinstance(value, dict):
        raise place.refuse(value, go_type)
    inner = schema.get("additionalProperties")
    if not isinstance(inner, dict):
        return value
    element = go_type.partition("]")[2] if go_type.startswith("map[") else str(inner.get("type"))
    return {key: _element(one, inner, element, place) for key, one in value.items()}


def _element(value: Any, schema: Mapping[str, Any], go_type: str, place: _Place) -> Any:
    """One entry of a list or map; null is the zero value."""
    if value is not None:
        return _value(value, schema, go_type, place)
    target = definitions.reference(schema)
    if target == QUANTITY:
        return "0"
    if _is_struct(schema):
        return _struct({}, target, place)
    return {"string": "", "integer": 0, "boolean": False}.get(str(schema.get("type")))


def _scalar(value: Any, schema: Mapping[str, Any], go_type: str, place: _Place) -> Any:
    kind = schema.get("type")
    if kind == "string":
        good = isinstance(value, str)
    elif kind == "boolean":
        good = isinstance(value, bool)
    elif kind == "number":
        good = isinstance(value, int | float) and not isinstance(value, bool)
    elif kind == "integer":
        width = str(schema.get("format", "int64"))
        low, high = _RANGES.get(width, _RANGES["int64"])
        good = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    else:
        return value
    if not good:
        raise place.refuse(value, go_type)
    return value


def _bytes(value: Any, place: _Place) -> str:
    if not isinstance(value, str):
        raise place.refuse(value, "[]uint8")
    packed = value.replace("\n", "").replace("\r", "")
    try:
        return base64.b64encode(base64.b64decode(packed, validate=True)).decode()
    except (binascii.Error, ValueError) as error:
        raise DecodeError(f"illegal base64 data at input byte {_bad_byte(packed)}") from error


def _bad_byte(text: str) -> int:
    """Where Go's decoder stops: the first strange byte, else the quantum that is not whole."""
    letters = text.rstrip("=")
    for position, letter in enumerate(letters):
        if not (letter.isascii() and letter.isalnum()) and letter not in "+/":
            return position
    padding = len(text) - len(letters)
    if padding and (len(letters) % 4 < 2 or len(text) % 4):
        return len(text) if len(letters) % 4 >= 2 and len(text) % 4 else len(letters)
    return len(letters) - len(letters) % 4


# --- types with a decoder of their own --------------------------------------------------------


def _quantity(value: Any, place: _Place) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DecodeError(quantities.PROBLEM)
    try:
        return quantities.canonical(value)
    except ValueError as error:
        raise DecodeError(quantities.PROBLEM) from error


def _int_or_string(value: Any, place: _Place) -> int | str:
    if isinstance(value, str):
        return value
    low, high = _RANGES["int32"]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise place.refuse(value, "int32")
    return value


def _time(value: Any, place: _Place) -> str:
    return _moment(value, place, micro=False)


def _micro_time(value: Any, place: _Place) -> str:
    return _moment(value, place, micro=True)


def _moment(value: Any, place: _Place, *, micro: bool) -> str:
    if not isinstance(value, str):
        shown = _json_kind(value)
        raise DecodeError(f"json: cannot unmarshal {shown} into Go value of type string")
    try:
        return times.canonical(value, micro=micro)
    except ValueError as error:
        raise DecodeError(str(error)) from error


def _as_given(value: Any, place: _Place) -> Any:
    return value


def _props_or_bool(value: Any, place: _Place) -> Any:
    if isinstance(value, dict):
        return _struct(value, _JSON_PROPS, place)
    if not isinstance(value, bool):
        raise DecodeError("boolean or JSON schema expected")
    return value


def _props_or_array(value: Any, place: _Place) -> Any:
    if isinstance(value, list):
        return [_props(one, place) for one in value]
    return _struct(value, _JSON_PROPS, place) if isinstance(value, dict) else None


def _props_or_strings(value: Any, place: _Place) -> Any:
    if isinstance(value, list):
        return [_scalar(one or "", {"type": "string"}, "string", place) for one in value]
    return _struct(value, _JSON_PROPS, place) if isinstance(value, dict) else None


def _props(value: Any, place: _Place) -> Object:
    if value is not None and not isinstance(value, dict):
        raise place.refuse(value, "v1.JSONSchemaProps")
    return _struct(value or {}, _JSON_PROPS, place)


_SPECIAL: Final[Mapping[str, Callable[[Any, _Place], Any]]] = {
    QUANTITY: _quantity,
    INT_OR_STRING: _int_or_string,
    f"{META}Time": _time,
    f"{META}MicroTime": _micro_time,
    f"{META}FieldsV1": _as_given,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _as_given,
    f"{_API}JSON": _as_given,
    f"{_API}JSONSchemaPropsOrBool": _props_or_bool,
    f"{_API}JSONSchemaPropsOrArray": _props_or_array,
    f"{_API}JSONSchemaPropsOrStringArray": _props_or_strings,
}
