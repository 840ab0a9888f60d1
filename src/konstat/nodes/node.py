"""What a kubelet says of its node: the Node object, its status and its Lease. Pure."""

from __future__ import annotations

import platform
from datetime import datetime
from typing import Any, Final

import msgspec

from konstat.base import clock, limits
from konstat.nodes.addresses import node_address, pod_network

ACTOR_LABEL: Final = "nodes.konstat.dev/actor"
"""On every node that is played; its value is ``true``."""
INSTANCE: Final = "nodes.konstat.dev/instance"
"""Annotation of a Lease: which actor plays the node now."""
LEASE_NAMESPACE: Final = "kube-node-lease"

_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
# Type, reason, message: what a kubelet without troubles says.
_TROUBLES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


class NodeShape(msgspec.Struct, frozen=True, kw_only=True):
    """What one node is and has; quantities as Kubernetes writes them."""

    name: str
    index: int
    cpu: str
    memory: str
    pods: int

    @property
    def address(self) -> str:
        return node_address(self.index)


def node_content(shape: NodeShape) -> dict[str, Any]:
    """The Node as it is registered."""
    network = str(pod_network(shape.index))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": shape.name,
            "labels": {
                ACTOR_LABEL: "true",
                "kubernetes.io/hostname": shape.name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": architecture(),
            },
        },
        "spec": {"podCIDR": network, "podCIDRs": [network]},
    }


def node_status(shape: NodeShape, *, kubelet_version: str, runtime_name: str) -> dict[str, Any]:
    """The status of a healthy node, without times."""
    resources = {
        "cpu": shape.cpu,
        "memory": shape.memory,
        "pods": str(shape.pods),
        "ephemeral-storage": "100Gi",
    }
    conditions = [
        {"type": type, "status": "False", "reason": reason, "message": message}
        for type, reason, message in _TROUBLES
    ]
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
    }
    return {
        "capacity": resources,
        "allocatable": resources,
        "addresses": [
            {"type": "InternalIP", "address": shape.address},
            {"type": "Hostname", "address": shape.name},
        ],
        "nodeInfo": {
            "machineID": shape.name,
            "systemUUID": shape.name,
            "bootID": shape.name,
            "kernelVersion": platform.release(),
            "osImage": "konstat pretended node",
            "containerRuntimeVersion": f"{runtime_name}://1",
            "kubeletVersion": kubelet_version,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": architecture(),
        },
        "conditions": [*conditions, ready],
    }


def lease_content(
    shape: NodeShape, *, node_uid: str, instance: str, now: datetime
) -> dict[str, Any]:
    """The Lease that says that the node lives; it goes with its Node."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": shape.name,
            "namespace": LEASE_NAMESPACE,
            "annotations": {INSTANCE: instance},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": shape.name, "uid": node_uid}
            ],
        },
        "spec": {
            "holderIdentity": shape.name,
            "leaseDurationSeconds": limits.NODE_LEASE_SECONDS,
            "renewTime": clock.micro_timestamp(now),
        },
    }


def architecture() -> str:
    """This machine's, in Kubernetes' words."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)
