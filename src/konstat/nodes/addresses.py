"""Addresses of nodes and pods. Pure but for its own bookkeeping.

Each node has a /22 of 10.244.0.0/14 for its pods. The nodes themselves are in 198.18.0.0/15, the
range for benchmarks (RFC 2544), because loopback addresses are not valid in EndpointSlices. None of
these leads anywhere. Pods that are played by local processes have addresses that answer: of
198.19.0.0/16 where this machine takes that range for its own, else of 127.244.0.0/16.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import Final

from konstat.base import limits
from konstat.errors import UserError

_PODS: Final = IPv4Network("10.244.0.0/14")
_NODES: Final = IPv4Network("198.18.0.0/15")
LOCAL_PODS: Final = IPv4Network("198.19.0.0/16")
"""For pods that answer, on a machine with a local route for it."""
LOOPBACK_PODS: Final = IPv4Network("127.244.0.0/16")
"""For pods that answer, on any Linux machine; Services cannot have them as endpoints."""

_PREFIX: Final = 22
_PER_NODE: Final = 1 << (32 - _PREFIX)

assert _PODS.num_addresses >= limits.NODES * _PER_NODE


def node_address(index: int) -> str:
    """The InternalIP of the node with this index (from 0)."""
    assert 0 <= index < limits.NODES
    return str(_NODES.network_address + 1 + index)


def pod_network(index: int) -> IPv4Network:
    """The addresses of the pods of the node with this index."""
    assert 0 <= index < limits.NODES
    first = int(_PODS.network_address) + index * _PER_NODE
    return IPv4Network((first, _PREFIX))


class AddressPool:
    """Gives out the addresses of a network in turn, so that a free one is not used again soon.

    ``first`` is where it begins: two actors that share a network begin apart.
    """

    def __init__(self, network: IPv4Network, *, first: int = 1) -> None:
        assert 1 <= first <= network.num_addresses - 2
        self._network = network
        self._used: dict[str, str] = {}
        self._next = first

    def take(self, uid: str) -> str:
        """The address of the pod ``uid``; the same until it is given back.

        A node has more addresses than it takes pods; UserError when all are used all the same.
        """
        if uid in self._used:
            return self._used[uid]
        taken = set(self._used.values())
        for _ in range(self._network.num_addresses - 2):
            address = str(self._network.network_address + self._next)
            self._next = self._next % (self._network.num_addresses - 2) + 1
            if address not in taken:
                self._used[uid] = address
                return address
        raise UserError(
            f"all {len(taken)} pod addresses of {self._network} are used: bind fewer pods to it"
        )

    def claim(self, uid: str, address: str) -> bool:
        """Note that the pod ``uid`` has an address already; False for one of another network."""
        try:
            known = IPv4Address(address) in self._network
        except ValueError:
            return False
        if known:
            self._used[uid] = address
        return known

    def give_back(self, uid: str) -> None:
        self._used.pop(uid, None)
