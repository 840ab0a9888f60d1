"""Whether a pod fits on a node: taints, affinity to nodes, ports and resources. Pure.

The filters, their order and their words are those of kube-scheduler 1.36, measured. Affinity to
other pods is in `konstat.actors.neighbours`. After: `konstat.actors.scheduler`,
`konstat.actors.daemonsets`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from konstat.actors import content, pods
from konstat.actors.content import Obj
from konstat.objects.quantity import Quantity

UNSCHEDULABLE_TAINT: Final = "node.kubernetes.io/unschedulable"

UNSCHEDULABLE: Final = "node(s) were unschedulable"
OTHER_NAME: Final = "node(s) didn't match the requested node name"
TAINTED: Final = "node(s) had untolerated taint(s)"
OTHER_NODES: Final = "node(s) didn't match Pod's node affinity/selector"
PORTS: Final = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY: Final = "Too many pods"

_PODS: Final = "pods"


class Refusal(msgspec.Struct, frozen=True):
    """Why a pod does not fit: words of the scheduler, and whether another pod's end would help."""

    reasons: tuple[str, ...]
    resolvable: bool = False


class Usage(msgspec.Struct, kw_only=True):
    """What the pods of a node take: nanounits by resource (``pods`` too), and host ports."""

    amounts: dict[str, int] = msgspec.field(default_factory=dict)
    ports: set[tuple[str, str, int]] = msgspec.field(default_factory=set)

    def add(self, pod: Mapping[str, Any]) -> None:
        for name, amount in requests(pod).items():
            self.amounts[name] = self.amounts.get(name, 0) + amount
        self.ports |= host_ports(pod)


# --- taints -----------------------------------------------------------------------------------


def taints_of(node: Mapping[str, Any]) -> list[Obj]:
    return list(content.spec(node).get("taints") or ())


def tolerates(tolerations: Iterable[Mapping[str, Any]], taint: Mapping[str, Any]) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint.get("effect"):
        return False
    if key and key != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return bool(key) and (toleration.get("value") or "") == (taint.get("value") or "")


def untolerated(
    pod: Mapping[str, Any], node: Mapping[str, Any], effects: Sequence[str]
) -> Obj | None:
    """The first taint of one of ``effects`` that the pod does not tolerate."""
    tolerations = content.spec(pod).get("tolerations") or ()
    for taint in taints_of(node):
        if taint.get("effect") in effects and not tolerates(tolerations, taint):
            return taint
    return None


# --- affinity to nodes ------------------------------------------------------------------------


def fits_affinity(pod: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """Whether the node has the labels of ``nodeSelector`` and meets a required term."""
    labels = content.labels(node)
    spec = content.spec(pod)
    if not (spec.get("nodeSelector") or {}).items() <= labels.items():
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_meets(term, node) for term in required.get("nodeSelectorTerms") or ())


def preference(pod: Mapping[str, Any], node: Mapping[str, Any]) -> int:
    """The sum of the weights of the preferred terms that the node meets."""
    affinity = (content.spec(pod).get("affinity") or {}).get("nodeAffinity") or {}
    return sum(
        entry.get("weight") or 0
        for entry in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        if _meets(entry.get("preference") or {}, node)
    )


