"""`Context`: what one attempt may use.

`Context` is the abstract surface that reconcile functions are written against; an attempt on a
cluster gets a `LiveContext` (next module), a unit test a `konstat.testing.FakeContext`.
Everything an attempt learns, changes and reports goes through it, so that the status can be
derived from what was really observed.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar, overload

from konstat.base import clock
from konstat.client import Client
from konstat.errors import InternalError
from konstat.objects.model import Status
from konstat.objects.resource import Resource
from konstat.readiness import Judge, Readiness, State, Turn
from konstat.status import Component, Finding
from konstat.status.condition import require_words, usable_message, usable_reason
from konstat.status.outcome import usable_turn
from konstat.writing.apply import OnConflict, OnImmutable

R_co = TypeVar("R_co", bound=Resource[Any, Any], covariant=True)
C = TypeVar("C", bound=Resource[Any, Any])
T = TypeVar("T", bound=Status)


class Context(ABC, Generic[R_co]):
    """One attempt's access to the cluster, and the draft of the status that it leads to."""

    def __init__(
        self,
        resource: R_co | None,
        draft: Status | None,
        *,
        log: logging.LoggerAdapter[logging.Logger],
    ) -> None:
        self.log = log
        self._resource = resource
        self._draft = draft
        self._findings: list[Finding] = []

    def bind(self, resource: Resource[Any, Any]) -> None:
        """Called with the resource when an attempt begins; matters to contexts made without one."""

    @property
    def resource(self) -> R_co:
        """The resource that this attempt is about."""
        if self._resource is None:
            raise InternalError("a context was used before an attempt began")
        return self._resource

    @property
    def status(self: Context[Resource[Any, T]]) -> T:
        """The status draft: assign plain fields, report on components.

        Plain fields start as they are stored, or at their default when declared per attempt.
        """
        _ = self.resource  # says what to do when no attempt has begun
        return self._draft  # pyright: ignore[reportReturnType]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Evidence of this attempt that belongs to no component."""
        return tuple(self._findings)

    def now(self) -> datetime:
        """The wall time, aware, in UTC; simulated in simulations."""
        return clock.now()

    def problem(self, reason: str, message: str, *, turn: Turn = Turn.USER) -> None:
        """Report that something is wrong without ending the attempt."""
        require_words("context.problem", reason, message)
        readiness = Readiness(
            state=State.FAILED,
            reason=usable_reason(reason),
            message=usable_message(message),
            turn=usable_turn(turn),
            evidence=(),
            generation=0,
        )
        self._findings.append(Finding(reason, readiness))

    def _observe(self, name: str, readiness: Readiness, component: Component | None) -> None:
        """Evidence of a child goes to its component, or straight to the summary."""
        if component is not None:
            component.observe(name, readiness)
        else:
            self._findings = [f for f in self._findings if f.name != name]
            self._findings.append(Finding(name, readiness))

    @property
    @abstractmethod
    def client(self) -> Client:
        """The client itself, for what caches and `apply` do not cover.

        Its reads are live and its writes are not evidence: report what follows from them by hand.
        """

    # --- the cluster --------------------------------------------------------------------------

    @overload
    async def apply(
        self,
        manifest: C,
        *,
        component: Component | None = None,
        on_conflict: OnConflict = "take",
        on_immutable: OnImmutable = "fail",
        judge: Judge | None = None,
    ) -> C: ...
    @overload
    async def apply(
        self,
        manifest: Mapping[str, Any],
        *,
        component: Component | None = None,
        on_conflict: OnConflict = "take",
        on_immutable: OnImmutable = "fail",
        judge: Judge | None = None,
    ) -> Resource[Any, Any]: ...
    @abstractmethod
    async def apply(
        self,
        manifest: Any,
        *,
        component: Component | None = None,
        on_conflict: OnConflict = "take",
        on_immutable: OnImmutable = "fail",
        judge: Judge | None = None,
    ) -> Any:
        """Create or correct a child and report its readiness; nothing is sent when it holds.

        ``manifest`` is an object of an owned kind, typed or as a plain mapping. Its namespace
        defaults to the resource's. ``component`` receives the child's readiness (and the blame
        when applying fails); without one, the child counts for the summary alone.
        A field that another manager holds is taken back and an Event names that manager;
        ``judge`` replaces `konstat.readiness.compute` for kinds that it cannot know:
        `konstat.readiness.exists` where existence is enough, or a function of your own.
        ``on_conflict="report"`` raises Conflict instead. ``on_immutable="recreate"`` deletes the
        child when an immutable field must change.
        Returns the child as it is now. Raises ManifestError, NamesakeError, FieldReverted,
        KindUnavailable and the server's APIError; each settles by itself when not caught.
        """

    @abstractmethod
    async def delete(
        self, kind: type[Resource[Any, Any]], name: str, *, namespace: str = ""
    ) -> bool:
        """Delete a child that this resource controls; True when there was one.

        Raises NamesakeError when the object is not ours.
        """

    @abstractmethod
    async def prune(self, kinds: Iterable[type[Resource[Any, Any]]]) -> list[str]:
        """Delete the children of ``kinds`` that this attempt did not apply; returns their names."""

    @abstractmethod
    def get(self, kind: type[C], name: str, *, namespace: str = "") -> C | None:
        """An owned or watched object from the cache; None when it is known not to be there.

        Raises KindUnavailable when that is not known, ManifestError for a kind not declared.
        """

    @abstractmethod
    def list(
        self,
        kind: type[C],
        *,
        namespace: str | None = "",
        labels: Mapping[str, str] | None = None,
    ) -> list[C]:
        """Owned or watched objects from the cache, in the resource's namespace by default.

        ``namespace=None`` means all namespaces. Raises as `get`; never an empty list for want
        of knowledge.
        """

    @abstractmethod
    def event(
        self, reason: str, message: str, *, type: Literal["Normal", "Warning"] = "Normal"
    ) -> None:
        """Record a Kubernetes Event about the resource; never waits, never fails."""
