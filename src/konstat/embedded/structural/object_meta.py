"""Metadata of embedded objects (x-kubernetes-embedded-resource): its form and its errors.

The server reads the metadata of an embedded object into the same Go struct as any other
object's: wrong types are refused, unknown members dropped, empty ones not written. Before:
`konstat.embedded.builtin.encoding` (the form), `konstat.embedded.metadata` (names and labels).
After: `custom`, `crd_defaults`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from konstat.embedded import metadata
from konstat.embedded.builtin import encoding
from konstat.embedded.builtin.definitions import META
from konstat.embedded.status_errors import FieldError
from konstat.embedded.structural import texts
from konstat.embedded.structural.correlation import Schema

_OBJECT_META: Final = f"{META}ObjectMeta"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_DNS_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
DNS_1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an"
    " alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123',"
    " regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_SUBSTRINGS_REFUSED: Final = ("/", "%")


def dns_1035_problems(name: str) -> list[str]:
    """What keeps a name from being a DNS-1035 label, in the server's words."""
    problems = ["must be no more than 63 characters"] if len(name.encode()) > 63 else []
    return problems if _DNS_1035.fullmatch(name) else [*problems, DNS_1035_TEXT]


class MalformedMetadata(ValueError):
    """Embedded metadata of a wrong type; ``error`` is the field error, in Go's words."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


def check(obj: Any, schema: Schema) -> None:
    """Raise MalformedMetadata for embedded metadata that has not the form of metadata."""
    for place, embedded in _embedded(obj, schema, "", at_root=False):
        _check_type_meta(embedded, place)
        if "metadata" in embedded:
            _decoded(embedded["metadata"], texts.child(place, "metadata"))


def _check_type_meta(embedded: dict[str, Any], place: str) -> None:
    for name in ("apiVersion", "kind"):
        if name in embedded and not isinstance(embedded[name], str):
            where = texts.child(place, name)
            raise MalformedMetadata(texts.invalid(where, embedded[name], "must be a string"))


def coerce(obj: Any, schema: Schema, *, path: str = "", at_root: bool = False) -> None:
    """Bring the metadata of embedded objects into its Go form, in place.

    Raises MalformedMetadata for a value of the wrong type. ``at_root``: ``obj`` itself is a whole
    object.
    """
    for place, embedded in _embedded(obj, schema, path, at_root=at_root):
        _check_type_meta(embedded, place)
        if "metadata" in embedded:
            meta = _decoded(embedded["metadata"], texts.child(place, "metadata"))
            if meta.get("creationTimestamp") is None:
                meta.pop("creationTimestamp", None)
            embedded["metadata"] = meta


def unknown_metadata(obj: Any, schema: Schema) -> list[str]:
    """Members of embedded metadata that ObjectMeta does not have, as paths."""
    known = encoding.definitions.form(_OBJECT_META)
    return [
        f"{place}.metadata.{name}"
        for place, embedded in _embedded(obj, schema, "", at_root=False)
        if isinstance(embedded.get("metadata"), dict)
        for name in sorted(embedded["metadata"])
        if name not in known
    ]


def _decoded(meta: Any, place: str) -> dict[str, Any]:
    given = {} if meta is None else meta
    if not isinstance(given, dict):
        word = _go_word(given)
        problem = f"json: cannot unmarshal {word} into Go value of type v1.ObjectMeta"
        raise MalformedMetadata(texts.invalid(place, meta, problem))
    made = dict(given)
    try:
        encoding.decode(made, _OBJECT_META)
    except encoding.DecodeError as error:
        raise MalformedMetadata(texts.invalid(place, meta, str(error))) from error
    return made


def _go_word(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "number"


def _embedded(
    value: Any, schema: Schema | None, path: str, *, at_root: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every embedded object with its path, outer ones first."""
    if schema is None:
        return
    if isinstance(value, dict):
        if at_root or schema.get(_EMBEDDED):
            yield path, value
        properties: Schema = schema.get("properties") or {}
        others = schema.get("additionalProperties")
        for name in sorted(value):
            if name in properties:
                place = texts.child(path, name)
                yield from _embedded(value[name], properties[name], place, at_root=False)
            elif isinstance(others, Mapping):
                yield from _embedded(value[name], others, texts.key(path, name), at_root=False)
    elif isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, Mapping):
            for position, entry in enumerate(value):
                yield from _embedded(entry, items, texts.index(path, position), at_root=False)


def embedded_errors(
    obj: Any, schema: Schema, *, path: str = "", at_root: bool = False
) -> list[FieldError]:
    """What is wrong with apiVersion, kind and metadata of embedded objects."""
    return [
        error
        for place, embedded in _embedded(obj, schema, path, at_root=at_root)
        for error in _errors(embedded, place)
    ]


def _errors(obj: dict[str, Any], place: str) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        if name not in obj:
            yield texts.required(texts.child(place, name))
    for name in sorted(obj):
        where = texts.child(place, name)
        if name == "apiVersion":
            yield from _api_version(obj[name], where)
        elif name == "kind":
            yield from _kind(obj[name], where)
        elif name == "metadata":
            yield from _metadata(obj[name], where)


def _api_version(value: Any, place: str) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield texts.invalid(place, value, "must be a string")
    elif not value:
        yield texts.invalid(place, value, "must not be empty")
    elif value.count("/") > 1:
        yield texts.invalid(place, value, f"unexpected GroupVersion string: {value}")


def _kind(value: Any, place: str) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield texts.invalid(place, value, "must be a string")
    elif not value:
        yield texts.invalid(place, value, "must not be empty")
    elif problems := dns_1035_problems(value.lower()):
        what = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        yield texts.invalid(place, value, what)


def _metadata(value: Any, place: str) -> Iterator[FieldError]:
    try:
        meta = _decoded(value, place)
    except MalformedMetadata as error:
        yield error.error
        return
    named = {**meta, "name": meta.get("name") or "fakename"}
    for error in metadata.create_errors({"metadata": named}, path_segment_problems, custom=True):
        inner = error.path.removeprefix("metadata")
        yield error._replace(path=f"{place}{inner}")


def path_segment_problems(name: str) -> list[str]:
    """What keeps a name from standing in a path of the API."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{text}'" for text in _SUBSTRINGS_REFUSED if text in name]
