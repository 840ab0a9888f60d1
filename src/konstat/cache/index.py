"""`Index`: from a value that a function reads off an object to the objects that have it.

`konstat.cache.store` keeps one for owners and one for every name that a controller asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from konstat.objects.snapshot import Snapshot

Values = Callable[[Snapshot], Iterable[str]]


class Index:
    """Values to uids; ``values`` must give the same answer for the same snapshot every time.

    A value that one object has, the usual case of an owner with one child of a kind, costs a
    string; only shared values cost a dict.
    """

    def __init__(self, values: Values) -> None:
        self.values = values
        self._uids: dict[str, str | dict[str, None]] = {}

    def replace(self, old: Snapshot | None, new: Snapshot | None) -> None:
        """``new`` takes the place of ``old``; either may be None."""
        before = _distinct(self.values, old)
        after = _distinct(self.values, new)
        if old is not None and new is not None and old.uid == new.uid and before == after:
            return
        if old is not None:
            for value in before:
                self._remove(value, old.uid)
        if new is not None:
            for value in after:
                self._add(value, new.uid)

    def uids(self, value: str) -> Iterator[str]:
        """The uids that have ``value``, in the order in which they came."""
        held = self._uids.get(value)
        if isinstance(held, str):
            yield held
        elif held is not None:
            yield from held

    def __len__(self) -> int:
        return len(self._uids)

    def _add(self, value: str, uid: str) -> None:
        held = self._uids.get(value)
        if held is None:
            self._uids[value] = uid
        elif isinstance(held, dict):
            held[uid] = None
        elif held != uid:
            self._uids[value] = {held: None, uid: None}

    def _remove(self, value: str, uid: str) -> None:
        held = self._uids.get(value)
        if held == uid:
            del self._uids[value]
        elif isinstance(held, dict):
            held.pop(uid, None)
            if not held:
                del self._uids[value]


def _distinct(values: Values, snapshot: Snapshot | None) -> tuple[str, ...]:
    return () if snapshot is None else tuple(dict.fromkeys(values(snapshot)))
