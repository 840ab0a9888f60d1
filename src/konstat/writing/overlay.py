"""Where a write shows its answer, so that the next attempt sees it before the watch does."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot


class Overlay(Protocol):
    """The caches as a writer sees them; `konstat.controller.views.Views` is one."""

    def writing(self, kind: Kind, namespace: str, name: str) -> AbstractContextManager[None]:
        """A block around one write and its `put_own`: its echo does not wake the writer."""
        ...

    def put_own(self, snapshot: Snapshot) -> None:
        """Show the answer of our own write until the watch catches up."""
        ...
