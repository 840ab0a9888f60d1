"""`WorkQueue`: the keys that want an attempt, each at most once, each at most one at a time.

A key (a uid) is in one of these places, and a key that runs may also wait in the second:

    ready      wants an attempt now: fresh changes in one line, resyncs in another
    delayed    wants an attempt later; the earliest wish wins
    running    a worker has it; wishes that come meanwhile are remembered until `done`

So many changes of one object cost one attempt, and no wish is lost: what came while an attempt
ran is tried again after it. Before this module: `konstat.queue.limiter`, which computes rates
and delays. After it: a controller's workers.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import OrderedDict
from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

import msgspec

from konstat.base import clock, limits
from konstat.base.tasks import open_tasks
from konstat.errors import InternalError, QueueClosed
from konstat.queue.limiter import KeyBackoff, TokenBucket


class QueueStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What a queue holds and what it has done.

    ``depth`` counts keys that are ready, ``peak_depth`` the most there ever were;
    ``oldest_ready_seconds`` is how long the longest waiting of them has been ready.
    ``coalesced`` counts wishes that met a key which was already waiting.
    """

    depth: int
    delayed: int
    running: int
    failing: int
    peak_depth: int
    added: int
    coalesced: int
    taken: int
    retried: int
    oldest_ready_seconds: float


class _Delay(NamedTuple):
    due: float
    order: int
    fresh: bool


