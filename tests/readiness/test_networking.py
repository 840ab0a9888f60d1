"""The rules for Service and Ingress."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.readiness import Reason, State, Turn, compute


def service(status: Any = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "uid": "s"},
        "spec": {"clusterIP": "10.0.0.7", **spec},
        "status": status,
    }


def endpoints(build: Any, *ready: bool | None) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "web-x", "ownerReferences": build.owned("s")},
        "endpoints": [{"conditions": {"ready": value}} for value in ready],
    }


@pytest.mark.parametrize("ingress", [None, [], [{}], [{"ip": ""}], "x"])
def test_D1_load_balancer_without_an_address_is_progressing(ingress: Any) -> None:
    status = {"loadBalancer": {"ingress": ingress}}
    verdict = compute(service(status, type="LoadBalancer"))
    assert (verdict.state, verdict.reason) == (State.PROGRESSING, Reason.LOAD_BALANCER_PENDING)


@pytest.mark.parametrize("address", [{"ip": "192.0.2.1"}, {"hostname": "lb.example.com"}])
def test_R10_load_balancer_with_an_address_is_ready(address: Any) -> None:
    status = {"loadBalancer": {"ingress": [address]}}
    assert compute(service(status, type="LoadBalancer")).ready


@pytest.mark.parametrize(
    "spec",
    [{}, {"type": "NodePort"}, {"clusterIP": "None"}, {"type": "ExternalName", "clusterIP": ""}],
)
def test_R10_other_services_are_ready_at_once(spec: dict[str, Any]) -> None:
    assert compute(service(**spec)).ready


def test_R10_a_selector_without_ready_endpoints_is_told(build: Any) -> None:
    selecting = service(selector={"app": "web"})
    for slices in ((), (endpoints(build),), (endpoints(build, False),)):
        verdict = build.judge(selecting, *slices)
        assert verdict.ready
        assert "no ready endpoints" in verdict.message
    for ready in (True, None):
        assert "no ready" not in build.judge(selecting, endpoints(build, False, ready)).message
    assert "no ready" not in build.judge(service()).message
    unread = compute(selecting, related=build.world(unsynced=["EndpointSlice"]))
    assert "no ready" not in unread.message


def test_R11_ingress_is_ready_without_an_address() -> None:
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"}}
    verdict = compute(ingress)
    assert verdict.ready
    assert "no address" in verdict.message


def test_R10_load_balancer_tells_what_its_provider_says(build: Any) -> None:
    waiting = service({"loadBalancer": {}}, type="LoadBalancer")
    told = build.event("s", "SyncLoadBalancerFailed", "Error syncing load balancer: no quota left")
    verdict = build.judge(waiting, told)
    assert (verdict.reason, verdict.turn) == (Reason.LOAD_BALANCER_PENDING, Turn.OWNER)
    assert "no quota left" in verdict.message
    assert build.judge(waiting).turn is Turn.NOBODY
    served = service({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}, type="LoadBalancer")
    assert build.judge(served, told).ready


def test_R10_load_balancer_with_a_port_in_error_is_failed() -> None:
    entry = {"ip": "192.0.2.1", "ports": [{"port": 80}, {"port": 443, "error": "PortInUse"}]}
    verdict = compute(service({"loadBalancer": {"ingress": [entry]}}, type="LoadBalancer"))
    assert verdict.state is State.FAILED
    assert "port 443: PortInUse" in verdict.message


WAITS = {"readiness.konstat.dev/wait-for-address": "true"}


def ingress(annotations: Any = None, *, address: bool = False) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "i", "annotations": annotations},
        "spec": {"ingressClassName": "lb"},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}] if address else []}},
    }


def test_R11_ingress_waits_for_its_address_where_it_is_told_to(build: Any) -> None:
    verdict = build.judge(ingress(WAITS))
    assert (verdict.state, verdict.reason) == (State.PROGRESSING, Reason.LOAD_BALANCER_PENDING)
    assert build.judge(ingress(WAITS, address=True)).ready


def test_R11_ingress_waits_where_its_class_is_told_to(build: Any) -> None:
    kind = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass"}
    waiting = {**kind, "metadata": {"name": "lb", "annotations": WAITS}}
    assert build.judge(ingress(), waiting).state is State.PROGRESSING
    assert build.judge(ingress(address=True), waiting).ready
    refusing = {"readiness.konstat.dev/wait-for-address": "false"}
    assert build.judge(ingress(refusing), waiting).ready
    plain = {**kind, "metadata": {"name": "lb"}}
    assert build.judge(ingress(), plain).ready
