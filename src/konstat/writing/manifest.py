"""A child's manifest as it is sent: named, placed, owned, and marked with its own hash. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from konstat.errors import FormerChild, ManifestError, NamesakeError
from konstat.objects import codec
from konstat.objects.diff import applied_hash
from konstat.objects.kind import Kind
from konstat.objects.meta import OwnerReference
from konstat.objects.snapshot import Snapshot
from konstat.writing.values import find_unwritable

# Kept on each child: the hash of the manifest that was applied last.
APPLIED_ANNOTATION = "konstat.dev/applied"

_SERVER_SIDE = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """What a child needs to know of the resource that owns it."""

    kind: Kind
    reference: OwnerReference
    namespace: str


def prepare(manifest: Mapping[str, Any], *, kind: Kind, owner: Owner) -> dict[str, Any]:
    """The manifest as it is sent: named, placed, owned, and marked with its own hash.

    Raises ManifestError when it has no name, or lies where its owner cannot own it.
    """
    metadata = _metadata_of(manifest, kind)
    if not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise ManifestError(
            f"a {kind.kind} to apply has no metadata.name: give it one that follows from its owner"
        )
    for server_side in _SERVER_SIDE:
        metadata.pop(server_side, None)
    _place(metadata, kind, owner)
    listed = metadata.get("ownerReferences") or []
    if not isinstance(listed, list | tuple) or not all(isinstance(o, Mapping) for o in listed):
        raise ManifestError(
            f"{kind.kind} {metadata['name']}: metadata.ownerReferences is {listed!r}: leave it out,"
            " konstat adds the owner"
        )
    others = [o for o in listed if o.get("uid") != owner.reference.uid]
    metadata["ownerReferences"] = [*others, msgspec.to_builtins(owner.reference)]
    content = {k: v for k, v in manifest.items() if k not in ("metadata", "status")}
    wanted = {**content, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    annotations = dict(metadata.pop("annotations", None) or {})
    annotations.pop(APPLIED_ANNOTATION, None)
    if annotations:
        metadata["annotations"] = annotations
    metadata["annotations"] = {**annotations, APPLIED_ANNOTATION: _hash(wanted)}
    return wanted


def _metadata_of(manifest: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    metadata = manifest.get("metadata") or {}
    parts = {"metadata": metadata}
    if isinstance(metadata, Mapping):
        parts |= {f"metadata.{n}": metadata.get(n) or {} for n in ("annotations", "labels")}
    for path, part in parts.items():
        if not isinstance(part, Mapping):
            raise ManifestError(f"{path} of a {kind.kind} to apply is {part!r}: give a mapping")
    return dict(metadata)


def _hash(wanted: Mapping[str, Any]) -> str:
    """The hash of what is sent; raises ManifestError when it cannot be written as JSON."""
    try:
        return applied_hash(wanted)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        name = f"{wanted['kind']} {wanted['metadata']['name']}"
        find_unwritable(wanted, name)
        raise ManifestError(f"{name} cannot be written as JSON: {error}") from error


def _place(metadata: dict[str, Any], kind: Kind, owner: Owner) -> None:
    """Put the child into its owner's namespace, the only place where it can be owned."""
    if kind.namespaced:
        metadata["namespace"] = metadata.get("namespace") or owner.namespace
    else:
        metadata.pop("namespace", None)
    namespace = metadata.get("namespace", "")
    if owner.namespace and namespace != owner.namespace:
        place = f"in namespace {namespace!r}" if namespace else "at cluster scope"
        raise ManifestError(
            f"{kind.kind} {metadata['name']} {place} cannot be owned by {owner.reference.kind}"
            f" {owner.reference.name} in namespace {owner.namespace!r}: Kubernetes would delete it"
            " as an orphan; write it with context.client, and remove it in a cleanup"
        )
    if not namespace and kind.namespaced:
        raise ManifestError(
            f"{kind.kind} {metadata['name']} needs metadata.namespace: its owner"
            f" {owner.reference.kind} {owner.reference.name} has none"
        )


def refuse_namesake(live: Snapshot, owner: Owner) -> None:
    """Raise NamesakeError unless ``owner`` controls the object; never adopt it."""
    if live.controller_uid == owner.reference.uid:
        return
    controller = codec.split(live.data)[0].controller
    reference = owner.reference
    if controller and (controller.kind, controller.name) == (reference.kind, reference.name):
        raise FormerChild(
            f"{live.ref} belongs to the former {reference.kind} {reference.name}"
            f" (uid {controller.uid}) and is still there; it is made anew once it is removed"
        )
    by = f"{controller.kind} {controller.name} (uid {controller.uid})" if controller else "nobody"
    raise NamesakeError(
        f"{live.ref} exists and is controlled by {by}, not by {owner.reference.kind}"
        f" {owner.reference.name}: delete or rename it, or choose another name for the child"
    )


def hash_of(wanted: Mapping[str, Any]) -> str:
    """The hash that a prepared manifest carries."""
    return wanted["metadata"]["annotations"][APPLIED_ANNOTATION]


def hash_on(live: Snapshot) -> str:
    """The hash of the manifest that was applied last to a child; empty if none was."""
    return live.annotations.get(APPLIED_ANNOTATION, "")


def refuse_second_wish(earlier: Snapshot, wanted: Mapping[str, Any]) -> None:
    """Raise ManifestError when an attempt wants one child in two ways, which would take turns.

    ``earlier`` is the child as the attempt applied it, ``wanted`` the next prepared manifest.
    """
    if hash_on(earlier) != hash_of(wanted):
        raise ManifestError(
            f"{earlier.ref} is applied twice in one attempt with other content: put it all"
            " into one manifest, or give the second object another name"
        )
