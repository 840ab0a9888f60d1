"""Discovery: which groups, versions and resources are served, in the old and the aggregated form.

Both forms are made from the registry (C99). Before: `registry`. After: `server`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from konstat.embedded import status_errors as errors
from konstat.embedded.negotiate import clauses
from konstat.embedded.registry import Registry, ResourceType

_AGGREGATED: Final = "APIGroupDiscoveryList"
# Subresources whose object is of another kind: group, version, kind, verbs.
_FOREIGN: Final[dict[str, tuple[str, str, str, tuple[str, ...]]]] = {
    "scale": ("autoscaling", "v1", "Scale", ("get", "patch", "update")),
    "binding": ("", "v1", "Binding", ("create",)),
    "eviction": ("policy", "v1", "Eviction", ("create",)),
    "token": ("authentication.k8s.io", "v1", "TokenRequest", ("create",)),
    "exec": ("", "v1", "PodExecOptions", ("create", "get")),
    "attach": ("", "v1", "PodAttachOptions", ("create", "get")),
    "portforward": ("", "v1", "PodPortForwardOptions", ("create", "get")),
}
_OWN: Final[dict[str, tuple[str, ...]]] = {
    "finalize": ("update",),
    "log": ("get",),
}
_PROXY: Final = {
    "pods": "PodProxyOptions",
    "services": "ServiceProxyOptions",
    "nodes": "NodeProxyOptions",
}
_PROXY_VERBS: Final = ("create", "delete", "get", "patch", "update")


def wants_aggregated(accept: str) -> str:
    """The version of the aggregated form that is asked for (``v2``), or an empty text."""
    for media_type, parameters in clauses(accept):
        if media_type != "application/json":
            continue
        if parameters.get("as") == _AGGREGATED and parameters.get("g") == "apidiscovery.k8s.io":
            if parameters.get("v") in ("v2", "v2beta1"):
                return parameters["v"]
        elif "as" not in parameters:
            return ""
    return ""


def groups(registry: Registry) -> list[str]:
    """The named groups that are served, in order of registration."""
    return list(dict.fromkeys(one.group for one in registry if one.group))


def versions(registry: Registry, group: str) -> list[str]:
    """The versions of a group, the preferred one first."""
    ordered = sorted(registry.in_group(group), key=lambda one: not one.preferred)
    return list(dict.fromkeys(one.version for one in ordered))


def aggregated(registry: Registry, names: Sequence[str], version: str) -> dict[str, Any]:
    """The aggregated document of some groups; of the core group for ``[""]``."""
    return {
        "kind": _AGGREGATED,
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_aggregated_group(registry, name) for name in names],
    }


def _aggregated_group(registry: Registry, group: str) -> dict[str, Any]:
    return {
        "metadata": {"name": group} if group else {},
        "versions": [
            {
                "version": version,
                "resources": [
                    _aggregated_resource(one) for one in _sorted(registry, group, version)
                ],
                "freshness": "Current",
            }
            for version in versions(registry, group)
        ],
    }


def _sorted(registry: Registry, group: str, version: str) -> list[ResourceType]:
    found = [one for one in registry.in_group(group) if one.version == version]
    return sorted(found, key=lambda one: one.plural)


def _aggregated_resource(one: ResourceType) -> dict[str, Any]:
    made: dict[str, Any] = {
        "resource": one.plural,
        "responseKind": _own_kind(one),
        "scope": "Namespaced" if one.namespaced else "Cluster",
        "singularResource": one.singular_name,
        "verbs": list(one.verbs),
    }
    if one.short_names:
        made["shortNames"] = list(one.short_names)
    if one.categories:
        made["categories"] = list(one.categories)
    subresources = [
        {
            "subresource": name,
            "responseKind": {"group": group, "version": version, "kind": kind},
            "verbs": list(verbs),
        }
        for name, group, version, kind, verbs in _subresources(one)
    ]
    if subresources:
        made["subresources"] = subresources
    return made


def _own_kind(one: ResourceType) -> dict[str, str]:
    if not one.custom:
        # Built-in kinds leave out what the document's place says.
        return {"group": "", "version": "", "kind": one.kind}
    return {"group": one.group, "version": one.version, "kind": one.kind}


def _subresources(
    one: ResourceType,
) -> list[tuple[str, str, str, str, tuple[str, ...]]]:
    """Name, group, version, kind and verbs of each subresource."""
    own = _own_kind(one)
    found: list[tuple[str, str, str, str, tuple[str, ...]]] = []
    names = sorted(one.subresources)
    if one.custom:
        names = [name for name in ("status", "scale") if name in one.subresources]
    for name in names:
        if name in _FOREIGN:
            found.append((name, *_FOREIGN[name]))
        elif name == "proxy":
            found.append((name, "", "v1", _PROXY.get(one.plural, one.kind), _PROXY_VERBS))
        else:
            verbs = _OWN.get(name, ("get", "patch", "update"))
            found.append((name, own["group"], own["version"], own["kind"], verbs))
    return found


# --- the old form ----------------------------------------------------------------


def core_versions(address: str) -> dict[str, Any]:
    """The answer of /api."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def group_list(registry: Registry) -> dict[str, Any]:
    """The answer of /apis."""
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(registry, name) for name in groups(registry)],
    }


def group(registry: Registry, name: str) -> dict[str, Any]:
    """The answer of /apis/GROUP; raises a 404."""
    if name not in groups(registry):
        raise errors.page_not_found()
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(registry, name)}


def _group(registry: Registry, name: str) -> dict[str, Any]:
    served = [
        {"groupVersion": f"{name}/{version}", "version": version}
        for version in versions(registry, name)
    ]
    return {"name": name, "versions": served, "preferredVersion": served[0]}


def resource_list(registry: Registry, group: str, version: str) -> dict[str, Any]:
    """The answer of /api/v1 or /apis/GROUP/VERSION; raises a 404 in the group's form."""
    in_group = registry.in_group(group)
    if version not in {one.version for one in in_group}:
        built_in = any(not one.custom for one in in_group)
        raise errors.resource_not_found() if built_in else errors.page_not_found()
    resources: list[dict[str, Any]] = []
    for one in _sorted(registry, group, version):
        resources.append(_resource(one))
        resources += [
            _subresource(one, name, (other, number, kind), verbs)
            for name, other, number, kind, verbs in _subresources(one)
        ]
    made: dict[str, Any] = {"kind": "APIResourceList"}
    if group:
        made["apiVersion"] = "v1"
    made["groupVersion"] = f"{group}/{version}" if group else version
    made["resources"] = resources
    return made


def _resource(one: ResourceType) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": one.plural,
        "singularName": one.singular_name,
        "namespaced": one.namespaced,
        "kind": one.kind,
        "verbs": list(one.verbs),
    }
    if one.short_names:
        made["shortNames"] = list(one.short_names)
    if one.categories:
        made["categories"] = list(one.categories)
    return made


def _subresource(
    one: ResourceType, name: str, kind: tuple[str, str, str], verbs: Sequence[str]
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": f"{one.plural}/{name}",
        "singularName": "",
        "namespaced": one.namespaced,
    }
    group, version, word = kind
    if word not in (one.kind, "Binding") and group:
        made |= {"group": group, "version": version}
    return {**made, "kind": word, "verbs": list(verbs)}
