"""Does the cluster serve a kind as its class declares it? Asked when the kind becomes readable.

Before it: informers, which only learn that a kind can be listed. After it: `availability`, which
says what is wrong and holds the controller's workers back meanwhile.

Only discovery and the OpenAPI documents are asked, which every authenticated client may read; a
CustomResourceDefinition itself, for which an operator needs no right, only when a kind is missing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any

from konstat.base import limits
from konstat.client import Client
from konstat.errors import APIError, Forbidden, ModelError, NotFound, TransportError
from konstat.kinds import CustomResourceDefinition
from konstat.objects import codec
from konstat.objects.crd import resource_schema
from konstat.objects.kind import Kind
from konstat.objects.resource import Resource
from konstat.status.condition import find

log = logging.getLogger("konstat.controller")

ResourceClass = type[Resource[Any, Any]]

INSTALL = "install the CRD that `konstat crd` prints (or run with --install-crds)"


async def why_not_served(client: Client, kind: Kind) -> str:
    """Why a kind that was not found is not served, as far as the server lets us know.

    Never raises for an answer that does not come: what is not known is left out.
    """
    try:
        versions = await _served_versions(client, kind)
    except (APIError, TransportError) as error:
        log.debug("the versions of %s could not be looked at: %s", kind.resource, error)
        versions = []
    if versions and kind.version not in versions:
        return (
            f"{kind.resource} is wanted in version {kind.version}, and the cluster serves"
            f" {', '.join(versions)} of it: {INSTALL}, or change the version of the class"
        )
    return await _why_not_accepted(client, kind) or (
        f"the cluster does not serve it; {INSTALL}, it is then noticed"
    )


async def _served_versions(client: Client, kind: Kind) -> list[str]:
    """The versions in which the group has this plural; empty when none, or not known."""
    group = await _read(client, f"/apis/{kind.group}") if kind.group else None
    found: list[str] = []
    for entry in _list((group or {}).get("versions"))[: limits.DEFINITION_VERSIONS]:
        version = str(_map(entry).get("version"))
        if await _served_resource(client, kind, version):
            found.append(version)
    return found


async def _why_not_accepted(client: Client, kind: Kind) -> str:
    try:
        content = await client.get(CustomResourceDefinition.kind, kind.resource)
    except (APIError, TransportError):
        return ""
    name = f"CustomResourceDefinition {kind.resource}"
    if _map(content.get("metadata")).get("deletionTimestamp"):
        return f"{name} is being deleted"
    conditions = _list(_map(content.get("status")).get("conditions"))
    for type in ("NamesAccepted", "Established"):
        condition = find(conditions, type)
        if condition is not None and condition.get("status") != "True":
            return f"{name} is there but not {type}: {condition.get('message')}"
    return "" if conditions else f"{name} is there but the server has not judged it yet"


async def misfit(client: Client, cls: ResourceClass) -> str | None:
    """Why a served kind cannot be worked on; empty when it can, or when we may not know.

    None when discovery does not list it yet. Raises TransportError and APIError of a server that
    has trouble. After both: ask again.
    """
    kind = cls.kind
    try:
        found = await _served_resource(client, kind, kind.version)
    except Forbidden:
        return ""
    if not found:
        return None  # discovery lags behind the list that was answered
    served = found.get(kind.plural, {})
    if served.get("kind") != kind.kind:
        return (
            f"the cluster serves {kind.plural} as kind {served.get('kind')}, and the class is"
            f" {kind.kind}: {INSTALL}, or give the class its kind="
        )
    if bool(served.get("namespaced")) != kind.namespaced:
        there, here = ("Namespaced", "Cluster")[:: 1 if served.get("namespaced") else -1]
        return (
            f"the cluster serves it with scope {there}, and the class says {here}: delete the CRD"
            f" (and with it all its objects) and {INSTALL}, or change scope= of the class"
        )
    if f"{kind.plural}/status" not in found:
        return f"its CRD has no status subresource, so no status can be written: {INSTALL}"
    return ""


async def dropped_fields(client: Client, cls: ResourceClass) -> list[str] | None:
    """Paths of declared fields that the cluster's schema does not know, so that it drops them.

    None when the schema is not known (yet): it is published a moment after the kind.
    """
    kind = cls.kind
    try:
        declared = resource_schema(cls)
        document = await _read(client, f"/openapi/v3/apis/{kind.group}/{kind.version}")
    except (APIError, TransportError, ModelError):  # the latter for a view of a foreign kind
        return None
    schemas = _map(_map((document or {}).get("components")).get("schemas"))
    wanted = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    for schema in schemas.values():
        if _list(_map(schema).get("x-kubernetes-group-version-kind")) == [wanted]:
            return sorted(_missing(declared, _map(schema), ""))
    return None


def _missing(declared: Mapping[str, Any], served: Mapping[str, Any], path: str) -> Iterator[str]:
    """Property paths of one schema that another would prune."""
    if served.get("x-kubernetes-preserve-unknown-fields"):
        return
    if items := declared.get("items"):
        if "items" in served:
            yield from _missing(_map(items), _map(served["items"]), f"{path}[]")
        return
    known = served.get("properties")
    if not isinstance(known, Mapping):
        # A map, a scalar, or an object without any properties, of which everything is dropped.
        if served.get("type") != "object" or "additionalProperties" in served:
            return
        known = {}
    for name, schema in _map(declared.get("properties")).items():
        if not path and name in ("apiVersion", "kind", "metadata"):
            continue
        here = f"{path}.{name}".lstrip(".")
        if name in known:
            yield from _missing(_map(schema), _map(known[name]), here)
        else:
            yield here


async def _served_resource(client: Client, kind: Kind, version: str) -> dict[str, dict[str, Any]]:
    """The kind and its subresources as discovery lists them, by name; empty when not served."""
    place = f"/apis/{kind.group}/{version}" if kind.group else f"/api/{version}"
    document = await _read(client, place)
    name = re.compile(rf"{re.escape(kind.plural)}(/.*)?")
    entries = [_map(entry) for entry in _list((document or {}).get("resources"))]
    found = {str(entry.get("name")): entry for entry in entries}
    return {n: dict(entry) for n, entry in found.items() if name.fullmatch(n)}


async def _read(client: Client, path: str) -> dict[str, Any] | None:
    """A JSON document; None when there is none."""
    try:
        answer = codec.decode(await client.exchange("GET", path, request=f"read {path}"))
    except NotFound:
        return None
    except ValueError as error:
        raise TransportError(f"failed to read {path}: unexpected answer ({error})") from error
    return answer if isinstance(answer, dict) else None


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