def _meets(term: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    by_label = term.get("matchExpressions") or ()
    by_field = term.get("matchFields") or ()
    if not by_label and not by_field:
        return False
    labels = content.labels(node)
    fields = {"metadata.name": content.name(node)}
    return all(_holds(one, labels) for one in by_label) and all(
        _holds(one, fields) for one in by_field
    )


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression.get("key") or "", expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt" | "Lt" as operator:
            return _compared(operator, labels.get(key), values)
        case _:
            return False


def _compared(operator: str, found: str | None, values: Sequence[str]) -> bool:
    try:
        left, right = int(found or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return left > right if operator == "Gt" else left < right


# --- resources and ports ----------------------------------------------------------------------


@lru_cache(maxsize=4096)
def nanos(text: str) -> int:
    """A quantity in nanounits; one that cannot be read counts as 0."""
    try:
        return Quantity(text).nanos
    except ValueError:
        return 0


def requests(pod: Mapping[str, Any]) -> dict[str, int]:
    """What a pod takes of a node: its containers together, or an init container if that is more.

    Init containers that restart always (sidecars) count with the containers (KEP-753); the pod's
    own requests replace the sum (KEP-2837); the overhead is added.
    """
    spec = content.spec(pod)
    total: dict[str, int] = {}
    for container in spec.get("containers") or ():
        _add(total, _requested(container))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            _add(sidecars, _requested(container))
            _raise(peak, sidecars)
        else:
            alone = dict(sidecars)
            _add(alone, _requested(container))
            _raise(peak, alone)
    _add(total, sidecars)
    _raise(total, peak)
    total |= _requested(spec)
    _add(total, {name: nanos(str(amount)) for name, amount in (spec.get("overhead") or {}).items()})
    total[_PODS] = nanos("1")
    return total


def _requested(holder: Mapping[str, Any]) -> dict[str, int]:
    found = (holder.get("resources") or {}).get("requests") or {}
    return {name: nanos(str(amount)) for name, amount in found.items()}


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: dict[str, int], least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, 0), amount)


def allocatable(node: Mapping[str, Any]) -> dict[str, int]:
    found = content.status(node).get("allocatable") or {}
    return {name: nanos(str(amount)) for name, amount in found.items()}


def host_ports(pod: Mapping[str, Any]) -> set[tuple[str, str, int]]:
    """The host addresses, protocols and ports that a pod binds."""
    return {
        (port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"])
        for container in content.spec(pod).get("containers") or ()
        for port in container.get("ports") or ()
        if port.get("hostPort")
    }


def usage(on_node: Iterable[Mapping[str, Any]]) -> Usage:
    """What the pods on a node take together; finished ones take nothing."""
    taken = Usage()
    for pod in on_node:
        if not pods.finished(pod):
            taken.add(pod)
    return taken


def _insufficient(
    pod: Mapping[str, Any], node: Mapping[str, Any], taken: Usage
) -> tuple[list[str], bool]:
    """What lacks, and whether the end of other pods would help."""
    room = allocatable(node)
    lacking: list[str] = []
    resolvable = True
    for name, amount in sorted(requests(pod).items(), key=_resource_order):
        if not amount or taken.amounts.get(name, 0) + amount <= room.get(name, 0):
            continue
        lacking.append(TOO_MANY if name == _PODS else f"Insufficient {name}")
        resolvable = resolvable and amount <= room.get(name, 0)
    return lacking, resolvable


def _resource_order(entry: tuple[str, int]) -> tuple[int, str]:
    known = (_PODS, "cpu", "memory", "ephemeral-storage")
    name = entry[0]
    return (known.index(name) if name in known else len(known), name)


def _ports_taken(pod: Mapping[str, Any], taken: Usage) -> bool:
    return any(
        protocol == other_protocol
        and port == other_port
        and (address == other or "0.0.0.0" in (address, other))
        for address, protocol, port in host_ports(pod)
        for other, other_protocol, other_port in taken.ports
    )


# --- the filters in their order ---------------------------------------------------------------


def refusal(pod: Mapping[str, Any], node: Mapping[str, Any], taken: Usage) -> Refusal | None:
    """Why the pod does not fit on the node; None when it does."""
    spec = content.spec(pod)
    cordon = {"key": UNSCHEDULABLE_TAINT, "effect": "NoSchedule"}
    if content.spec(node).get("unschedulable") and not tolerates(
        spec.get("tolerations") or (), cordon
    ):
        return Refusal((UNSCHEDULABLE,))
    if spec.get("nodeName") not in (None, "", content.name(node)):
        return Refusal((OTHER_NAME,))
    if untolerated(pod, node, ("NoSchedule", "NoExecute")) is not None:
        return Refusal((TAINTED,))
    if not fits_affinity(pod, node):
        return Refusal((OTHER_NODES,))
    if _ports_taken(pod, taken):
        return Refusal((PORTS,), resolvable=True)
    lacking, resolvable = _insufficient(pod, node, taken)
    return Refusal(tuple(lacking), resolvable=resolvable) if lacking else None
