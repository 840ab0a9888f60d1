"""The only source of time.

Wall time is what Kubernetes objects carry; monotonic time measures waits and ages.
`use_clock` swaps both for a simulated clock in the current context.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall time, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clocks and asyncio's sleep."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


_current: ContextVar[Clock] = ContextVar("konstat_clock", default=SystemClock())


def now() -> datetime:
    """The wall time, aware, in UTC."""
    return _current.get().now()


def monotonic() -> float:
    """Seconds since an arbitrary start; never goes back."""
    return _current.get().monotonic()


async def sleep(seconds: float) -> None:
    """Wait ``seconds`` of the current clock."""
    await _current.get().sleep(seconds)


@contextmanager
def use_clock(clock: Clock) -> Iterator[Clock]:
    """Make ``clock`` the source of time in this context and the tasks started from it."""
    token = _current.set(clock)
    try:
        yield clock
    finally:
        _current.reset(token)


def timestamp(moment: datetime) -> str:
    """RFC 3339, UTC, whole seconds (cut, not rounded), as metav1.Time is written.

    ``moment`` is aware; raises ValueError when it is not, because its meaning would depend on the
    machine, and when it does not lie in the years 1 to 9999 of UTC.
    """
    return _in_utc(moment).isoformat(timespec="seconds") + "Z"


def micro_timestamp(moment: datetime) -> str:
    """RFC 3339, UTC, six decimals, as metav1.MicroTime is written (Leases, Events).

    Raises ValueError as `timestamp`.
    """
    return _in_utc(moment).isoformat(timespec="microseconds") + "Z"


def parse_timestamp(text: str) -> datetime:
    """The moment that a metav1.Time or MicroTime names; ValueError if it is neither.

    Decimals beyond microseconds are cut. Other forms of ISO 8601 are read too if they name a time
    zone.
    """
    return _in_utc(datetime.fromisoformat(text)).replace(tzinfo=UTC)


def _in_utc(moment: datetime) -> datetime:
    """The wall time in UTC, without its time zone."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    try:
        return moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError as error:
        raise ValueError(
            f"{moment.isoformat()} is not within the years 1 to 9999 of UTC"
        ) from error
