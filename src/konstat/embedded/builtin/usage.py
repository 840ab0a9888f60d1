"""What an object uses of the resources that quotas and limit ranges speak of.

Amounts are nanounits by resource name. A Pod's requests are those of its containers, or of its
greediest init container while that runs, whichever is more; sidecars count with both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from konstat.embedded.builtin import quantities
from konstat.embedded.builtin.quantities import NANO
from konstat.objects.quantity import Quantity

Object: TypeAlias = dict[str, Any]
Amounts: TypeAlias = dict[str, int]

_COUNTED: Final = (
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
)
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_BINARY: Final = ("memory", "storage")


def of(group: str, plural: str, obj: Object) -> Amounts:
    """All that ``obj`` uses."""
    name = f"{plural}.{group}" if group else plural
    used: Amounts = {f"count/{name}": NANO}
    if group:
        return used
    if plural in _COUNTED:
        used[plural] = NANO
    if plural == "pods":
        used |= _pod(obj)
    elif plural == "services":
        used |= _service(obj["spec"])
    elif plural == "persistentvolumeclaims":
        used |= _claim(obj["spec"])
    return used


def spelled(resource: str, nanos: int) -> str:
    """An amount as the server writes it."""
    return quantities.spelled(nanos, binary=resource.endswith(_BINARY) and nanos % NANO == 0)


# --- pods -------------------------------------------------------------------------------------


def _pod(pod: Object) -> Amounts:
    if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return {}
    requests, limits = pod_amounts(pod["spec"], "requests"), pod_amounts(pod["spec"], "limits")
    used: Amounts = {"pods": NANO}
    for name, nanos in requests.items():
        used[f"requests.{name}"] = nanos
        if name in _COMPUTE or name.startswith("hugepages-"):
            used[name] = nanos
    for name in _COMPUTE:
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    return used


def pod_amounts(spec: Object, part: str) -> Amounts:
    """The requests or the limits of a whole Pod."""
    total = _sum(_amounts(one, part) for one in spec.get("containers") or ())
    sidecars: Amounts = {}
    greediest: Amounts = {}
    for one in spec.get("initContainers") or ():
        own = _amounts(one, part)
        if one.get("restartPolicy") == "Always":
            sidecars = _sum((sidecars, own))
            total = _sum((total, own))
            greediest = _most(greediest, sidecars)
        else:
            greediest = _most(greediest, _sum((sidecars, own)))
    total = _most(total, greediest)
    for name, amount in (spec.get("resources", {}).get(part) or {}).items():
        total[name] = Quantity(amount).nanos
    if part == "requests":
        total = _sum((total, _read(spec.get("overhead"))))
    return total


def _amounts(container: Object, part: str) -> Amounts:
    return _read(container.get("resources", {}).get(part))


def _read(given: Mapping[str, str] | None) -> Amounts:
    return {name: Quantity(amount).nanos for name, amount in (given or {}).items()}


def _sum(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, nanos in part.items():
            total[name] = total.get(name, 0) + nanos
    return total


def _most(left: Amounts, right: Amounts) -> Amounts:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}


# --- services and claims ----------------------------------------------------------------------


def _service(spec: Object) -> Amounts:
    kind = spec.get("type")
    ports = len(spec.get("ports") or ())
    balanced = kind == "LoadBalancer"
    if balanced and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = sum(bool(port.get("nodePort")) for port in spec.get("ports") or ())
    opened = ports if kind in ("NodePort", "LoadBalancer") else 0
    return {
        "services.nodeports": opened * NANO,
        "services.loadbalancers": int(balanced) * NANO,
    }


def _claim(spec: Object) -> Amounts:
    amount = spec["resources"].get("requests", {}).get("storage")
    nanos = 0 if amount is None else Quantity(amount).nanos
    used: Amounts = {"requests.storage": nanos}
    if name := spec.get("storageClassName"):
        prefix = f"{name}.storageclass.storage.k8s.io"
        used |= {f"{prefix}/requests.storage": nanos, f"{prefix}/persistentvolumeclaims": NANO}
    return used
