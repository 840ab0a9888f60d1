"""Printer columns of the core group."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from konstat.embedded.builtin.cells import (
    AGE,
    CREATED,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    at,
    column,
    joined,
    labels,
    read,
    since,
)
from konstat.embedded.builtin.pod_columns import POD
from konstat.embedded.registry import Column, Object


def _data(obj: Object, now: datetime) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


# --- endpoints and services -------------------------------------------------------------------


def _endpoints(obj: Object, now: datetime) -> str:
    subsets = obj.get("subsets") or ()
    if not subsets:
        return NONE
    found: list[str] = []
    for subset in subsets:
        addresses = [one.get("ip", "") for one in subset.get("addresses") or ()]
        if not subset.get("ports"):
            found += addresses
        for port in subset.get("ports") or ():
            found += [_host_port(address, port["port"]) for address in addresses]
    shown = joined(found[:3])
    return f"{shown} + {len(found) - 3} more..." if len(found) > 3 else shown


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _cluster_ip(obj: Object, now: datetime) -> str:
    found = at(obj, "spec.clusterIPs")
    return found[0] if found else NONE


def _external_ip(obj: Object, now: datetime) -> str:
    spec = obj["spec"]
    kind, given = spec.get("type"), list(spec.get("externalIPs") or ())
    if kind == "ExternalName":
        return spec.get("externalName", "")
    if kind in ("ClusterIP", "NodePort"):
        return joined(given) or NONE
    if kind != "LoadBalancer":
        return UNKNOWN
    balancers = at(obj, "status.loadBalancer.ingress", [])
    found = sorted({a for one in balancers if (a := one.get("ip") or one.get("hostname"))})
    return joined([*found, *given]) or "<pending>"


def _service_ports(obj: Object, now: datetime) -> str:
    def shown(port: Object) -> str:
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        return f"{port['port']}{node}/{port.get('protocol', '')}"

    return joined(shown(port) for port in at(obj, "spec.ports", [])) or NONE


# --- nodes ------------------------------------------------------------------------------------


def _node_status(obj: Object, now: datetime) -> str:
    words = [
        "Ready" if one.get("status") == "True" else "NotReady"
        for one in at(obj, "status.conditions", [])
        if one.get("type") == "Ready"
    ][-1:] or ["Unknown"]
    if at(obj, "spec.unschedulable"):
        words.append("SchedulingDisabled")
    return joined(words)


def _roles(obj: Object, now: datetime) -> str:
    found: set[str] = set()
    for key, value in (at(obj, "metadata.labels") or {}).items():
        if key.startswith("node-role.kubernetes.io/"):
            found.add(key.partition("/")[2])
        elif key == "kubernetes.io/role":
            found.add(value)
    return joined(sorted(found - {""})) or NONE


def _address(kind: str) -> Any:
    def cell(obj: Object, now: datetime) -> str:
        found = (a for a in at(obj, "status.addresses", []) if a.get("type") == kind)
        return next((one.get("address", "") for one in found), NONE)

    return cell


def _kernel(obj: Object, now: datetime) -> str:
    version = at(obj, "status.nodeInfo.kernelVersion") or UNKNOWN
    architecture = at(obj, "status.nodeInfo.architecture")
    return f"{version} ({architecture})" if architecture else version


def _info(key: str) -> Any:
    def cell(obj: Object, now: datetime) -> str:
        return at(obj, f"status.nodeInfo.{key}") or UNKNOWN

    return cell


# --- volumes ----------------------------------------------------------------------------------

_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _modes(given: list[str] | None) -> str:
    return joined(short for mode, short in _MODES.items() if mode in (given or ()))


def _phase(obj: Object, now: datetime) -> str:
    terminating = at(obj, "metadata.deletionTimestamp") is not None
    return "Terminating" if terminating else at(obj, "status.phase", "")


def _claim_ref(obj: Object, now: datetime) -> str:
    claim = at(obj, "spec.claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _class(obj: Object, now: datetime) -> str:
    annotated = (at(obj, "metadata.annotations") or {}).get(
        "volume.beta.kubernetes.io/storage-class"
    )
    return annotated if annotated is not None else at(obj, "spec.storageClassName", "")


def _claim_capacity(obj: Object, now: datetime) -> str:
    if not at(obj, "spec.volumeName"):
        return ""
    return at(obj, "status.capacity.storage", "0")


def _claim_modes(obj: Object, now: datetime) -> str:
    return _modes(at(obj, "status.accessModes")) if at(obj, "spec.volumeName") else ""


# --- quotas and events ------------------------------------------------------------------------


def _quota(*, limits: bool) -> Any:
    def cell(obj: Object, now: datetime) -> str:
        hard, used = at(obj, "status.hard") or {}, at(obj, "status.used") or {}
        return joined(
            (
                f"{name}: {used.get(name, '0')}/{hard[name]}"
                for name in sorted(hard)
                if name.startswith("limits.") is limits
            ),
            ", ",
        )

    return cell


def _first_seen(obj: Object, now: datetime) -> str:
    return since(obj.get("firstTimestamp") or obj.get("eventTime"), now)


def _last_seen(obj: Object, now: datetime) -> str:
    if obj.get("series"):
        return since(at(obj, "series.lastObservedTime"), now)
    if obj.get("lastTimestamp"):
        return since(obj["lastTimestamp"], now)
    return _first_seen(obj, now)


def _count(obj: Object, now: datetime) -> int:
    if obj.get("series"):
        return at(obj, "series.count", 0)
    return obj.get("count") or 1


def _object(obj: Object, now: datetime) -> str:
    kind, name = at(obj, "involvedObject.kind", ""), at(obj, "involvedObject.name", "")
    return f"{kind.lower()}/{name}" if name else kind.lower()


def _source(obj: Object, now: datetime) -> str:
    component = at(obj, "source.component", "") or obj.get("reportingComponent", "")
    instance = at(obj, "source.host", "") or obj.get("reportingInstance", "")
    return f"{component}, {instance}" if instance else component


EVENT: Final = (
    column("Last Seen", _last_seen),
    column("Type", read("type")),
    column("Reason", read("reason")),
    column("Object", _object),
    column("Subobject", read("involvedObject.fieldPath"), wide=True),
    column("Source", _source, wide=True),
    column("Message", lambda obj, now: (obj.get("message") or "").strip()),
    column("First Seen", _first_seen, wide=True),
    column("Count", _count, wide=True),
    column("Name", read("metadata.name"), format="name", wide=True),
)
COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "ConfigMap": (NAME, column("Data", _data), AGE),
    "Endpoints": (NAME, column("Endpoints", _endpoints), AGE),
    "Event": EVENT,
    "LimitRange": (NAME, CREATED),
    "Namespace": (NAME, column("Status", read("status.phase")), AGE),
    "Node": (
        NAME,
        column("Status", _node_status),
        column("Roles", _roles),
        AGE,
        column("Version", read("status.nodeInfo.kubeletVersion")),
        column("Internal-IP", _address("InternalIP"), wide=True),
        column("External-IP", _address("ExternalIP"), wide=True),
        column("OS-Image", _info("osImage"), wide=True),
        column("Kernel-Version", _kernel, wide=True),
        column("Container-Runtime", _info("containerRuntimeVersion"), wide=True),
    ),
    "PersistentVolume": (
        NAME,
        column("Capacity", read("spec.capacity.storage", "0")),
        column("Access Modes", lambda obj, now: _modes(at(obj, "spec.accessModes"))),
        column("Reclaim Policy", read("spec.persistentVolumeReclaimPolicy")),
        column("Status", _phase),
        column("Claim", _claim_ref),
        column("StorageClass", _class),
        column("VolumeAttributesClass", read("spec.volumeAttributesClassName", UNSET)),
        column("Reason", read("status.reason")),
        AGE,
        column("VolumeMode", read("spec.volumeMode", UNSET), wide=True),
    ),
    "PersistentVolumeClaim": (
        NAME,
        column("Status", _phase),
        column("Volume", read("spec.volumeName")),
        column("Capacity", _claim_capacity),
        column("Access Modes", _claim_modes),
        column("StorageClass", _class),
        column("VolumeAttributesClass", read("spec.volumeAttributesClassName", UNSET)),
        AGE,
        column("VolumeMode", read("spec.volumeMode", UNSET), wide=True),
    ),
    "Pod": POD,
    "ResourceQuota": (
        NAME,
        column("Request", _quota(limits=False)),
        column("Limit", _quota(limits=True)),
        AGE,
    ),
    "Secret": (NAME, column("Type", read("type")), column("Data", _data), AGE),
    "Service": (
        NAME,
        column("Type", read("spec.type")),
        column("Cluster-IP", _cluster_ip),
        column("External-IP", _external_ip),
        column("Port(s)", _service_ports),
        AGE,
        column("Selector", lambda obj, now: labels(at(obj, "spec.selector")), wide=True),
    ),
    "ServiceAccount": (NAME, AGE),
}
