"""Where the traffic of a Service goes: EndpointSlices and the older Endpoints. Pure.

The contents are as the endpoint slice and endpoints controllers write them, measured. Before:
`konstat.actors.pods`. After: `konstat.actors.services`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final

import msgspec

from konstat.actors import content, pods
from konstat.actors.content import Obj
from konstat.base import limits
from konstat.kinds import Service

SERVICE_LABEL: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
SLICE_CONTROLLER: Final = "endpointslice-controller.k8s.io"
MIRROR_CONTROLLER: Final = "endpointslicemirroring-controller.k8s.io"
HEADLESS: Final = "service.kubernetes.io/headless"
ENDPOINTS_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
ENDPOINTS_CONTROLLER: Final = "endpoint-controller"
SKIP_MIRROR: Final = "endpointslice.kubernetes.io/skip-mirror"
OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
_ZONE: Final = "topology.kubernetes.io/zone"
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"


class Group(msgspec.Struct, kw_only=True):
    """Endpoints that may share slices."""

    address_type: str
    ports: list[Obj]
    endpoints: list[Obj]


class SlicePlan(msgspec.Struct, kw_only=True):
    """Slices to create (whole), to change (with their new endpoints and ports), and to delete."""

    create: list[Obj] = msgspec.field(default_factory=list)
    change: list[tuple[Obj, Obj]] = msgspec.field(default_factory=list)
    delete: list[Obj] = msgspec.field(default_factory=list)


def selects(service: Obj) -> bool:
    """Whether the controllers look for pods: an ExternalName has none, others need a selector."""
    spec = content.spec(service)
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def selected(service: Obj, candidates: Iterable[Obj]) -> list[Obj]:
    wanted = (content.spec(service).get("selector") or {}).items()
    return [pod for pod in candidates if wanted <= content.labels(pod).items()]


def is_headless(service: Obj) -> bool:
    return content.spec(service).get("clusterIP") == "None"


def address_types(service: Obj) -> list[str]:
    return list(content.spec(service).get("ipFamilies") or ("IPv4",))


def addresses(pod: Obj) -> list[str]:
    status = content.status(pod)
    found = [entry.get("ip") for entry in status.get("podIPs") or ()] or [status.get("podIP")]
    return [address for address in found if address]


def address_type(address: str) -> str:
    """IPv4 or IPv6; an address that is neither counts as IPv4 and the server will refuse it."""
    try:
        return f"IPv{ip_address(address).version}"
    except ValueError:
        return "IPv4"


# --- ports ------------------------------------------------------------------------------------


def ports_of(service: Obj, pod: Obj) -> list[Obj]:
    """The Service's ports as the pod has them; a name that the pod lacks is left out."""
    found: list[Obj] = []
    for port in content.spec(service).get("ports") or ():
        number = target_port(port, pod)
        if number is None:
            continue
        entry = {
            "name": port.get("name") or "",
            "protocol": port.get("protocol") or "TCP",
            "port": number,
        }
        if port.get("appProtocol"):
            entry["appProtocol"] = port["appProtocol"]
        found.append(entry)
    return found


