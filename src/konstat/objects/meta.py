"""Object metadata, owner references and the identity of one object."""

from __future__ import annotations

import msgspec

from konstat.objects.kind import Kind


class OwnerReference(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False
):
    """Who owns an object; at most one owner has ``controller`` true."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Metadata(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False
):
    """``metadata`` of any object, without managedFields (half of a cache's weight).

    Times are the text that the server sent; `konstat.base.clock.parse_timestamp` reads them.
    """

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object, if any."""
        return next((o for o in self.owner_references or () if o.controller), None)


class Ref(msgspec.Struct, frozen=True, gc=False):
    """Where an object lives: kind, namespace (empty for cluster scope) and name.

    A recreated object has the same `Ref` and another uid.
    """

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind.kind} {place}"
