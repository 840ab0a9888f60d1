"""Defaults of networking, storage, RBAC, admission, discovery, scheduling and CRDs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

Object = dict[str, Any]

RBAC: Final = "rbac.authorization.k8s.io"


def _network_port(obj: Object) -> None:
    obj.setdefault("protocol", "TCP")


def _network_policy(obj: Object) -> None:
    spec = obj["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(("Egress",) if spec.get("egress") else ())]


def _ingress_class(obj: Object) -> None:
    parameters = obj["spec"].get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def _storage_class(obj: Object) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _csi_driver(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("attachRequired", True)
    for name in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
        spec.setdefault(name, False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("volumeLifecycleModes", ["Persistent"])


def _binding(obj: Object) -> None:
    if not obj["roleRef"].get("apiGroup"):
        obj["roleRef"]["apiGroup"] = RBAC


def _subject(obj: Object) -> None:
    if obj.get("kind") in ("User", "Group"):
        obj.setdefault("apiGroup", RBAC)


def _webhook(obj: Object) -> None:
    obj.setdefault("failurePolicy", "Fail")
    obj.setdefault("matchPolicy", "Equivalent")
    obj.setdefault("namespaceSelector", {})
    obj.setdefault("objectSelector", {})
    obj.setdefault("timeoutSeconds", 10)


def _mutating_webhook(obj: Object) -> None:
    _webhook(obj)
    obj.setdefault("reinvocationPolicy", "Never")


def _webhook_rule(obj: Object) -> None:
    obj.setdefault("scope", "*")


def _service_reference(obj: Object) -> None:
    obj.setdefault("port", 443)


def _endpoint_port(obj: Object) -> None:
    obj.setdefault("name", "")
    obj.setdefault("protocol", "TCP")


def _priority_class(obj: Object) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _custom_resource_definition(obj: Object) -> None:
    spec = obj["spec"]
    kind = spec["names"].get("kind", "")
    if not spec["names"].get("singular"):
        spec["names"]["singular"] = kind.lower()
    if kind and not spec["names"].get("listKind"):
        spec["names"]["listKind"] = f"{kind}List"
    spec.setdefault("conversion", {"strategy": "None"})
    if not obj["status"].get("storedVersions"):
        stored = [v["name"] for v in spec.get("versions") or () if v.get("storage")]
        if stored:
            obj["status"]["storedVersions"] = stored[:1]


_API: Final = "io.k8s.api."
_ADMISSION: Final = f"{_API}admissionregistration.v1."
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
DEFAULTS: Final[Mapping[str, Callable[[Object], None]]] = {
    f"{_ADMISSION}MutatingWebhook": _mutating_webhook,
    f"{_ADMISSION}RuleWithOperations": _webhook_rule,
    f"{_ADMISSION}ServiceReference": _service_reference,
    f"{_ADMISSION}ValidatingWebhook": _webhook,
    f"{_API}discovery.v1.EndpointPort": _endpoint_port,
    f"{_API}networking.v1.IngressClass": _ingress_class,
    f"{_API}networking.v1.NetworkPolicy": _network_policy,
    f"{_API}networking.v1.NetworkPolicyPort": _network_port,
    f"{_API}rbac.v1.ClusterRoleBinding": _binding,
    f"{_API}rbac.v1.RoleBinding": _binding,
    f"{_API}rbac.v1.Subject": _subject,
    f"{_API}scheduling.v1.PriorityClass": _priority_class,
    f"{_API}storage.v1.CSIDriver": _csi_driver,
    f"{_API}storage.v1.StorageClass": _storage_class,
    f"{_EXTENSIONS}CustomResourceDefinition": _custom_resource_definition,
    f"{_EXTENSIONS}ServiceReference": _service_reference,
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference": _service_reference,
}
