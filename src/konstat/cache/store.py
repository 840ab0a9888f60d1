"""`Store`: the objects of one kind as last seen, what we wrote ourselves included.

The watch (`konstat.cache.reflector`) applies what it sees; a writer puts the answer of its own
write on top (`Store.put_own`), so that the next read shows it although the watch lags behind.
Subscribers hear of every change but the exact echo of their own.

What is dropped, and what is not:

- An object never goes back to an older resourceVersion of the same uid (S5); duplicates and
  stragglers of a deleted uid are dropped (F11, F12, F15).
- Between an own write and its answer the writer is not told of its echo (`Store.writing`).
- While an own write lies on top, the watch still shows older versions. Those that are ours are
  echoes and are dropped; one that is not ours is a change that our write hid, and is announced.
- Another uid under the same name is the end of the old object and the beginning of a new one:
  two changes.
- A whole list is the truth for everything that is not newer than the list itself, and for
  everything at all when the server went back in time (`konstat.cache.replacement`).

All methods are synchronous, for one event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain

import msgspec

from konstat.base import limits
from konstat.cache.index import Index, Values
from konstat.cache.tombstones import Tombstones
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot, newer


class Change(msgspec.Struct, frozen=True, gc=False):
    """One step in an object's life: ``old`` is None when it is new, ``new`` when it is gone.

    When it is gone, ``old`` is its last state (C91).
    """

    old: Snapshot | None
    new: Snapshot | None


OnChange = Callable[[Change], None]


class StoreStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes and counts of a store.

    ``pending`` counts objects with an own write that the watch has not shown yet; ``changes``
    counts what happened to objects, by us too, ``echoes`` what the watch showed of our own
    writes, ``dropped`` events that told nothing new. ``bytes`` is the JSON alone, as it is kept.
    """

    objects: int
    bytes: int
    pending: int
    tombstones: int
    subscribers: int
    changes: int
    echoes: int
    dropped: int


class Overlay(msgspec.Struct, kw_only=True):
    """Our writes on top of what the watch has shown of one object.

    ``base`` is what it has shown last (None: nothing yet), ``own`` the versions that we wrote and
    that it has not shown, ``order`` tells which of two moments was later.
    """

    base: Snapshot | None
    own: list[str]
    order: int


class _Flight(msgspec.Struct, kw_only=True):
    """A write of ours whose answer is not there yet.

    ``base`` is the object before the first event that came meanwhile; ``seen`` are the versions
    of those events, ``own`` the ones that the answers name; ``depth`` counts writes at once.
    """

    writer: str
    depth: int = 0
    base: Snapshot | None = None
    seen: list[str] = []
    own: list[str] = []

    def saw(self, present: Snapshot | None, version: str) -> None:
        if not self.seen:
            self.base = present
        # More events than one write can cause are foreign ones anyway.
        if len(self.seen) <= limits.STORE_OWN_VERSIONS:
            self.seen.append(version)

    @property
    def foreign(self) -> bool:
        """Whether an event came that is not the echo of our write."""
        return not set(self.seen) <= set(self.own)


class _Subscriber(msgspec.Struct, frozen=True):
    on_change: OnChange
    writer: str


