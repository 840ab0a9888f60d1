"""`FakeContext` and `attempt`: unit tests of a reconcile function, without a server or mocks.

A fake context keeps children in memory and judges them with the same readiness rules, and
`attempt` settles with the same engine as the manager does, so the conditions that a test sees are
those that a cluster would get. What only a server knows is missing: defaults, validation, other
writers, RBAC (``unavailable`` stands in for it).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

import msgspec

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
from konstat.controller.attempt import (
    AttemptFunction,
    Ended,
    not_awaited,
    refused_spec,
    run_attempt,
)
from konstat.controller.calls import Calls, awaitable
from konstat.controller.context import Context
from konstat.controller.controller import Controller
from konstat.controller.evidence import blame, require_readiness
from konstat.controller.views import CAUSES
from konstat.errors import (
    FormerChild,
    KindNotInstalled,
    KindUnavailable,
    KonstatError,
    ManifestError,
    ModelError,
    SpecInvalid,
    StatusInvalid,
    UserError,
)
from konstat.kinds import kind_named
from konstat.objects.kind import Kind
from konstat.objects.model import Status
from konstat.objects.resource import Resource, stored_status
from konstat.objects.snapshot import Snapshot
from konstat.readiness import Judge, Turn, compute
from konstat.status import Component, Ending, Outcome, Settlement, plan, refused, settle
from konstat.status.condition import find
from konstat.testing.fake_world import Children, FakeWorld
from konstat.writing import Owner, prepare
from konstat.writing.apply import OnConflict, OnImmutable
from konstat.writing.manifest import refuse_namesake, refuse_second_wish

R = TypeVar("R", bound=Resource[Any, Any])
C = TypeVar("C", bound=Resource[Any, Any])

Unavailable = (
    Iterable[type[Resource[Any, Any]]] | Mapping[type[Resource[Any, Any]], type[KindUnavailable]]
)


class FakeEvent(msgspec.Struct, frozen=True):
    """One event that an attempt recorded."""

    reason: str
    message: str
    type: str = "Normal"


class FakeContext(Context[R]):
    """A context without a cluster, for unit tests of attempts.

    ``existing`` are objects that are there before the first attempt, as they are; applying one of
    their names is refused as on a cluster (NamesakeError). ``owned`` are there too, as children
    that the resource controls. Both stand in the resource's namespace unless they name another,
    and keep the status that they come with. ``children`` says how applied children look:
    ``"ready"`` (their controllers have done their work) or ``"new"`` (without status).
    Reads and applies of ``unavailable`` kinds raise KindNotInstalled, or what a mapping
    ``{Kind: KindForbidden}`` says.

    After an attempt, ``applied``, ``deleted`` and ``events`` show what it did, and ``objects`` what
    is there now. The same context serves several attempts in a row: objects stay.
    """

    def __init__(
        self,
        *,
        existing: Iterable[Resource[Any, Any]] = (),
        owned: Iterable[Resource[Any, Any]] = (),
        children: Children = "ready",
        unavailable: Unavailable = (),
    ) -> None:
        log = logging.LoggerAdapter(logging.getLogger("konstat.fake"), {})
        super().__init__(None, None, log=log)
        self.applied: list[dict[str, Any]] = []
        self.deleted: list[str] = []
        self.events: list[FakeEvent] = []
        self._existing = tuple(existing)
        self._owned = tuple(owned)
        self._world = FakeWorld(children=children)
        self._world.unavailable = _problems(unavailable)
        self._declared: Mapping[tuple[str, str], type[Resource[Any, Any]]] | None = None
        self._readable: frozenset[tuple[str, str]] = frozenset()
        self._begun: Resource[Any, Any] | None = None
        self._wished: set[tuple[Kind, str, str]] = set()
        self._held: dict[tuple[Kind, str, str], Snapshot] = {}
        self.calls = Calls()

    @property
    def resource(self) -> R:
        if self._resource is None:
            raise UserError(
                "this FakeContext has not seen a resource yet: call the reconcile function with"
                " it first, or context.bind(resource)"
            )
        return self._resource

    @property
    def client(self) -> Client:
        raise UserError(
            "a FakeContext has no server: test what uses context.client on a control plane"
            " (konstat.testing.control_plane)"
        )

    def bind(self, resource: Resource[Any, Any]) -> None:
        if self._begun is resource:  # by `attempt`, a moment ago
            self._begun = None
        else:
            self._begin(resource)

    def begin(self, resource: R, controller: Controller[Any] | None = None) -> R:
        """Begin an attempt; for `attempt`. Returns the resource as a server would give it."""
        if controller is not None:
            self._declare(controller)
        completed: R = self._begin(resource)
        self._begun = completed
        return completed

    def _begin(self, resource: Resource[Any, Any]) -> Any:
        status_type = resource.status_type
        assert issubclass(status_type, Status), f"{type(resource).__name__} has no Status class"
        first = self._resource is None
        completed: Any = _as_stored(resource)
        self._resource = completed
        self._draft = stored_status(status_type, completed.raw("status"))
        self._findings = []
        self._wished, self._held, self.calls = set(), {}, Calls()
        self.applied, self.deleted, self.events = [], [], []
        self._world.add(resource.kind, completed.content)
        if first:
            self._furnish()
        return completed

    def _furnish(self) -> None:
        for item in self._existing:
            self._world.add(item.kind, self._placed(item))
        reference = msgspec.to_builtins(self._owner.reference)
        for item in self._owned:
            content = self._placed(item)
            others = content["metadata"].get("ownerReferences") or []
            content["metadata"]["ownerReferences"] = [*others, reference]
            self._world.add(item.kind, content)

    def _placed(self, item: Resource[Any, Any]) -> dict[str, Any]:
        """The content of an object, in the resource's namespace unless it names another."""
        content = item.content
        if item.kind.namespaced:
            content["metadata"]["namespace"] = item.namespace or self.resource.namespace
        return content

    def _declare(self, controller: Controller[Any]) -> None:
        owned = (*controller.owns, *controller.optional)
        self._declared = {(cls.kind.group, cls.kind.kind): cls for cls in owned}
        causes = (cause for key in self._declared for cause in CAUSES.get(key, ()))
        watched = (watch.kind for watch in controller.watches)
        kinds = (cls.kind for cls in (controller.resource, *owned, *causes, *watched))
        self._readable = frozenset((kind.group, kind.kind) for kind in kinds)

    @property
    def objects(self) -> Sequence[Mapping[str, Any]]:
        """Every object that is there now, children included, but not the resource itself."""
        own = self._resource.uid if self._resource is not None else ""
        return tuple(s.content for s in self._world.all() if s.uid != own)

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
        content = manifest.content if isinstance(manifest, Resource) else manifest
        label = label_of(content, cls.kind)
        require_component(component, label)
        try:
            child = self._apply(content, cls.kind)
        except KonstatError as error:
            self._observe(label, blame(error), component)
            raise
        judged = (
            require_readiness(judge(child.content), child)
            if judge is not None
            else compute(child.content, related=self._world, now=clock.now())
        )
        self._observe(label, judged, component)
        return cls.from_json(child.data)

    def _apply(self, content: Mapping[str, Any], kind: Kind) -> Snapshot:
        metadata = metadata_of(content)
        space = str(metadata.get("namespace") or self.resource.namespace)
        # Wanted whether or not it can be applied: a refused child is not to be pruned.
        key = (kind, space if kind.namespaced else "", str(metadata.get("name")))
        self._wished.add(key)
        self._require(kind)
        owner = self._owner
        wanted = prepare(content, kind=kind, owner=owner)
        namespace, name = wanted["metadata"].get("namespace", ""), wanted["metadata"]["name"]
        live = self._world.get(kind, namespace=namespace, name=name)
        if live is not None:
            try:
                refuse_namesake(live, owner)
            except FormerChild:
                if not self._world.delete(live):
                    raise
        if key in self._held:
            refuse_second_wish(self._held[key], wanted)
        self.applied.append(wanted)
        self._held[key] = self._world.apply(kind, wanted)
        return self._held[key]

    def _class_of(self, manifest: Any) -> type[Resource[Any, Any]]:
        if not isinstance(manifest, Mapping):
            raise ManifestError(
                f"context.apply takes an object of an owned kind or a mapping, not {manifest!r}"
            )
        api_version, kind = str(manifest.get("apiVersion")), str(manifest.get("kind"))
        group = api_version.rpartition("/")[0]
        if self._declared is not None:
            cls = self._declared.get((group, kind))
            problem = (
                "is not among the kinds that this controller declares: add its class to owns=[…]"
            )
        else:
            cls = kind_named(kind, group=group)
            problem = (
                "is not built in, and a FakeContext does not know its class: apply an object of"
                " the class, or pass the Controller to konstat.testing.attempt"
            )
        if cls is None or cls.kind.api_version != api_version:
            raise ManifestError(f"apiVersion {api_version!r}, kind {kind!r} {problem}")
        return cls

    @awaitable
    async def delete(
        self, kind: type[Resource[Any, Any]], name: str, *, namespace: str = ""
    ) -> bool:
        require_class(kind, "context.delete")
        found = self._find(kind.kind, name, namespace)
        if found is None:
            return False
        require_child(found, self.resource)
        self._delete(found)
        return True

    def _delete(self, found: Snapshot) -> None:
        if not found.deleting:
            self._world.delete(found)
            self.deleted.append(f"{found.kind.kind} {found.name}")

    @awaitable
    async def prune(self, kinds: Iterable[type[Resource[Any, Any]]]) -> list[str]:
        pruned: list[str] = []
        for cls in require_classes(kinds):
            self._require(cls.kind)
            for child in self._world.list(cls.kind, namespace=self._space(cls.kind)):
                wished = (cls.kind, child.namespace, child.name) in self._wished
                if wished or child.controller_uid != self.resource.uid:
                    continue
                if len(pruned) >= limits.PRUNED_PER_ATTEMPT:
                    break
                self._delete(child)
                pruned.append(child.name)
        return sorted(pruned)

    def get(self, kind: type[C], name: str, *, namespace: str = "") -> C | None:
        require_class(kind, "context.get")
        found = self._find(kind.kind, name, namespace)
        return None if found is None else kind.from_json(found.data)

    def list(
        self,
        kind: type[C],
        *,
        namespace: str | None = "",
        labels: Mapping[str, str] | None = None,
    ) -> list[C]:
        require_class(kind, "context.list")
        self._require(kind.kind)
        space = self._space(kind.kind) if namespace == "" else namespace or ""
        found = self._world.list(kind.kind, namespace=space, labels=labels)
        return [kind.from_json(snapshot.data) for snapshot in found]

    def event(
        self, reason: str, message: str, *, type: Literal["Normal", "Warning"] = "Normal"
    ) -> None:
        self.events.append(FakeEvent(*usable_event(reason, message, type)))

    @property
    def _owner(self) -> Owner:
        return Owner(
            kind=self.resource.kind,
            reference=self.resource.owner_reference(),
            namespace=self.resource.namespace,
        )

    def _space(self, kind: Kind) -> str:
        return self.resource.namespace if kind.namespaced else ""

    def _find(self, kind: Kind, name: str, namespace: str) -> Snapshot | None:
        self._require(kind)
        space = (namespace or self.resource.namespace) if kind.namespaced else ""
        return self._world.get(kind, namespace=space, name=name)

    def _require(self, kind: Kind) -> None:
        """Raise as the caches would for a kind that is not declared or cannot be read."""
        if self._declared is not None and (kind.group, kind.kind) not in self._readable:
            raise ManifestError(
                f"{kind} is not declared: add it to owns=[…] (children), optional=[…] or"
                " watches=[…] of the Controller, so that it is cached"
            )
        problem = self._world.unavailable.get((kind.group, kind.kind))
        if problem is not None:
            raise problem


