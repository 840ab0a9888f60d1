"""What a namespace that is being deleted says of itself. Pure.

Before: `konstat.actors.content`. After: `konstat.actors.namespaces`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from konstat.actors.content import Obj
from konstat.base import clock
from konstat.objects.kind import Kind

FINALIZER: Final = "kubernetes"

_GOOD: Final = (
    (
        "NamespaceDeletionDiscoveryFailure",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    (
        "NamespaceFinalizersRemaining",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
)


class Remains(msgspec.Struct, kw_only=True):
    """What a look at a namespace found: counts by kind and by finalizer, and what went wrong."""

    objects: dict[Kind, int] = msgspec.field(default_factory=dict)
    finalizers: dict[str, int] = msgspec.field(default_factory=dict)
    undiscovered: Sequence[str] = ()
    failures: Sequence[str] = ()

    @property
    def empty(self) -> bool:
        """Whether the namespace may go."""
        return not (self.objects or self.undiscovered or self.failures)


def conditions(
    stored: Sequence[Mapping[str, object]], remains: Remains, *, now: datetime
) -> list[Obj]:
    """The five conditions in their order; a transition time moves when the status flips."""
    bad = _bad(remains)
    before = {str(entry.get("type")): entry for entry in stored}
    found: list[Obj] = []
    for type, reason, message in _GOOD:
        status = "False"
        if type in bad:
            status = "True"
            reason, message = bad[type]
        known = before.get(type)
        since = known.get("lastTransitionTime") if known and known.get("status") == status else None
        found.append(
            {
                "type": type,
                "status": status,
                "lastTransitionTime": since or clock.timestamp(now),
                "reason": reason,
                "message": message,
            }
        )
    return found


def _bad(remains: Remains) -> dict[str, tuple[str, str]]:
    bad: dict[str, tuple[str, str]] = {}
    if remains.undiscovered:
        text = "Discovery failed for some groups, "
        text += f"{len(remains.undiscovered)} failing: {', '.join(remains.undiscovered)}"
        bad["NamespaceDeletionDiscoveryFailure"] = ("DiscoveryFailed", text)
    if remains.failures:
        text = f"Failed to delete all resource types, {len(remains.failures)} remaining: "
        text += ", ".join(remains.failures)
        bad["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", text)
    if remains.objects:
        counted = sorted(
            f"{kind.plural}.{kind.group} has {count} resource instances"
            for kind, count in remains.objects.items()
        )
        text = f"Some resources are remaining: {', '.join(counted)}"
        bad["NamespaceContentRemaining"] = ("SomeResourcesRemain", text)
    if remains.finalizers:
        counted = sorted(
            f"{name} in {count} resource instances" for name, count in remains.finalizers.items()
        )
        text = f"Some content in the namespace has finalizers remaining: {', '.join(counted)}"
        bad["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", text)
    return bad
