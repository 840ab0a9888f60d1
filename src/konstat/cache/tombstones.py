"""`Tombstones`: deletions that are remembered for a while.

The answer of a write can come after the watch has shown the deletion, and an event can come
after our own DELETE was answered; neither may raise the object again. `konstat.cache.store` asks.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from konstat.objects.snapshot import Snapshot, newer


class Tombstone(NamedTuple):
    """``version`` is the resourceVersion of the deletion, empty for our own DELETE."""

    version: str
    moment: int


class Tombstones:
    """The last ``maximum`` deletions by uid; the server never gives a uid twice."""

    def __init__(self, maximum: int) -> None:
        assert maximum > 0
        self._maximum = maximum
        self._stones: OrderedDict[str, Tombstone] = OrderedDict()

    def add(self, uid: str, *, version: str, moment: int) -> None:
        """Remember that ``uid`` was deleted; the oldest deletion may be forgotten for it."""
        self._stones[uid] = Tombstone(version, moment)
        self._stones.move_to_end(uid)
        if len(self._stones) > self._maximum:
            self._stones.popitem(last=False)

    def covers(self, snapshot: Snapshot) -> bool:
        """Whether ``snapshot`` is a state from before the deletion of its object."""
        stone = self._stones.get(snapshot.uid)
        if stone is None:
            return False
        return not stone.version or newer(snapshot.resource_version, than=stone.version) is not True

    def get(self, uid: str) -> Tombstone | None:
        """The deletion of ``uid``, if it is remembered."""
        return self._stones.get(uid)

    def remove(self, uid: str) -> None:
        """The deletion was undone: the server went back in time."""
        self._stones.pop(uid, None)

    def __contains__(self, uid: str) -> bool:
        return uid in self._stones

    def __len__(self) -> int:
        return len(self._stones)
