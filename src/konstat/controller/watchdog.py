"""Measures whether the event loop turns; a blocked loop delays every watch, lease and attempt."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from konstat.base.stall import LoopWatch, Stall

log = logging.getLogger("konstat.controller")


async def watch_loop(on_blocked: Callable[[float], None]) -> None:
    """Report each stall above `limits.LOOP_BLOCKED_SECONDS`, until cancelled.

    While it lasts: which attempt or other task blocks, and where; once it is over: how long it
    was, also to ``on_blocked``. Both come from a thread, as the loop itself is blocked.
    """

    def turned(seconds: float) -> None:
        on_blocked(seconds)
        log.warning("the event loop turns again after %.1f s", seconds)

    watch = LoopWatch(on_stall=_tell, on_turn=turned)
    with watch.watching():
        await asyncio.Event().wait()


def _tell(stall: Stall) -> None:
    log.warning(
        "the event loop has not turned for %.1f s: %s blocks it at %s: use await, or"
        " asyncio.to_thread for blocking calls, as all other attempts wait for it\n%s",
        stall.seconds,
        f"the {stall.task}" if stall.task.startswith("attempt ") else (stall.task or "a callback"),
        stall.place,
        stall.stack,
    )
