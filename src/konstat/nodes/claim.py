"""Whose a node is, by its Lease: free, or still another actor's. Pure.

Two actors must not play one node, for each would undo what the other writes. So the Lease carries
the instance that plays. One that has ended leaves it free; one that was killed cannot, and then its
Lease must have run out first. A Lease that is renewed meanwhile shows that the other one lives.

After: `konstat.nodes.heartbeat` looks, waits, and takes the Lease.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from konstat.base import clock, limits
from konstat.kinds import Lease
from konstat.nodes.node import INSTANCE


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A Lease in the hands of another ``instance``, as it was first seen.

    ``until`` is when it has run out, in seconds of the monotonic clock; ``age_seconds`` how long
    before the first look it was renewed, by this machine's clock.
    """

    instance: str
    renewed: str
    until: float
    age_seconds: float


def holder_of(lease: Lease) -> str:
    """The instance that plays the node; empty when nobody does any more."""
    return (lease.metadata.annotations or {}).get(INSTANCE, "")


def held_by_another(
    lease: Lease,
    *,
    instance: str,
    node_uid: str,
    seen: Held | None,
    now: datetime,
    monotonic: float,
) -> Held | None:
    """Who holds the Lease that ``instance`` wants for the node of ``node_uid``; None when free.

    ``seen`` is the answer of the look before. Also free: a Lease of an earlier Node of the name,
    and one that has run out, be it by its own time or because it was not renewed for its length
    since the first look (clocks of two machines may differ).
    """
    holder = holder_of(lease)
    owners = {owner.uid for owner in lease.metadata.owner_references or ()}
    if holder in ("", instance) or (owners and node_uid not in owners):
        return None
    renewed = lease.spec.renew_time or ""
    if seen is None or (seen.instance, seen.renewed) != (holder, renewed):
        age = _age_seconds(renewed, now)
        length = float(lease.spec.lease_duration_seconds or limits.NODE_LEASE_SECONDS)
        left = min(length - age, float(limits.NODE_LEASE_SECONDS))
        seen = Held(instance=holder, renewed=renewed, until=monotonic + left, age_seconds=age)
    return seen if monotonic < seen.until else None


def _age_seconds(renewed: str, now: datetime) -> float:
    """Since when it was not renewed; a time ahead of ours, or none that can be read, is now."""
    try:
        age = now - clock.parse_timestamp(renewed)
    except ValueError:
        return 0.0
    return max(age, timedelta()).total_seconds()
