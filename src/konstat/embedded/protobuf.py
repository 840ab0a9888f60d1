"""Reads the bodies that kubectl sends in protobuf: objects of built-in kinds, as plain data.

Kubernetes wraps a message in an envelope that names its kind. The field numbers are data
(``protobuf_fields.json``, made by ``tools/extract_protobuf.py``); what JSON writes inline is told
from the schemas of the kinds. Answers are never written in protobuf: clients accept JSON beside it.
Before: `builtin.definitions`. After: `decoding`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple

import msgspec

from konstat.base import clock, limits
from konstat.embedded.builtin import definitions

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_UNKNOWN: Final = "apimachinery.pkg.runtime.Unknown"
_META: Final = "apimachinery.pkg.apis.meta.v1."
_SCALARS: Final = frozenset(
    ("string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double", "float")
)
# Packages of the kinds of a group, where they differ from the group's first word.
_PACKAGES: Final = {
    "": "core",
    "rbac.authorization.k8s.io": "rbac",
    "meta.k8s.io": "meta",
}


class ProtobufError(ValueError):
    """A body that is no message of a known kind."""


class _Field(NamedTuple):
    name: str
    type: str
    label: str


@cache
def _messages() -> dict[str, dict[int, _Field]]:
    data = resources.files("konstat.embedded").joinpath("protobuf_fields.json").read_bytes()
    table: dict[str, dict[str, str]] = msgspec.json.decode(data)
    return {
        name: {int(number): _field(text) for number, text in fields.items()}
        for name, fields in table.items()
    }


def _field(text: str) -> _Field:
    parts = text.split(" ")
    return _Field(parts[0], parts[1], parts[2] if len(parts) > 2 else "")


def decode(body: bytes) -> dict[str, Any]:
    """The object of a protobuf body, with its apiVersion and kind; raises ProtobufError."""
    if not body.startswith(_MAGIC):
        raise ProtobufError("the body does not begin with the envelope of Kubernetes' protobuf")
    try:
        envelope = _message(body[len(_MAGIC) :], _UNKNOWN, 0)
        raw = base64.b64decode(envelope.get("raw", ""))
        about = envelope.get("typeMeta", {})
        api_version, kind = about.get("apiVersion", ""), about.get("kind", "")
        content = _message(raw, _message_name(api_version, kind), 0)
    except ProtobufError:
        raise
    except (IndexError, OverflowError, ValueError) as error:
        raise ProtobufError(f"the body is no whole protobuf message ({error})") from error
    return {"apiVersion": api_version, "kind": kind, **content}


def _message_name(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    package = _PACKAGES.get(group, group.partition(".")[0])
    for name in (f"api.{package}.{version}.{kind}", f"{_META}{kind}"):
        if name in _messages():
            return name
    raise ProtobufError(
        f"kind {kind!r} of {api_version!r} cannot be read from protobuf here: send JSON"
    )


# --- the wire format ----------------------------------------------------------------------------


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ProtobufError("a number of more than 64 bits")


def _parts(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and their raw values."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        value: int | bytes
        if wire == 0:
            value, position = _varint(data, position)
        elif wire == 2:
            length, position = _varint(data, position)
            value = data[position : position + length]
            if len(value) != length:
                raise ProtobufError("a value that ends too early")
            position += length
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
            value = data[position : position + length]
            position += length
        else:
            raise ProtobufError(f"wire type {wire}")
        yield number, value


def _message(data: bytes, name: str, depth: int) -> dict[str, Any]:
    if depth > limits.EMBEDDED_JSON_DEPTH:
        raise ProtobufError("a message that is nested too deeply")
    fields = _messages().get(name)
    if fields is None:
        raise ProtobufError(f"the message {name}")
    made: dict[str, Any] = {}
    for number, raw in _parts(data):
        field = fields.get(number)
        if field is None:
            continue  # as protobuf does: a field of a later version
        if field.label == "map":
            key, value = _entry(raw, field.type, depth)
            made.setdefault(field.name, {})[key] = value
            continue
        value = _value(raw, field.type, depth)
        if field.label == "repeated":
            made.setdefault(field.name, []).append(value)
        elif isinstance(value, dict) and _is_inline(name, field):
            made |= value
        elif value is not None:
            made[field.name] = value
    return made


def _entry(raw: int | bytes, kind: str, depth: int) -> tuple[str, Any]:
    key, value = "", _value(b"", kind, depth) if kind not in ("int32", "int64", "bool") else 0
    for number, part in _parts(_bytes(raw)):
        if number == 1:
            key = _bytes(part).decode()
        elif number == 2:
            value = _value(part, kind, depth)
    return key, value


def _is_inline(message: str, field: _Field) -> bool:
    """Whether JSON writes the members of a field in the place of the field itself."""
    properties = definitions.definitions().get(f"io.k8s.{message}", {}).get("properties")
    return properties is not None and field.name not in properties


def _bytes(raw: int | bytes) -> bytes:
    if isinstance(raw, int):
        raise ProtobufError("a number where bytes are expected")
    return raw


def _value(raw: int | bytes, kind: str, depth: int) -> Any:
    if kind in _SCALARS:
        return _scalar(raw, kind)
    data = _bytes(raw)
    short = kind.rpartition(".")[2]
    if short in ("Time", "MicroTime") and kind.startswith(_META):
        return _time(data, micro=short == "MicroTime")
    if short == "Quantity":
        return _message(data, kind, depth + 1).get("string", "0")
    if short == "IntOrString":
        found = _message(data, kind, depth + 1)
        return found.get("strVal", "") if found.get("type") == 1 else found.get("intVal", 0)
    if short in ("FieldsV1", "RawExtension"):
        inner = _message(data, kind, depth + 1)
        text = base64.b64decode(inner.get("Raw") or inner.get("raw") or "")
        return msgspec.json.decode(text) if text else None
    found = _message(data, kind, depth + 1)
    if short == "ExtraValue":
        return found.get("items", [])
    return found


def _scalar(raw: int | bytes, kind: str) -> Any:
    if kind == "string":
        return _bytes(raw).decode()
    if kind == "bytes":
        return base64.b64encode(_bytes(raw)).decode()
    if not isinstance(raw, int):
        raise ProtobufError(f"bytes where {kind} is expected")
    if kind == "bool":
        return raw != 0
    return raw - (1 << 64) if raw >= 1 << 63 else raw


def _time(data: bytes, *, micro: bool) -> str | None:
    found = _message(data, f"{_META}Time", 0)
    if not found:
        return None
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
        seconds=found.get("seconds", 0), microseconds=found.get("nanos", 0) // 1000
    )
    return clock.micro_timestamp(moment) if micro else clock.timestamp(moment)
