"""What a watcher can be doing, and what it tells: the vocabulary of `konstat.cache.watcher`.

Streaming ──────────────┐ initial events, then live ones
   │ not offered        │
   ▼                    ▼
Listing ──all pages──▶ Watching ──silent to its end──▶ Checking
   ▲                    │  ▲                             │  │
   │  410, fruitless    │  └──────────── same epoch ─────┘  │
   └────────────────────┴───────────── server went back ────┘

any ──error──▶ Resting ──▶ where it was        any ──403, 404──▶ Unavailable ──▶ Listing
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from konstat.objects.snapshot import Snapshot

Reason: TypeAlias = Literal["forbidden", "not installed"]


# --- states ---------------------------------------------------------------------------------


class Listing(msgspec.Struct, frozen=True):
    """Asks for one page; an empty ``token`` asks for the first, which begins a new list."""

    token: str = ""


class Streaming(msgspec.Struct, frozen=True):
    """Asks for a watch that begins with all present objects (KEP-3157)."""


class Watching(msgspec.Struct, frozen=True):
    """Asks for the events after ``version``."""

    version: str


class Checking(msgspec.Struct, frozen=True):
    """Asks for the server's own version, as nothing was heard after ``version`` (C86)."""

    version: str


class Resting(msgspec.Struct, frozen=True):
    """Waits before going on with ``then``."""

    seconds: float
    then: Listing | Streaming | Watching | Checking


class Unavailable(msgspec.Struct, frozen=True):
    """The kind cannot be read; tries again after ``seconds``."""

    reason: Reason
    seconds: float


State: TypeAlias = Listing | Streaming | Watching | Checking | Resting | Unavailable


# --- outputs --------------------------------------------------------------------------------


class ListBegan(msgspec.Struct, frozen=True):
    """A list was asked for; what was listed before without `ListEnded` is void."""


class Listed(msgspec.Struct, frozen=True):
    """Objects of the list."""

    snapshots: list[Snapshot]


class Unlisted(msgspec.Struct, frozen=True):
    """An object of the list was deleted before the list ended."""

    snapshot: Snapshot


class ListEnded(msgspec.Struct, frozen=True):
    """The list is complete as of ``version``; ``reset`` if the server went back in time."""

    version: str
    reset: bool


class Applied(msgspec.Struct, frozen=True):
    """An object was added or modified."""

    snapshot: Snapshot


class Deleted(msgspec.Struct, frozen=True):
    """An object was deleted; its last state."""

    snapshot: Snapshot


class Bookmark(msgspec.Struct, frozen=True):
    """Every event up to ``version`` has been told."""

    version: str


Output: TypeAlias = ListBegan | Listed | Unlisted | ListEnded | Applied | Deleted | Bookmark
