"""Checks of Services, Endpoints and EndpointSlices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from konstat.embedded.builtin.defaults_core import externally_accessible
from konstat.embedded.builtin.validation import basics
from konstat.embedded.builtin.validation.basics import Errors, Object, one_of
from konstat.embedded.builtin.validation.containers import PROTOCOLS
from konstat.embedded.status_errors import (
    duplicate_value,
    forbidden_field,
    invalid_value,
    required_value,
)

TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_WITH_NODE_PORTS: Final = ("NodePort", "LoadBalancer")
_NOT_EXTERNAL: Final = (
    "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy",
)  # fmt: skip


def service(new: Object, old: Object | None) -> Errors:
    """A Service."""
    spec = new["spec"]
    if old is not None:
        yield from _addresses_kept(spec, old["spec"])
        yield from _balancer_class_kept(spec, old["spec"])
    kind = spec.get("type")
    headless = spec.get("clusterIP") == "None"
    if not spec.get("ports") and not headless and kind != "ExternalName":
        yield required_value("spec.ports")
    yield from _by_type(spec, headless=headless)
    yield from _ports(spec.get("ports") or ())
    yield from basics.labels("spec.selector", spec.get("selector"))
    yield from one_of("spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None"))
    yield from _session(spec)
    yield from _addresses(spec)
    for index, given in enumerate(spec.get("externalIPs") or ()):
        where = f"spec.externalIPs[{index}]"
        errors = list(basics.address(where, given))
        yield from errors or basics.special_address(where, given)
    yield from one_of("spec.type", kind, TYPES)
    yield from _port_combinations(spec)
    yield from _source_ranges(spec)
    if "allocateLoadBalancerNodePorts" in spec and kind != "LoadBalancer":
        problem = "may only be used when `type` is 'LoadBalancer'"
        yield forbidden_field("spec.allocateLoadBalancerNodePorts", problem)
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        yield required_value("spec.allocateLoadBalancerNodePorts")
    yield from _traffic(spec)
    if kind != "LoadBalancer" and "loadBalancerClass" in spec:
        yield forbidden_field(
            "spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'"
        )


def _by_type(spec: Object, *, headless: bool) -> Errors:
    kind = spec.get("type")
    if kind == "LoadBalancer" and headless:
        problem = "may not be set to 'None' for LoadBalancer services"
        yield invalid_value("spec.clusterIPs[0]", "None", problem)
    elif kind == "NodePort" and headless:
        problem = "may not be set to 'None' for NodePort services"
        yield invalid_value("spec.clusterIPs[0]", "None", problem)
    elif kind == "ExternalName":
        problem = "may not be set for ExternalName services"
        if spec.get("clusterIPs") or spec.get("clusterIP"):
            yield forbidden_field("spec.clusterIPs", problem)
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if name in spec:
                yield forbidden_field(f"spec.{name}", problem)
        name = spec.get("externalName", "").removesuffix(".")
        if name:
            yield from basics.subdomain("spec.externalName", name)
        else:
            yield required_value("spec.externalName")


def _ports(ports: Sequence[Object]) -> Errors:
    names: set[str] = set()
    for index, port in enumerate(ports):
        where, name = f"spec.ports[{index}]", port.get("name", "")
        if not name:
            if len(ports) > 1:
                yield required_value(f"{where}.name")
        else:
            yield from basics.label(f"{where}.name", name)
            if name in names:
                yield duplicate_value(f"{where}.name", name)
            names.add(name)
        yield from basics.port_number(f"{where}.port", port.get("port", 0))
        yield from one_of(f"{where}.protocol", port.get("protocol"), PROTOCOLS)
        yield from basics.port_or_name(f"{where}.targetPort", port.get("targetPort", 0))
        if "appProtocol" in port:
            yield from basics.qualified(f"{where}.appProtocol", port["appProtocol"])


def _session(spec: Object) -> Errors:
    where = "spec.sessionAffinityConfig"
    config = spec.get("sessionAffinityConfig")
    if spec.get("sessionAffinity") == "ClientIP" and config is not None:
        seconds = config.get("clientIP", {}).get("timeoutSeconds", 0)
        if not 0 < seconds <= 86400:
            problem = "must be greater than 0 and less than 86400"
            yield invalid_value(f"{where}.clientIP.timeoutSeconds", seconds, problem)
    elif spec.get("sessionAffinity") == "None" and config is not None:
        problem = "must not be set when session affinity is None"
        yield forbidden_field(where, problem)


def _addresses(spec: Object) -> Errors:
    if spec.get("type") == "ExternalName":
        return
    first, given = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    if first and given and given[0] != first:
        yield invalid_value("spec.clusterIPs", given, "first value must match `clusterIP`")
    elif not first and given:
        problem = "must be empty when `clusterIP` is not specified"
        yield invalid_value("spec.clusterIPs", given, problem)
    seen: set[str] = set()
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        where = f"spec.ipFamilies[{index}]"
        yield from one_of(where, family, ("IPv4", "IPv6"))
        if family in seen:
            yield duplicate_value(where, family)
        seen.add(family)
    policies = ("PreferDualStack", "RequireDualStack", "SingleStack")
    policy = spec.get("ipFamilyPolicy")
    yield from one_of("spec.ipFamilyPolicy", policy, policies, required=False)
    for index, address in enumerate(given):
        if address != "None":
            yield from basics.address(f"spec.clusterIPs[{index}]", address)


def _port_combinations(spec: Object) -> Errors:
    ports = spec.get("ports") or ()
    kind = spec.get("type")
    seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        if kind in ("ClusterIP", "ExternalName") and port.get("nodePort"):
            problem = f"may not be used when `type` is '{kind}'"
            yield forbidden_field(f"spec.ports[{index}].nodePort", problem)
    nodes: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        if port.get("nodePort"):
            key = (port.get("protocol"), port["nodePort"])
            if key in nodes:
                yield duplicate_value(f"spec.ports[{index}].nodePort", port["nodePort"])
            nodes.add(key)
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            shown = {"Name": "", "Protocol": key[0], "AppProtocol": None, "Port": key[1],
                     "TargetPort": 0, "NodePort": 0}  # fmt: skip
            yield basics.duplicate_struct(f"spec.ports[{index}]", shown)
        seen.add(key)


def _source_ranges(spec: Object) -> Errors:
    ranges = spec.get("loadBalancerSourceRanges")
    if not ranges:
        return
    # The server spells this path with a capital letter.
    where = "spec.LoadBalancerSourceRanges"
    if spec.get("type") != "LoadBalancer":
        yield forbidden_field(where, "may only be used when `type` is 'LoadBalancer'")
    for index, one in enumerate(ranges):
        yield from basics.address_range(f"{where}[{index}]", one.strip())


def _traffic(spec: Object) -> Errors:
    policy, where = spec.get("externalTrafficPolicy"), "spec.externalTrafficPolicy"
    if not externally_accessible(spec):
        if policy:
            problem = "may only be set for externally-accessible services"
            yield invalid_value(where, policy, problem)
    else:
        yield from one_of(where, policy, ("Cluster", "Local"))
    local = spec.get("type") == "LoadBalancer" and policy == "Local"
    if spec.get("healthCheckNodePort") and not local:
        problem = (
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        )
        yield invalid_value("spec.healthCheckNodePort", spec["healthCheckNodePort"], problem)
    inner, where = spec.get("internalTrafficPolicy"), "spec.internalTrafficPolicy"
    if spec.get("type") == "ExternalName":
        if inner is not None:
            yield forbidden_field(
                where, "cannot set internalTrafficPolicy for ExternalName service"
            )
    elif inner is None:
        if spec.get("type") in TYPES:
            yield required_value(where)
    else:
        yield from one_of(where, inner, ("Cluster", "Local"))


def _addresses_kept(new: Object, old: Object) -> Errors:
    """Addresses and families change with the type only."""
    if "ExternalName" in (new.get("type"), old.get("type")):
        return
    after, before = new.get("clusterIPs") or [], old.get("clusterIPs") or []
    for index, one in enumerate(before):
        if index >= len(after) and index == 0:
            yield invalid_value("spec.clusterIPs[0]", after, "primary clusterIP can not be unset")
        elif index < len(after) and after[index] != one:
            yield invalid_value(f"spec.clusterIPs[{index}]", after, "may not change once set")
    families, earlier = new.get("ipFamilies") or [], old.get("ipFamilies") or []
    if families and earlier and families[0] != earlier[0]:
        yield invalid_value("spec.ipFamilies[0]", families, "may not change once set")


def _balancer_class_kept(new: Object, old: Object) -> Errors:
    if new.get("type") == old.get("type") == "LoadBalancer":
        where, name = "spec.loadBalancerClass", "loadBalancerClass"
        if new.get(name) != old.get(name):
            yield invalid_value(where, new.get(name), "may not change once set")


def service_status(new: Object, old: Object) -> Errors:
    """The status of a Service: its load balancer's addresses."""
    yield from balancer(new)


