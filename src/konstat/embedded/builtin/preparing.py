"""What clients may not set: generation and status, before a write is stored.

`Preparing` is one kind's entry of a table: whether it has a generation and what moves it, whether
creating or updating it resets the status. Kinds with more to prepare add a function of their own
(`pods`, `services`, `claims` and others in this package).

Before: `defaults.complete`. After: validation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from konstat.embedded.builtin import defaults, encoding
from konstat.embedded.registry import Host

Object = dict[str, Any]


def _nothing(new: Object, host: Host) -> None:
    return None


def _nothing_more(new: Object, old: Object, host: Host) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class Preparing:
    """How one kind is prepared.

    ``moved_by`` names the parts whose change moves the generation (``spec``,
    ``metadata.annotations``); None for a kind without one. ``resets_status`` is false for kinds
    whose status a creator may give (Node). ``create`` and ``update`` do the rest.
    """

    definition: str
    moved_by: Sequence[str] | None = None
    generation: bool = False
    resets_status: bool = True
    create: Callable[[Object, Host], None] = _nothing
    update: Callable[[Object, Object, Host], None] = _nothing_more
    has_status: bool = field(default=True)

    def prepare_create(self, new: Object, host: Host) -> None:
        """Reset what a creator may not set."""
        if self.has_status and self.resets_status:
            reset_status(new, self.definition)
        if self.generation:
            new["metadata"]["generation"] = 1
        else:
            new["metadata"].pop("generation", None)
        self.create(new, host)

    def prepare_update(self, new: Object, old: Object, host: Host) -> None:
        """Keep what an update of the main resource may not change; move the generation."""
        if self.has_status:
            keep(new, old, "status")
        self.update(new, old, host)
        keep(new["metadata"], old["metadata"], "generation")
        if self.moved_by and any(part(new, path) != part(old, path) for path in self.moved_by):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def reset_status(obj: Object, definition: str) -> None:
    """Give ``obj`` the status of a fresh object."""
    obj.pop("status", None)
    fresh = encoding.empty(definition, "status")
    if fresh is not None:
        obj["status"] = fresh
    defaults.fill(obj, definition)


def keep(new: Object, old: Object, key: str) -> None:
    """Put the old value of ``key`` into ``new``."""
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)


def part(obj: Object, path: str) -> Any:
    """The value at a dotted path; ``*`` is all but metadata and the type."""
    if path == "*":
        return {k: v for k, v in obj.items() if k not in ("metadata", "apiVersion", "kind")}
    value: Any = obj
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value or None
