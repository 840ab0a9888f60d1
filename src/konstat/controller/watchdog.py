"""Measures whether the event loop turns; a blocked loop delays every watch, lease and attempt."""

from __future__ import annotations

import logging
from collections.abc import Callable

from konstat.base import clock, limits

log = logging.getLogger("konstat.controller")


async def watch_loop(on_blocked: Callable[[float], None]) -> None:
    """Report each stall above `limits.LOOP_BLOCKED_SECONDS`, with its length, until cancelled."""
    while True:
        before = clock.monotonic()
        await clock.sleep(limits.LOOP_WATCH_SECONDS)
        late = clock.monotonic() - before - limits.LOOP_WATCH_SECONDS
        if late > limits.LOOP_BLOCKED_SECONDS:
            on_blocked(late)
            log.warning(
                "the event loop did not turn for %.1f s: a reconcile or map function blocks;"
                " use await, or asyncio.to_thread for blocking calls",
                late,
            )
