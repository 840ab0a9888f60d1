"""Waits for the programs of the rig: a condition, a deadline, and an eye on who has died."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from konstat.base import clock, limits
from konstat.client.api import Client
from konstat.errors import APIError, ControlPlaneError, NotFound, TransportError
from konstat.objects.kind import Kind
from konstat.testing.rig_process import Program

Condition = Callable[[], Awaitable[bool]]


async def wait_until(
    condition: Condition, *, what: str, programs: Sequence[Program], deadline: float
) -> None:
    """Wait until ``condition`` holds; ``deadline`` is on konstat's monotonic clock.

    Raises `konstat.errors.ControlPlaneError` as soon as one of ``programs`` has ended, and at
    the deadline with the end of the logs.
    """
    while True:
        for program in programs:
            program.check()
        if await condition():
            return
        if clock.monotonic() >= deadline:
            logs = "\n".join(f"{one.name} ({one.log}):\n{one.tail()}" for one in programs)
            raise ControlPlaneError(
                f"{what} within {limits.RIG_START_SECONDS:g} s did not happen; the logs end "
                f"with:\n{logs}"
            )
        await clock.sleep(limits.RIG_POLL_SECONDS)


async def answers(client: Client, path: str) -> bool:
    """Whether the server says 2xx to a GET of ``path``."""
    try:
        await client.exchange("GET", path, request=f"get {path}", retry=False)
    except (APIError, TransportError):
        return False
    return True


async def exists(client: Client, kind: Kind, name: str, *, namespace: str = "") -> bool:
    """Whether the object is there."""
    try:
        await client.get(kind, name, namespace=namespace)
    except NotFound:
        return False
    return True
