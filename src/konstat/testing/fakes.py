"""`FakeContext` and `attempt`: unit tests of a reconcile function, without a server or mocks.

A fake context keeps children in memory and judges them with the same readiness rules, and
`attempt` settles with the same engine as the manager does, so the conditions that a test sees are
those that a cluster would get.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from konstat.base import clock
from konstat.controller.attempt import Ended, refused_spec, run_attempt
from konstat.controller.context import Context
from konstat.controller.controller import Controller
from konstat.errors import KindUnavailable, ManifestError, SpecInvalid
from konstat.kinds import kind_named
from konstat.objects.model import Status
from konstat.objects.resource import Resource, stored_status
from konstat.readiness import compute
from konstat.status import Component, Outcome, Settlement, plan, settle
from konstat.status.condition import find
from konstat.testing.pretend import pretend_ready
from konstat.writing import Owner, prepare
from konstat.writing.apply import OnConflict, OnImmutable

R = TypeVar("R", bound=Resource[Any, Any])
C = TypeVar("C", bound=Resource[Any, Any])

_Key = tuple[str, str, str, str]


class FakeEvent(msgspec.Struct, frozen=True):
    """One event that an attempt recorded."""

    reason: str
    message: str
    type: str = "Normal"


class FakeContext(Context[R]):
    """A context without a cluster, for unit tests of one attempt.

    ``existing`` are objects that are there before the attempt; ``children`` says how applied
    children look: ``"ready"`` (their controllers have done their work) or ``"new"`` (without
    status). ``unavailable`` kinds raise KindUnavailable on every read and apply.
    After an attempt, ``applied``, ``deleted``, ``events`` and ``objects`` show what it did.
    """

    def __init__(
        self,
        *,
        existing: Iterable[Resource[Any, Any]] = (),
        children: Literal["ready", "new"] = "ready",
        unavailable: Iterable[type[Resource[Any, Any]]] = (),
    ) -> None:
        log = logging.LoggerAdapter(logging.getLogger("konstat.fake"), {})
        super().__init__(None, None, log=log)
        self.applied: list[dict[str, Any]] = []
        self.deleted: list[str] = []
        self.events: list[FakeEvent] = []
        self._children = children
        self._unavailable = tuple(cls.kind for cls in unavailable)
        self._objects: dict[_Key, dict[str, Any]] = {}
        for item in existing:
            self._objects[_key(item)] = item.content

    def bind(self, resource: Resource[Any, Any]) -> None:
        if self._resource is resource:
            return
        status_type = resource.status_type
        assert issubclass(status_type, Status), f"{type(resource).__name__} has no Status class"
        self._resource = resource
        self._draft = stored_status(status_type, resource.raw("status"))
        self._findings = []

    @property
    def objects(self) -> Sequence[Mapping[str, Any]]:
        """Every object that is there now, children included."""
        return tuple(self._objects.values())

    async def apply(
        self,
        manifest: Any,
        *,
        component: Component | None = None,
        on_conflict: OnConflict = "take",
        on_immutable: OnImmutable = "fail",
    ) -> Any:
        cls, content = _class_and_content(manifest)
        self._require_available(cls)
        owner = Owner(
            kind=self.resource.kind,
            reference=self.resource.owner_reference(),
            namespace=self.resource.namespace,
        )
        wanted = prepare(content, kind=cls.kind, owner=owner)
        self.applied.append(wanted)
        child = self._store(cls, wanted)
        name = f"{cls.kind.kind} {wanted['metadata']['name']}"
        self._observe(name, compute(child, related=None, now=clock.now()), component)
        return cls.from_content(child)

    def _store(self, cls: type[Resource[Any, Any]], wanted: dict[str, Any]) -> dict[str, Any]:
        metadata = wanted["metadata"]
        key = (cls.kind.group, cls.kind.kind, metadata.get("namespace", ""), metadata["name"])
        before = self._objects.get(key, {})
        old = before.get("metadata") or {}
        child = {**before, **wanted}
        child["metadata"] = {
            **old,
            **metadata,
            "uid": old.get("uid") or f"uid-of-{key[1].lower()}-{key[3]}",
            "generation": old.get("generation") or 1,
            "resourceVersion": str(len(self.applied)),
        }
        if self._children == "ready" and "status" not in before:
            child = pretend_ready(child)
        self._objects[key] = child
        return child

    async def delete(
        self, kind: type[Resource[Any, Any]], name: str, *, namespace: str = ""
    ) -> bool:
        self._require_available(kind)
        key = self._key_of(kind, name, namespace)
        if self._objects.pop(key, None) is None:
            return False
        self.deleted.append(f"{kind.kind.kind} {name}")
        return True

    async def prune(self, kinds: Iterable[type[Resource[Any, Any]]]) -> list[str]:
        wanted = {(c["kind"], c["metadata"]["name"]) for c in self.applied}
        pruned: list[str] = []
        for cls in kinds:
            for child in self.list(cls):
                controller = child.metadata.controller
                if controller is None or controller.uid != self.resource.uid:
                    continue
                if (cls.kind.kind, child.name) not in wanted:
                    await self.delete(cls, child.name)
                    pruned.append(child.name)
        return sorted(pruned)

    def get(self, kind: type[C], name: str, *, namespace: str = "") -> C | None:
        self._require_available(kind)
        content = self._objects.get(self._key_of(kind, name, namespace))
        return None if content is None else kind.from_content(content)

    def list(
        self,
        kind: type[C],
        *,
        namespace: str | None = "",
        labels: Mapping[str, str] | None = None,
    ) -> list[C]:
        self._require_available(kind)
        space = self.resource.namespace if namespace == "" else namespace
        found: list[C] = []
        for (group, name, where, _), content in sorted(self._objects.items()):
            if (group, name) != (kind.kind.group, kind.kind.kind):
                continue
            has = content["metadata"].get("labels") or {}
            if space and where != space:
                continue
            if all(has.get(key) == value for key, value in (labels or {}).items()):
                found.append(kind.from_content(content))
        return found

    def event(
        self, reason: str, message: str, *, type: Literal["Normal", "Warning"] = "Normal"
    ) -> None:
        self.events.append(FakeEvent(reason, message, type))

    def _key_of(self, kind: type[Resource[Any, Any]], name: str, namespace: str) -> _Key:
        space = (namespace or self.resource.namespace) if kind.kind.namespaced else ""
        return (kind.kind.group, kind.kind.kind, space, name)

    def _require_available(self, kind: type[Resource[Any, Any]]) -> None:
        if kind.kind in self._unavailable:
            raise KindUnavailable(f"{kind.kind.resource} cannot be read (as the test asked)")


class Attempted(msgspec.Struct, frozen=True, kw_only=True):
    """What one attempt led to: the status as it would be stored, and how the attempt ended."""

    status: dict[str, Any]
    outcome: Outcome
    requeue_seconds: float | None
    error: BaseException | None

    def condition(self, type: str) -> Mapping[str, Any] | None:
        """The condition of a type; None when there is none."""
        return find(self.status.get("conditions") or [], type)

    def says(self, type: str) -> tuple[str, str] | None:
        """``(status, reason)`` of a condition; None when there is none."""
        entry = self.condition(type)
        return None if entry is None else (str(entry["status"]), str(entry["reason"]))


async def attempt(
    reconcile: Any,
    resource: R,
    context: FakeContext[R] | None = None,
    *,
    timeout_seconds: float = 10.0,
) -> Attempted:
    """Run one attempt of a reconcile function (or a Controller's) and settle it.

    Exceptions settle as they would in production instead of leaving.
    """
    function = reconcile.require_complete() if isinstance(reconcile, Controller) else reconcile
    fake: FakeContext[R] = context if context is not None else FakeContext()
    fake.bind(resource)
    try:
        resource.spec  # noqa: B018 - as the worker does before it calls the function
    except SpecInvalid as error:
        ended = refused_spec(error)
    else:
        ended = await run_attempt(function, resource, fake, timeout_seconds=timeout_seconds)
    return _attempted(resource, fake, ended)


def _attempted(resource: Resource[Any, Any], fake: FakeContext[Any], ended: Ended) -> Attempted:
    settlement: Settlement = settle(
        fake.status,
        ended.outcome,
        generation=resource.generation or 1,
        findings=fake.findings,
    )
    stored = resource.raw("status")
    wanted = plan(stored, settlement, uid=resource.uid or "uid", now=clock.now())
    return Attempted(
        status=wanted.status,
        outcome=ended.outcome,
        requeue_seconds=ended.requeue_seconds,
        error=ended.error,
    )


def _class_and_content(manifest: Any) -> tuple[type[Resource[Any, Any]], Mapping[str, Any]]:
    if isinstance(manifest, Resource):
        return type(manifest), manifest.content
    if not isinstance(manifest, Mapping):
        raise ManifestError(f"context.apply takes an object or a mapping, not {manifest!r}")
    group = str(manifest.get("apiVersion", "")).rpartition("/")[0]
    cls = kind_named(str(manifest.get("kind", "")), group=group)
    if cls is None:
        raise ManifestError(
            f"a FakeContext does not know kind {manifest.get('kind')!r} of"
            f" {manifest.get('apiVersion')!r}: apply an object of its class instead of a mapping"
        )
    return cls, manifest


def _key(item: Resource[Any, Any]) -> _Key:
    return (item.kind.group, item.kind.kind, item.namespace, item.name)
