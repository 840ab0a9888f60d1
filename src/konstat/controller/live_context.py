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
from konstat.controller.arguments import (
    label_of,
    metadata_of,
    require_child,
    require_class,
    require_classes,
    require_component,
    usable_event,
)
from konstat.controller.calls import Calls, awaitable
from konstat.controller.context import Context
from konstat.controller.evidence import blame, require_readiness
from konstat.controller.secrecy import Secrets, is_secret
from konstat.controller.views import Views
from konstat.errors import AttemptOver, KonstatError, ManifestError
from konstat.objects.crd import resource_schema
from konstat.objects.model import Status
from konstat.objects.resource import Resource
from konstat.objects.shape import Shape, shape_of_schema
from konstat.objects.snapshot import Snapshot
from konstat.readiness import Judge, Readiness, State, Turn, compute
from konstat.services.events import EventType
from konstat.services.metrics import Metrics
from konstat.status import Component
from konstat.writing import Applied, Applier, Owner, delete_child
from konstat.writing.apply import OnConflict, OnImmutable
from konstat.writing.manifest import prepare, refuse_second_wish

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
        # Of those, what was applied, as it was then.
        self._applied: dict[tuple[str, str, str, str], Snapshot] = {}
        self.calls = Calls()
        self._open = True
        self.secrets = Secrets()

    def close(self) -> list[str]:
        """The attempt has ended: what still runs of it changes nothing any more.

        Returns the calls that were never awaited, such as ``context.apply(…)``.
        """
        self._open = False
        return self.calls.end()

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

    @awaitable
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
        label = label_of(content, kind)
        require_component(component, label)
        try:
            self._require_open(alive=True)
            applied = await self._apply(
                content, cls, on_conflict=on_conflict, on_immutable=on_immutable
            )
        except KonstatError as error:
            self._observe(label, blame(error, self.secrets), component)
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
        metadata = metadata_of(content)
        namespace = str(metadata.get("namespace") or self.resource.namespace)
        space = namespace if kind.namespaced else ""
        key = (kind.group, kind.kind, space, str(metadata.get("name") or ""))
        self._wanted.add(key)
        store = self._views.store(kind, space)
        owner = Owner(
            kind=self.resource.kind,
            reference=self.resource.owner_reference(),
            namespace=self.resource.namespace,
        )
        if key in self._applied:
            refuse_second_wish(self._applied[key], prepare(content, kind=kind, owner=owner))
        applied = await self._applier.apply(
            content,
            kind=kind,
            owner=owner,
            store=store,
            shape=shape_of_class(cls),
            on_conflict=on_conflict,
            on_immutable=on_immutable,
        )
        if not applied.snapshot.deleting:
            self._applied[key] = applied.snapshot
        self.secrets.note(applied.snapshot)
        return applied

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
        if applied.action != "held":
            # Creating and updating follow from the spec; what puts right is worth a line.
            usual = applied.action in ("created", "updated")
            level = logging.DEBUG if usual else logging.INFO
            self.log.log(level, "%s %s", applied.action, applied.snapshot.ref)
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
            return require_readiness(judge(applied.snapshot.content), applied.snapshot)
        return compute(applied.snapshot.content, related=self._views, now=clock.now())

    @awaitable
    async def delete(
        self, kind: type[Resource[Any, Any]], name: str, *, namespace: str = ""
    ) -> bool:
        require_class(kind, "context.delete")
        space = (namespace or self.resource.namespace) if kind.kind.namespaced else ""
        found = self._views.store(kind.kind, space).get(space, name)
        if found is None:
            return False
        require_child(found, self.resource)
        await self._delete(found)
        return True

    async def _delete(self, found: Snapshot) -> None:
        self._require_open()
        if not found.deleting:
            store = self._views.store(found.kind, found.namespace)
            await delete_child(self._client, found, store, writer=self._views.writer)

    @awaitable
    async def prune(self, kinds: Iterable[type[Resource[Any, Any]]]) -> list[str]:
        pruned: list[str] = []
        for cls in require_classes(kinds):
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
        require_class(kind, "context.get")
        space = (namespace or self.resource.namespace) if kind.kind.namespaced else ""
        found = self._views.store(kind.kind, space).get(space, name)
        if found is None:
            return None
        self.secrets.note(found)
        return kind.from_json(found.data)

    def list(
        self,
        kind: type[C],
        *,
        namespace: str | None = "",
        labels: Mapping[str, str] | None = None,
    ) -> list[C]:
        require_class(kind, "context.list")
        space = self.resource.namespace if namespace == "" else namespace
        if not kind.kind.namespaced:
            space = None
        stores = self._views.stores(kind.kind, space or None)
        found = [s for store in stores for s in store.list(space or None, labels)]
        if is_secret(kind.kind):
            for snapshot in found:
                self.secrets.note(snapshot)
        return [kind.from_json(snapshot.data) for snapshot in found]

    def event(
        self, reason: str, message: str, *, type: Literal["Normal", "Warning"] = "Normal"
    ) -> None:
        self._record(*usable_event(reason, message, type))


@cache
def shape_of_class(cls: type[Resource[Any, Any]]) -> Shape | None:
    """Which lists of an author's own kind are maps or sets; None for built-in kinds."""
    if not issubclass(cls.status_type, Status):
        return None
    return shape_of_schema(resource_schema(cls))
