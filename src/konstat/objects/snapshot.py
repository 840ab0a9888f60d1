"""`Snapshot`: one object as the server gave it at one resourceVersion, frozen and compact."""

from __future__ import annotations

from typing import Any

import msgspec

from konstat.objects import codec
from konstat.objects.kind import Kind
from konstat.objects.meta import Metadata, Ref


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a cache keeps of one object: its identity, what is looked up often, and its JSON.

    ``data`` is compact JSON without managedFields, decoded on use; every decode gives values of
    its own, so nobody can change the cache.
    """

    kind: Kind
    namespace: str
    name: str
    uid: str
    resource_version: str
    generation: int
    deleting: bool
    owner_uids: tuple[str, ...]
    controller_uid: str
    labels: dict[str, str] | None
    data: bytes

    @classmethod
    def from_json(cls, kind: Kind, data: bytes | msgspec.Raw) -> Snapshot:
        """Build from one object's JSON; raises ValueError when it has no name or uid."""
        metadata, compacted = codec.compact(data)
        return cls._build(kind, metadata, compacted)

    @classmethod
    def from_content(cls, kind: Kind, content: dict[str, Any]) -> Snapshot:
        """Build from a decoded object."""
        return cls.from_json(kind, codec.encode(content))

    @classmethod
    def _build(cls, kind: Kind, metadata: Metadata, data: bytes) -> Snapshot:
        if not metadata.name or not metadata.uid:
            raise ValueError(f"a {kind.kind} without metadata.name or metadata.uid")
        owners = metadata.owner_references or ()
        controller = metadata.controller
        return cls(
            kind=kind,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            generation=metadata.generation,
            deleting=metadata.deletion_timestamp is not None,
            owner_uids=tuple(owner.uid for owner in owners),
            controller_uid=controller.uid if controller else "",
            labels=metadata.labels,
            data=data,
        )

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.namespace, self.name)

    @property
    def content(self) -> dict[str, Any]:
        """The object as plain dicts and lists, fresh on every call."""
        return codec.decode(self.data)


def newer(version: str, than: str) -> bool | None:
    """Whether resourceVersion ``version`` is later than ``than``; None if they cannot be compared.

    Decimal versions of one kind are ordered (KEP-5504); others only equal or not (F74).
    """
    if version == than:
        return False
    if version.isascii() and than.isascii() and version.isdigit() and than.isdigit():
        return int(version) > int(than)
    return None
