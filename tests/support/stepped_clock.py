"""A clock that moves only when a test says so."""

from __future__ import annotations

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from itertools import count

from konstat.base.clock import SystemClock

_loop_turn = SystemClock().sleep


class SteppedClock:
    """Sleeps are futures; `advance` moves the time and completes what is due, in order."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.yields = 0  # sleeps of no length, which only give the loop a turn
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            self.yields += 1
            await _loop_turn(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.seconds + seconds, next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        end = self.seconds + seconds
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                self.seconds = max(self.seconds, due)
                future.set_result(None)
                await self.settle()
        self.seconds = end
        await self.settle()

    async def settle(self) -> None:
        """Let every task run until it waits."""
        for _ in range(60):
            await _loop_turn(0)
