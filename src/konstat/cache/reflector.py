"""`Reflector`: brings what a watcher tells into a store.

Before it: `konstat.cache.watcher`. After it: `konstat.cache.informer`, which knows both.
"""

from __future__ import annotations

from konstat.base import clock
from konstat.cache.replacement import Replacement
from konstat.cache.states import (
    Applied,
    Bookmark,
    Deleted,
    ListBegan,
    Listed,
    ListEnded,
    Output,
    Unlisted,
)
from konstat.cache.store import Store


class Reflector:
    """Applies outputs in order; lists are collected and take effect when they are complete."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._replacement: Replacement | None = None

    async def take(self, output: Output) -> bool:
        """Apply one output; False when an event seems to be lost, so that a list is wanted.

        What a subscriber of the store raises goes up.
        """
        match output:
            case Applied(snapshot=snapshot):
                self._store.apply(snapshot)
            case Deleted(snapshot=snapshot):
                self._store.delete(snapshot)
            case Bookmark(version=version):
                return not self._store.overdue(version)
            case ListBegan():
                self._replacement = Replacement(self._store)
            case Listed(snapshots=snapshots):
                for snapshot in snapshots:
                    self._collected().add(snapshot)
            case Unlisted(snapshot=snapshot):
                self._collected().remove(snapshot)
            case ListEnded(version=version, reset=reset):
                for _ in self._collected().commit(version, reset=reset):
                    await clock.sleep(0)
                self._replacement = None
        return True

    def _collected(self) -> Replacement:
        assert self._replacement is not None, "a list goes on that did not begin"
        return self._replacement
