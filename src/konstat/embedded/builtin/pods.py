"""What the server does to a Pod before it is stored.

Its strategy (phase, quality of service, generation) and the admission plugins that a standard
server runs: ServiceAccount, Priority, DefaultTolerationSeconds.

Unlike the real server: the token volume is mounted only where the ServiceAccount is there, and a
Pod that names none is taken also when no ``default`` exists yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from konstat.base import chance
from konstat.embedded.builtin import limit_ranges
from konstat.embedded.registry import Host
from konstat.embedded.status_errors import forbidden
from konstat.objects.quantity import Quantity

Object = dict[str, Any]

TOKEN_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_SECONDS: Final = 3607
_SYSTEM_PRIORITIES: Final = {
    "system-cluster-critical": 2000000000,
    "system-node-critical": 2000001000,
}


def prepare_create(new: Object, host: Host) -> None:
    """Give a new Pod its status and what admission adds."""
    spec = new["spec"]
    _name_both_accounts(spec)
    _merge_label_keys(new)
    _admit_account(new, host)
    _admit_priority(new, host)
    _require_no_runtime_class(new)
    _add_tolerations(spec)
    limit_ranges.admit_pod(new, host)
    status: Object = {"phase": "Pending", "qosClass": quality_of_service(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [_gated()]
    new["status"] = status


def prepare_update(new: Object, old: Object, host: Host) -> None:
    """Keep the quality of service, move the generation with the spec."""
    _name_both_accounts(new["spec"])
    _add_tolerations(new["spec"])


def template_accounts(spec: Object) -> None:
    """A template that names its ServiceAccount has both spellings."""
    _name_both_accounts(spec)


def _name_both_accounts(spec: Object) -> None:
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _gated() -> Object:
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": None,
    }


def _merge_label_keys(new: Object) -> None:
    """Labels that are named by key alone become requirements of the selectors."""
    labels = new["metadata"].get("labels") or {}
    for term in _terms(new["spec"]):
        selector = term.get("labelSelector")
        if selector is None:
            continue
        added = [
            {"key": key, "operator": operator, "values": [labels[key]]}
            for name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in term.get(name) or ()
            if key in labels
        ]
        if added:
            selector["matchExpressions"] = [*selector.get("matchExpressions", ()), *added]


def _terms(spec: Object) -> Iterator[Object]:
    for name in ("podAffinity", "podAntiAffinity"):
        affinity = spec.get("affinity", {}).get(name, {})
        yield from affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for one in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield one["podAffinityTerm"]
    yield from spec.get("topologySpreadConstraints") or ()


# --- quality of service -----------------------------------------------------------------------


def quality_of_service(spec: Object) -> str:
    """Guaranteed, Burstable or BestEffort, from requests and limits of cpu and memory."""
    if any(spec.get("resources", {}).get(part) for part in ("requests", "limits")):
        return _quality([spec["resources"]])
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return _quality([container.get("resources", {}) for container in containers])


def _quality(all_resources: list[Object]) -> str:
    names = ("cpu", "memory")
    found = False
    guaranteed = True
    for resources in all_resources:
        for name in names:
            request = Quantity(resources.get("requests", {}).get(name, 0)).nanos
            limit = Quantity(resources.get("limits", {}).get(name, 0)).nanos
            found = found or request > 0 or limit > 0
            guaranteed = guaranteed and limit > 0 and request == limit
    if not found:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


# --- admission --------------------------------------------------------------------------------


def _admit_account(new: Object, host: Host) -> None:
    spec, namespace = new["spec"], new["metadata"].get("namespace", "")
    if (new["metadata"].get("annotations") or {}).get("kubernetes.io/config.mirror"):
        return
    name = spec.get("serviceAccountName") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = host.lookup("", "serviceaccounts", namespace, name)
    if account is None:
        if name == "default":
            return
        problem = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'  # noqa: E501
        raise forbidden("pods", new["metadata"].get("name", ""), problem)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(one) for one in account["imagePullSecrets"]]
    mount = spec.get("automountServiceAccountToken")
    if mount is None:
        mount = account.get("automountServiceAccountToken")
    if mount is not False:
        _mount_token(spec)


def _mount_token(spec: Object) -> None:
    volume = f"kube-api-access-{chance.suffix()}"
    mounted = False
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        mounts = container.get("volumeMounts", [])
        if any(mount.get("mountPath") == TOKEN_FOLDER for mount in mounts):
            continue
        own = {"name": volume, "readOnly": True, "mountPath": TOKEN_FOLDER}
        container["volumeMounts"] = [*mounts, own]
        mounted = True
    if mounted:
        spec["volumes"] = [*spec.get("volumes", ()), _token_volume(volume)]


def _token_volume(name: str) -> Object:
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {
            "configMap": {
                "name": "kube-root-ca.crt",
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
            }
        },
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 0o644}}


def _admit_priority(new: Object, host: Host) -> None:
    spec = new["spec"]
    name = spec.get("priorityClassName")
    priority_class: Object | None = None
    if name:
        priority_class = host.lookup("scheduling.k8s.io", "priorityclasses", "", name)
        if priority_class is None and name not in _SYSTEM_PRIORITIES:
            problem = f"no PriorityClass with name {name} was found"
            raise forbidden("pods", new["metadata"].get("name", ""), problem)
    else:
        found = host.objects("scheduling.k8s.io", "priorityclasses")
        defaults = [one for one in found if one.get("globalDefault")]
        if defaults:
            priority_class = min(defaults, key=lambda one: one.get("value", 0))
            spec["priorityClassName"] = priority_class["metadata"]["name"]
    value = _SYSTEM_PRIORITIES.get(name, 0) if name else 0
    policy = "PreemptLowerPriority"
    if priority_class is not None:
        value = priority_class.get("value", 0)
        policy = priority_class.get("preemptionPolicy", policy)
    spec["priority"] = value
    spec.setdefault("preemptionPolicy", policy)


def _require_no_runtime_class(new: Object) -> None:
    """There are no RuntimeClasses here, so none can be found."""
    name = new["spec"].get("runtimeClassName")
    if name:
        problem = f'pod rejected: RuntimeClass "{name}" not found'
        raise forbidden("pods", new["metadata"].get("name", ""), problem)


def _add_tolerations(spec: Object) -> None:
    given = spec.get("tolerations", [])
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(_tolerates(one, key) for one in given):
            added = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            spec["tolerations"] = [
                *spec.get("tolerations", ()),
                {**added, "tolerationSeconds": 300},
            ]


def _tolerates(toleration: Object, key: str) -> bool:
    return toleration.get("key", "") in (key, "") and toleration.get("effect", "") in (
        "NoExecute",
        "",
    )


def prepare_status(new: Object, old: Object, host: Host) -> None:
    """The owners and the quality of service are not the kubelet's to change."""
    owners = old["metadata"].get("ownerReferences")
    if owners:
        new["metadata"]["ownerReferences"] = owners
    else:
        new["metadata"].pop("ownerReferences", None)
    if "qosClass" in old.get("status", {}):
        new.setdefault("status", {}).setdefault("qosClass", old["status"]["qosClass"])
