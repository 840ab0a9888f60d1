"""A short storm: two instances of one operator, one of which lags, beside a foreign writer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench import storm
from bench.storm_operator import stones
from konstat.client import Client
from konstat.controller.run import install

if TYPE_CHECKING:
    from story import Plane

FAST = 150
SLOW = 40
# One status write for so many edits is the least that is no starvation; a lock gave one for sixty.
EDITS_PER_WRITE = 10


async def test_H1_H5_S6_a_storm_loses_nothing_and_never_goes_back(
    plane: Plane, place: str, tmp_path: Path
) -> None:
    logs = [tmp_path / "one.log", tmp_path / "late.log"]
    # Over HTTP on both, so that the editor gives way to others.
    async with Client.connect(plane.config) as client:
        await install(client, [stones])
        async with (
            storm.operator(plane.kubeconfig, logs[0]),
            storm.operator(plane.kubeconfig, logs[1], lag_seconds=1.0),
        ):
            seen = await storm.storm(
                client, "stormy", namespace=place, fast=FAST, slow=SLOW, rest_seconds=1.5
            )
    assert seen.foreign.writes > 0
    assert (seen.foreign.lost, seen.foreign.brought_back) == (0, 0)
    assert seen.right_after_seconds is not None
    assert seen.record.backwards == []
    assert seen.record.broken == {}
    assert seen.writes >= (FAST + SLOW) / EDITS_PER_WRITE
    assert seen.rest_writes == 0
    assert storm.logged(logs, "ERROR") == []
    # What it is about has happened: the late instance had an older outcome, and kept it.
    assert any(storm.SUPERSEDED in line for line in storm.logged(logs[1:], "INFO"))
