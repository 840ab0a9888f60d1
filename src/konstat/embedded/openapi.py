"""OpenAPI v3, as much as `kubectl apply`, `diff` and `explain` read: schemas and patch paths.

One document for each group and version. Built-in kinds keep the names and references of their
definitions; custom resources are named as the server names them. Descriptions are left out, but
for those that authors wrote into their CustomResourceDefinitions. Before: `registry`,
`builtin.definitions`. After: `server`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from konstat.embedded.builtin import definitions
from konstat.embedded.builtin.definitions import META, REFERENCE
from konstat.embedded.registry import Registry, ResourceType

_TEXT: Final = {"type": "string", "uniqueItems": True}
_OPTIONS: Final = ("dryRun", "fieldManager", "fieldValidation")
_PATCHES: Final = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
_STRATEGIC: Final = "application/strategic-merge-patch+json"


_TITLE: Final = "konstat embedded Kubernetes API: definitions are in /openapi/v3"
V2_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def version_2() -> tuple[bytes, bytes]:
    """An OpenAPI v2 document without definitions, as JSON and as protobuf.

    kubectl asks for it, in protobuf, when /openapi/v3 knows nothing of a kind; told that there is
    nothing here either it names the kind as unknown.
    """
    info = {"title": _TITLE, "version": "v1.36"}
    document = {"swagger": "2.0", "info": info, "paths": {}, "definitions": {}}
    inner = _text_field(1, _TITLE.encode()) + _text_field(2, b"v1.36")
    return msgspec.json.encode(document), _text_field(1, b"2.0") + _text_field(2, inner)


def _text_field(number: int, data: bytes) -> bytes:
    """One length-delimited protobuf field of less than 128 bytes."""
    assert len(data) < 128, "a longer field has a longer length"
    return bytes((number << 3 | 2, len(data))) + data


class Documents:
    """The documents of one registry, made on demand and again when the registry has changed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._made: dict[str, bytes] = {}

    def index(self) -> dict[str, Any]:
        """The answer of /openapi/v3: the path of each document with a hash of its content."""
        paths: dict[str, Any] = {}
        for place in self._places():
            digest = hashlib.sha512(self.document(place) or b"").hexdigest().upper()
            paths[place] = {"serverRelativeURL": f"/openapi/v3/{place}?hash={digest}"}
        return {"paths": paths}

    def document(self, place: str) -> bytes | None:
        """The document of ``api/v1`` or ``apis/GROUP/VERSION``; None for a place without one."""
        if self._generation != self._registry.generation:
            self._generation = self._registry.generation
            self._made = {}
        if place not in self._made:
            types = self._places().get(place)
            if types is None:
                return None
            self._made[place] = msgspec.json.encode(_document(place, types))
        return self._made[place]

    def _places(self) -> dict[str, list[ResourceType]]:
        places: dict[str, list[ResourceType]] = {}
        for one in self._registry:
            place = f"apis/{one.group}/{one.version}" if one.group else f"api/{one.version}"
            places.setdefault(place, []).append(one)
        return places


def _document(place: str, types: Iterable[ResourceType]) -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for one in types:
        name = _definition_name(one)
        if one.custom:
            schemas[name] = _custom_schema(one)
            schemas |= definitions.components([f"{META}ObjectMeta"])
        elif name:
            schemas |= definitions.components([name])
        else:
            continue
        schemas[f"{name}List"] = _list_schema(one, name)
        schemas |= definitions.components([f"{META}ListMeta"])
        paths |= _paths(place, one, name)
    return {
        "openapi": "3.0.0",
        "info": {"title": "konstat embedded Kubernetes API", "version": "v1.36"},
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def _definition_name(one: ResourceType) -> str:
    if one.custom:
        reversed_group = ".".join(reversed(one.group.split(".")))
        return f"{reversed_group}.{one.version}.{one.kind}"
    try:
        return definitions.name_of(one.group, one.version, one.kind)
    except KeyError:
        return ""


def _kind_of(one: ResourceType, suffix: str = "") -> dict[str, str]:
    return {"group": one.group, "version": one.version, "kind": one.kind + suffix}


def _custom_schema(one: ResourceType) -> dict[str, Any]:
    schema: dict[str, Any] = dict(one.full_schema())
    schema.pop("x-kubernetes-validations", None)
    properties = dict(schema.get("properties") or {})
    properties["apiVersion"] = {"type": "string"}
    properties["kind"] = {"type": "string"}
    properties["metadata"] = {"allOf": [{"$ref": f"{REFERENCE}{META}ObjectMeta"}]}
    schema["properties"] = properties
    schema["x-kubernetes-group-version-kind"] = [_kind_of(one)]
    return schema


def _list_schema(one: ResourceType, name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"allOf": [{"$ref": f"{REFERENCE}{META}ListMeta"}]},
            "items": {"type": "array", "items": {"allOf": [{"$ref": REFERENCE + name}]}},
        },
        "x-kubernetes-group-version-kind": [_kind_of(one, "List")],
    }


def _paths(place: str, one: ResourceType, name: str) -> dict[str, Any]:
    base = (
        f"/{place}/namespaces/{{namespace}}/{one.plural}"
        if one.namespaced
        else (f"/{place}/{one.plural}")
    )
    collection: dict[str, Any] = {}
    if "list" in one.verbs:
        collection["get"] = _operation(one, "list", f"{name}List")
    if "create" in one.verbs:
        collection["post"] = _operation(one, "post", name)
    paths: dict[str, Any] = {base: {**collection, "parameters": _path_parameters(one)}}
    if "get" in one.verbs:
        paths[f"{base}/{{name}}"] = {
            "get": _operation(one, "get", name),
            "put": _operation(one, "put", name),
            "patch": _operation(one, "patch", name),
            "delete": _operation(one, "delete", name),
            "parameters": [_parameter("name", place="path"), *_path_parameters(one)],
        }
        if "status" in one.subresources:
            paths[f"{base}/{{name}}/status"] = {
                "get": _operation(one, "get", name),
                "put": _operation(one, "put", name),
                "patch": _operation(one, "patch", name),
            }
    return paths


def _path_parameters(one: ResourceType) -> list[dict[str, Any]]:
    return [_parameter("namespace", place="path")] if one.namespaced else []


def _parameter(name: str, *, place: str = "query") -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "in": place, "schema": dict(_TEXT)}
    return {**made, "required": True} if place == "path" else made


def _operation(one: ResourceType, action: str, name: str) -> dict[str, Any]:
    reference: Mapping[str, Any] = {"$ref": REFERENCE + name}
    made: dict[str, Any] = {
        "responses": {
            "200": {"description": "OK", "content": {"application/json": {"schema": reference}}}
        },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _kind_of(one),
    }
    if action in ("post", "put", "patch"):
        made["parameters"] = [_parameter(option) for option in _OPTIONS]
    if action == "patch":
        types = _PATCHES if one.custom else (*_PATCHES, _STRATEGIC)
        made["requestBody"] = {"content": {each: {"schema": {}} for each in types}}
    elif action in ("post", "put"):
        made["requestBody"] = {"content": {"application/json": {"schema": reference}}}
    return made