def balancer(new: Object) -> Errors:
    """The addresses of a load balancer, of a Service or an Ingress."""
    for index, one in enumerate(new["status"].get("loadBalancer", {}).get("ingress") or ()):
        where = f"status.loadBalancer.ingress[{index}]"
        if one.get("ip"):
            yield from basics.address(f"{where}.ip", one["ip"])
        if one.get("hostname"):
            yield from basics.subdomain(f"{where}.hostname", one["hostname"])


# --- endpoints --------------------------------------------------------------------------------


def endpoints(new: Object, old: Object | None) -> Errors:
    """Endpoints; unchanged subsets are not looked at again."""
    if old is not None and old.get("subsets") == new.get("subsets"):
        return
    for index, subset in enumerate(new.get("subsets") or ()):
        where = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required_value(where, "must specify `addresses` or `notReadyAddresses`")
        for part in ("addresses", "notReadyAddresses"):
            for number, one in enumerate(subset.get(part) or ()):
                yield from _endpoint_address(f"{where}.{part}[{number}]", one)
        ports = subset.get("ports") or ()
        for number, port in enumerate(ports):
            yield from _endpoint_port(f"{where}.ports[{number}]", port, named=len(ports) > 1)


def _endpoint_address(path: str, given: Object) -> Errors:
    address = given.get("ip", "")
    yield from basics.address(f"{path}.ip", address)
    if given.get("hostname"):
        yield from basics.label(f"{path}.hostname", given["hostname"])
    if "nodeName" in given:
        yield from basics.subdomain(f"{path}.nodeName", given["nodeName"])
    if basics.parsed_address(address) is None:
        yield invalid_value(f"{path}.ip", address, "must be a valid IP address")
    yield from basics.special_address(f"{path}.ip", address)


