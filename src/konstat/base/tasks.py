"""The only place that starts tasks: each has an owner, and its failure surfaces.

`TaskGroup` is asyncio's, plus a name for every task and `stop`, which cancels what still runs
and waits for it. A task that fails cancels its siblings and its error leaves the group.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class Tasks:
    """Tasks that live until the block that owns them ends."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    def start(self, work: Coroutine[Any, Any, Any], *, name: str) -> asyncio.Task[Any]:
        """Run ``work`` beside the caller; the group waits for it or cancels it.

        Work that a task starts while the block is being left is cancelled before it begins.
        Raises RuntimeError when a failure ends the group already; ``work`` is closed then.
        """
        try:
            task = self._group.create_task(work, name=name)
        except RuntimeError:
            work.close()
            raise
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self._closed:
            task.cancel()
        return task

    def cancel(self) -> None:
        """Ask every task that still runs to stop; leaving the block waits for them."""
        for task in tuple(self._tasks):
            task.cancel()

    def close(self) -> None:
        """As `cancel`, and nothing that is started from now on begins."""
        self._closed = True
        self.cancel()


@asynccontextmanager
async def open_tasks() -> AsyncIterator[Tasks]:
    """Own tasks for the length of a block: on leaving it the rest is cancelled and awaited.

    A single failure leaves the block as itself, with its own cause, not wrapped in an
    ExceptionGroup.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = Tasks(group)
            try:
                yield tasks
            finally:
                tasks.close()
        return
    except BaseExceptionGroup as failures:
        # A failure that the block's owner saw too, by awaiting the task, is still one failure.
        if len({id(failure) for failure in failures.exceptions}) > 1:
            raise
        failure = failures.exceptions[0]
    context = failure.__context__
    try:
        raise failure
    finally:
        # Raising set it to what goes on here; the failure keeps what it came with.
        failure.__context__ = context


_apart: set[asyncio.Task[Any]] = set()


def start_apart(work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
    """Run foreign code that may refuse to end; whoever starts it calls `end_apart`.

    No group waits for the task, so it can be given up.
    """
    task = asyncio.get_running_loop().create_task(work, name=name)
    # The loop keeps only weak references.
    _apart.add(task)
    task.add_done_callback(_apart.discard)
    return task


async def end_apart(task: asyncio.Task[Any], *, tries: int, seconds: float) -> bool:
    """Cancel the task up to ``tries`` times, ``seconds`` apart; whether it has ended."""
    for _ in range(tries):
        if task.done():
            break
        task.cancel()
        await asyncio.wait({task}, timeout=seconds)
    return task.done()
