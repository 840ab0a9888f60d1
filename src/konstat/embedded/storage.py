"""The store under the embedded API: one revision counter and an append-only log.

Objects are plain dicts that nobody changes once they are stored: a write puts a new dict in the
place of the old one, so the log keeps both for nothing and a view of an earlier revision is a
walk back through the log. `konstat.embedded.verbs` writes, `konstat.embedded.lists` reads views,
`konstat.embedded.watches` follows the log.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from konstat.base import limits

Object: TypeAlias = dict[str, Any]
Operation: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]

FIRST_REVISION: Final = 1
# Followers of this name are woken by changes of every table.
ANY: Final = "*"


class Key(NamedTuple):
    """Where an object stands in its table."""

    namespace: str
    name: str

    @property
    def text(self) -> str:
        """The key as etcd would have it: its order is the order of lists (C74)."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Change(NamedTuple):
    """One entry of the log. ``new`` is None for a deletion, ``old`` for a creation."""

    revision: int
    table: str
    key: Key
    old: Object | None
    new: Object | None

    @property
    def operation(self) -> Operation:
        """What happened."""
        if self.new is None:
            return "DELETED"
        return "ADDED" if self.old is None else "MODIFIED"


def clone(obj: Any) -> Any:
    """A deep copy of plain JSON data."""
    return msgspec.json.decode(msgspec.json.encode(obj))


class Compacted(Exception):
    """A revision is older than the history that is kept; ``oldest`` is the oldest one that is."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} is compacted: the oldest is {oldest}")
        self.revision = revision
        self.oldest = oldest


class Table:
    """The objects of one storage and what was changed in it."""

    def __init__(self) -> None:
        self.objects: dict[Key, Object] = {}
        self.changes: list[Change] = []
        self.followers: dict[int, Callable[[], None]] = {}

    def after(self, revision: int) -> int:
        """The index of the first change later than ``revision``."""
        return bisect_right(self.changes, revision, key=lambda change: change.revision)


class Storage:
    """All tables of one server.

    ``history`` bounds the number of changes that are kept over all tables; older ones are
    compacted as new ones come.
    """

    def __init__(self, *, history: int = limits.EMBEDDED_HISTORY) -> None:
        self.revision = FIRST_REVISION
        self.compacted = 0
        self._history = history
        self._tables: dict[str, Table] = {}
        self._log: list[Change] = []
        self._followers = 0

    # --- reading ------------------------------------------------------------------------------

    def get(self, table: str, key: Key) -> Object | None:
        """The stored object, not to be changed; None without one."""
        return self._table(table).objects.get(key)

    def scan(self, table: str, namespace: str = "") -> list[tuple[Key, Object]]:
        """What is stored now, in order of the keys; of one namespace if given."""
        return _ordered(self._table(table).objects, namespace)

    def count(self, table: str) -> int:
        """How many objects a table holds."""
        return len(self._table(table).objects)

    def scan_at(self, table: str, revision: int, namespace: str = "") -> list[tuple[Key, Object]]:
        """What was stored at ``revision``; raises Compacted when that is no longer known."""
        if revision == self.revision:
            return self.scan(table, namespace)
        self.require(revision)
        found = self._table(table)
        objects = dict(found.objects)
        for change in reversed(found.changes[found.after(revision) :]):
            if change.old is None:
                objects.pop(change.key, None)
            else:
                objects[change.key] = change.old
        return _ordered(objects, namespace)

    def require(self, revision: int) -> None:
        """Raise Compacted when changes after ``revision`` are no longer all known."""
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)

    def changes(self, table: str, after: int) -> Iterator[Change]:
        """The changes later than ``after``, oldest first; raises Compacted if some are gone."""
        self.require(after)
        found = self._table(table)
        return iter(found.changes[found.after(after) :])

    def tables(self) -> list[str]:
        """The names of the tables that hold objects."""
        return [name for name, table in self._tables.items() if table.objects]

    @property
    def log(self) -> list[Change]:
        """The changes that are kept, over all tables, oldest first."""
        return self._log

    # --- writing ------------------------------------------------------------------------------

    def put(self, table: str, key: Key, obj: Object) -> Object:
        """Store ``obj`` under the next revision, which becomes its resourceVersion.

        ``obj`` is taken over: the caller must not change it afterwards.
        """
        found = self._table(table)
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        old = found.objects.get(key)
        found.objects[key] = obj
        self._record(found, Change(self.revision, table, key, old, obj))
        return obj

    def remove(self, table: str, key: Key) -> int:
        """Delete what is stored under ``key``; the revision of the deletion."""
        found = self._table(table)
        old = found.objects.pop(key)
        self.revision += 1
        self._record(found, Change(self.revision, table, key, old, None))
        return self.revision

    def compact(self, revision: int) -> None:
        """Forget the changes up to ``revision``: reads and watches from before it end in 410."""
        self.compacted = max(self.compacted, min(revision, self.revision))
        self._log = [change for change in self._log if change.revision > self.compacted]
        for table in self._tables.values():
            del table.changes[: table.after(self.compacted)]
            self._wake(table)

    def _record(self, table: Table, change: Change) -> None:
        table.changes.append(change)
        self._log.append(change)
        if len(self._log) >= 2 * self._history:
            # In large steps: forgetting one change at a time would copy the log each time.
            self.compact(self._log[-self._history].revision)
        self._wake(table)
        self._wake(self._table(ANY))

    # --- followers ----------------------------------------------------------------------------

    def follow(self, table: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call ``wake`` after each change of a table until the function returned is called."""
        self._followers += 1
        number = self._followers
        followers = self._table(table).followers
        followers[number] = wake

        def stop() -> None:
            followers.pop(number, None)

        return stop

    def followers(self) -> int:
        """How many watches are open."""
        return sum(len(table.followers) for table in self._tables.values())

    def wake_all(self) -> None:
        """Have every follower look: the revision has moved, or the server is ending."""
        for table in list(self._tables.values()):
            self._wake(table)

    def _wake(self, table: Table) -> None:
        for wake in tuple(table.followers.values()):
            wake()

    def _table(self, name: str) -> Table:
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = Table()
        return table


def _ordered(objects: dict[Key, Object], namespace: str) -> list[tuple[Key, Object]]:
    items = objects.items()
    if namespace:
        return sorted((item for item in items if item[0].namespace == namespace), key=_key)
    return sorted(items, key=_key)


def _key(item: tuple[Key, Object]) -> str:
    return item[0].text
