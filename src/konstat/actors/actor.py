"""`Actor`: the loop that every actor shares; a subclass says what wakes it and what it does.

Changes of the kinds that it watches add keys to a queue; workers take one key at a time and make
an attempt, which reads everything anew and decides by a pure function. An attempt that fails is
made again after a back-off; one that gives seconds is made again after them.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, Never, TypeAlias

from konstat.actors.world import World
from konstat.base import limits
from konstat.base.tasks import open_tasks
from konstat.cache.store import Change, Store
from konstat.errors import (
    AlreadyExists,
    APIError,
    Conflict,
    KindUnavailable,
    KonstatError,
    NotFound,
    PatchRefused,
    QueueClosed,
    TransportError,
)
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot
from konstat.queue import QueueStatistics, WorkQueue
from konstat.queue.limiter import KeyBackoff

log = logging.getLogger("konstat.actors")

Trigger: TypeAlias = Callable[[Change], None]

# Somebody wrote in between, or the watch lags: the next attempt sees it.
_ORDINARY = (Conflict, PatchRefused, NotFound, AlreadyExists, TransportError, KindUnavailable)


class Actor(ABC):
    """Plays one controller; ``name`` is what the real one is called in events.

    *Guarantees.* One attempt per key at a time; no attempt before every watched kind is synced.
    *Errors.* Those of a server (`konstat.errors`) are logged and tried again, others end `run`.
    """

    name: ClassVar[str]
    retry_maximum_seconds: ClassVar[float] = limits.ACTOR_RETRY_MAXIMUM_SECONDS
    workers: ClassVar[int] = limits.ACTOR_WORKERS

    def __init__(self, world: World) -> None:
        self.world = world
        self.queue = WorkQueue(
            backoff=KeyBackoff(
                first_seconds=limits.ACTOR_RETRY_FIRST_SECONDS,
                maximum_seconds=self.retry_maximum_seconds,
            )
        )

    @abstractmethod
    def triggers(self) -> Mapping[Kind, Trigger]:
        """The kinds to watch, and what a change of each adds to the queue."""

    @abstractmethod
    async def attempt(self, key: str) -> float | None:
        """Bring the object of ``key`` a step further; seconds after which to look again."""

    async def run(self) -> Never:
        """Act until cancelled."""
        triggers = self.triggers()
        ends = [self.world.informer(kind).subscribe(trigger) for kind, trigger in triggers.items()]
        try:
            for kind in triggers:
                await self._wait_synced(kind)
            async with open_tasks() as tasks:
                for number in range(self.workers):
                    tasks.start(self._work(), name=f"{self.name} worker {number}")
                await asyncio.Event().wait()  # until cancelled, or a worker fails
        finally:
            for end in ends:
                end()
        raise AssertionError("an event that nobody sets was set")

    def statistics(self) -> QueueStatistics:
        """The numbers of the queue."""
        return self.queue.statistics()

    # --- for subclasses -----------------------------------------------------------------------

    def add_itself(self, change: Change) -> None:
        """Add the object that has changed; what is kept of a gone one is dropped."""
        if change.new is not None:
            self.queue.add(change.new.uid)
        elif change.old is not None:
            self.queue.add(change.old.uid)

    def add_controller(self, change: Change) -> None:
        """Add the object that manages, or managed, the one that has changed."""
        for uid in {s.controller_uid for s in (change.old, change.new) if s is not None}:
            if uid:
                self.queue.add(uid)

    def add_namespace(self, kind: Kind, snapshot: Snapshot) -> None:
        """Add every object of ``kind`` in the namespace of ``snapshot``."""
        for found in self.known(kind).list(snapshot.namespace):
            self.queue.add(found.uid)

    def known(self, kind: Kind) -> Store:
        """The store of a kind for triggers, which run before it is synced too."""
        return self.world.informer(kind).store

    # --- parts --------------------------------------------------------------------------------

    async def _wait_synced(self, kind: Kind) -> None:
        informer = self.world.informer(kind)
        told = ""
        while informer.state != "synced":
            if informer.state != "unsynced" and informer.problem != told:
                told = informer.problem
                log.warning("%s waits for %s: %s", self.name, kind, told)
            await informer.wait_changed()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.take()
            except QueueClosed:
                return
            try:
                await self._attempt(key)
            finally:
                self.queue.done(key)

    async def _attempt(self, key: str) -> None:
        try:
            seconds = await self.attempt(key)
        except _ORDINARY as error:
            log.debug("%s: %s", self.name, error)
            self.queue.retry(key)
        except KonstatError as error:
            expected = isinstance(error, APIError) and error.retryable
            log.log(logging.DEBUG if expected else logging.WARNING, "%s: %s", self.name, error)
            self.queue.retry(key)
        else:
            self.queue.forget(key)
            if seconds is not None:
                self.queue.add_after(key, seconds)
