"""Names of Services and pods as a hosts file."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

from konstat.kinds import Service
from konstat.nodes.podspec import PlayedPod
from konstat.nodes.processes.hosts import hosts_text, reachable


def pod(
    name: str, address: str, *, ready: bool = True, namespace: str = "demo", **spec: Any
) -> PlayedPod:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return PlayedPod.from_content(
        {
            "metadata": {"name": name, "namespace": namespace, "labels": {"app": "web"}},
            "spec": spec,
            "status": {"podIP": address, "phase": "Running", "conditions": conditions},
        }
    )


def service(name: str = "web", *, namespace: str = "demo", **spec: Any) -> Service:
    metadata = {"name": name, "namespace": namespace}
    return Service.from_content(
        {"metadata": metadata, "spec": {"selector": {"app": "web"}, **spec}}
    )


def names(namespace: str, services: list[Service], pods: list[PlayedPod]) -> dict[str, set[str]]:
    """The addresses of each name."""
    found: dict[str, set[str]] = {}
    text = hosts_text(namespace, machine="box", services=services, pods=pods)
    assert text.endswith("\n")
    for line in text.splitlines():
        address, *known = line.split()
        for name in known:
            found.setdefault(name, set()).add(address)
    return found


def test_a_service_leads_to_its_ready_pods_under_all_its_names() -> None:
    pods = [pod("a", "127.0.0.2"), pod("b", "127.0.0.3"), pod("c", "127.0.0.4", ready=False)]
    found = names("demo", [service()], pods)
    for name in ("web", "web.demo", "web.demo.svc", "web.demo.svc.cluster.local"):
        assert found[name] == {"127.0.0.2", "127.0.0.3"}
    assert found["c"] == {"127.0.0.4"}
    assert found["localhost"] == found["box"] == {"127.0.0.1"}


def test_other_namespaces_have_only_long_names() -> None:
    found = names("other", [service()], [pod("a", "127.0.0.2")])
    assert found["web.demo"] == {"127.0.0.2"}
    assert not {"web", "a"} & found.keys()


def test_unready_pods_are_better_than_none() -> None:
    assert names("demo", [service()], [pod("a", "127.0.0.2", ready=False)])["web"] == {"127.0.0.2"}


def test_a_service_without_selector_leads_nowhere() -> None:
    services = [service(selector={}), service("out", type="ExternalName")]
    assert not {"web", "out"} & names("demo", services, [pod("a", "127.0.0.2")]).keys()


def test_a_pod_of_a_headless_service_has_a_name_of_its_own() -> None:
    pods = [pod("db-0", "127.0.0.2", hostname="db-0", subdomain="web")]
    found = names("demo", [service()], pods)
    assert found["db-0.web"] == found["db-0.web.demo.svc"] == {"127.0.0.2"}


def test_only_pods_that_may_answer_are_reachable() -> None:
    ended = PlayedPod.from_content({"status": {"podIP": "127.0.0.5", "phase": "Failed"}})
    pods = [pod("a", "127.0.0.2"), pod("b", "10.0.0.1"), pod("c", ""), pod("d", "fd00::1"), ended]
    found = reachable(pods, IPv4Network("127.0.0.0/8"))
    assert [one.name for one in found] == ["a"]
