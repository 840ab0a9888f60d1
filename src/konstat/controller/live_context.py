"""`LiveContext`: the context of an attempt on a cluster.

Reads come from the caches (`Views`), writes go through `konstat.writing`; every child that is
applied leaves its readiness as evidence, and a failure leaves the blame.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Literal, TypeVar

from konstat.base import clock, limits
from konstat.client import Client
from konstat.controller.context import Context
from konstat.controller.views import Views
from konstat.errors import AttemptOver, KonstatError, ManifestError, NamesakeError
from konstat.objects.crd import resource_schema
from konstat.objects.model import Status
from konstat.objects.resource import Resource
from konstat.objects.shape import Shape, shape_of_schema
from konstat.objects.snapshot import Snapshot
from konstat.readiness import Judge, Readiness, State, Turn, compute
from konstat.services.events import EventType
from konstat.services.metrics import Metrics
from konstat.status import Component
from konstat.status.condition import usable_message, usable_reason
from konstat.status.outcome import is_refusal, reason_of, text_of, turn_of
from konstat.writing import Applied, Applier, Owner, delete_child
from konstat.writing.apply import OnConflict, OnImmutable

R = TypeVar("R", bound=Resource[Any, Any])
C = TypeVar("C", bound=Resource[Any, Any])

# Records an event about the resource: reason, message, type.
Record = Callable[[str, str, EventType], None]


class LiveContext(Context[R]):
    """One attempt on a real API; lives as long as the attempt."""

    def __init__(
        self,
        resource: R,
        draft: Status,
        *,
        kinds: Mapping[tuple[str, str], type[Resource[Any, Any]]],
        views: Views,
        client: Client,
        applier: Applier,
        record: Record,
        metrics: Metrics,
        log: logging.LoggerAdapter[logging.Logger],
    ) -> None:
        super().__init__(resource, draft, log=log)
        self._client = client
        self._kinds = kinds
        self._views = views
        self._applier = applier
        self._record = record
        self._metrics = metrics
        # What this attempt wants to be there, whether or not it could be applied.
        self._wanted: set[tuple[str, str, str, str]] = set()
        self._open = True

    def close(self) -> None:
        """The attempt has ended: what still runs of it changes nothing any more."""
        self._open = False

    def _require_open(self, *, alive: bool = False) -> None:
        """Raise AttemptOver after the end; with ``alive`` also when a deletion came between (F46).

        A cleanup, which began on a resource that is being deleted, may apply what it needs.
        """
        if not self._open:
            raise AttemptOver(f"the attempt on {self.resource.ref} has ended: nothing is changed")
        if not alive:
            return
        newest = self._views.by_uid(self.resource.kind, self.resource.uid)
        if newest is None or (newest.deleting and not self.resource.deleting):
            raise AttemptOver(f"{self.resource.ref} is being deleted: no child is applied any more")

    @property
    def client(self) -> Client:
        return self._client

    async def apply(
        self,
        manifest: Any,
        *,
        component: Component | None = None,
        on_conflict: OnConflict = "take",
        on_immutable: OnImmutable = "fail",
        judge: Judge | None = None,
    ) -> Any:
        cls = type(manifest) if isinstance(manifest, Resource) else self._class_of(manifest)
        kind = cls.kind
        content = manifest.content if isinstance(manifest, Resource) else manifest
        name = str((content.get("metadata") or {}).get("name") or "")
        label = f"{kind.kind} {name}"
        try:
            self._require_open(alive=True)
            applied = await self._apply(
                content, cls, on_conflict=on_conflict, on_immutable=on_immutable
            )
        except KonstatError as error:
            self._observe(label, _blame(error), component)
            raise
        self._report(applied)
        self._observe(label, self._judge(applied, judge), component)
        return cls.from_json(applied.snapshot.data)

    async def _apply(
        self,
        content: Mapping[str, Any],
        cls: type[Resource[Any, Any]],
        *,
        on_conflict: OnConflict,
        on_immutable: OnImmutable,
    ) -> Applied:
        kind = cls.kind
        metadata = content.get("metadata") or {}
        namespace = str(metadata.get("namespace") or self.resource.namespace)
        space = namespace if kind.namespaced else ""
        self._wanted.add((kind.group, kind.kind, space, str(metadata.get("name") or "")))
        store = self._views.store(kind, space)
        owner = Owner(
            kind=self.resource.kind,
            reference=self.resource.owner_reference(),
            namespace=self.resource.namespace,
        )
        return await self._applier.apply(
            content,
            kind=kind,
            owner=owner,
            store=store,
            shape=shape_of_class(cls),
            on_conflict=on_conflict,
            on_immutable=on_immutable,
        )

    def _class_of(self, manifest: Any) -> type[Resource[Any, Any]]:
        if not isinstance(manifest, Mapping):
            raise ManifestError(
                f"context.apply takes an object of an owned kind or a mapping, not {manifest!r}"
            )
        api_version, kind = manifest.get("apiVersion"), manifest.get("kind")
        group = str(api_version).rpartition("/")[0]
        cls = self._kinds.get((group, str(kind)))
        if cls is None or cls.kind.api_version != api_version:
            raise ManifestError(
                f"apiVersion {api_version!r}, kind {kind!r} is not among the kinds that this"
                " controller declares: add its class to owns=[…]"
            )
        return cls

    def _report(self, applied: Applied) -> None:
        self._metrics.applies.labels(applied.snapshot.kind.kind, applied.action).inc()
        if applied.action not in ("held", "created"):
            self.log.info("%s %s", applied.action, applied.snapshot.ref)
        for note in applied.notes:
            self.event(note.reason, note.message, type="Warning" if note.warning else "Normal")

    def _judge(self, applied: Applied, judge: Judge | None) -> Readiness:
        if applied.action == "recreating":
            return Readiness(
                state=State.TERMINATING,
                reason="Recreating",
                message=f"{applied.snapshot.ref} is deleted, to be made anew",
                turn=Turn.NOBODY,
                evidence=(),
                generation=applied.snapshot.generation,
            )
        if judge is not None:
            return judge(applied.snapshot.content)
        return compute(applied.snapshot.content, related=self._views, now=clock.now())

    async def delete(
        self, kind: type[Resource[Any, Any]], name: str, *, namespace: str = ""
    ) -> bool:
        space = (namespace or self.resource.namespace) if kind.kind.namespaced else ""
        found = self._views.store(kind.kind, space).get(space, name)
        if found is None:
            return False
        if found.controller_uid != self.resource.uid:
            raise NamesakeError(
                f"{found.ref} is not controlled by {self.resource.ref}: it is not ours to delete"
            )
        await self._delete(found)
        return True

    async def _delete(self, found: Snapshot) -> None:
        self._require_open()
        if not found.deleting:
            store = self._views.store(found.kind, found.namespace)
            await delete_child(self._client, found, store, writer=self._views.writer)

    async def prune(self, kinds: Iterable[type[Resource[Any, Any]]]) -> list[str]:
        pruned: list[str] = []
        for cls in kinds:
            kind = cls.kind
            stores = self._views.stores(kind, self.resource.namespace or None)
            for child in (c for store in stores for c in store.by_owner(self.resource.uid)):
                key = (kind.group, kind.kind, child.namespace, child.name)
                if key in self._wanted or child.controller_uid != self.resource.uid:
                    continue
                if len(pruned) >= limits.PRUNED_PER_ATTEMPT:
                    break
                await self._delete(child)
                pruned.append(child.name)
        return sorted(pruned)

    def get(self, kind: type[C], name: str, *, namespace: str = "") -> C | None:
        space = (namespace or self.resource.namespace) if kind.kind.namespaced else ""
        found = self._views.store(kind.kind, space).get(space, name)
        return None if found is None else kind.from_json(found.data)

    def list(
        self,
        kind: type[C],
        *,
        namespace: str | None = "",
        labels: Mapping[str, str] | None = None,
    ) -> list[C]:
        space = self.resource.namespace if namespace == "" else namespace
        if not kind.kind.namespaced:
            space = None
        stores = self._views.stores(kind.kind, space or None)
        found = (s for store in stores for s in store.list(space or None, labels))
        return [kind.from_json(snapshot.data) for snapshot in found]

    def event(
        self, reason: str, message: str, *, type: Literal["Normal", "Warning"] = "Normal"
    ) -> None:
        self._record(usable_reason(reason), usable_message(message), type)


@cache
def shape_of_class(cls: type[Resource[Any, Any]]) -> Shape | None:
    """Which lists of an author's own kind are maps or sets; None for built-in kinds."""
    if not issubclass(cls.status_type, Status):
        return None
    return shape_of_schema(resource_schema(cls))


def _blame(error: KonstatError) -> Readiness:
    """What an error while applying a child says of it: refused is bad, unanswered is unknown."""
    return Readiness(
        state=State.FAILED if is_refusal(error) else State.UNKNOWN,
        reason=usable_reason(reason_of(error)),
        message=usable_message(text_of(error)),
        turn=turn_of(error),
        evidence=(),
        generation=0,
    )
