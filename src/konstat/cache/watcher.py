"""`Watcher`: lists a kind, then watches it for ever, as a state machine with one step.

Each `Watcher.step` does one thing (one page, one stream, one wait) and returns what to do next;
`konstat.cache.states` draws the machine. What is seen leaves through ``emit``, in order;
`konstat.cache.reflector` brings it into a store. `konstat.client` sends the requests.

How it stays right and cheap:

- A stream that ends or breaks is resumed from the last complete event, without a new list
  (F1, F2, F4). Only Expired, or several streams that end at once without news, ask for a new
  list (F6, F7); a list that breaks begins anew (F8).
- Silence is bounded by the server's own ``timeoutSeconds``, never by bookmarks, which may be
  absent (F3, F9).
- A watch from a version that the server has not reached is silent (C86). So a stream that ended
  after a long silence is followed, at most once per watch time-out, by a one-object list that
  shows the server's version; a lower one than ours means that etcd was restored (F30).
- Every wait grows with jitter while nothing works, and obeys Retry-After (L2). A forbidden or
  absent kind is tried again for ever (F55, F61).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import msgspec

from konstat.base import chance, clock, limits
from konstat.base.backoff import Backoff
from konstat.cache.states import (
    Applied,
    Bookmark,
    Checking,
    Deleted,
    ListBegan,
    Listed,
    ListEnded,
    Listing,
    Output,
    Reason,
    Resting,
    State,
    Streaming,
    Unavailable,
    Unlisted,
    Watching,
)
from konstat.client.calls import Page
from konstat.client.plain import PlainClient
from konstat.client.watch import WatchEvent
from konstat.errors import (
    APIError,
    ConfigError,
    Expired,
    Forbidden,
    KonstatError,
    MethodNotAllowed,
    NotFound,
    TransportError,
)
from konstat.objects import codec
from konstat.objects.kind import Kind
from konstat.objects.meta import Metadata
from konstat.objects.snapshot import Snapshot, newer

Emit = Callable[[Output], Awaitable[None]]

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
# Servers that do not know initial events refuse with 400 or 422; ours says 501.
_NOT_OFFERED = (400, 422, 501)
# A credential that cannot be read now may be there again in a moment (F63).
_FAILURES = (APIError, TransportError, ConfigError)


class WatcherStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What a watcher has asked for and heard.

    ``lists`` counts whole lists that were begun, ``streams`` watches that were opened, ``events``
    what came on them, ``errors`` answers and breaks that made it wait, ``epochs`` how often the
    server went back in time. ``last_contact_monotonic`` is the monotonic time at which the server
    last said anything; None before that.
    """

    lists: int
    streams: int
    events: int
    errors: int
    epochs: int
    last_contact_monotonic: float | None


class _Stream(msgspec.Struct):
    """One watch request: asked how, come how far.

    ``news`` are events and bookmarks after the list; ``heard_at`` is when the last one came.
    """

    version: str
    initial: bool
    heard_at: float = 0.0
    opened: bool = False
    news: bool = False
    error: KonstatError | None = None


