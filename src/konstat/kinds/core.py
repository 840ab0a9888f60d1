"""Typed views of the core group beside Pod, the claims and the events."""

from __future__ import annotations

import base64
import binascii

import msgspec

from konstat.errors import SpecInvalid
from konstat.kinds.view import BuiltIn, Condition, View
from konstat.objects.model import NoSpec, NoStatus


class NamespaceStatus(View):
    """``phase`` is Active or Terminating; conditions say what holds a deletion up."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Namespace(
    BuiltIn[NoSpec, NamespaceStatus], group="", version="v1", scope="Cluster", short_names=("ns",)
):
    """A scope for names."""

    __slots__ = ()


class Taint(View):
    """What keeps pods off a node unless they tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(View):
    """``unschedulable`` is true while the node is cordoned."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = msgspec.field(name="providerID", default="")


class NodeAddress(View):
    """One way to reach a node."""

    type: str = ""
    address: str = ""


class NodeStatus(View):
    """What a node has and how it is."""

    conditions: tuple[Condition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    capacity: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    allocatable: dict[str, str | int | float] = msgspec.field(default_factory=dict)


class Node(BuiltIn[NodeSpec, NodeStatus], group="", version="v1", scope="Cluster"):
    """A machine that runs pods."""

    __slots__ = ()


class ServicePort(View):
    """One port of a Service."""

    port: int = 0
    target_port: int | str | None = None
    name: str = ""
    protocol: str = "TCP"
    node_port: int = 0


class ServiceSpec(View):
    """How a set of pods is reached; ``cluster_ip`` is ``"None"`` for a headless Service."""

    type: str = "ClusterIP"
    selector: dict[str, str] = msgspec.field(default_factory=dict)
    ports: tuple[ServicePort, ...] = ()
    cluster_ip: str = msgspec.field(name="clusterIP", default="")
    external_ips: tuple[str, ...] = msgspec.field(name="externalIPs", default=())
    external_name: str = ""
    publish_not_ready_addresses: bool = False


class LoadBalancerIngress(View):
    """One address of a load balancer: an IP or a host name."""

    ip: str = ""
    hostname: str = ""


class LoadBalancerStatus(View):
    """The addresses that a load balancer has so far."""

    ingress: tuple[LoadBalancerIngress, ...] = ()


class ServiceStatus(View):
    """What the cloud answered, for type LoadBalancer."""

    load_balancer: LoadBalancerStatus = LoadBalancerStatus()
    conditions: tuple[Condition, ...] = ()


class Service(BuiltIn[ServiceSpec, ServiceStatus], group="", version="v1", short_names=("svc",)):
    """A stable name and address for pods."""

    __slots__ = ()


class ConfigMap(BuiltIn[NoSpec, NoStatus], group="", version="v1", short_names=("cm",)):
    """Configuration as text."""

    __slots__ = ()

    @property
    def data(self) -> dict[str, str]:
        """The text entries; a fresh dict on every read."""
        return self.strings("data")

    @property
    def binary_data(self) -> dict[str, bytes]:
        """The binary entries, decoded; SpecInvalid when one is not base64."""
        return _decoded(self.strings("binaryData"), part="binaryData")

    @property
    def immutable(self) -> bool:
        return self.scalar("immutable", False)


class Secret(BuiltIn[NoSpec, NoStatus], group="", version="v1"):
    """Confidential configuration; neither ``repr`` nor an error shows a value of it."""

    __slots__ = ()

    @property
    def type(self) -> str:
        return self.scalar("type", "Opaque")

    @property
    def data(self) -> dict[str, bytes]:
        """The entries, decoded; SpecInvalid, without the value, when one is not base64."""
        return _decoded(self.strings("data"), part="data")

    @property
    def immutable(self) -> bool:
        return self.scalar("immutable", False)


def _decoded(encoded: dict[str, str], *, part: str) -> dict[str, bytes]:
    decoded: dict[str, bytes] = {}
    for key, value in encoded.items():
        try:
            decoded[key] = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            # Not chained: the error of the decoder could show what it was given.
            raise SpecInvalid(path=f"{part}.{key}", problem="expected base64 text") from None
    return decoded


class ServiceAccount(BuiltIn[NoSpec, NoStatus], group="", version="v1", short_names=("sa",)):
    """An identity for pods."""

    __slots__ = ()
