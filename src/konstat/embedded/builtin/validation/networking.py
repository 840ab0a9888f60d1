"""Checks of Ingresses, IngressClasses and NetworkPolicies."""

from __future__ import annotations

from typing import Final

from konstat.embedded.builtin.names import path_segment_problems
from konstat.embedded.builtin.validation import basics
from konstat.embedded.builtin.validation.basics import Errors, Object, one_of
from konstat.embedded.builtin.validation.services import balancer
from konstat.embedded.status_errors import (
    forbidden_field,
    invalid_value,
    not_supported,
    required_value,
)

_SEQUENCES: Final = ("//", "/./", "/../", "%2f", "%2F")
_SUFFIXES: Final = ("/..", "/.")
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"


def ingress(new: Object, old: Object | None) -> Errors:
    """An Ingress."""
    spec = new["spec"]
    rules = spec.get("rules") or []
    if not rules and "defaultBackend" not in spec:
        problem = "either `defaultBackend` or `rules` must be specified"
        yield invalid_value("spec", None, problem)
    if "defaultBackend" in spec:
        yield from _backend("spec.defaultBackend", spec["defaultBackend"])
    for index, rule in enumerate(rules):
        yield from _rule(f"spec.rules[{index}]", rule)
    for index, tls in enumerate(spec.get("tls") or ()):
        where = f"spec.tls[{index}]"
        for number, host in enumerate(tls.get("hosts") or ()):
            yield from basics.wildcard_or_subdomain(f"{where}.hosts[{number}]", host)
        if tls.get("secretName"):
            yield from basics.subdomain(f"{where}.secretName", tls["secretName"])
    name = spec.get("ingressClassName")
    if name is not None:
        yield from basics.subdomain("spec.ingressClassName", name)
    annotated = (new["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    if old is None and None not in (name, annotated) and name != annotated:
        problem = "must match `ingressClassName` when both are specified"
        yield invalid_value(f"annotations.{_CLASS_ANNOTATION}", annotated, problem)


def _rule(path: str, rule: Object) -> Errors:
    host = rule.get("host")
    if host:
        if basics.parsed_address(host) is not None:
            yield invalid_value(f"{path}.host", host, "must be a DNS name, not an IP address")
        yield from basics.wildcard_or_subdomain(f"{path}.host", host)
    if "http" not in rule:
        return
    paths = rule["http"].get("paths")
    if not paths:
        yield required_value(f"{path}.http.paths")
    for index, one in enumerate(paths or ()):
        yield from _path(f"{path}.http.paths[{index}]", one)


def _path(path: str, one: Object) -> Errors:
    kind, place = one.get("pathType"), one.get("path", "")
    if kind is None:
        yield required_value(f"{path}.pathType", "pathType must be specified")
        return
    where = f"{path}.path"
    if kind in ("Exact", "Prefix"):
        if not place.startswith("/"):
            yield invalid_value(where, place, "must be an absolute path")
        for sequence in _SEQUENCES:
            if sequence in place:
                yield invalid_value(where, place, f"must not contain '{sequence}'")
        for suffix in _SUFFIXES:
            if place.endswith(suffix):
                yield invalid_value(where, place, f"cannot end with '{suffix}'")
    elif kind == "ImplementationSpecific":
        if place and not place.startswith("/"):
            yield invalid_value(where, place, "must be an absolute path")
    else:
        yield not_supported(f"{path}.pathType", kind, _PATH_TYPES)
    yield from _backend(f"{path}.backend", one.get("backend") or {})


def _backend(path: str, given: Object) -> Errors:
    resource, service = given.get("resource"), given.get("service")
    if resource is not None and service is not None:
        yield invalid_value(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from _reference(f"{path}.resource", resource)
    elif service is None:
        yield invalid_value(path, "", "resource or service backend is required")
    else:
        yield from _service_backend(path, service)


def _service_backend(path: str, service: Object) -> Errors:
    if not service.get("name"):
        yield required_value(f"{path}.service.name")
    else:
        yield from basics.label(f"{path}.service.name", service["name"])
    port = service.get("port") or {}
    if port.get("name") and port.get("number"):
        yield invalid_value(path, "", "cannot set both port name & port number")
    elif port.get("name"):
        problems = basics.port_name_problems(port["name"])
        yield from basics.each(f"{path}.service.port.name", port["name"], problems)
    elif port.get("number"):
        yield from basics.port_number(f"{path}.service.port.number", port["number"])
    else:
        yield required_value(path, "port name or number is required")


def _reference(path: str, given: Object) -> Errors:
    if given.get("apiGroup") is not None:
        yield from basics.subdomain(f"{path}.apiGroup", given["apiGroup"])
    for name in ("kind", "name"):
        if not given.get(name):
            yield required_value(f"{path}.{name}")
        else:
            problems = path_segment_problems(given[name])
            yield from basics.each(f"{path}.{name}", given[name], problems)


def ingress_status(new: Object, old: Object) -> Errors:
    """The status of an Ingress."""
    return balancer(new)


def ingress_class(new: Object, old: Object | None) -> Errors:
    """An IngressClass; its controller stays as it is."""
    spec = new["spec"]
    controller = spec.get("controller", "")
    if old is not None:
        before = old["spec"].get("controller", "")
        yield from basics.unchanged("spec.controller", controller, before)
    if len(controller) > 250:
        yield basics.too_long("spec.controller", 250)
    if not controller:
        yield required_value("spec.controller")
    else:
        yield from basics.prefixed_path("spec.controller", controller)
    parameters = spec.get("parameters")
    if parameters is not None:
        yield from _reference("spec.parameters", parameters)
        yield from _scope("spec.parameters", parameters)


def _scope(path: str, given: Object) -> Errors:
    scope, namespace = given.get("scope"), given.get("namespace")
    if scope not in ("Cluster", "Namespace"):
        yield not_supported(f"{path}.scope", scope, ("Cluster", "Namespace"))
    elif scope == "Namespace":
        if namespace is None:
            yield required_value(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
        else:
            yield from basics.label(f"{path}.namespace", namespace)
    elif namespace is not None:
        yield forbidden_field(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")


# --- network policies -------------------------------------------------------------------------


def network_policy(new: Object, old: Object | None) -> Errors:
    """A NetworkPolicy."""
    spec = new["spec"]
    yield from basics.selector("spec.podSelector", spec.get("podSelector"))
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            where = f"spec.{direction}[{index}]"
            for number, port in enumerate(rule.get("ports") or ()):
                yield from _policy_port(f"{where}.ports[{number}]", port)
            for number, peer in enumerate(rule.get(peers) or ()):
                yield from _peer(f"{where}.{peers}[{number}]", peer)
    types = spec.get("policyTypes") or []
    if len(types) > 2:
        problem = "may not specify more than two policyTypes"
        yield invalid_value("spec.policyTypes", types, problem)
        return
    for index, kind in enumerate(types):
        yield from one_of(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress"))


def _policy_port(path: str, given: Object) -> Errors:
    protocols = ("TCP", "UDP", "SCTP")
    yield from one_of(f"{path}.protocol", given.get("protocol"), protocols, required=False)
    port, end = given.get("port"), given.get("endPort")
    if isinstance(port, int):
        yield from basics.port_number(f"{path}.port", port)
        if end is not None:
            if end < port:
                problem = "must be greater than or equal to `port`"
                yield invalid_value(f"{path}.endPort", port, problem)
            yield from basics.port_number(f"{path}.endPort", end)
        return
    if end is not None:
        state = "non-numeric" if port is not None else "not specified"
        yield invalid_value(f"{path}.endPort", end, f"may not be specified when `port` is {state}")
    if port is not None:
        yield from basics.each(f"{path}.port", port, basics.port_name_problems(port))


def _peer(path: str, peer: Object) -> Errors:
    for name in ("podSelector", "namespaceSelector"):
        yield from basics.selector(f"{path}.{name}", peer.get(name))
    if "ipBlock" in peer:
        yield from _block(f"{path}.ipBlock", peer["ipBlock"])
    if not peer:
        yield required_value(path, "must specify a peer")
    elif len(peer) > 1 and "ipBlock" in peer:
        yield forbidden_field(path, "may not specify both ipBlock and another peer")


def _block(path: str, given: Object) -> Errors:
    cidr = given.get("cidr", "")
    if not cidr:
        yield required_value(f"{path}.cidr")
        return
    yield from basics.address_range(f"{path}.cidr", cidr)
    whole = basics.parsed_range(cidr)
    for index, one in enumerate(given.get("except") or ()):
        where = f"{path}.except[{index}]"
        yield from basics.address_range(where, one)
        part = basics.parsed_range(one)
        if whole is None or part is None:
            continue
        inside = part.version == whole.version and part.network_address in whole
        if not inside or whole.prefixlen >= part.prefixlen:
            yield invalid_value(where, one, "must be a strict subset of `cidr`")
