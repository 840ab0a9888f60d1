"""`Controller`: the declaration of one kind, its reconciler, and what it owns and watches.

A declaration starts nothing; `konstat.controller.manager` brings it to life. Because owned kinds
are declared, the CRD, RBAC rules and the informers are known before the first attempt.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec

from konstat.base import limits
from konstat.controller.context import Context
from konstat.errors import ModelError
from konstat.objects.crd import CONDITION_TYPE_PATTERN
from konstat.objects.kind import Kind
from konstat.objects.model import Status, status_fields
from konstat.objects.resource import Resource
from konstat.status import Component, RequeueAfter
from konstat.status.condition import READY, RECONCILING, STALLED

R = TypeVar("R", bound=Resource[Any, Any])

Reconcile = Callable[[R, Context[R]], Awaitable[RequeueAfter | None]]
Found = str | tuple[str, str]

# A qualified name with its prefix, as the server wants finalizers of other programs than its own.
_FINALIZER = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
    r"/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)


_CONDITION_TYPE = re.compile(CONDITION_TYPE_PATTERN)


class Watch(msgspec.Struct, frozen=True):
    """Another kind whose changes wake resources: ``map`` says which.

    ``map(object)`` returns names of resources in the object's namespace (just names for a
    cluster-scoped resource), or ``(namespace, name)`` pairs. It is called for the old and the new
    state of a change, must not block, and sees a frozen typed object.
    """

    kind: type[Resource[Any, Any]]
    map: Callable[[Any], Iterable[Found]]


class Controller(Generic[R]):
    """One resource kind kept true by one reconcile function.

    ``owns`` are the kinds of children that attempts may apply; their changes wake the owner.
    ``watches`` are other objects of interest (`Watch`), readable from the context.
    ``optional`` names owned kinds that may not be installed: reading them raises KindNotInstalled
    instead of holding the controller back. ``concurrency`` bounds attempts at a time,
    ``resync_seconds`` is how often each resource is attempted without a trigger, and
    ``finalizer`` overrides the finalizer's name (default ``group/plural``).
    Raises ModelError for declarations that cannot work.
    """

    def __init__(
        self,
        resource: type[R],
        *,
        owns: Iterable[type[Resource[Any, Any]]] = (),
        watches: Iterable[Watch] = (),
        optional: Iterable[type[Resource[Any, Any]]] = (),
        concurrency: int = limits.CONCURRENT_ATTEMPTS,
        resync_seconds: float = limits.RESYNC_SECONDS,
        attempt_timeout_seconds: float = limits.ATTEMPT_TIMEOUT_SECONDS,
        finalizer: str = "",
    ) -> None:
        _require_kind(resource, "the resource of a Controller")
        if not issubclass(resource.status_type, Status):
            raise ModelError(f"{resource.__name__}: its status type must be a subclass of Status")
        _require_components(resource.status_type)
        if concurrency < 1:
            raise ModelError(f"concurrency is {concurrency}: give at least 1")
        for name, seconds in (
            ("resync_seconds", resync_seconds),
            ("attempt_timeout_seconds", attempt_timeout_seconds),
        ):
            if not seconds > 0:
                raise ModelError(f"{name} is {seconds}: give a number above 0")
        if finalizer and not _FINALIZER.fullmatch(finalizer):
            raise ModelError(
                f"finalizer is {finalizer!r}: the server takes a name such as example.com/hold"
            )
        self.resource = resource
        self.kind = resource.kind
        self.owns = tuple(owns)
        self.watches = tuple(watches)
        self.optional = tuple(optional)
        for owned in self.owns:
            _require_kind(owned, "owns=")
        for owned in self.optional:
            _require_kind(owned, "optional=")
        for watch in self.watches:
            if not isinstance(watch, Watch):
                raise ModelError(f"watches= takes Watch(Kind, map_function), not {watch!r}")
            _require_kind(watch.kind, "Watch")
        self.concurrency = concurrency
        self.resync_seconds = resync_seconds
        self.attempt_timeout_seconds = attempt_timeout_seconds
        self.finalizer = finalizer or f"{self.kind.group}/{self.kind.plural}"
        self.field_manager = self.kind.resource
        self.reconcile_function: Reconcile[R] | None = None
        self.cleanup_function: Reconcile[R] | None = None

    def reconcile(self, function: Reconcile[R]) -> Reconcile[R]:
        """Register the reconcile function: ``async def reconcile(resource, context)``.

        The function stays callable as it is: ``await reconcile(app, FakeContext())``.
        """
        _require_attempt(function, "reconcile")
        if self.reconcile_function is not None:
            raise ModelError(f"{self!r} has a reconcile function already: one per kind")
        self.reconcile_function = _bound(function)
        return self.reconcile_function

    def cleanup(self, function: Reconcile[R]) -> Reconcile[R]:
        """Register the cleanup function, which runs before a deleted resource goes.

        It puts our finalizer on every resource before its first side effect. Returning None says
        that the cleanup is confirmed; RequeueAfter or an exception keeps the finalizer.
        """
        _require_attempt(function, "cleanup")
        if self.cleanup_function is not None:
            raise ModelError(f"{self!r} has a cleanup function already: one per kind")
        self.cleanup_function = _bound(function)
        return self.cleanup_function

    def require_complete(self) -> Reconcile[R]:
        """The reconcile function; raises ModelError when none was registered."""
        if self.reconcile_function is None:
            raise ModelError(
                f"{self!r} has no reconcile function: decorate one with @<controller>.reconcile"
            )
        return self.reconcile_function

    def __repr__(self) -> str:
        return f"Controller({self.resource.__name__})"


def _bound(function: Reconcile[R]) -> Reconcile[R]:
    """``function``, telling its context the resource first; so a bare FakeContext() will do."""

    @functools.wraps(function)
    async def attempt(resource: R, context: Context[R]) -> RequeueAfter | None:
        context.bind(resource)
        return await function(resource, context)

    return attempt


def _require_components(status_type: type[Status]) -> None:
    """Raise ModelError for components whose conditions the server or konstat itself would undo."""
    where: dict[str, str] = {}
    for field in status_fields(status_type):
        part = field.part.begin(field) if field.part is not None else None
        if not isinstance(part, Component) or not part.published:
            continue
        name, type = f"{status_type.__name__}.{field.name}", part.type
        if type in (READY, RECONCILING, STALLED):
            raise ModelError(f"{name}: konstat writes condition {type} itself: give another type=")
        fits = isinstance(type, str) and len(type) <= limits.CONDITION_TYPE_CHARACTERS
        if not fits or not _CONDITION_TYPE.fullmatch(type):
            raise ModelError(
                f"{name}: type={type!r} is no condition type: give a word such as CertsReady"
            )
        if type in where:
            raise ModelError(f"{name} and {where[type]} are both condition {type}: give one type=")
        where[type] = name
    most = limits.CONDITIONS - 2  # beside Ready and one of Reconciling and Stalled
    if len(where) > most:
        raise ModelError(
            f"{status_type.__name__} publishes {len(where)} components and may at most {most}:"
            " declare some with Component(published=False), or put parts together"
        )


def _require_kind(cls: Any, where: str) -> None:
    if not (isinstance(cls, type) and issubclass(cls, Resource)):
        raise ModelError(f"{where} takes a Resource class, not {cls!r}")
    if not isinstance(getattr(cls, "kind", None), Kind):
        raise ModelError(f"{where}: {cls.__name__} has no group and version")


def _require_attempt(function: Any, name: str) -> None:
    if not inspect.iscoroutinefunction(function):
        raise ModelError(f"{name} must be `async def {name}(resource, context)`, not {function!r}")
    try:
        inspect.signature(function).bind(None, None)
    except TypeError as error:
        raise ModelError(
            f"{name} is called as {name}(resource, context), which {function.__name__} cannot"
            f" take: {error}"
        ) from error
