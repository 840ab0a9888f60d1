"""The only place that starts tasks: each has an owner, and its failure surfaces.

`TaskGroup` is asyncio's, plus a name for every task and `stop`, which cancels what still runs
and waits for it. A task that fails cancels its siblings and its error leaves the group.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


class Tasks:
    """Tasks that live until the block that owns them ends."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any], *, name: str) -> asyncio.Task[Any]:
        """Run ``work`` beside the caller; the group waits for it or cancels it."""
        task = self._group.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def cancel(self) -> None:
        """Ask every task that still runs to stop; leaving the block waits for them."""
        for task in tuple(self._tasks):
            task.cancel()


@asynccontextmanager
async def open_tasks() -> AsyncIterator[Tasks]:
    """Own tasks for the length of a block: on leaving it the rest is cancelled and awaited.

    A single failure leaves the block as itself, not wrapped in an ExceptionGroup.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = Tasks(group)
            try:
                yield tasks
            finally:
                tasks.cancel()
    except BaseExceptionGroup as failures:
        if len(failures.exceptions) == 1:
            raise failures.exceptions[0] from None
        raise