def target_port(port: Mapping[str, Any], pod: Obj) -> int | None:
    """The number that a Service's port leads to in ``pod``."""
    target = port.get("targetPort")
    if target in (None, 0, ""):
        return port.get("port")
    if isinstance(target, int):
        return target
    spec = content.spec(pod)
    sidecars = [c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"]
    for container in [*(spec.get("containers") or ()), *sidecars]:
        for entry in container.get("ports") or ():
            same_protocol = (entry.get("protocol") or "TCP") == (port.get("protocol") or "TCP")
            if entry.get("name") == target and same_protocol:
                return entry.get("containerPort")
    return None


# --- slices -----------------------------------------------------------------------------------


def groups(service: Obj, selected_pods: Sequence[Obj], nodes: Mapping[str, Obj]) -> list[Group]:
    """The endpoints of a Service, by address type and ports."""
    found: dict[str, Group] = {}
    types = address_types(service)
    for pod in selected_pods:
        if pods.finished(pod):
            continue
        for address in addresses(pod):
            type = address_type(address)
            if type in types:
                ports = ports_of(service, pod)
                group = found.setdefault(
                    f"{type} {ports}", Group(address_type=type, ports=ports, endpoints=[])
                )
                group.endpoints.append(endpoint(service, pod, address, nodes))
                break
    return list(found.values())


def endpoint(service: Obj, pod: Obj, address: str, nodes: Mapping[str, Obj]) -> Obj:
    """One entry of an EndpointSlice."""
    is_ready, terminating = pods.ready(pod), content.deleting(pod)
    anyway = bool(content.spec(service).get("publishNotReadyAddresses"))
    spec = content.spec(pod)
    node = pods.node_name(pod)
    zone = content.labels(nodes.get(node, {})).get(_ZONE)
    names_itself = spec.get("hostname") and spec.get("subdomain") == content.name(service)
    optional = {
        "hostname": spec.get("hostname") if names_itself else None,
        "targetRef": _reference(pod),
        "nodeName": node,
        "zone": zone,
    }
    return {
        "addresses": [address],
        "conditions": {
            "ready": anyway or (is_ready and not terminating),
            "serving": is_ready,
            "terminating": terminating,
        },
        **content.without_empty(optional),
    }


def _reference(pod: Obj) -> Obj:
    return {
        "kind": "Pod",
        "namespace": content.namespace(pod),
        "name": content.name(pod),
        "uid": content.uid(pod),
    }


def labels(service: Obj, *, manager: str) -> dict[str, str]:
    found = {k: v for k, v in content.labels(service).items() if k != HEADLESS}
    found |= {SERVICE_LABEL: content.name(service), MANAGED_BY: manager}
    return found | ({HEADLESS: ""} if is_headless(service) and manager == SLICE_CONTROLLER else {})


def plan(
    owner_reference: Obj,
    owner: Obj,
    wanted: Sequence[Group],
    present: Sequence[Obj],
    *,
    slice_labels: Mapping[str, str],
    types: Sequence[str],
) -> SlicePlan:
    """The fewest changes that make ``present`` hold the ``wanted`` endpoints.

    An endpoint stays in its slice; slices hold a bounded number; for each address type without
    endpoints one empty slice is kept.
    """
    result = SlicePlan()
    left = {content.uid(one): one for one in sorted(present, key=content.by_age)}
    for group in _with_empty(wanted, types):
        mine = [
            one
            for one in left.values()
            if one.get("addressType") == group.address_type and _same_ports(one, group.ports)
        ]
        if not mine:
            # A slice of nothing takes any ports, and where nothing is left any slice will do.
            mine = [
                one
                for one in left.values()
                if one.get("addressType") == group.address_type
                and not (one.get("endpoints") and group.endpoints)
            ][:1]
        filled = _fill(group.endpoints, mine)
        for one, endpoints in filled:
            if one is None:
                result.create.append(
                    _new_slice(owner_reference, owner, group, endpoints, slice_labels)
                )
                continue
            del left[content.uid(one)]
            changed = _changed(one, group.ports, endpoints, slice_labels)
            if changed:
                result.change.append((one, changed))
    result.delete = list(left.values())
    return result


def _with_empty(wanted: Sequence[Group], types: Sequence[str]) -> list[Group]:
    found = [group for group in wanted if group.endpoints]
    present = {group.address_type for group in found}
    return found + [
        Group(address_type=type, ports=[], endpoints=[]) for type in types if type not in present
    ]


def _same_ports(one: Obj, ports: Sequence[Obj]) -> bool:
    return [content.without_empty(p) for p in one.get("ports") or ()] == [
        content.without_empty(p) for p in ports
    ]


def _identity(entry: Mapping[str, Any]) -> str:
    reference = entry.get("targetRef") or {}
    return reference.get("uid") or "".join(entry.get("addresses") or ())


def _fill(endpoints: Sequence[Obj], present: Sequence[Obj]) -> list[tuple[Obj | None, list[Obj]]]:
    """The endpoints of each present slice that is kept, and of each new one (None)."""
    wanted = {_identity(entry): entry for entry in endpoints}
    filled: list[tuple[Obj | None, list[Obj]]] = []
    for one in present:
        kept = [
            wanted.pop(_identity(entry))
            for entry in one.get("endpoints") or ()
            if _identity(entry) in wanted
        ]
        filled.append((one, kept))
    rest = list(wanted.values())
    for _, kept in filled:
        room = limits.SLICE_ENDPOINTS - len(kept)
        kept += rest[:room]
        rest = rest[room:]
    used = [entry for entry in filled if entry[1]]
    while rest:
        used.append((None, rest[: limits.SLICE_ENDPOINTS]))
        rest = rest[limits.SLICE_ENDPOINTS :]
    if not used:
        return filled[:1] or [(None, [])]
    return used


def _changed(
    one: Obj, ports: Sequence[Obj], endpoints: Sequence[Obj], slice_labels: Mapping[str, str]
) -> Obj:
    """The members of a slice that must be written."""
    changed: Obj = {}
    if list(one.get("endpoints") or ()) != list(endpoints):
        changed["endpoints"] = list(endpoints)
    if not _same_ports(one, ports):
        changed["ports"] = list(ports)
    if content.labels(one) != slice_labels:
        changed["labels"] = dict(slice_labels)
    return changed


def _new_slice(
    reference: Obj,
    owner: Obj,
    group: Group,
    endpoints: Sequence[Obj],
    slice_labels: Mapping[str, str],
) -> Obj:
    return {
        "metadata": {
            "generateName": f"{content.name(owner)}-",
            "namespace": content.namespace(owner),
            "labels": dict(slice_labels),
            "ownerReferences": [reference],
        },
        "addressType": group.address_type,
        "endpoints": list(endpoints),
        "ports": list(group.ports),
    }


def service_reference(service: Obj) -> Obj:
    return content.controller_reference(Service.kind, service)


# --- Endpoints --------------------------------------------------------------------------------


def endpoints_content(service: Obj, selected_pods: Sequence[Obj]) -> Obj:
    """The Endpoints of a Service: addresses by ports, in order of the addresses."""
    subsets: dict[str, Obj] = {}
    cut = 0
    total = 0
    anyway = bool(content.spec(service).get("publishNotReadyAddresses"))
    for pod in sorted(selected_pods, key=_by_address):
        found = [a for a in addresses(pod) if address_type(a) == address_types(service)[0]]
        if pods.finished(pod) or not found or (content.deleting(pod) and not anyway):
            continue
        total += 1
        if total > limits.ENDPOINTS_ADDRESSES:
            cut += 1
            continue
        ports = sorted(ports_of(service, pod), key=lambda p: (p["name"], p["port"], p["protocol"]))
        ports = [content.without_empty(port) for port in ports]
        subset = subsets.setdefault(str(ports), {"ports": ports})
        side = "addresses" if anyway or pods.ready(pod) else "notReadyAddresses"
        subset.setdefault(side, []).append(_address(service, pod, found[0]))
    metadata: Obj = {
        "name": content.name(service),
        "namespace": content.namespace(service),
        "labels": {**content.labels(service), ENDPOINTS_MANAGED_BY: ENDPOINTS_CONTROLLER}
        | ({HEADLESS: ""} if is_headless(service) else {}),
    }
    if cut:
        metadata["annotations"] = {OVER_CAPACITY: "truncated"}
    ordered = [content.without_empty(subsets[key]) for key in sorted(subsets)]
    return {"metadata": metadata, "subsets": ordered}


def _by_address(pod: Obj) -> tuple[bool, str]:
    """Ready pods first, in the order of the text of their addresses."""
    return (not pods.ready(pod), next(iter(addresses(pod)), ""))


def _address(service: Obj, pod: Obj, address: str) -> Obj:
    spec = content.spec(pod)
    names_itself = spec.get("hostname") and spec.get("subdomain") == content.name(service)
    optional = {
        "hostname": spec.get("hostname") if names_itself else None,
        "nodeName": pods.node_name(pod),
        "targetRef": _reference(pod),
    }
    return {"ip": address, **content.without_empty(optional)}


# --- mirrors of Endpoints that somebody wrote ---------------------------------------------------


def is_mirrored(service: Obj | None, endpoints: Obj) -> bool:
    """Whether slices are made of Endpoints: those of a Service without a selector."""
    return (
        service is not None
        and not content.spec(service).get("selector")
        and content.labels(endpoints).get(SKIP_MIRROR) != "true"
        and _LEADER not in content.annotations(endpoints)
    )


def mirrored_groups(endpoints: Obj) -> list[Group]:
    """The addresses of Endpoints, by address type and ports."""
    found: list[Group] = []
    for subset in endpoints.get("subsets") or ():
        by_type: dict[str, Group] = {}
        for side, is_ready in (("addresses", True), ("notReadyAddresses", False)):
            for entry in subset.get(side) or ():
                type = address_type(entry.get("ip") or "")
                group = by_type.setdefault(
                    type,
                    Group(address_type=type, ports=list(subset.get("ports") or ()), endpoints=[]),
                )
                optional = {key: entry.get(key) for key in ("hostname", "nodeName", "targetRef")}
                group.endpoints.append(
                    {
                        "addresses": [entry.get("ip")],
                        "conditions": {"ready": is_ready},
                        **content.without_empty(optional),
                    }
                )
        found += by_type.values()
    return found
