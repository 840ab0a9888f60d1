"""The printer columns of every built-in kind, as the server's Table shows them.

Descriptions of columns are prose and left empty.

Before: `cells`, `columns_core`, `columns_workloads`. After: `catalog`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from konstat.embedded.builtin import columns_core, columns_workloads
from konstat.embedded.builtin.cells import (
    AGE,
    CREATED,
    NAME,
    NONE,
    UNSET,
    at,
    column,
    cut,
    joined,
    read,
    selector,
)
from konstat.embedded.registry import Column, Object

Columns = tuple[Column, ...]


def of(group: str, kind: str) -> Columns:
    """The columns of a kind."""
    return _COLUMNS[group, kind]


def _subjects(kind: str) -> Any:
    def cell(obj: Object, now: datetime) -> str:
        found = [one for one in obj.get("subjects") or () if one.get("kind") == kind]
        if kind == "ServiceAccount":
            return joined((f"{one.get('namespace', '')}/{one['name']}" for one in found), ", ")
        return joined((one["name"] for one in found), ", ")

    return cell


def _role(obj: Object, now: datetime) -> str:
    return f"{at(obj, 'roleRef.kind', '')}/{at(obj, 'roleRef.name', '')}"


_BINDING: Final = (
    NAME,
    column("Role", _role),
    AGE,
    column("Users", _subjects("User"), wide=True),
    column("Groups", _subjects("Group"), wide=True),
    column("ServiceAccounts", _subjects("ServiceAccount"), wide=True),
)


# --- networking -------------------------------------------------------------------------------


def _hosts(obj: Object, now: datetime) -> str:
    rules = at(obj, "spec.rules", [])
    hosts: list[str] = []
    more = False
    for rule in rules:
        more = more or len(hosts) == 3
        if not more and rule.get("host"):
            hosts.append(rule["host"])
    if not hosts:
        return "*"
    return f"{joined(hosts)} + {len(rules) - 3} more..." if more else joined(hosts)


def _ingress_address(obj: Object, now: datetime) -> str:
    found = at(obj, "status.loadBalancer.ingress", [])
    return joined(sorted({a for one in found if (a := one.get("ip") or one.get("hostname"))}))


def _ingress_ports(obj: Object, now: datetime) -> str:
    return "80, 443" if at(obj, "spec.tls") else "80"


def _class_name(obj: Object, now: datetime) -> str:
    name = at(obj, "metadata.name", "")
    annotation = "ingressclass.kubernetes.io/is-default-class"
    default = (at(obj, "metadata.annotations") or {}).get(annotation) == "true"
    return f"{name} (default)" if default else name


def _parameters(obj: Object, now: datetime) -> str:
    found = at(obj, "spec.parameters")
    if not found:
        return NONE
    kind = joined((part for part in (found["kind"], found.get("apiGroup")) if part), ".")
    return f"{kind}/{found['name']}"


def _slice_ports(obj: Object, now: datetime) -> str:
    def shown(port: Object) -> str:
        if port.get("port") is not None:
            return str(port["port"])
        return port["name"] if port.get("name") is not None else "*"

    return cut([shown(port) for port in obj.get("ports") or ()])


def _slice_endpoints(obj: Object, now: datetime) -> str:
    found = obj.get("endpoints") or ()
    return cut([address for one in found for address in one.get("addresses") or ()])


# --- storage and others -----------------------------------------------------------------------


def _storage_class_name(obj: Object, now: datetime) -> str:
    annotations = at(obj, "metadata.annotations") or {}
    default = "true" in (
        annotations.get("storageclass.kubernetes.io/is-default-class"),
        annotations.get("storageclass.beta.kubernetes.io/is-default-class"),
    )
    return f"{obj['metadata']['name']} (default)" if default else obj["metadata"]["name"]


def _tokens(obj: Object, now: datetime) -> str:
    found = at(obj, "spec.tokenRequests")
    return UNSET if found is None else joined(one.get("audience", "") for one in found)


def _webhooks(obj: Object, now: datetime) -> int:
    return len(obj.get("webhooks") or ())


def _served_by(obj: Object, now: datetime) -> str:
    service = at(obj, "spec.service")
    return f"{service.get('namespace')}/{service.get('name')}" if service else "Local"


def _available(obj: Object, now: datetime) -> str:
    for condition in at(obj, "status.conditions", []):
        if condition.get("type") == "Available":
            status, reason = condition.get("status"), condition.get("reason")
            return status if status == "True" else f"{status} ({reason})"
    return "Unknown"


_RBAC: Final = "rbac.authorization.k8s.io"
_NETWORK: Final = "networking.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"
_WEBHOOKS: Final = (NAME, column("Webhooks", _webhooks, kind="integer"), AGE)
_COLUMNS: Final[Mapping[tuple[str, str], Columns]] = {
    **{("", kind): found for kind, found in columns_core.COLUMNS.items()},
    **columns_workloads.COLUMNS,
    (_RBAC, "Role"): (NAME, CREATED),
    (_RBAC, "ClusterRole"): (NAME, CREATED),
    (_RBAC, "RoleBinding"): _BINDING,
    (_RBAC, "ClusterRoleBinding"): _BINDING,
    (_NETWORK, "Ingress"): (
        NAME,
        column("Class", read("spec.ingressClassName", NONE)),
        column("Hosts", _hosts),
        column("Address", _ingress_address),
        column("Ports", _ingress_ports),
        AGE,
    ),
    (_NETWORK, "IngressClass"): (
        column("Name", _class_name, format="name"),
        column("Controller", read("spec.controller")),
        column("Parameters", _parameters),
        AGE,
    ),
    (_NETWORK, "NetworkPolicy"): (
        NAME,
        column("Pod-Selector", lambda obj, now: selector(at(obj, "spec.podSelector"))),
        AGE,
    ),
    ("discovery.k8s.io", "EndpointSlice"): (
        NAME,
        column("AddressType", read("addressType")),
        column("Ports", _slice_ports),
        column("Endpoints", _slice_endpoints),
        AGE,
    ),
    ("coordination.k8s.io", "Lease"): (
        NAME,
        column("Holder", read("spec.holderIdentity")),
        AGE,
    ),
    ("events.k8s.io", "Event"): columns_core.COLUMNS["Event"],
    ("storage.k8s.io", "StorageClass"): (
        column("Name", _storage_class_name, format="name"),
        column("Provisioner", read("provisioner")),
        column("ReclaimPolicy", read("reclaimPolicy", "Delete")),
        column("VolumeBindingMode", read("volumeBindingMode", "Immediate")),
        column("AllowVolumeExpansion", read("allowVolumeExpansion", False)),
        AGE,
    ),
    ("storage.k8s.io", "CSIDriver"): (
        NAME,
        column("AttachRequired", read("spec.attachRequired", True), kind="boolean"),
        column("PodInfoOnMount", read("spec.podInfoOnMount", False), kind="boolean"),
        column("StorageCapacity", read("spec.storageCapacity", False), kind="boolean"),
        column("TokenRequests", _tokens),
        column("RequiresRepublish", read("spec.requiresRepublish", False), kind="boolean"),
        column("Modes", lambda obj, now: joined(at(obj, "spec.volumeLifecycleModes", [])) or NONE),
        AGE,
    ),
    ("scheduling.k8s.io", "PriorityClass"): (
        NAME,
        column("Value", read("value", 0), kind="integer"),
        column("Global-Default", read("globalDefault", False), kind="boolean"),
        AGE,
        column("PreemptionPolicy", read("preemptionPolicy")),
    ),
    (_ADMISSION, "MutatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (NAME, CREATED),
    ("apiregistration.k8s.io", "APIService"): (
        NAME,
        column("Service", _served_by),
        column("Available", _available),
        AGE,
    ),
}
