"""What a worker remembers of each resource between attempts; dropped when the resource is gone.

Nothing here decides what is true: it is about waits, back-offs, counts and what was told already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from konstat.base import clock, limits
from konstat.base.backoff import Backoff
from konstat.controller.attempt import Ended
from konstat.objects import codec
from konstat.readiness import Turn
from konstat.services.metrics import Metrics
from konstat.status import Ending, Outcome, Settlement

_WRITE_RETRY = Backoff(
    first_seconds=limits.STATUS_RETRY_FIRST_SECONDS,
    maximum_seconds=limits.STATUS_RETRY_MAXIMUM_SECONDS,
)


class Memory(msgspec.Struct):
    """Of one resource.

    ``written`` is a digest of the last settlement that had to be written, ``rewrites`` are when the
    same had to be written again; both are small, as there are as many memories as resources.
    ``marked``: our finalizer was seen on it; ``cleaned``: its cleanup was confirmed, or that it
    was not has been told; ``lingering``: an attempt that ignores its cancellation.
    """

    waiting_for: tuple[str, int] | None = None
    waiting_since: float = 0.0
    failed_writes: int = 0
    write_due: float = 0.0
    written: bytes = b""
    rewrites: tuple[float, ...] = ()
    ready: str = ""
    marked: bool = False
    cleaned: bool = False
    lingering: asyncio.Task[Any] | None = None

    def with_deadline(self, ended: Ended, generation: int) -> Ended:
        """Turn a wait that lasts too long into DeadlineExceeded.

        A new spec is a new wait, also for the same reason.
        """
        outcome = ended.outcome
        if outcome.ending is not Ending.WAITING:
            self.waiting_for = None
            return ended
        if self.waiting_for != (outcome.reason, generation):
            self.waiting_for = (outcome.reason, generation)
            self.waiting_since = clock.monotonic()
        limit = ended.wait_timeout_seconds
        if limit is None or self.seconds_left(limit) > 0:
            return ended
        overdue = Outcome(
            ending=Ending.OVERDUE,
            reason="DeadlineExceeded",
            message=f"{outcome.reason} for more than {limit:g} s: {outcome.message}",
            turn=outcome.turn if outcome.turn is not Turn.NOBODY else Turn.OWNER,
        )
        return msgspec.structs.replace(ended, outcome=overdue)

    def seconds_left(self, limit: float) -> float:
        """Until the wait is overdue."""
        return self.waiting_since + limit - clock.monotonic()

    def write_delay(self) -> float:
        """Seconds until a refused write is tried again; failures of one burst count once."""
        present = clock.monotonic()
        if self.write_due > present:
            return self.write_due - present
        seconds = _WRITE_RETRY.delay_seconds(self.failed_writes)
        self.failed_writes += 1
        self.write_due = present + seconds
        return seconds

    def is_contested(self, settlement: Settlement) -> bool:
        """Whether another writer keeps undoing what we want to write once more."""
        start = clock.monotonic() - limits.CONTESTED_WINDOW_SECONDS
        self.rewrites = tuple(moment for moment in self.rewrites if moment >= start)
        full = len(self.rewrites) >= limits.CONTESTED_CORRECTIONS
        return full and self.written == _digest(settlement)

    def note_written(self, settlement: Settlement) -> None:
        """We had to write; the same again means that somebody undid it."""
        self.failed_writes, self.write_due = 0, 0.0
        digest = _digest(settlement)
        if self.written == digest:
            latest = (*self.rewrites, clock.monotonic())
            self.rewrites = latest[-limits.CONTESTED_CORRECTIONS :]
        self.written = digest


def _digest(settlement: Settlement) -> bytes:
    return blake2b(codec.encode(settlement), digest_size=16).digest()


class Memories:
    """Of all resources of one kind, by uid; counts them by their Ready condition."""

    def __init__(self, metrics: Metrics, label: str) -> None:
        self._gauge = metrics.resources
        self._label = label
        self._memories: dict[str, Memory] = {}

    def __getitem__(self, uid: str) -> Memory:
        return self._memories.setdefault(uid, Memory())

    def __len__(self) -> int:
        return len(self._memories)

    def forget(self, uid: str) -> Memory:
        """The resource is gone; what was known of it."""
        memory = self._memories.pop(uid, Memory())
        if memory.ready:
            self._gauge.labels(self._label, memory.ready).dec()
        return memory

    def count(self, uid: str, ready: str) -> None:
        """The resource's Ready condition has this status now."""
        memory = self[uid]
        if memory.ready == ready:
            return
        if memory.ready:
            self._gauge.labels(self._label, memory.ready).dec()
        self._gauge.labels(self._label, ready).inc()
        memory.ready = ready

    def lingering(self) -> Iterator[asyncio.Task[Any]]:
        """The attempts that ignore their cancellation and still run."""
        for memory in self._memories.values():
            if memory.lingering is not None and not memory.lingering.done():
                yield memory.lingering
