"""The early status of promise 1: an attempt on a new generation that takes its time says so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from konstat.base import clock, limits
from konstat.errors import KonstatError
from konstat.objects.snapshot import Snapshot

log = logging.getLogger("konstat.controller")


class Reset:
    """Writes early statuses for one worker, whose attempts come one after the other.

    An attempt that has not ended after `limits.RESET_AFTER_SECONDS` gets one. Nearly all end long
    before, so one timer runs on from attempt to attempt: beginning and ending one costs no task.
    """

    def __init__(self, write: Callable[[Snapshot], Awaitable[object]]) -> None:
        self._write = write
        self._waiting: tuple[Snapshot, float] | None = None
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._failure: Exception | None = None

    def begin(self, snapshot: Snapshot) -> None:
        """An attempt begins; its time runs if this generation has not been settled before."""
        status = snapshot.status or {}
        if status.get("observedGeneration") != snapshot.generation:
            self._waiting = (snapshot, clock.monotonic() + limits.RESET_AFTER_SECONDS)
            self._work.set()

    def stop(self) -> None:
        """The attempt has ended: begin no write any more."""
        self._waiting = None

    async def land(self) -> None:
        """After `stop`: let a write in flight land; raises what it should not have raised."""
        await self._idle.wait()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    async def run(self) -> None:
        """Keep the time until cancelled."""
        while True:
            await self._work.wait()
            if self._waiting is None:
                self._work.clear()
                continue
            snapshot, due = self._waiting
            seconds = due - clock.monotonic()
            if seconds > 0:
                await clock.sleep(seconds)
                continue
            self._waiting = None
            self._idle.clear()
            try:
                await self._write(snapshot)
            except KonstatError as error:
                # The attempt's own write follows and reports; this was only the early notice.
                log.warning("%s: the early status was not written: %s", snapshot.ref, error)
            except Exception as error:  # noqa: BLE001 - the attempt that waits for us raises it
                self._failure = error
            finally:
                self._idle.set()
