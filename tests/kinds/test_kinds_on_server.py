"""The names and defaults in our views are those of a real server's OpenAPI description."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import inspect

import konstat.kinds as kinds
from konstat.kinds import bookkeeping, networking, rbac
from konstat.kinds.view import ObjectReference, View
from konstat.objects.kind import Kind
from konstat.objects.model import NoSpec, NoStatus
from konstat.objects.resource import Resource
from konstat.testing import ControlPlane

pytestmark = pytest.mark.realapi

# Top-level fields that are read through properties, with the view of their objects if they are any.
TOP_LEVEL: dict[type[Resource[Any, Any]], dict[str, type[View] | None]] = {
    kinds.ClusterRole: {"rules": rbac.PolicyRule},
    kinds.ClusterRoleBinding: {"roleRef": rbac.RoleRef, "subjects": rbac.Subject},
    kinds.ConfigMap: dict.fromkeys(("data", "binaryData", "immutable")),
    kinds.CoreEvent: {
        "involvedObject": ObjectReference,
        "source": bookkeeping.EventSource,
        **dict.fromkeys(("type", "reason", "message", "count", "lastTimestamp")),
    },
    kinds.EndpointSlice: {"endpoints": networking.Endpoint, "ports": networking.EndpointPort},
    kinds.Event: {
        "regarding": ObjectReference,
        "series": bookkeeping.EventSeries,
        **dict.fromkeys(("type", "reason", "note", "action", "eventTime", "reportingController")),
    },
    kinds.Role: {"rules": rbac.PolicyRule},
    kinds.RoleBinding: {"roleRef": rbac.RoleRef, "subjects": rbac.Subject},
    kinds.Secret: dict.fromkeys(("data", "type", "immutable")),
    kinds.StorageClass: dict.fromkeys(("provisioner", "volumeBindingMode")),
}
# A reference of ours has the fields of several kinds of references of theirs.
SHARED = ("Condition", "ObjectReference", "RollingUpdate")


class Described:
    """The schemas of one group and version."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.schemas: dict[str, Any] = document["components"]["schemas"]

    def of(self, kind: Kind) -> dict[str, Any]:
        wanted = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        return next(
            schema
            for schema in self.schemas.values()
            if wanted in schema.get("x-kubernetes-group-version-kind", ())
        )

    def resolve(self, schema: dict[str, Any]) -> dict[str, Any]:
        while True:
            if "$ref" in schema:
                schema = self.schemas[schema["$ref"].rpartition("/")[2]]
            elif len(schema.get("allOf", ())) == 1:
                schema = schema["allOf"][0]
            elif "items" in schema:
                schema = schema["items"]
            else:
                return schema


def structs_in(kind: inspect.Type) -> Iterator[inspect.StructType]:
    if isinstance(kind, inspect.StructType):
        yield kind
    elif isinstance(kind, inspect.UnionType):
        for option in kind.types:
            yield from structs_in(option)
    elif isinstance(kind, inspect.VarTupleType):
        yield from structs_in(kind.item_type)


def compare(view: inspect.StructType, schema: dict[str, Any], described: Described) -> list[str]:
    """What is wrong with a view, as ``View.field: problem``."""
    properties = schema.get("properties", {})
    wrong: list[str] = []
    for field in view.fields:
        place = f"{view.cls.__name__}.{field.encode_name}"
        if field.encode_name not in properties:
            if view.cls.__name__ not in SHARED:
                wrong.append(f"{place}: not described")
            continue
        theirs = properties[field.encode_name]
        default = theirs.get("default")
        if default not in (None, {}, "", 0, field.default):
            wrong.append(f"{place}: default is {default!r}")
        for inner in structs_in(field.type):
            wrong += compare(inner, described.resolve(theirs), described)
    return wrong


def compare_class(cls: type[Resource[Any, Any]], described: Described) -> list[str]:
    whole = described.of(cls.kind)["properties"]
    views = {"spec": cls.spec_type, "status": cls.status_type, **TOP_LEVEL.get(cls, {})}
    wrong: list[str] = []
    for part, view in views.items():
        if view in (NoSpec, NoStatus):
            continue
        if part not in whole:
            wrong.append(f"{cls.__name__}.{part}: not described")
        elif view is not None:
            info = inspect.type_info(view)
            assert isinstance(info, inspect.StructType)
            wrong += compare(info, described.resolve(whole[part]), described)
    return wrong


async def test_every_field_of_every_view_is_described_by_the_server(
    control_plane: ControlPlane,
) -> None:
    wrong: list[str] = []
    async with control_plane.client() as client:
        for cls in kinds.BY_KIND.values():
            root = f"apis/{cls.kind.group}" if cls.kind.group else "api"
            document = await client.exchange("GET", f"/openapi/v3/{root}/{cls.kind.version}")
            wrong += compare_class(cls, Described(json.loads(document)))
    assert wrong == []


async def test_every_kind_is_served_under_our_path(control_plane: ControlPlane) -> None:
    async with control_plane.client() as client:
        for cls in kinds.BY_KIND.values():
            for item in await client.list(cls, namespace=None):
                assert item.name
                _ = item.spec, item.status
