"""Paths such as ``.spec.ports['http']`` that name a field of a schema.

The ``fieldPath`` of a rule and the ``jsonPath`` of a selectable field are of this form. Before:
the schema. After: `crd_schema`, `crd`, `konstat.embedded.cel.rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from konstat.embedded.structural import texts
from konstat.embedded.structural.correlation import Schema

_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "'": "'",
    "\\": "\\",
}


class FieldPathError(ValueError):
    """A path that names no field of the schema; the message is the server's."""


class Resolved(NamedTuple):
    """Where a path leads: the path as field errors write it, its first part, the schema there."""

    path: str
    first: str
    schema: Schema


def resolve_field_path(path: str, schema: Schema, *, brackets: bool = True) -> Resolved:
    """Follow ``path`` through ``schema``; raises FieldPathError.

    ``brackets``: ``['name']`` may be used beside ``.name``.
    """
    tokens: Iterator[str] = iter(_TOKEN.findall(path))
    written, first, here = "", "", schema
    for token in tokens:
        if token == ".":
            name = _next(tokens)
        elif token == "[":
            if not brackets:
                raise FieldPathError("array notation is not allowed")
            name = _unquoted(_next(tokens))
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
        here, written = _step(here, name, written)
        first = first or name
        if token == "[":
            closing = _next(tokens)
            if closing != "]":
                raise FieldPathError(f"expected ] but got {closing}")
    return Resolved(written, first, here)


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    return token


def _unquoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {token}")
    for match in _ESCAPE.finditer(token[1:-1]):
        if match[1] not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {match[0]}")
    return _ESCAPE.sub(lambda match: _ESCAPES[match[1]], token[1:-1])


def _step(schema: Schema, name: str, written: str) -> tuple[Schema, str]:
    properties = schema.get("properties")
    others = schema.get("additionalProperties")
    if properties:
        if name not in properties:
            raise FieldPathError("does not refer to a valid field")
        return properties[name], texts.child(written, name)
    if others is None:
        raise FieldPathError("does not refer to a valid field")
    return (others if isinstance(others, Mapping) else {}), texts.key(written, name)