class Store:
    """Objects of ``kind``, in one ``namespace`` or (empty) in all.

    Reading gives frozen `Snapshot` values. Lists come sorted by namespace and name, so that what
    is derived from them does not flap.
    """

    def __init__(self, kind: Kind, *, namespace: str = "") -> None:
        self.kind = kind
        self.namespace = namespace
        self._names: dict[str, dict[str, Snapshot]] = {}
        self._uids: dict[str, Snapshot] = {}
        self._owners = Index(lambda snapshot: snapshot.owner_uids)
        self._indices: dict[str, Index] = {}
        self._overlays: dict[str, Overlay] = {}
        self._flights: dict[tuple[str, str], _Flight] = {}
        self._gone = Tombstones(limits.STORE_TOMBSTONES)
        self._subscribers: dict[int, _Subscriber] = {}
        self._subscriptions = 0
        self._moment = 0
        self._list_version = ""
        self._bytes = self._changes = self._echoes = self._dropped = 0

    # --- reading ------------------------------------------------------------------------------

    def get(self, namespace: str, name: str) -> Snapshot | None:
        """The object of that name; ``namespace`` is empty for a cluster-scoped kind."""
        return self._names.get(namespace, {}).get(name)

    def by_uid(self, uid: str) -> Snapshot | None:
        """The object with that uid."""
        return self._uids.get(uid)

    def by_owner(self, uid: str) -> list[Snapshot]:
        """The objects with an owner reference to ``uid``, controlling or not."""
        return self._sorted(self._uids[found] for found in self._owners.uids(uid))

    def list(
        self, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> list[Snapshot]:
        """The objects of a namespace, or of all (None), that carry all of ``labels``."""
        if namespace is None:
            found: Iterable[Snapshot] = chain.from_iterable(
                names.values() for names in self._names.values()
            )
        else:
            found = self._names.get(namespace, {}).values()
        if labels:
            wanted = labels.items()
            found = (s for s in found if wanted <= (s.labels or {}).items())
        return self._sorted(found)

    def index(self, name: str, values: Values) -> None:
        """Look objects up by what ``values`` reads off them, present ones included.

        ``values`` must depend on the snapshot alone. Raises ValueError when ``name`` is taken by
        another function.
        """
        present = self._indices.get(name)
        if present is not None:
            if present.values is not values:
                raise ValueError(
                    f"the store of {self.kind} has an index {name!r} of another function: "
                    "choose another name"
                )
            return
        index = self._indices[name] = Index(values)
        for snapshot in self._uids.values():
            index.replace(None, snapshot)

    def by_index(self, name: str, value: str) -> list[Snapshot]:
        """The objects for which the function of index ``name`` gives ``value``.

        Raises KeyError when no such index was made.
        """
        return self._sorted(self._uids[uid] for uid in self._indices[name].uids(value))

    def __len__(self) -> int:
        return len(self._uids)

    def subscribe(self, on_change: OnChange, *, writer: str = "") -> Callable[[], None]:
        """Call ``on_change`` for every present object at once, then for every change.

        Changes that `put_own` and `own_deletion` make under the same ``writer`` are not told: the
        writer knows them. Returns the end of the subscription. What ``on_change`` raises goes up
        to whoever brought the change.
        """
        self._subscriptions += 1
        number = self._subscriptions
        self._subscribers[number] = _Subscriber(on_change, writer)
        for snapshot in tuple(self._uids.values()):
            on_change(Change(None, snapshot))

        def unsubscribe() -> None:
            self._subscribers.pop(number, None)

        return unsubscribe

    def statistics(self) -> StoreStatistics:
        """A snapshot of the numbers; cheap enough for every scrape."""
        return StoreStatistics(
            objects=len(self._uids),
            bytes=self._bytes,
            pending=len(self._overlays),
            tombstones=len(self._gone),
            subscribers=len(self._subscribers),
            changes=self._changes,
            echoes=self._echoes,
            dropped=self._dropped,
        )

    # --- our own writes -----------------------------------------------------------------------

    @contextmanager
    def writing(self, namespace: str, name: str, *, writer: str = "") -> Iterator[None]:
        """Write to an object in this block, and put the answer within it.

        On a fast network the watch shows a write before its answer arrives, more often than not.
        So while the block lasts, ``writer`` is not told what the watch shows of this object
        (reads show it at once); at its end it is told, unless it was all our own. Where no answer
        came, it is told too. Deletions are told at once.
        """
        key = (namespace, name)
        flight = self._flights.setdefault(key, _Flight(writer=writer))
        flight.depth += 1
        try:
            yield
        finally:
            flight.depth -= 1
            if not flight.depth:
                del self._flights[key]
                present = self.get(namespace, name)
                if present is not None and flight.foreign:
                    base = flight.base
                    same = base is not None and base.uid == present.uid
                    self._tell(Change(base if same else None, present), only=flight.writer)
                elif flight.seen:
                    self._echoes += 1

    def put_own(self, snapshot: Snapshot, *, writer: str = "") -> None:
        """Show the answer of our own write until the watch catches up; never older over newer.

        Subscribers of the same ``writer`` hear nothing; others do. An object whose deletion was
        seen already, or that a later list does not hold, stays gone. *Caveat*: where
        resourceVersions cannot be compared (F74), an object that is there is left to the watch,
        as older must not replace newer.
        """
        if (self.namespace and snapshot.namespace != self.namespace) or snapshot.uid in self._gone:
            return
        uid = snapshot.uid
        flight = self._flights.get((snapshot.namespace, snapshot.name))
        if flight is not None:
            flight.own.append(snapshot.resource_version)
        present = self._uids.get(uid)
        if present is None:
            listed = newer(snapshot.resource_version, than=self._list_version) is False
            if listed or not self._end_namesake(snapshot):
                return
        elif newer(snapshot.resource_version, than=present.resource_version) is not True:
            return
        overlay = self._overlays.get(uid)
        if overlay is None:
            overlay = self._overlays[uid] = Overlay(base=present, own=[], order=0)
        overlay.own = [*overlay.own, snapshot.resource_version][-limits.STORE_OWN_VERSIONS :]
        overlay.order = self.moment()
        snapshot = self._keep(present, snapshot)
        self._tell(Change(present, snapshot), unless=writer)

    def own_deletion(self, uid: str, *, writer: str = "") -> None:
        """Our DELETE removed the object at once: hide it, and ignore what still comes of it.

        Not for an object that lingers behind finalizers: put its answer with `put_own`.
        """
        present = self._uids.get(uid)
        self._gone.add(uid, version="", moment=self.moment())
        if present is not None:
            self._forget(present)
            self._tell(Change(present, None), unless=writer)

    @property
    def pending(self) -> int:
        """Objects with an own write that the watch has not shown yet."""
        return len(self._overlays)

    def overdue(self, version: str) -> bool:
        """Whether the watch, now at ``version``, has passed an own write without showing it.

        Then it lost an event, or the object is gone unseen: only a list can tell (F10).
        """
        return any(
            newer(version, than=own) is True or version == own
            for overlay in self._overlays.values()
            for own in overlay.own[-1:]
        )

    # --- what the watch shows -----------------------------------------------------------------

    def apply(self, snapshot: Snapshot) -> None:
        """ADDED or MODIFIED."""
        uid = snapshot.uid
        present = self._uids.get(uid)
        if present is None:
            if self._gone.covers(snapshot) or not self._end_namesake(snapshot):
                self._dropped += 1
                return
            self._gone.remove(uid)
            self.show(None, snapshot)
            return
        later = newer(snapshot.resource_version, than=present.resource_version)
        if uid in self._overlays:
            self._apply_under_overlay(present, snapshot, later)
        elif later is False:
            self._dropped += 1
        else:
            self.show(present, snapshot)

    def delete(self, snapshot: Snapshot) -> None:
        """DELETED, with the object's last state (C63, C91)."""
        uid = snapshot.uid
        present = self._uids.get(uid)
        if present is not None:
            if newer(present.resource_version, than=snapshot.resource_version) is True:
                self._dropped += 1
                return
        elif uid in self._gone:
            self._echoes += 1
            return
        self._gone.add(uid, version=snapshot.resource_version, moment=self.moment())
        if present is not None:
            self._forget(present)
            self._tell(Change(snapshot, None))

    def _apply_under_overlay(
        self, present: Snapshot, snapshot: Snapshot, later: bool | None
    ) -> None:
        overlay = self._overlays[snapshot.uid]
        version = snapshot.resource_version
        if version in overlay.own:
            self._echoes += 1
            # The watch shows our writes in order: earlier ones will not come any more.
            del overlay.own[: overlay.own.index(version) + 1]
            overlay.base = snapshot
            if not overlay.own:
                del self._overlays[snapshot.uid]
        elif later is not False:
            self.show(present, snapshot)
        elif overlay.base is None or (
            newer(version, than=overlay.base.resource_version) is not False
        ):
            self.reveal(present, snapshot)
        else:
            self._dropped += 1

    # --- for `konstat.cache.replacement` ------------------------------------------------------

    def begin_list(self, version: str) -> None:
        """What a list at ``version`` says is about to be shown."""
        self._list_version = version

    def show(self, present: Snapshot | None, snapshot: Snapshot) -> None:
        """``snapshot`` is the state now; nothing of ours lies on top any more."""
        self._overlays.pop(snapshot.uid, None)
        snapshot = self._keep(present, snapshot)
        flight = self._flights.get((snapshot.namespace, snapshot.name))
        if flight is not None:
            flight.saw(present, snapshot.resource_version)
        self._tell(Change(present, snapshot), unless=None if flight is None else flight.writer)

    def reveal(self, present: Snapshot, snapshot: Snapshot) -> None:
        """Announce ``snapshot``, a foreign change that our write on top of it hid."""
        overlay = self._overlays[snapshot.uid]
        base, overlay.base = overlay.base, snapshot
        self._tell(Change(base, present))

    def settle(self, present: Snapshot) -> None:
        """A list shows our write as the state now; what it may have hidden is announced."""
        overlay = self._overlays.pop(present.uid)
        self._tell(Change(overlay.base, present))

    def end(self, present: Snapshot, *, version: str) -> None:
        """The object is not there any more, as the server was at ``version``."""
        self._forget(present)
        self._gone.add(present.uid, version=version, moment=self.moment())
        self._tell(Change(present, None))

    def overlay(self, uid: str) -> Overlay | None:
        """Our writes on top of the object, if there are any."""
        return self._overlays.get(uid)

    @property
    def gone(self) -> Tombstones:
        """The deletions that are remembered."""
        return self._gone

    def uids(self) -> tuple[str, ...]:
        """The uids of all present objects."""
        return tuple(self._uids)

    def moment(self) -> int:
        """A number that is larger than every one before."""
        self._moment += 1
        return self._moment

    # --- parts --------------------------------------------------------------------------------

    def _end_namesake(self, snapshot: Snapshot) -> bool:
        """End an older object of the same name; False if ``snapshot`` itself is the older one."""
        namesake = self.get(snapshot.namespace, snapshot.name)
        if namesake is None:
            return True
        if newer(snapshot.resource_version, than=namesake.resource_version) is False:
            return False
        self.end(namesake, version=namesake.resource_version)
        return True

    def _keep(self, present: Snapshot | None, snapshot: Snapshot) -> Snapshot:
        assert present is None or present.uid == snapshot.uid
        snapshot = snapshot.compressed()
        self._uids[snapshot.uid] = snapshot
        self._names.setdefault(snapshot.namespace, {})[snapshot.name] = snapshot
        self._bytes += len(snapshot.packed) - (len(present.packed) if present is not None else 0)
        for index in self._all_indices():
            index.replace(present, snapshot)
        return snapshot

    def _forget(self, present: Snapshot) -> None:
        del self._uids[present.uid]
        self._overlays.pop(present.uid, None)
        names = self._names[present.namespace]
        del names[present.name]
        if not names:
            del self._names[present.namespace]
        self._bytes -= len(present.packed)
        for index in self._all_indices():
            index.replace(present, None)

    def _all_indices(self) -> Iterator[Index]:
        yield self._owners
        yield from self._indices.values()

    def _tell(self, change: Change, *, unless: str | None = None, only: str | None = None) -> None:
        """Call the subscribers; not those of one writer, or those alone."""
        self._changes += 1
        for subscriber in tuple(self._subscribers.values()):
            if subscriber.writer != unless and only in (None, subscriber.writer):
                subscriber.on_change(change)

    @staticmethod
    def _sorted(found: Iterable[Snapshot]) -> list[Snapshot]:
        return sorted(found, key=lambda s: (s.namespace, s.name))
