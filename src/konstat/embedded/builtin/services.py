"""What the server does to a Service before it is stored: addresses, families, node ports.

One stack, IPv4: what asks for a second family gets one where it prefers two, and an error where
it requires two.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any, Final

from konstat.embedded.registry import Host
from konstat.embedded.status_errors import FieldError, internal_error, invalid, invalid_value

Object = dict[str, Any]

NODE_PORTS: Final = range(30000, 32768)
_WITH_ADDRESS: Final = ("ClusterIP", "NodePort", "LoadBalancer")
_WITH_NODE_PORTS: Final = ("NodePort", "LoadBalancer")


def prepare_create(new: Object, host: Host) -> None:
    """Allocate what a new Service lacks."""
    _allocate(new, None, host)


def prepare_update(new: Object, old: Object, host: Host) -> None:
    """Keep what was allocated, allocate what the change needs, release what it does not."""
    first, before = new["spec"].get("clusterIP"), old["spec"].get("clusterIP")
    if first and first != before and new["spec"].get("clusterIPs") == old["spec"].get("clusterIPs"):
        new["spec"]["clusterIPs"] = [first, *(old["spec"].get("clusterIPs") or ())[1:]]
    _drop_by_type(new["spec"], old["spec"])
    _carry_over(new["spec"], old["spec"])
    _allocate(new, old, host)


def _allocate(new: Object, old: Object | None, host: Host) -> None:
    spec = new["spec"]
    if spec.get("type") in _WITH_ADDRESS:
        if old is None and spec.get("ipFamilyPolicy") == "RequireDualStack":
            problem = "this cluster is not configured for dual-stack services"
            where = "spec.ipFamilyPolicy"
            raise _refused(new, [invalid_value(where, "RequireDualStack", problem)])
        _families(spec)
        _address(new, old, host)
    if _needs_node_ports(spec):
        _node_ports(new, host)
    if _needs_health_check(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = _free_port(new, host)


# --- addresses --------------------------------------------------------------------------------


def _families(spec: Object) -> None:
    if spec.get("clusterIP") == "None" and not spec.get("selector") and "ipFamilies" not in spec:
        # Nobody knows the families of a headless Service without selector: it gets all.
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        spec["ipFamilies"] = ["IPv4", "IPv6"]
        return
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    spec.setdefault("ipFamilies", ["IPv4"])


def _address(new: Object, old: Object | None, host: Host) -> None:
    spec = new["spec"]
    if not spec.get("clusterIP") and spec.get("clusterIPs"):
        return  # refused by validation
    if not spec.get("clusterIP"):
        spec["clusterIP"] = host.next_cluster_ip()
    elif old is None and spec["clusterIP"] != "None":
        _check_address(new, host)
    spec.setdefault("clusterIPs", [spec["clusterIP"]])


def _check_address(new: Object, host: Host) -> None:
    given = new["spec"]["clusterIP"]
    try:
        ipaddress.ip_address(given)
    except ValueError:
        return  # refused by validation
    for other in host.objects("", "services"):
        if given in (other["spec"].get("clusterIPs") or ()):
            problem = f"failed to allocate IP {given}: provided IP is already allocated"
            raise _refused(new, [_addresses_problem(given, problem)])


def _addresses_problem(given: str, problem: str) -> FieldError:
    return FieldError(
        "spec.clusterIPs", "FieldValueInvalid", f'Invalid value: ["{given}"]: {problem}'
    )


# --- ports ------------------------------------------------------------------------------------


def _needs_node_ports(spec: Object) -> bool:
    if spec.get("type") == "NodePort":
        return True
    return (
        spec.get("type") == "LoadBalancer"
        and spec.get("allocateLoadBalancerNodePorts") is not False
    )


def _needs_health_check(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _node_ports(new: Object, host: Host) -> None:
    spec = new["spec"]
    taken = set(_taken_ports(new, host))
    problems: list[FieldError] = []
    given: set[tuple[Any, Any]] = set()
    for index, port in enumerate(spec.get("ports", ())):
        number = port.get("nodePort")
        if not number or (number, port.get("protocol")) in given:
            continue
        given.add((number, port.get("protocol")))
        path = f"spec.ports[{index}].nodePort"
        if number not in NODE_PORTS:
            problem = (
                "provided port is not in the valid range. The range of valid ports is 30000-32767"
            )
            problems.append(invalid_value(path, number, problem))
        elif number in taken:
            problems.append(invalid_value(path, number, "provided port is already allocated"))
    if problems:
        raise _refused(new, problems)
    by_number: dict[Any, int] = {}
    for port in spec.get("ports", ()):
        if not port.get("nodePort"):
            # One number under two protocols shares one node port.
            free = by_number.get(port["port"]) or _free_port(new, host)
            port["nodePort"] = free
        by_number.setdefault(port["port"], port["nodePort"])


def _free_port(new: Object, host: Host) -> int:
    """The first port from what the host offers on that no Service has, this one included."""
    taken = {*_taken_ports(new, host), *_own_ports(new["spec"])}
    first = host.next_node_port()
    for port in (*range(first, NODE_PORTS.stop), *range(NODE_PORTS.start, first)):
        if port not in taken:
            return port
    problem = "failed to allocate a nodePort: range is full"
    raise internal_error(problem)


def _own_ports(spec: Object) -> Iterator[int]:
    for port in spec.get("ports", ()):
        if port.get("nodePort"):
            yield port["nodePort"]
    if spec.get("healthCheckNodePort"):
        yield spec["healthCheckNodePort"]


def _taken_ports(new: Object, host: Host) -> Iterator[int]:
    metadata = new["metadata"]
    for other in host.objects("", "services"):
        its = other["metadata"]
        if (its.get("namespace"), its["name"]) != (metadata.get("namespace"), metadata.get("name")):
            yield from _own_ports(other["spec"])


def _refused(new: Object, problems: list[FieldError]) -> Exception:
    return invalid("", "Service", new["metadata"].get("name", ""), problems)


# --- updates ----------------------------------------------------------------------------------


def _drop_by_type(new: Object, old: Object) -> None:
    """Values of the old type that were merely carried along go with the type."""
    if new.get("type") == old.get("type"):
        return
    if old.get("type") in _WITH_ADDRESS and new.get("type") not in _WITH_ADDRESS:
        for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if new.get(key) == old.get(key):
                new.pop(key, None)
    if old.get("type") in _WITH_NODE_PORTS and new.get("type") not in _WITH_NODE_PORTS:
        before = {_port_key(port): port.get("nodePort") for port in old.get("ports", ())}
        for port in new.get("ports", ()):
            if port.get("nodePort") == before.get(_port_key(port)):
                port.pop("nodePort", None)
    if _needs_health_check(old) and not _needs_health_check(new):
        new.pop("healthCheckNodePort", None)
    if old.get("type") == "LoadBalancer":
        for key in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if new.get(key) == old.get(key):
                new.pop(key, None)
    if new.get("type") == "ClusterIP" and not new.get("externalIPs"):
        new.pop("externalTrafficPolicy", None)
    if new.get("type") == "ExternalName":
        new.pop("internalTrafficPolicy", None)


def _port_key(port: Object) -> tuple[Any, Any]:
    return port.get("protocol"), port.get("port")


def _carry_over(new: Object, old: Object) -> None:
    """A client that leaves out what the server allocated keeps it."""
    if new.get("type") in _WITH_ADDRESS and old.get("type") in _WITH_ADDRESS:
        if not new.get("clusterIP") and not new.get("clusterIPs"):
            for key in ("clusterIP", "clusterIPs"):
                if key in old:
                    new[key] = old[key]
        for key in ("ipFamilies", "ipFamilyPolicy"):
            if key in old:
                new.setdefault(key, old[key])
    if _needs_node_ports(new) and old.get("type") in _WITH_NODE_PORTS:
        taken = set(_own_ports(new))
        for port in new.get("ports", ()):
            same = [one for one in old.get("ports", ()) if _port_key(one) == _port_key(port)]
            if not port.get("nodePort") and same and same[0].get("nodePort") not in taken:
                port["nodePort"] = same[0]["nodePort"]
    if _needs_health_check(new) and _needs_health_check(old):
        new.setdefault("healthCheckNodePort", old.get("healthCheckNodePort"))
