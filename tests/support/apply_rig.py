"""For tests of apply and patches: one raw connection to the rig, and a CRD with every kind of list.

`Wire` sends requests as they are and gives back code and JSON, errors included.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from konstat.base import clock
from konstat.base.transport import Request
from konstat.client.config import ClusterConfig
from konstat.client.transport import HttpTransport

Object = dict[str, Any]

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

GROUP = "apply.example.com"
API_VERSION = f"{GROUP}/v1"
KIND = "Mixture"
TEXTS: Object = {"type": "object", "additionalProperties": {"type": "string"}}
PORT: Object = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "proto": {"type": "string", "default": "TCP"},
        "weight": {"type": "integer"},
        "tags": {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "string"},
        },
    },
}
SPEC: Object = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "number": {"type": "number"},
        "either": {"x-kubernetes-int-or-string": True},
        "texts": TEXTS,
        "whole": {**TEXTS, "x-kubernetes-map-type": "atomic"},
        "list": {"type": "array", "items": {"type": "string"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name", "proto"],
            "items": PORT,
        },
        "nested": {
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {"type": "boolean"},
                "rows": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "properties": {"x": {"type": "string"}, "y": {"type": "string"}},
                    },
                },
            },
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "inner": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
}
STATUS: Object = {
    "type": "object",
    "properties": {
        "phase": {"type": "string"},
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": {
                "type": "object",
                "required": ["type"],
                "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
            },
        },
    },
}
SCHEMA: Object = {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}
CRD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"mixtures.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "mixtures", "singular": "mixture", "kind": KIND},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": SCHEMA},
            }
        ],
    },
}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Answer(NamedTuple):
    """A response: its code and JSON body; code 0 when the server broke the connection."""

    code: int
    body: Any

    def error(self) -> Object:
        """What of a Status tells the error."""
        return told(self.body)


def told(status: Object) -> Object:
    """What of a Status tells an error; the server has no order among the managers of causes."""
    made = {name: status.get(name) for name in ("code", "reason", "message", "details")}
    details = dict(made["details"] or {})
    if "causes" in details:
        details["causes"] = sorted(details["causes"], key=lambda cause: sorted(cause.items()))
    return {**made, "details": details}


class Wire:
    """Requests as they are, to one server."""

    def __init__(self, transport: HttpTransport) -> None:
        self._transport = transport

    async def send(
        self, method: str, path: str, body: Any = None, *, kind: str = "application/json"
    ) -> Answer:
        """The answer to one request; bytes go as they are."""
        data = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        headers = (("content-type", kind), ("accept", "application/json"))
        response = await self._transport.send(
            Request(method=method, path=path, headers=headers, body=data, timeout_seconds=30)
        )
        return Answer(response.status, json.loads(response.body))

    async def define(self, crd: Object = CRD) -> None:
        """Have a CRD served, if it is not yet."""
        name = crd["metadata"]["name"]
        await self.send("POST", CRDS, crd)
        group, version = crd["spec"]["group"], crd["spec"]["versions"][0]["name"]
        plural = crd["spec"]["names"]["plural"]
        for _ in range(200):
            read = await self.send("GET", f"{CRDS}/{name}")
            conditions = read.body.get("status", {}).get("conditions") or []
            if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
                await self.send("GET", f"/apis/{group}/{version}/{plural}")
                return
            await clock.sleep(0.05)
        raise AssertionError(f"{name} was not established")


@asynccontextmanager
async def wire_to(config: ClusterConfig) -> AsyncIterator[Wire]:
    """A connection for the length of a block."""
    transport = HttpTransport(config)
    await transport.prepare()
    try:
        yield Wire(transport)
    finally:
        await transport.close()


def with_wire(config: ClusterConfig, work: Callable[[Wire], Awaitable[None]]) -> None:
    """Run ``work`` on a loop of its own: for tests whose inputs hypothesis makes."""

    async def run() -> None:
        async with wire_to(config) as wire:
            await work(wire)

    asyncio.run(run())


def times(obj: Object) -> list[str]:
    """The times of an object's managedFields."""
    return [e["time"] for e in obj["metadata"].get("managedFields", []) if e.get("time")]


def comparable(obj: Object) -> Object:
    """An object without what only a server gives: versions, uid, creation."""
    made = copy.deepcopy(obj)
    for name in ("uid", "resourceVersion", "creationTimestamp", "generation", "selfLink"):
        made["metadata"].pop(name, None)
    return made


def decoded(obj: Object) -> Object:
    """An object as the server decodes it: with defaults, without nulls and empty metadata."""
    made = copy.deepcopy(obj)
    if made.get("spec"):
        made["spec"] = {name: value for name, value in made["spec"].items() if value is not None}
    spec = made.get("spec") or {}
    for port in spec.get("ports") or []:
        port.setdefault("proto", "TCP")
    for place in (made, spec.get("inner") or {}):
        if "metadata" in place:
            metadata = place["metadata"] or {}
            place["metadata"] = {k: v for k, v in metadata.items() if v not in ({}, [], None, "")}
    return made
