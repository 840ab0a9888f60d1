"""`Informer`: one kind in one place, watched for ever, readable when it is truthful.

`konstat.cache.informers` shares them among controllers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, Never, TypeAlias

import msgspec

from konstat.base import clock
from konstat.base.waiting import wait_at_most
from konstat.cache.reflector import Reflector
from konstat.cache.states import ListEnded, Output, State, Unavailable
from konstat.cache.store import OnChange, Store, StoreStatistics
from konstat.cache.watcher import Watcher, WatcherStatistics
from konstat.client.plain import PlainClient
from konstat.errors import KindForbidden, KindNotInstalled, KindUnavailable, KindUnsynced
from konstat.objects.kind import Kind

Readable: TypeAlias = Literal["unsynced", "synced", "forbidden", "not installed"]


class InformerStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The health of one informer.

    ``problem`` is empty while all is well; a synced informer with a problem answers with what it
    saw last, and ``silent_seconds`` (None before the first contact) tells how old that may be.
    """

    kind: Kind
    namespace: str
    state: Readable
    problem: str
    silent_seconds: float | None
    watcher: WatcherStatistics
    store: StoreStatistics


class Informer:
    """Keeps `store` as the server has it; ``namespace`` empty means all.

    *States.* ``unsynced`` until the first list is complete, then ``synced``; ``forbidden`` and
    ``not installed`` while the server refuses the kind, from either; it recovers by itself. An
    outage leaves a synced informer synced, with a `problem`. *Guarantees.* `require` never gives
    a store that was not filled by a whole list since the kind could last be read.
    """

    def __init__(self, client: PlainClient, kind: Kind, *, namespace: str = "") -> None:
        self.kind = kind
        self.namespace = namespace if kind.namespaced else ""
        self.store = Store(kind, namespace=self.namespace)
        self._reflector = Reflector(self.store)
        self._watcher = Watcher(client, kind, namespace=self.namespace, emit=self._take)
        self._state: Readable = "unsynced"
        self._refusal = ""
        self._changed = asyncio.Event()

    @property
    def state(self) -> Readable:
        """Whether the store can be read, and if not, why not."""
        return self._state

    @property
    def problem(self) -> str:
        """What is wrong, in words; empty for a synced informer that is in contact."""
        match self._state:
            case "synced":
                return self._watcher.problem
            case "unsynced":
                return self._watcher.problem or "the first list has not arrived yet"
            case _:
                return self._refusal

    @property
    def fails(self) -> bool:
        """Whether the last try to read the kind went wrong; a slow first list is no failure."""
        return self._state != "synced" and bool(self._watcher.problem)

    @property
    def last_contact_monotonic(self) -> float | None:
        """When the server last said anything about this kind; None before that."""
        return self._watcher.statistics().last_contact_monotonic

    def require(self) -> Store:
        """The store, if what it says is the truth as far as the server told it.

        Raises KindUnsynced, KindForbidden or KindNotInstalled otherwise, never gives an empty
        store in their place (F13).
        """
        if self._state != "synced":
            raise self._unavailable()
        return self.store

    def subscribe(self, on_change: OnChange, *, writer: str = "") -> Callable[[], None]:
        """Hear of every present object at once and of every change; see `Store.subscribe`."""
        return self.store.subscribe(on_change, writer=writer)

    async def wait_synced(self, timeout_seconds: float) -> None:
        """Wait until the store can be read.

        Raises KindForbidden or KindNotInstalled as soon as that is known, KindUnsynced when the
        time has passed.
        """
        deadline = clock.monotonic() + timeout_seconds
        while self._state == "unsynced":
            left = deadline - clock.monotonic()
            if not await wait_at_most(self._changed, timeout_seconds=left):
                break
        self.require()

    async def wait_changed(self) -> None:
        """Wait until `state` is another."""
        await self._changed.wait()

    async def run(self) -> Never:
        """Watch until cancelled; what a subscriber raises ends it."""
        state = self._watcher.first()
        while True:
            self._enter(state)
            state = await self._watcher.step(state)

    def statistics(self) -> InformerStatistics:
        """A snapshot of the numbers; cheap enough for every scrape."""
        watcher = self._watcher.statistics()
        contact = watcher.last_contact_monotonic
        return InformerStatistics(
            kind=self.kind,
            namespace=self.namespace,
            state=self._state,
            problem=self.problem,
            silent_seconds=None if contact is None else clock.monotonic() - contact,
            watcher=watcher,
            store=self.store.statistics(),
        )

    async def _take(self, output: Output) -> None:
        if not await self._reflector.take(output):
            self._watcher.want_list()
        if isinstance(output, ListEnded):
            self._set("synced")

    def _enter(self, state: State) -> None:
        if isinstance(state, Unavailable):
            self._refusal = self._watcher.problem
            self._set(state.reason)

    def _set(self, state: Readable) -> None:
        if state != self._state:
            self._state = state
            # Those who wait hold the old event; whoever comes later waits for the next change.
            self._changed.set()
            self._changed = asyncio.Event()

    def _unavailable(self) -> KindUnavailable:
        place = f" in namespace {self.namespace}" if self.namespace else ""
        match self._state:
            case "forbidden":
                return KindForbidden(
                    f"{self.kind} may not be listed and watched{place}: grant it to this "
                    f"operator's service account ({self.problem})"
                )
            case "not installed":
                return KindNotInstalled(
                    f"{self.kind} is not served{place}: install its CustomResourceDefinition "
                    f"({self.problem})"
                )
            case _:
                return KindUnsynced(f"{self.kind} was not listed yet{place}: {self.problem}")