class WorkQueue:
    """Keys in, one attempt per key at a time out.

    *Order.* Fresh changes go before resyncs, first come first served in each; after
    ``limits.RESYNC_TURN_TAKES`` fresh keys in a row a waiting resync gets its turn, so neither
    starves. *Guarantees.* A key that was added is taken after that moment, unless it is dropped
    or the queue closes. Two workers never hold one key. *Bounds.* One entry per living object;
    the takes of all keys together keep to ``bucket``. *Caveats.* Made for one event loop; not
    safe for threads.
    """

    def __init__(
        self, *, bucket: TokenBucket | None = None, backoff: KeyBackoff | None = None
    ) -> None:
        self._bucket = bucket or TokenBucket()
        self._backoff = backoff or KeyBackoff()
        # Values: since when the key is ready. OrderedDicts, as dicts leave holes at their head.
        self._fresh: OrderedDict[str, float] = OrderedDict()
        self._resync: OrderedDict[str, float] = OrderedDict()
        self._delays: dict[str, _Delay] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._order = count()
        self._running: dict[str, bool | None] = {}  # value: a remembered wish, True if fresh
        self._fresh_in_a_row = 0
        self._closed = False
        # One taker waits for news, the others wait for their turn to do so: one timer, one wake.
        self._turn = asyncio.Lock()
        self._news = asyncio.Event()
        self._added = self._coalesced = self._taken = self._retried = self._peak_depth = 0

    def add(self, key: str, *, fresh: bool = True) -> None:
        """Want an attempt for ``key`` now, or right after the one that runs.

        ``fresh`` is False for a resync. A delayed wish of the key is thereby fulfilled.
        After `close` nothing is added any more.
        """
        if self._closed:
            return
        self._added += 1
        delay = self._delays.pop(key, None)
        self._make_ready(key, fresh=fresh or (delay is not None and delay.fresh))
        self._trim_heap()

    def add_after(self, key: str, seconds: float, *, fresh: bool = True) -> None:
        """Want an attempt for ``key`` in ``seconds``; of several wishes the earliest wins."""
        if seconds <= 0:
            self.add(key, fresh=fresh)
            return
        if self._closed:
            return
        self._added += 1
        if self._wanted_now(key):
            self._coalesced += 1
            return
        due = clock.monotonic() + seconds
        present = self._delays.get(key)
        if present is not None:
            self._coalesced += 1
            fresh = fresh or present.fresh
            if present.due <= due:
                self._delays[key] = present._replace(fresh=fresh)
                return
        delay = _Delay(due, next(self._order), fresh)
        self._delays[key] = delay
        heapq.heappush(self._heap, (due, delay.order, key))
        self._trim_heap()
        if self._heap[0][1] == delay.order:
            self._news.set()

    def retry(self, key: str, *, fresh: bool = True) -> float:
        """The attempt failed: want another after the key's back-off; returns the delay."""
        self._retried += 1
        seconds = self._backoff.failed(key)
        self.add_after(key, seconds, fresh=fresh)
        return seconds

    def forget(self, key: str) -> None:
        """The attempt was good: the key's next failure waits the shortest delay again."""
        self._backoff.forget(key)

    def drop(self, key: str) -> None:
        """The object is gone: forget every wish and the back-off; a running attempt goes on."""
        self._backoff.forget(key)
        self._delays.pop(key, None)
        self._fresh.pop(key, None)
        self._resync.pop(key, None)
        if key in self._running:
            self._running[key] = None
        self._trim_heap()

    async def take(self) -> str:
        """Wait for the next key; the caller must say `done` when its attempt has ended.

        Raises QueueClosed once the queue is closed. Safe to cancel: no key is lost.
        """
        async with self._turn:
            while True:
                if self._closed:
                    raise QueueClosed("the work queue is closed")
                self._promote()
                self._news.clear()
                seconds = self._seconds_to_wait()
                if seconds == 0.0:
                    return self._pop()
                await self._wait_for_news(seconds)

    def done(self, key: str, *, asked: bool = True) -> None:
        """The attempt for ``key`` has ended; a wish that came meanwhile becomes ready.

        One that ``asked`` nothing of the server costs ``limits.ATTEMPT_IDLE_SHARE`` of what the
        bucket took for it.
        """
        if key not in self._running:
            raise InternalError(f"done({key!r}) for a key that no worker holds")
        if not asked:
            self._bucket.give_back(1.0 - limits.ATTEMPT_IDLE_SHARE)
            self._news.set()  # whoever waits for a token may have one now
        wish = self._running.pop(key)
        if wish is not None and not self._closed:
            self._make_ready(key, fresh=wish)

    def close(self) -> None:
        """Give out no more keys; every waiting and later `take` raises QueueClosed."""
        self._closed = True
        self._news.set()

    def __len__(self) -> int:
        """Keys that are ready."""
        return len(self._fresh) + len(self._resync)

    def failures(self, key: str) -> int:
        """Failed attempts of ``key`` in a row."""
        return self._backoff.failures(key)

    def statistics(self) -> QueueStatistics:
        """A snapshot of the numbers; cheap enough for every scrape."""
        heads = [next(iter(line.values())) for line in (self._fresh, self._resync) if line]
        return QueueStatistics(
            depth=len(self),
            delayed=len(self._delays),
            running=len(self._running),
            failing=len(self._backoff),
            peak_depth=self._peak_depth,
            added=self._added,
            coalesced=self._coalesced,
            taken=self._taken,
            retried=self._retried,
            oldest_ready_seconds=clock.monotonic() - min(heads) if heads else 0.0,
        )

    def _wanted_now(self, key: str) -> bool:
        return key in self._fresh or key in self._resync or self._running.get(key) is not None

    def _make_ready(self, key: str, *, fresh: bool) -> None:
        if key in self._running:
            wish = self._running[key]
            self._coalesced += wish is not None
            self._running[key] = fresh or bool(wish)
            return
        if key in self._fresh or (key in self._resync and not fresh):
            self._coalesced += 1
            return
        now = clock.monotonic()
        if fresh:
            # A resync that turns fresh keeps the time since when it waits, not its place.
            since = self._resync.pop(key, None)
            self._coalesced += since is not None
            self._fresh[key] = now if since is None else since
        else:
            self._resync[key] = now
        self._peak_depth = max(self._peak_depth, len(self))
        self._news.set()

    def _promote(self) -> None:
        """Make every delayed key ready whose time has come."""
        now = clock.monotonic()
        while self._heap and self._heap[0][0] <= now:
            _, order, key = heapq.heappop(self._heap)
            delay = self._delays.get(key)
            if delay is not None and delay.order == order:
                del self._delays[key]
                self._make_ready(key, fresh=delay.fresh)

    def _seconds_to_wait(self) -> float | None:
        """0.0 if a key may be taken now; None if only news can change that."""
        if self._fresh or self._resync:
            return self._bucket.wait_seconds()
        return max(self._heap[0][0] - clock.monotonic(), 1e-6) if self._heap else None

    def _pop(self) -> str:
        overdue = self._fresh_in_a_row >= limits.RESYNC_TURN_TAKES
        line = self._resync if self._resync and (overdue or not self._fresh) else self._fresh
        self._fresh_in_a_row = self._fresh_in_a_row + 1 if line is self._fresh else 0
        key, _ = line.popitem(last=False)
        assert key not in self._running
        self._bucket.spend()
        self._running[key] = None
        self._taken += 1
        return key

    async def _wait_for_news(self, seconds: float | None) -> None:
        if seconds is None:
            await self._news.wait()
            return
        async with open_tasks() as tasks:
            tasks.start(self._ring_in(seconds), name="work queue timer")
            await self._news.wait()

    async def _ring_in(self, seconds: float) -> None:
        await clock.sleep(seconds)
        self._news.set()

    def _trim_heap(self) -> None:
        """Entries whose wish was replaced or dropped stay in the heap; keep them few."""
        if len(self._heap) > 2 * len(self._delays) + 64:
            self._heap = _heap_of(self._delays.items())


def _heap_of(delays: Iterable[tuple[str, _Delay]]) -> list[tuple[float, int, str]]:
    heap = [(delay.due, delay.order, key) for key, delay in delays]
    heapq.heapify(heap)
    return heap
