"""Typed views of Ingress, NetworkPolicy and EndpointSlice."""

from __future__ import annotations

from konstat.kinds.core import LoadBalancerStatus
from konstat.kinds.view import BuiltIn, LabelSelector, ObjectReference, View
from konstat.objects.model import NoSpec, NoStatus


class ServiceBackendPort(View):
    """The port of a Service, by name or number."""

    name: str = ""
    number: int = 0


class IngressServiceBackend(View):
    """The Service that traffic goes to."""

    name: str = ""
    port: ServiceBackendPort = ServiceBackendPort()


class IngressBackend(View):
    """Where traffic goes; ``service`` is None for a backend of another kind."""

    service: IngressServiceBackend | None = None


class HTTPIngressPath(View):
    """One path of a rule."""

    path: str = ""
    path_type: str = ""
    backend: IngressBackend = IngressBackend()


class HTTPIngressRule(View):
    """The paths of one host."""

    paths: tuple[HTTPIngressPath, ...] = ()


class IngressRule(View):
    """What happens to requests for one host."""

    host: str = ""
    http: HTTPIngressRule | None = None


class IngressTLS(View):
    """Which Secret holds the certificate of which hosts."""

    hosts: tuple[str, ...] = ()
    secret_name: str = ""


class IngressSpec(View):
    """Rules by host and path."""

    ingress_class_name: str | None = None
    default_backend: IngressBackend | None = None
    rules: tuple[IngressRule, ...] = ()
    tls: tuple[IngressTLS, ...] = ()


class IngressStatus(View):
    """Many ingress controllers never write it."""

    load_balancer: LoadBalancerStatus = LoadBalancerStatus()


class Ingress(
    BuiltIn[IngressSpec, IngressStatus],
    group="networking.k8s.io",
    version="v1",
    short_names=("ing",),
):
    """HTTP from outside to Services."""

    __slots__ = ()


class NetworkPolicySpec(View):
    """Which pods a policy is about, and which directions it rules."""

    pod_selector: LabelSelector = LabelSelector()
    policy_types: tuple[str, ...] = ()


class NetworkPolicy(
    BuiltIn[NetworkPolicySpec, NoStatus],
    group="networking.k8s.io",
    version="v1",
    short_names=("netpol",),
):
    """Who may talk to a set of pods."""

    __slots__ = ()


class EndpointConditions(View):
    """None means that nobody knows; for ``ready`` that counts as true, as the API says."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class Endpoint(View):
    """One address behind a Service."""

    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = EndpointConditions()
    node_name: str = ""
    target_ref: ObjectReference | None = None


class EndpointPort(View):
    """A port that all endpoints of a slice have."""

    name: str = ""
    port: int | None = None
    protocol: str = "TCP"


class EndpointSlice(BuiltIn[NoSpec, NoStatus], group="discovery.k8s.io", version="v1"):
    """Some of the endpoints of a Service."""

    __slots__ = ()

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        return self.items("endpoints", Endpoint)

    @property
    def ports(self) -> tuple[EndpointPort, ...]:
        return self.items("ports", EndpointPort)