class Attempted(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """What one attempt led to: the status as it would be stored, and how the attempt ended.

    ``resource`` is the resource with that status, to begin the next attempt with.
    """

    status: dict[str, Any]
    outcome: Outcome
    requeue_seconds: float | None
    error: BaseException | None
    resource: R

    def condition(self, type: str) -> Mapping[str, Any] | None:
        """The condition of a type; None when there is none."""
        return find(self.status.get("conditions") or [], type)

    def says(self, type: str) -> tuple[str, str] | None:
        """``(status, reason)`` of a condition; None when there is none."""
        entry = self.condition(type)
        return None if entry is None else (str(entry["status"]), str(entry["reason"]))

    def message(self, type: str) -> str:
        """The message of a condition; empty when there is none."""
        entry = self.condition(type)
        return "" if entry is None else str(entry["message"])

    def __repr__(self) -> str:
        """One line, the cause first: pytest cuts it after some two hundred characters."""
        error = f" {self.error!r}" if self.error is not None else ""
        conditions = self.status.get("conditions") or []
        texts = [f"{c['type']}={c['status']} ({c['reason']})" for c in conditions]
        message = self.message("Ready")
        if message and error == "":
            texts[0:1] = [f"{texts[0]}: {message}"]
        fields = {k: v for k, v in self.status.items() if k != "conditions"}
        return f"<{self.outcome.ending}{error}; {', '.join(texts)}; {fields}>"


async def attempt(
    reconcile: Controller[Any] | AttemptFunction,
    resource: R,
    context: FakeContext[R] | None = None,
    *,
    timeout_seconds: float = 10.0,
) -> Attempted[R]:
    """Run one attempt of a Controller (or of a reconcile function alone) and settle it.

    Exceptions settle as they would in production instead of leaving. Given the Controller, the
    attempt may read and apply only the kinds that it declares, as in production, and a resource
    with a deletionTimestamp is cleaned up. The resource is completed as the server would: with a
    uid, a generation and, where its kind has them, a namespace. Raises ModelError for a Controller
    without the function that is needed.
    """
    controller = reconcile if isinstance(reconcile, Controller) else None
    function = _function_of(reconcile, resource)
    fake: FakeContext[R] = context if context is not None else FakeContext()
    resource = fake.begin(resource, controller)
    try:
        if not resource.deleting:
            resource.spec  # noqa: B018 - as the worker does before it calls the function
    except SpecInvalid as error:
        ended = refused_spec(error)
    else:
        ended = await run_attempt(function, resource, fake, timeout_seconds=timeout_seconds)
        forgotten = fake.calls.end()
        if forgotten and ended.outcome.ending is Ending.OBSERVED:
            ended = not_awaited(forgotten)
    return _attempted(resource, fake, ended)


def _function_of(
    reconcile: Controller[Any] | AttemptFunction, resource: Resource[Any, Any]
) -> AttemptFunction:
    if not isinstance(reconcile, Controller):
        return reconcile
    if not resource.deleting:
        return reconcile.require_complete()
    if reconcile.cleanup_function is None:
        raise ModelError(
            f"{resource!r} is being deleted and {reconcile!r} has no cleanup function:"
            " nothing is attempted"
        )
    return reconcile.cleanup_function


def _attempted(resource: R, fake: FakeContext[R], ended: Ended) -> Attempted[R]:
    status = resource.raw("status") or {}
    if resource.deleting:
        ended = _still_deleting(ended)
    if not resource.deleting or ended.outcome.ending is not Ending.OBSERVED:
        settlement, ended = _settle(resource, fake, ended)
        status = plan(resource.raw("status"), settlement, uid=resource.uid, now=clock.now()).status
    return Attempted(
        status=status,
        outcome=ended.outcome,
        requeue_seconds=ended.requeue_seconds,
        error=ended.error,
        resource=type(resource).from_content({**resource.content, "status": status}),
    )


def _settle(
    resource: Resource[Any, Any], fake: FakeContext[Any], ended: Ended
) -> tuple[Settlement, Ended]:
    """As the worker settles: a status value that its type refuses becomes an error of its own."""
    generation = resource.generation
    try:
        settled = settle(fake.status, ended.outcome, generation=generation, findings=fake.findings)
    except StatusInvalid as error:
        outcome = Outcome(
            ending=Ending.ERROR, reason="StatusInvalid", message=str(error), turn=Turn.OWNER
        )
        reduced = refused(generation, reason="StatusInvalid", message=str(error))
        return reduced, msgspec.structs.replace(ended, outcome=outcome, error=error)
    return settled, ended


def _still_deleting(ended: Ended) -> Ended:
    """As the worker settles a cleanup that asks to come back."""
    if ended.outcome.ending is not Ending.OBSERVED or ended.requeue_seconds is None:
        return ended
    outcome = Outcome(
        ending=Ending.DELETING, reason="Terminating", message="cleanup goes on", turn=Turn.NOBODY
    )
    return msgspec.structs.replace(ended, outcome=outcome)


def _as_stored(resource: Resource[Any, Any]) -> Resource[Any, Any]:
    """The resource with what every stored object has."""
    metadata = msgspec.structs.replace(
        resource.metadata,
        uid=resource.uid or f"uid-of-{resource.kind.kind.lower()}-{resource.name}",
        generation=resource.generation or 1,
        namespace=(resource.namespace or "default") if resource.kind.namespaced else "",
        resource_version=resource.metadata.resource_version or "1",
    )
    content = {**resource.content, "metadata": msgspec.to_builtins(metadata)}
    return type(resource).from_content(content)


def _problems(unavailable: Unavailable) -> dict[tuple[str, str], KindUnavailable]:
    mapping = isinstance(unavailable, Mapping)
    problems: dict[tuple[str, str], KindUnavailable] = {}
    for cls in unavailable:
        error = unavailable[cls] if mapping else KindNotInstalled
        text = f"{cls.kind.resource} cannot be read (as the test asked)"
        problems[(cls.kind.group, cls.kind.kind)] = error(text)
    return problems
