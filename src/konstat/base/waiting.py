"""Waiting for an event and for time at once, through `konstat.base.clock`.

asyncio's own timeouts measure the loop's time; this wait measures konstat's, so that a
simulated clock decides when it ends.
"""

from __future__ import annotations

import asyncio

from konstat.base import clock
from konstat.base.tasks import open_tasks


async def wait_at_most(event: asyncio.Event, *, timeout_seconds: float) -> bool:
    """Wait until ``event`` is set or the time has passed; tell whether it is set."""
    if event.is_set() or timeout_seconds <= 0:
        return event.is_set()
    async with open_tasks() as tasks:
        waits = (
            tasks.start(event.wait(), name="wait for event"),
            tasks.start(clock.sleep(timeout_seconds), name="wait for time"),
        )
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    return event.is_set()