class Watcher:
    """Reads one kind in one ``namespace`` or (empty) in all.

    ``problem`` tells why nothing is heard at the moment, empty while all is well. What ``emit``
    raises leaves `step` as it is: it is not the server's fault.
    """

    def __init__(self, client: PlainClient, kind: Kind, *, namespace: str = "", emit: Emit) -> None:
        self.kind = kind
        self.namespace = namespace
        self.problem = ""
        self._client = client
        self._emit = emit
        self._backoff = Backoff(
            first_seconds=limits.WATCH_BACKOFF_FIRST_SECONDS,
            maximum_seconds=limits.WATCH_BACKOFF_MAXIMUM_SECONDS,
        )
        self._away = Backoff(
            first_seconds=limits.UNAVAILABLE_FIRST_SECONDS,
            maximum_seconds=limits.UNAVAILABLE_RETRY_SECONDS,
        )
        self._tries = 0  # waits since something worked
        self._refusals = 0  # answers in a row that say forbidden or not installed
        self._fruitless = 0  # streams in a row that ended at once without news
        self._broken_starts = 0  # streams in a row that broke among their initial events
        self._initial_events = True  # the server offers them, as far as we know
        self._list_wanted = False
        self._seen = ""  # the newest version that the server told
        self._listed_at = self._checked_at = clock.monotonic()
        self._lists = self._streams = self._events = self._errors = self._epochs = 0
        self._last_contact: float | None = None

    def first(self) -> State:
        """Where to begin."""
        return self._fresh()

    def want_list(self) -> None:
        """List again at the next bookmark or end of stream: an event seems to be lost."""
        self._list_wanted = True

    async def step(self, state: State) -> State:
        """Do what ``state`` says and return what to do next."""
        match state:
            case Listing():
                return await self._list(state)
            case Streaming():
                return await self._watch(_Stream(version="", initial=True))
            case Watching(version=version):
                return await self._watch(_Stream(version=version, initial=False))
            case Checking():
                return await self._check(state)
            case Resting(seconds=seconds, then=then):
                await clock.sleep(seconds)
                return then
            case Unavailable(seconds=seconds):
                await clock.sleep(seconds)
                return self._fresh()

    def statistics(self) -> WatcherStatistics:
        """A snapshot of the numbers."""
        return WatcherStatistics(
            lists=self._lists,
            streams=self._streams,
            events=self._events,
            errors=self._errors,
            epochs=self._epochs,
            last_contact_monotonic=self._last_contact,
        )

    # --- lists --------------------------------------------------------------------------------

    def _fresh(self) -> Streaming | Listing:
        return Streaming() if self._initial_events else Listing()

    async def _list(self, state: Listing) -> State:
        if not state.token:
            await self._list_begins()
        try:
            page = await self._page(state.token)
        except _FAILURES as error:
            return self._failed(error, Listing() if isinstance(error, Expired) else state)
        self._heard()
        size = limits.DECODE_SLICE_OBJECTS
        for start in range(0, len(page.items), size):
            try:
                snapshots = [self._snapshot(raw) for raw in page.items[start : start + size]]
            except TransportError as error:
                return self._failed(error, Listing())
            await self._emit(Listed(snapshots))
            await clock.sleep(0)
        if page.continue_token:
            return Listing(page.continue_token)
        await self._list_ends(page.resource_version)
        return Watching(page.resource_version)

    async def _page(self, token: str) -> Page:
        # No resourceVersion: the latest state, also from a server that lags behind (F33).
        page = await self._client.list_page(
            self.kind,
            namespace=self.namespace,
            limit=limits.LIST_PAGE_OBJECTS,
            continue_token=token,
        )
        if page.continue_token and page.continue_token == token:
            raise TransportError(
                f"the list of {self.kind.resource} does not go on: "
                "its next page has the same continue token"
            )
        return page

    async def _list_begins(self) -> None:
        self._lists += 1
        await self._emit(ListBegan())

    async def _list_ends(self, version: str) -> None:
        reset = newer(self._seen, than=version) is True
        self._epochs += reset
        self._seen = version
        self._list_wanted = False
        self._refusals = 0
        self._listed_at = clock.monotonic()
        await self._emit(ListEnded(version, reset=reset))

    async def _check(self, state: Checking) -> State:
        self._checked_at = clock.monotonic()
        try:
            page = await self._client.list_page(self.kind, namespace=self.namespace, limit=1)
        except _FAILURES as error:
            return self._failed(error, state)
        self._heard()
        went_back = newer(state.version, than=page.resource_version) is True
        return self._fresh() if went_back else Watching(state.version)

    # --- streams ------------------------------------------------------------------------------

    async def _watch(self, stream: _Stream) -> State:
        if stream.initial:
            await self._list_begins()
        began_at = stream.heard_at = clock.monotonic()
        await self._read(stream)
        return self._after(stream, lived_seconds=self._seconds_since(began_at))

    async def _read(self, stream: _Stream) -> None:
        """Tell what comes on one stream until it ends; what broke it is left in ``error``."""
        async with AsyncExitStack() as stack:
            try:
                events = await stack.enter_async_context(self._open(stream))
            except _FAILURES as error:
                stream.error = error
                return
            stream.opened = True
            self._streams += 1
            self._heard()
            count = 0
            while stream.initial or not self._list_wanted:
                try:
                    event = await anext(events, None)
                    output = None if event is None else self._output(event, stream)
                except _FAILURES as error:
                    stream.error = error
                    return
                if output is None:
                    return
                await self._tell(output, stream)
                count += 1
                if count % limits.DECODE_SLICE_OBJECTS == 0:
                    await clock.sleep(0)

    def _open(self, stream: _Stream) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        # A server that knows no initial events gives no end of them; so the stream that begins
        # with them is asked for a short while only. The others end apart from each other.
        spread = chance.uniform(limits.WATCH_TIMEOUT_SECONDS * 0.8, limits.WATCH_TIMEOUT_SECONDS)
        return self._client.watch(
            self.kind,
            namespace=self.namespace,
            resource_version=stream.version or None,
            timeout_seconds=limits.WATCH_LIST_SECONDS if stream.initial else int(spread),
            send_initial_events=stream.initial,
        )

    def _output(self, event: WatchEvent, stream: _Stream) -> Output:
        if event.type == "BOOKMARK":
            metadata = self._metadata(event.object)
            if stream.initial and _INITIAL_EVENTS_END in (metadata.annotations or {}):
                return ListEnded(metadata.resource_version, reset=False)
            return Bookmark(metadata.resource_version)
        snapshot = self._snapshot(event.object)
        if event.type == "DELETED":
            return Unlisted(snapshot) if stream.initial else Deleted(snapshot)
        if event.type in ("ADDED", "MODIFIED"):
            return Listed([snapshot]) if stream.initial else Applied(snapshot)
        raise TransportError(
            f"the watch of {self.kind.resource} sent an event of type {event.type!r}: "
            "expected ADDED, MODIFIED, DELETED or BOOKMARK"
        )

    async def _tell(self, output: Output, stream: _Stream) -> None:
        """Pass one output on; only then does the stream count as come that far (F4)."""
        self._heard()
        self._events += 1
        stream.heard_at = clock.monotonic()
        match output:
            case ListEnded(version=version):
                stream.initial = False
                stream.version = version
                await self._list_ends(version)
            case Applied(snapshot=snapshot) | Deleted(snapshot=snapshot):
                await self._emit(output)
                stream.version = snapshot.resource_version
                self._see(snapshot.resource_version)
                stream.news = True
            case Bookmark(version=version):
                if stream.initial:
                    return
                await self._emit(output)
                stream.version = version
                self._see(version)
                stream.news = True
            case _:
                await self._emit(output)

    def _after(self, stream: _Stream, *, lived_seconds: float) -> State:
        """What follows a stream that ended or broke."""
        if stream.initial:
            return self._after_start(stream)
        quiet = self._seconds_since(stream.heard_at) >= limits.WATCH_QUIET_SECONDS
        fruitless = stream.opened and not stream.news and not quiet
        if stream.news or quiet:
            self._tries = self._fruitless = self._broken_starts = 0
        elif fruitless:
            self._fruitless += 1
        then: Listing | Streaming | Watching | Checking = Watching(stream.version)
        if self._list_due() or isinstance(stream.error, Expired):
            self._fruitless = 0
            then = self._fresh()
        elif quiet and self._seconds_since(self._checked_at) >= limits.WATCH_QUIET_CHECK_SECONDS:
            then = Checking(stream.version)
        if stream.error is not None:
            return self._failed(stream.error, then)
        if fruitless or lived_seconds < limits.WATCH_SHORT_SECONDS:
            return self._rest(then)
        return then

    def _list_due(self) -> bool:
        return (
            self._list_wanted
            or self._fruitless >= limits.WATCH_FRUITLESS_RESUMES
            or self._seconds_since(self._listed_at) >= limits.RELIST_SECONDS
        )

    def _after_start(self, stream: _Stream) -> State:
        """What follows a stream that did not get to the end of its initial events."""
        self._broken_starts += 1
        error = stream.error
        if isinstance(error, APIError) and error.code in _NOT_OFFERED:
            self._initial_events = False
            return Listing()
        if error is None or self._broken_starts >= limits.WATCH_FRUITLESS_RESUMES:
            self._initial_events = False
        then = self._fresh()
        return self._rest(then) if error is None else self._failed(error, then)

    # --- waiting ------------------------------------------------------------------------------

    def _rest(self, then: Listing | Streaming | Watching | Checking) -> Resting:
        seconds = self._backoff.delay_seconds(self._tries)
        self._tries += 1
        return Resting(seconds, then)

    def _failed(
        self, error: KonstatError, then: Listing | Streaming | Watching | Checking
    ) -> State:
        self._errors += 1
        self.problem = str(error)
        if isinstance(error, Forbidden):
            return self._unavailable("forbidden")
        if isinstance(error, (NotFound, MethodNotAllowed)):
            return self._unavailable("not installed")
        if isinstance(error, Expired) and self._tries == 0:
            self._tries = 1
            return then  # a version grew too old: nothing is wrong with the server
        rest = self._rest(then)
        asked = error.retry_after_seconds if isinstance(error, APIError) else None
        if asked is None or asked <= rest.seconds:
            return rest
        return Resting(min(asked, limits.RETRY_AFTER_MAXIMUM_SECONDS), then)

    def _unavailable(self, reason: Reason) -> Unavailable:
        seconds = self._away.delay_seconds(self._refusals)
        self._refusals += 1
        return Unavailable(reason, seconds)

    # --- parts --------------------------------------------------------------------------------

    def _heard(self) -> None:
        self._last_contact = clock.monotonic()
        self.problem = ""

    def _see(self, version: str) -> None:
        if newer(version, than=self._seen) is not False:
            self._seen = version

    def _seconds_since(self, moment: float) -> float:
        return clock.monotonic() - moment

    def _snapshot(self, raw: msgspec.Raw) -> Snapshot:
        try:
            return Snapshot.from_json(self.kind, raw)
        except ValueError as error:
            raise TransportError(
                f"the server sent an object of {self.kind.resource} that is none: {error}"
            ) from error

    def _metadata(self, raw: msgspec.Raw) -> Metadata:
        try:
            return codec.split(raw)[0]
        except ValueError as error:
            raise TransportError(
                f"the server sent a bookmark of {self.kind.resource} that is none: {error}"
            ) from error
