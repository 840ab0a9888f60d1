"""The early status of promise 1: an attempt on a new generation that takes its time says so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from konstat.base import clock, limits
from konstat.base.tasks import Tasks
from konstat.errors import KonstatError
from konstat.objects.snapshot import Snapshot

log = logging.getLogger("konstat.controller")


class Reset:
    """Writes the early status of one attempt after `limits.RESET_AFTER_SECONDS`, unless it ends."""

    def __init__(self, snapshot: Snapshot, write: Callable[[], Awaitable[object]]) -> None:
        self._snapshot = snapshot
        self._write = write
        self._task: asyncio.Task[None] | None = None
        self._writing = False

    def begin(self, tasks: Tasks) -> None:
        """Start the timer if this generation has not been settled before."""
        status = self._snapshot.content.get("status") or {}
        if status.get("observedGeneration") != self._snapshot.generation:
            self._task = tasks.start(self._run(), name=f"reset {self._snapshot.ref}")

    async def end(self) -> None:
        """The attempt has ended: drop the timer, or let a write in flight land."""
        if self._task is None:
            return
        if not self._writing:
            self._task.cancel()
            return
        await self._task

    async def _run(self) -> None:
        await clock.sleep(limits.RESET_AFTER_SECONDS)
        self._writing = True
        try:
            await self._write()
        except KonstatError as error:
            # The attempt's own write follows and reports; this one was only the early notice.
            log.warning("%s: the early status was not written: %s", self._snapshot.ref, error)
