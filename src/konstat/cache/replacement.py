"""`Replacement`: a whole list takes the place of what a store holds.

`konstat.cache.reflector` collects the pages here and commits only a list that is complete, so
halves of two lists never mix (F8). Until the commit the store answers as before.

The list at resourceVersion L decides about an object of the store if the object is not newer
than L: it is then as listed, and gone if it is not listed (F14). What is newer than L is our own
write, which the list could not show yet; it stays (F33, F35). After an epoch reset (etcd was
restored, F30) resourceVersions of before mean nothing: the list decides about everything but
what we wrote after it was asked for, and equal versions are not trusted (F31).
"""

from __future__ import annotations

from collections.abc import Iterator

from konstat.base import limits
from konstat.cache.store import Store
from konstat.objects.snapshot import Snapshot, newer


class Replacement:
    """Made when a list is asked for, filled page by page, committed once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._moment = store.moment()
        self._listed: dict[str, Snapshot] = {}

    def add(self, snapshot: Snapshot) -> None:
        """An object of the list; the store's own copy is kept when it is the same."""
        present = self._store.by_uid(snapshot.uid)
        if present is None or not _same(present, snapshot):
            present = snapshot.compressed()
        self._listed[snapshot.uid] = present

    def remove(self, snapshot: Snapshot) -> None:
        """An object of the list was deleted before the list was complete."""
        self._listed.pop(snapshot.uid, None)

    def __len__(self) -> int:
        return len(self._listed)

    def commit(self, version: str, *, reset: bool) -> Iterator[None]:
        """Bring the store to the list, whose resourceVersion is ``version``.

        ``reset`` says that the server went back in time. Gives control back after every slice,
        so that the loop may turn; own writes may come in between. Must be run to its end.
        """
        self._store.begin_list(version)
        for number, snapshot in enumerate(self._listed.values(), 1):
            self._commit_listed(snapshot, version, reset=reset)
            if number % limits.DECODE_SLICE_OBJECTS == 0:
                yield
        missing = [uid for uid in self._store.uids() if uid not in self._listed]
        for number, uid in enumerate(missing, 1):
            present = self._store.by_uid(uid)
            if present is not None and self._decides(present, version, reset=reset):
                self._store.end(present, version=version)
            if number % limits.DECODE_SLICE_OBJECTS == 0:
                yield

    def _commit_listed(self, snapshot: Snapshot, version: str, *, reset: bool) -> None:
        store = self._store
        stone = store.gone.get(snapshot.uid)
        if stone is not None:
            if stone.moment > self._moment:
                return  # deleted since the list was asked for
            store.gone.remove(snapshot.uid)
        present = store.by_uid(snapshot.uid)
        if present is None:
            namesake = store.get(snapshot.namespace, snapshot.name)
            if namesake is not None:
                if not self._decides(namesake, version, reset=reset):
                    return  # the listed one is its predecessor
                store.end(namesake, version=version)
            store.show(None, snapshot)
        elif not self._decides(present, version, reset=reset):
            self._keep_ours(present, snapshot)
        elif not _same(present, snapshot):
            store.show(present, snapshot)
        elif store.overlay(snapshot.uid) is not None:
            store.settle(present)

    def _decides(self, present: Snapshot, version: str, *, reset: bool) -> bool:
        """Whether the list, as of ``version``, is later knowledge than ``present``."""
        overlay = self._store.overlay(present.uid)
        ours_since = overlay is not None and overlay.order > self._moment
        later = None if reset else newer(present.resource_version, than=version)
        return not ours_since if later is None else not later

    def _keep_ours(self, present: Snapshot, snapshot: Snapshot) -> None:
        """Our write stays on top; what came before it in the gap may have been foreign."""
        overlay = self._store.overlay(snapshot.uid)
        if overlay is not None and (
            overlay.base is None or overlay.base.resource_version != snapshot.resource_version
        ):
            self._store.reveal(present, snapshot)


def _same(present: Snapshot, listed: Snapshot) -> bool:
    if present is listed:
        return True  # `add` has compared it already; comparing unpacks both
    return present.resource_version == listed.resource_version and present.data == listed.data
