"""Defaults of the types of the core group (upstream: pkg/apis/core/v1/defaults.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from konstat.embedded.builtin import quantities
from konstat.objects.quantity import Quantity

Object = dict[str, Any]

TCP: Final = "TCP"
DEFAULT_MODE: Final = 0o644
CLIENT_IP_SECONDS: Final = 10800


def image_tag(image: str) -> str:
    """The tag that an image reference means; empty with a digest."""
    if "@" in image:
        image, _, _ = image.partition("@")
        return image.rpartition("/")[2].partition(":")[2]
    return image.rpartition("/")[2].partition(":")[2] or "latest"


def _pull_policy(image: str) -> str:
    return "Always" if image_tag(image) == "latest" and image else "IfNotPresent"


def _container(obj: Object) -> None:
    obj.setdefault("imagePullPolicy", _pull_policy(obj.get("image", "")))
    obj.setdefault("terminationMessagePath", "/dev/termination-log")
    obj.setdefault("terminationMessagePolicy", "File")


def _volume(obj: Object) -> None:
    if not obj.keys() - {"name"}:
        obj["emptyDir"] = {}
    image = obj.get("image")
    if image is not None:
        image.setdefault("pullPolicy", _pull_policy(image.get("reference", "")))


def _pod_spec(obj: Object) -> None:
    obj.setdefault("dnsPolicy", "ClusterFirst")
    obj.setdefault("restartPolicy", "Always")
    obj.setdefault("securityContext", {})
    obj.setdefault("terminationGracePeriodSeconds", 30)
    obj.setdefault("schedulerName", "default-scheduler")


def _pod(obj: Object) -> None:
    spec = obj["spec"]
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for container in containers:
        resources = container["resources"]
        for name, amount in resources.get("limits", {}).items():
            resources.setdefault("requests", {}).setdefault(name, amount)
    _pod_level_requests(spec, containers)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in containers:
            for port in container.get("ports", ()):
                if port.get("containerPort"):
                    port.setdefault("hostPort", port["containerPort"])


def _pod_level_requests(spec: Object, containers: list[Object]) -> None:
    """Requests of the whole pod follow its containers', else its own limits (KEP-2837)."""
    limits = spec.get("resources", {}).get("limits")
    if not limits:
        return
    requests = spec["resources"].setdefault("requests", {})
    for name in ("cpu", "memory"):
        amounts = [
            Quantity(container["resources"]["requests"][name])
            for container in spec.get("containers") or ()
            if name in container["resources"].get("requests", {})
        ]
        if amounts and name not in requests:
            total = sum(amount.nanos for amount in amounts)
            binary = amounts[0].text.endswith("i")
            requests[name] = quantities.spelled(total, binary=binary)
    for name, amount in limits.items():
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            requests.setdefault(name, amount)


def _resources(obj: Object) -> None:
    for part in ("limits", "requests"):
        _round(obj.get(part))


def _round(amounts: Object | None) -> None:
    for name, amount in (amounts or {}).items():
        amounts[name] = quantities.milli(amount)  # pyright: ignore[reportOptionalSubscript]


def _node_status(obj: Object) -> None:
    _round(obj.get("capacity"))
    _round(obj.get("allocatable"))
    if obj.get("capacity") and "allocatable" not in obj:
        obj["allocatable"] = dict(obj["capacity"])


def _probe(obj: Object) -> None:
    obj.setdefault("timeoutSeconds", 1)
    obj.setdefault("periodSeconds", 10)
    obj.setdefault("successThreshold", 1)
    obj.setdefault("failureThreshold", 3)
    if "grpc" in obj:
        obj["grpc"]["service"] = obj["grpc"].get("service") or ""


def _http_get(obj: Object) -> None:
    obj.setdefault("path", "/")
    obj.setdefault("scheme", "HTTP")


def _file_key(obj: Object) -> None:
    obj.setdefault("optional", False)


def _mode(obj: Object) -> None:
    obj.setdefault("defaultMode", DEFAULT_MODE)


