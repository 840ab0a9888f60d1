"""Names of Services and of their pods as a hosts file, because there is no DNS for processes. Pure.

A name leads to the pods that a Service selects (ready ones, where there are any), not to a cluster
IP. So a program reaches the container's port and not the Service's. Programs must be told of the
file; Java reads it with ``-Djdk.net.hosts.file=$(hosts)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network

from konstat.kinds import Service
from konstat.nodes.podspec import PlayedPod


def hosts_text(
    namespace: str, *, machine: str, services: Iterable[Service], pods: Sequence[PlayedPod]
) -> str:
    """The file for programs of a namespace; ``machine`` is this machine's name.

    Names of the namespace are there in their short form too.
    """
    lines = [f"127.0.0.1 localhost {machine}".rstrip()]
    lines += [f"{_address(pod)} {pod.name}" for pod in _by_name(pods) if pod.namespace == namespace]
    for service in sorted(services, key=lambda service: (service.namespace, service.name)):
        forms = _forms(f"{service.name}.{service.namespace}")
        if service.namespace == namespace:
            forms = f"{service.name} {forms}"
        selected = _selected(service, pods)
        lines += [f"{_address(pod)} {forms}" for pod in selected]
        for pod in selected:
            if pod.spec.hostname and pod.spec.subdomain == service.name:
                full = f"{pod.spec.hostname}.{service.name}.{service.namespace}"
                short = f"{pod.spec.hostname}.{service.name} "
                lines.append(
                    f"{_address(pod)} {short if service.namespace == namespace else ''}"
                    f"{_forms(full)}"
                )
    return "\n".join([*lines, ""])


def reachable(pods: Iterable[PlayedPod], network: IPv4Network) -> Iterator[PlayedPod]:
    """The pods that have an address of ``network`` and may still answer there."""
    for pod in pods:
        over = pod.stored_status.get("phase") in ("Succeeded", "Failed")
        if not over and _lies_in(pod.stored_status.get("podIP") or "", network):
            yield pod


def _lies_in(address: str, network: IPv4Network) -> bool:
    try:
        return IPv4Address(address) in network
    except ValueError:
        return False  # none yet, or IPv6 of a real node


def _selected(service: Service, pods: Iterable[PlayedPod]) -> list[PlayedPod]:
    wanted = service.spec.selector.items()
    if not wanted or service.spec.type == "ExternalName":
        return []
    found = [
        pod
        for pod in _by_name(pods)
        if pod.namespace == service.namespace and wanted <= (pod.metadata.labels or {}).items()
    ]
    ready = [pod for pod in found if _is_ready(pod)]
    return ready or found


def _is_ready(pod: PlayedPod) -> bool:
    conditions = pod.status.conditions
    return not pod.deleting and any(c.type == "Ready" and c.status == "True" for c in conditions)


def _by_name(pods: Iterable[PlayedPod]) -> list[PlayedPod]:
    return sorted(pods, key=lambda pod: pod.name)


def _address(pod: PlayedPod) -> str:
    return str(pod.stored_status["podIP"])


def _forms(name: str) -> str:
    return f"{name} {name}.svc {name}.svc.cluster.local"
