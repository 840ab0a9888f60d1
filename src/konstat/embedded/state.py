"""What one embedded server is made of: its storage, its resource types, what it hands out.

The verbs work on a `State`; hooks of resource types see it as their `Host`. Before:
`konstat.embedded.storage`, `registry`. After: `verbs_write`, `deletion`, `lists`, `watches`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final

from konstat.base import clock
from konstat.embedded import status_errors as errors
from konstat.embedded.registry import Object, Registry, ResourceType
from konstat.embedded.storage import Key, Storage

SERVICES: Final = "services"
SERVICE_RANGE: Final = IPv4Network("10.96.0.0/16")
NODE_PORTS: Final = range(30000, 32768)
# The first address is the one of the service "kubernetes".
_RESERVED_ADDRESSES: Final = 10

Listener = Callable[[ResourceType, Object | None, Object | None], None]


@dataclass
class State:
    """One server's data. ``listeners`` are told of every write that was stored."""

    storage: Storage
    registry: Registry
    listeners: list[Listener] = field(default_factory=list[Listener])
    created_after: dict[str, float] = field(default_factory=dict[str, float])

    # --- objects ------------------------------------------------------------------------------

    def view(self, kind: ResourceType, stored: Object) -> Object:
        """A stored object in the version of ``kind``; not to be changed."""
        if kind.from_stored is not None:
            return kind.from_stored(stored)
        if stored["apiVersion"] == kind.api_version:
            return stored
        return {**stored, "apiVersion": kind.api_version}

    def stored(self, kind: ResourceType, obj: Object) -> Object:
        """An object of ``kind`` in the form that is stored."""
        return obj if kind.to_stored is None else kind.to_stored(obj)

    def get(self, kind: ResourceType, namespace: str, name: str) -> Object | None:
        """One object in the version of ``kind``; not to be changed."""
        found = self.storage.get(kind.storage_name, Key(namespace, name))
        return None if found is None else self.view(kind, found)

    def require(self, kind: ResourceType, namespace: str, name: str) -> Object:
        """One object; raises the server's 404 without one."""
        found = self.get(kind, namespace, name)
        if found is None:
            raise errors.not_found(kind.plural, name, group=kind.group)
        return found

    def tell(self, kind: ResourceType, old: Object | None, new: Object | None) -> None:
        """Tell the listeners of a write."""
        for listener in tuple(self.listeners):
            listener(kind, old, new)

    # --- what hooks may ask -------------------------------------------------------------------

    def lookup(self, group: str, plural: str, namespace: str, name: str) -> Object | None:
        """A stored object of any served version, or None; not to be changed."""
        table = f"{plural}.{group}" if group else plural
        return self.storage.get(table, Key(namespace, name))

    def objects(self, group: str, plural: str, namespace: str = "") -> Sequence[Object]:
        """The stored objects of a resource; not to be changed."""
        table = f"{plural}.{group}" if group else plural
        return [obj for _, obj in self.storage.scan(table, namespace)]

    def next_cluster_ip(self) -> str:
        """The lowest free address of the service range; raises a 500 when there is none."""
        used: set[str] = set()
        for service in self.objects("", SERVICES):
            used.update(service.get("spec", {}).get("clusterIPs") or ())
        first = int(SERVICE_RANGE.network_address) + _RESERVED_ADDRESSES
        for number in range(first, int(SERVICE_RANGE.broadcast_address)):
            address = str(IPv4Address(number))
            if address not in used:
                return address
        raise errors.internal_error("the service range has no free address")

    def next_node_port(self) -> int:
        """The lowest free port for a service of type NodePort; raises a 500 when none is free."""
        used: set[Any] = set()
        for service in self.objects("", SERVICES):
            spec = service.get("spec", {})
            used.update(port.get("nodePort") for port in spec.get("ports") or ())
            used.add(spec.get("healthCheckNodePort"))
        for port in NODE_PORTS:
            if port not in used:
                return port
        raise errors.internal_error("the range of node ports has no free port")

    def now(self) -> datetime:
        """The wall time."""
        return clock.now()
