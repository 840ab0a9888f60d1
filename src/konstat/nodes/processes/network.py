"""Which addresses this machine takes for its own, so that pods played here can listen on them.

All of 127.0.0.0/8 is there on Linux, but no EndpointSlice takes a loopback address. A range with a
local route is better: ``ip route add local 198.19.0.0/16 dev lo`` (as root, once; gone with the
next start of the machine). Nothing here changes the machine.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Network

from konstat.base import chance
from konstat.errors import UserError
from konstat.nodes.addresses import LOCAL_PODS, LOOPBACK_PODS, AddressPool

_LEAST_ADDRESSES = 16


def answers(network: IPv4Network) -> bool:
    """Whether programs on this machine can listen on addresses of ``network``."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        try:
            tried.bind((str(network.network_address + 1), 0))
        except OSError:
            return False
    return True


def choose(wanted: IPv4Network | None) -> IPv4Network:
    """The network of the pods: the wanted one, else the best that answers.

    Raises UserError when none does, or the wanted one is too small.
    """
    for network in (LOCAL_PODS, LOOPBACK_PODS) if wanted is None else (wanted,):
        if network.num_addresses < _LEAST_ADDRESSES:
            raise UserError(f"pod network {network} is too small: give at least a /28")
        if answers(network):
            return network
    asked = wanted or LOOPBACK_PODS
    raise UserError(f"this machine does not answer on {asked}: as root, run {route_command(asked)}")


def route_command(network: IPv4Network) -> str:
    """What makes a Linux machine answer on a network."""
    return f"ip route add local {network} dev lo"


def pool_of(network: IPv4Network) -> AddressPool:
    """Addresses of a network, from somewhere in it: other actors may use it too."""
    last = network.num_addresses - 2
    return AddressPool(network, first=int(chance.uniform(1, last)))
