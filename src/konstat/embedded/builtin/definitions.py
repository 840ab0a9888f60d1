"""The definitions of the built-in kinds, as the server describes them, and Go's form of each.

The files beside this module are written by ``tools/extract_schemas.py``. `schema` resolves a
definition for readers of structural schemas, `components` gives the raw ones for OpenAPI,
`form` says how Go writes each field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple

import msgspec

REFERENCE: Final = "#/components/schemas/"
META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."


class Field(NamedTuple):
    """How Go writes one field: ``code`` as in the extraction, and the name of its type."""

    code: str
    go_type: str


@cache
def definitions() -> dict[str, dict[str, Any]]:
    """Every definition by its full name; not to be changed."""
    found: dict[str, dict[str, Any]] = {}
    for name, content in _files():
        if name not in ("forms.json", "internal.json"):
            found |= content
    return found


@cache
def _forms() -> dict[str, dict[str, Field]]:
    content = next(content for name, content in _files() if name == "forms.json")
    return {
        name: {field: Field(*text.split(" ", 1)) for field, text in fields.items()}
        for name, fields in content.items()
    }


def _files() -> Iterator[tuple[str, dict[str, Any]]]:
    folder = resources.files(__package__ or "konstat.embedded.builtin").joinpath("schemas")
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".json"):
            yield file.name, msgspec.json.decode(file.read_bytes())


@cache
def internal() -> dict[str, tuple[tuple[str, str, str], ...]]:
    """The members of the server's own types: name, code and struct, as in the extraction."""
    content = next(content for name, content in _files() if name == "internal.json")
    return {struct: tuple(_member(text) for text in members) for struct, members in content.items()}


def _member(text: str) -> tuple[str, str, str]:
    name, _, code = text.partition(" ")
    code, _, struct = code.partition(":")
    return name, code, struct


def form(name: str) -> Mapping[str, Field]:
    """The fields of a definition that is a struct in Go; empty for others."""
    return _forms().get(name, {})


@cache
def _kinds() -> dict[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, definition in definitions().items()
        for kind in definition.get("x-kubernetes-group-version-kind", ())
    }


def name_of(group: str, version: str, kind: str) -> str:
    """The definition of a kind; raises KeyError for one that is not kept."""
    return _kinds()[group, version, kind]


def reference(schema: Mapping[str, Any]) -> str:
    """The definition that a schema stands for, or an empty text."""
    options = schema.get("allOf")
    target = options[0].get("$ref") if options and len(options) == 1 else schema.get("$ref")
    return target.removeprefix(REFERENCE) if isinstance(target, str) else ""


def components(names: Iterable[str]) -> dict[str, Any]:
    """These definitions and all that they refer to, with their references, as in OpenAPI."""
    known = definitions()
    found: dict[str, Any] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = known[name]
            waiting += _references(known[name])
    return dict(sorted(found.items()))


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if name := reference(schema):
            yield name
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


@cache
def schema(name: str) -> dict[str, Any]:
    """A definition without references.

    Definitions that are used in several places are shared, and recursive ones (of
    CustomResourceDefinition) contain themselves: walk it along an object, never as a whole.
    """
    return _resolved({"$ref": REFERENCE + name}, {})


def _resolved(given: Mapping[str, Any], begun: dict[str, dict[str, Any]]) -> dict[str, Any]:
    name = reference(given)
    if not name:
        return _children(dict(given), begun)
    beside = {key: value for key, value in given.items() if key not in ("$ref", "allOf")}
    if name not in begun:
        begun[name] = {}
        begun[name].update(_children(definitions()[name], begun))
    # Keywords beside a reference need a copy of their own; its inner parts stay shared. One that
    # is still being made is the recursion itself, where nothing stands beside.
    return {**begun[name], **beside} if beside and begun[name] else begun[name]


def _children(given: Mapping[str, Any], begun: dict[str, dict[str, Any]]) -> dict[str, Any]:
    made = dict(given)
    if "properties" in given:
        made["properties"] = {
            key: _resolved(value, begun) for key, value in given["properties"].items()
        }
    for key in ("items", "additionalProperties"):
        if isinstance(given.get(key), dict):
            made[key] = _resolved(given[key], begun)
    return made
