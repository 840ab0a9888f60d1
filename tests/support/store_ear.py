"""What a store's subscriber hears, and a whole list at once."""

from __future__ import annotations

from konstat.cache import Change, Store
from konstat.cache.replacement import Replacement
from konstat.objects.snapshot import Snapshot


class Ear:
    """A subscriber that remembers."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def __call__(self, change: Change) -> None:
        self.changes.append(change)

    @property
    def versions(self) -> list[tuple[str | None, str | None]]:
        return [
            (c.old and c.old.resource_version, c.new and c.new.resource_version)
            for c in self.changes
        ]


def replace(store: Store, version: str, *snapshots: Snapshot, reset: bool = False) -> None:
    replacement = Replacement(store)
    for snapshot in snapshots:
        replacement.add(snapshot)
    for _ in replacement.commit(version, reset=reset):
        pass
