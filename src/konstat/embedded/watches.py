"""Watches: a cursor in the log that a shell pulls from, so that no watcher ever sees a gap.

A `WatchStream` has lines to give, or none at the moment; it says until when it may sleep, and
calls its shell's wake function when the log grows. A watcher that is so slow that its next change
was compacted is ended (C92). Events of objects that enter or leave a selection, bookmarks, initial
events and ends by time are decided here, from the log alone (C82 to C93).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from konstat.base import chance, clock, limits
from konstat.embedded import status_errors as errors
from konstat.embedded.lists import parse_version, too_large_version
from konstat.embedded.negotiate import warning
from konstat.embedded.options import ListOptions
from konstat.embedded.registry import Object, ResourceType
from konstat.embedded.selectors import Selection
from konstat.embedded.state import State
from konstat.embedded.status_errors import StatusError
from konstat.embedded.storage import ANY, Change, Compacted

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class Watched(NamedTuple):
    """What is watched. ``shape`` turns an object into the form that the client asked for."""

    kind: ResourceType
    namespace: str
    selection: Selection
    shape: Callable[[Object, bool], Any]


class WatchStream:
    """One watch, as an answer that has no end of its own; not thread-safe.

    ``next_line`` gives the next line or None; ``ended`` tells that no more will come; ``due`` is
    the monotonic moment at which to look again although nothing woke it.
    """

    def __init__(self, state: State, watched: Watched, options: ListOptions) -> None:
        self.status = 200
        self.headers: Mapping[str, str] = _headers(watched.kind)
        self.ended = False
        self._state = state
        self._watched = watched
        self._lines: deque[bytes] = deque()
        self._present: Iterator[bytes] = iter(())
        self._cursor = 0
        self._begun = clock.monotonic()
        self._deadline = self._begun + _seconds(options)
        self._bookmarks = options.bookmarks
        self._bookmarked = False
        self._sent = False
        self._next_bookmark = self._begun + limits.EMBEDDED_BOOKMARK_SECONDS
        self._ahead = 0
        self._initial = bool(options.initial_events)
        self._wake: Callable[[], None] = _nothing
        self._unfollow: Callable[[], None] = _nothing
        self._forget: Callable[[], None] = _nothing
        self._start(options)
        if not self._ahead:
            self._follow(watched.kind.storage_name)
        self._unserved = False
        self._forget = state.registry.when_removed(watched.kind, self._removed)

    # --- what a shell does --------------------------------------------------------------------

    def on_wake(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` when there may be news."""
        self._wake = wake

    def next_line(self) -> bytes | None:
        """The next event as a line of JSON; None when there is none at the moment."""
        line = next(self._present, None)
        if line is None and not self._lines and not self.ended:
            self._pull()
            line = next(self._present, None)
        if line is not None:
            return line
        if self._lines:
            return self._lines.popleft()
        now = clock.monotonic()
        if not self.ended and (self._unserved or now >= self._deadline):
            self.close()
        elif not self.ended and self._bookmarks and self._bookmark_due(now):
            return self._bookmark()
        return None

    @property
    def due(self) -> float:
        """The monotonic moment at which something happens by itself."""
        moments = [self._deadline]
        if self._ahead and self._initial:
            moments.append(self._begun + limits.EMBEDDED_AHEAD_SECONDS)
        if self._bookmarks and not self._ahead:
            moments.append(self._next_bookmark)
            if not self._bookmarked:
                moments.append(self._deadline - limits.EMBEDDED_BOOKMARK_EARLY_SECONDS)
        return min(moments)

    def close(self) -> None:
        """End the stream; lines that were not taken are lost."""
        if not self.ended:
            self.ended = True
            self._present = iter(())
            self._unfollow()
            self._forget()
            self._wake()

    # --- start --------------------------------------------------------------------------------

    def _start(self, options: ListOptions) -> None:
        storage = self._state.storage
        try:
            asked = parse_version(options.resource_version)
        except ValueError as error:
            raise errors.internal_error(str(error)) from error
        if asked > storage.revision:
            self._ahead = self._cursor = asked
            # The revision that ends the wait may be one of any table.
            self._follow(ANY)
            return
        if self._initial or (options.initial_events is None and asked == 0):
            self._list_now()
        elif asked == 0:
            self._cursor = storage.revision
        else:
            self._cursor = asked

    def _list_now(self) -> None:
        """Everything that is there as ADDED, and the bookmark that ends it if asked for (C87)."""
        storage = self._state.storage
        self._cursor = storage.revision
        found = storage.scan(self._watched.kind.storage_name, self._watched.namespace)
        self._present = self._present_lines([stored for _, stored in found])

    def _present_lines(self, found: Iterable[Object]) -> Iterator[bytes]:
        """The lines of what there was, each made when it is taken: all of them may be large."""
        watched = self._watched
        for stored in found:
            view = self._state.view(watched.kind, stored)
            if watched.selection.matches(view):
                yield self._shaped_line("ADDED", view)
        if self._initial and self._bookmarks:
            yield self._bookmark_line({INITIAL_EVENTS_END: "true"})

    def _follow(self, table: str) -> None:
        self._unfollow()
        self._unfollow = self._state.storage.follow(table, self._woken)

    # --- events -------------------------------------------------------------------------------

    def _removed(self) -> None:
        """The kind is served no more: the stream ends once all before is told."""
        self._unserved = True
        self._wake()

    def _woken(self) -> None:
        self._wake()

    def _pull(self) -> None:
        storage = self._state.storage
        if self._ahead:
            if storage.revision < self._ahead:
                late = clock.monotonic() - self._begun >= limits.EMBEDDED_AHEAD_SECONDS
                if self._initial and late:
                    self._fail(too_large_version(self._ahead, storage.revision))
                return
            self._ahead = 0
            self._follow(self._watched.kind.storage_name)
            if self._initial:
                self._list_now()
                return
        try:
            changes = storage.changes(self._watched.kind.storage_name, self._cursor)
        except Compacted as error:
            self._fail(
                errors.expired(f"too old resource version: {error.revision} ({storage.compacted})")
            )
            return
        self._take(changes)

    def _take(self, changes: Iterable[Change]) -> None:
        latest = self._state.storage.revision
        for change in changes:
            if self._watched.namespace and change.key.namespace != self._watched.namespace:
                continue
            self._event(change)
        self._cursor = latest

    def _event(self, change: Change) -> None:
        """The event of a change as this selection sees it (C63, C90, C91)."""
        kind, selection = self._watched.kind, self._watched.selection
        old = None if change.old is None else self._state.view(kind, change.old)
        new = None if change.new is None else self._state.view(kind, change.new)
        had = old is not None and selection.matches(old)
        has = new is not None and selection.matches(new)
        if has and new is not None:
            self._emit("MODIFIED" if had else "ADDED", new)
        elif had and old is not None:
            self._emit("DELETED", _at(old, change.revision))

    def _emit(self, word: str, obj: Object) -> None:
        self._lines.append(self._shaped_line(word, obj))

    def _shaped_line(self, word: str, obj: Object) -> bytes:
        # The columns of a Table are told once, in the first event.
        shaped = self._watched.shape(obj, not self._sent)
        self._sent = True
        return _line(word, shaped)

    def _fail(self, error: StatusError) -> None:
        self._lines.append(_line("ERROR", error.status()))
        self.close()

    # --- bookmarks ----------------------------------------------------------------------------

    def _bookmark_due(self, now: float) -> bool:
        if self._ahead:
            return False
        early = self._deadline - limits.EMBEDDED_BOOKMARK_EARLY_SECONDS
        return now >= self._next_bookmark or (not self._bookmarked and early <= now)

    def _bookmark(self) -> bytes:
        now = clock.monotonic()
        self._next_bookmark = now + limits.EMBEDDED_BOOKMARK_SECONDS
        if now >= self._deadline - limits.EMBEDDED_BOOKMARK_EARLY_SECONDS:
            self._bookmarked = True
        return self._bookmark_line(None)

    def _bookmark_line(self, annotations: dict[str, str] | None) -> bytes:
        kind = self._watched.kind
        metadata: dict[str, Any] = {"resourceVersion": str(self._cursor)}
        if annotations:
            metadata["annotations"] = annotations
        bookmark = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
        shaped = self._watched.shape(bookmark, not self._sent)
        self._sent = True
        return _line("BOOKMARK", shaped)


def _headers(kind: ResourceType) -> dict[str, str]:
    headers = {"content-type": "application/json"}
    if kind.deprecation:
        headers["warning"] = warning(kind.deprecation)
    return headers


def _nothing() -> None:
    return None


def _line(word: str, content: Any) -> bytes:
    return msgspec.json.encode({"type": word, "object": content}) + b"\n"


def _at(obj: Object, revision: int) -> Object:
    """The last content of an object under the revision of its end."""
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}


def _seconds(options: ListOptions) -> float:
    """How long a watch lives: as asked, else at random between the least and twice that (C89)."""
    if options.timeout_seconds is not None and options.timeout_seconds > 0:
        return float(options.timeout_seconds)
    least = limits.EMBEDDED_WATCH_SECONDS
    return chance.uniform(least, 2 * least)
