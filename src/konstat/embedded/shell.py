"""What both shells of the embedded API do: wait where the server would, and follow a watch.

The only place of `konstat.embedded`, beside the two shells, that awaits; time is that of
`konstat.base.clock`. Before: `server`, `watches`. After: `memory`, `http`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from konstat.base import clock
from konstat.base.transport import Request, Response
from konstat.base.waiting import wait_at_most
from konstat.embedded.server import EmbeddedServer, Pending
from konstat.embedded.storage import ANY
from konstat.embedded.watches import WatchStream

# A stream is looked at again at its due time; time may be reached a moment too early.
_SHORTEST_SECONDS = 0.001


async def settle(server: EmbeddedServer, request: Request) -> Response | WatchStream:
    """Have a request answered, waiting where the server would wait."""
    answer = server.begin(request)
    if not isinstance(answer, Pending):
        return answer
    changed = asyncio.Event()
    stop = server.storage.follow(ANY, changed.set)
    deadline = clock.monotonic() + answer.seconds
    try:
        while not answer.ready() and (left := deadline - clock.monotonic()) > 0:
            changed.clear()
            await wait_at_most(changed, timeout_seconds=left)
    finally:
        stop()
    return server.handle(request)


async def lines(watch: WatchStream) -> AsyncIterator[bytes]:
    """The lines of a watch as they come, until it ends."""
    woken = asyncio.Event()
    watch.on_wake(woken.set)
    while True:
        woken.clear()
        while (line := watch.next_line()) is not None:
            yield line
        if watch.ended:
            return
        await wait_at_most(
            woken, timeout_seconds=max(watch.due - clock.monotonic(), _SHORTEST_SECONDS)
        )