def _endpoint_port(path: str, port: Object, *, named: bool) -> Errors:
    if named and not port.get("name"):
        yield required_value(f"{path}.name")
    elif port.get("name"):
        yield from basics.label(f"{path}.name", port["name"])
    yield from basics.port_number(f"{path}.port", port.get("port", 0))
    yield from one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
    if "appProtocol" in port:
        yield from basics.qualified(f"{path}.appProtocol", port["appProtocol"])


def endpoint_slice(new: Object, old: Object | None) -> Errors:
    """An EndpointSlice; its type of addresses stays as it is."""
    kind = new.get("addressType", "")
    yield from one_of("addressType", kind, ("FQDN", "IPv4", "IPv6"))
    names: set[str] = set()
    for index, port in enumerate(new.get("ports") or ()):
        where, name = f"ports[{index}]", port.get("name") or ""
        if name:
            yield from basics.label(f"{where}.name", name)
        if name in names:
            yield duplicate_value(f"{where}.name", name)
        names.add(name)
        yield from one_of(f"{where}.protocol", port.get("protocol"), PROTOCOLS)
        if "appProtocol" in port:
            yield from basics.qualified(f"{where}.appProtocol", port["appProtocol"])
    if old is None or old.get("endpoints") != new.get("endpoints"):
        for index, one in enumerate(new.get("endpoints") or ()):
            yield from _endpoint(f"endpoints[{index}]", one, kind)
    if old is not None:
        yield from basics.unchanged("addressType", kind, old.get("addressType", ""))


def _endpoint(path: str, one: Object, kind: str) -> Errors:
    addresses = one.get("addresses") or []
    if not addresses:
        yield required_value(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > 100:
        yield basics.too_many(f"{path}.addresses", len(addresses), 100)
    for index, address in enumerate(addresses):
        where = f"{path}.addresses[{index}]"
        if kind == "FQDN":
            yield from _domain_name(where, address)
            continue
        if kind not in ("IPv4", "IPv6"):
            continue
        errors = list(basics.address(where, address))
        yield from errors
        found = basics.parsed_address(address)
        if found is not None:
            if f"IPv{found.version}" != kind:
                yield invalid_value(f"{path}.addresses", address, f"must be an {kind} address")
            yield from basics.special_address(where, address)
    if "nodeName" in one:
        yield from basics.subdomain(f"{path}.nodeName", one["nodeName"])
    if "hostname" in one:
        yield from basics.label(f"{path}.hostname", one["hostname"])


def _domain_name(path: str, name: str) -> Errors:
    if not name:
        yield required_value(path)
        return
    bare = name.removesuffix(".")
    yield from basics.subdomain(path, bare)
    if bare.count(".") < 1:
        problem = "should be a domain with at least two segments separated by dots"
        yield invalid_value(path, bare, problem)
