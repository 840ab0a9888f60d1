"""Addresses of pretended nodes and pods."""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import pairwise

import pytest

from konstat.base import limits
from konstat.errors import UserError
from konstat.nodes.addresses import AddressPool, node_address, pod_network


def test_nodes_do_not_share_addresses() -> None:
    networks = [pod_network(index) for index in range(limits.NODES)]
    assert all(not a.overlaps(b) for a, b in pairwise(networks))
    assert len({node_address(index) for index in range(limits.NODES)}) == limits.NODES


def test_a_pod_keeps_its_address_and_a_free_one_is_not_used_again_at_once() -> None:
    pool = AddressPool(IPv4Network("10.244.0.0/29"))
    assert [pool.take("a"), pool.take("b"), pool.take("a")] == [
        "10.244.0.1",
        "10.244.0.2",
        "10.244.0.1",
    ]
    pool.give_back("a")
    assert pool.take("c") == "10.244.0.3"


def test_claimed_addresses_are_left_out() -> None:
    pool = AddressPool(IPv4Network("10.244.0.0/30"))
    pool.claim("old", "10.244.0.1")
    pool.claim("foreign", "192.0.2.7")
    pool.claim("broken", "nonsense")
    assert pool.take("new") == "10.244.0.2"
    with pytest.raises(UserError, match=r"all 2 pod addresses of 10\.244\.0\.0/30 are used"):
        pool.take("one too many")
    pool.give_back("old")
    assert pool.take("one too many") == "10.244.0.1"
