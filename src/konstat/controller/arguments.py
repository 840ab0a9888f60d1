"""What an author may give to the calls of a context, and the words for what he may not. Pure.

Shared by `live_context` and the FakeContext of `konstat.testing`, so that a unit test refuses what
a cluster would.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from konstat.errors import ManifestError, NamesakeError
from konstat.objects.kind import Kind
from konstat.objects.resource import Resource
from konstat.objects.snapshot import Snapshot
from konstat.services.events import EventType
from konstat.status import Component
from konstat.status.condition import usable_message, usable_reason


def metadata_of(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata of a manifest; empty for what is none, of which `writing.prepare` tells."""
    metadata = manifest.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def label_of(manifest: Mapping[str, Any], kind: Kind) -> str:
    """A child's kind and name, as evidence and messages call it."""
    return f"{kind.kind} {metadata_of(manifest).get('name') or ''}"


def require_component(component: Any, label: str) -> None:
    """Raise TypeError unless ``component``, the argument of an apply, is one or None."""
    if not isinstance(component, Component | None):
        raise TypeError(
            f"context.apply({label}, component={component!r}): give a component of context.status"
        )


def require_class(cls: Any, where: str) -> None:
    """Raise ManifestError unless ``cls``, an argument of ``where``, is a Resource class."""
    if not (isinstance(cls, type) and issubclass(cls, Resource)):
        raise ManifestError(f"{where} takes a Resource class such as ConfigMap, not {cls!r}")


def require_classes(kinds: Any) -> Iterable[type[Resource[Any, Any]]]:
    """The argument of a prune, each class checked as it is taken; raises ManifestError."""
    if isinstance(kinds, type):  # one class alone, which can be iterated over as well
        raise ManifestError(f"context.prune takes a list of Resource classes, not {kinds!r}")
    for cls in kinds:
        require_class(cls, "context.prune")
        yield cls


def require_child(found: Snapshot, resource: Resource[Any, Any]) -> None:
    """Raise ManifestError or NamesakeError unless ``found`` is the resource's own, to delete."""
    if found.uid == resource.uid:
        raise ManifestError(
            f"context.delete deletes children, and {found.ref} is the resource itself: use"
            " context.client.delete"
        )
    if found.controller_uid != resource.uid:
        raise NamesakeError(
            f"{found.ref} is not controlled by {resource.ref}: it is not ours to delete"
        )


def usable_event(reason: Any, message: Any, type: Any) -> tuple[str, str, EventType]:
    """The words of an Event, which never fails: what is no text is recorded as it prints."""
    kind: EventType = "Normal" if type == "Normal" else "Warning"
    return usable_reason(str(reason)), usable_message(str(message)), kind