def _token_projection(obj: Object) -> None:
    obj.setdefault("expirationSeconds", 3600)


def _host_path(obj: Object) -> None:
    obj.setdefault("type", "")


def _field_selector(obj: Object) -> None:
    obj.setdefault("apiVersion", "v1")


def _secret(obj: Object) -> None:
    obj.setdefault("type", "Opaque")


def _volume_object(obj: Object) -> None:
    obj["status"].setdefault("phase", "Pending")
    obj["spec"].setdefault("persistentVolumeReclaimPolicy", "Retain")
    obj["spec"].setdefault("volumeMode", "Filesystem")
    _round(obj["spec"].get("capacity"))


def _claim(obj: Object) -> None:
    obj["status"].setdefault("phase", "Pending")


def _claim_spec(obj: Object) -> None:
    obj.setdefault("volumeMode", "Filesystem")


def _namespace(obj: Object) -> None:
    if name := obj["metadata"].get("name"):
        obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name
    obj["status"].setdefault("phase", "Active")


def _endpoints(obj: Object) -> None:
    for subset in obj.get("subsets", ()):
        for port in subset.get("ports", ()):
            port.setdefault("protocol", TCP)


def _limit_item(obj: Object) -> None:
    for part in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        _round(obj.get(part))
    if obj.get("type") != "Container":
        return
    defaults, requests = dict(obj.get("default", {})), dict(obj.get("defaultRequest", {}))
    for name, amount in obj.get("max", {}).items():
        defaults.setdefault(name, amount)
    for source in (defaults, obj.get("min", {})):
        for name, amount in source.items():
            requests.setdefault(name, amount)
    for part, amounts in (("default", defaults), ("defaultRequest", requests)):
        if amounts:
            obj[part] = amounts


def _quota(obj: Object) -> None:
    _round(obj["spec"].get("hard"))
    _round(obj["status"].get("hard"))
    _round(obj["status"].get("used"))


def externally_accessible(spec: Object) -> bool:
    """Whether a Service's spec opens it to the outside."""
    kind = spec.get("type")
    outside = kind == "ClusterIP" and bool(spec.get("externalIPs"))
    return kind in ("LoadBalancer", "NodePort") or outside


def _service(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("sessionAffinity", "None")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = spec.get("sessionAffinityConfig", {}).get("clientIP", {})
        if "timeoutSeconds" not in client:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": CLIENT_IP_SECONDS}}
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports", ()):
        port.setdefault("protocol", TCP)
        if port.get("targetPort") in (0, "", None):
            port["targetPort"] = port["port"]
    if externally_accessible(spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("ClusterIP", "NodePort", "LoadBalancer"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in obj["status"]["loadBalancer"].get("ingress", ()):
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


_CORE: Final = "io.k8s.api.core.v1."
DEFAULTS: Final[Mapping[str, Callable[[Object], None]]] = {
    _CORE + name: function
    for name, function in {
        "ConfigMapVolumeSource": _mode,
        "Container": _container,
        "DownwardAPIVolumeSource": _mode,
        "Endpoints": _endpoints,
        "EphemeralContainer": _container,
        "FileKeySelector": _file_key,
        "HTTPGetAction": _http_get,
        "HostPathVolumeSource": _host_path,
        "LimitRangeItem": _limit_item,
        "Namespace": _namespace,
        "NodeStatus": _node_status,
        "ObjectFieldSelector": _field_selector,
        "PersistentVolume": _volume_object,
        "PersistentVolumeClaim": _claim,
        "PersistentVolumeClaimSpec": _claim_spec,
        "Pod": _pod,
        "PodSpec": _pod_spec,
        "Probe": _probe,
        "ProjectedVolumeSource": _mode,
        "ResourceQuota": _quota,
        "ResourceRequirements": _resources,
        "Secret": _secret,
        "SecretVolumeSource": _mode,
        "Service": _service,
        "ServiceAccountTokenProjection": _token_projection,
        "Volume": _volume,
        "VolumeResourceRequirements": _resources,
    }.items()
}
