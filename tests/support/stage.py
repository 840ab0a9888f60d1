"""For the controller's tests: a manager in this process, a kind for it, looks at the world."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from story import Said, eventually, keeps_contract, said

from konstat.base.tasks import open_tasks
from konstat.base.transport import Request, Response, Stream, Transport
from konstat.client import Client
from konstat.controller import Context, Controller, Manager
from konstat.controller.worker import Worker
from konstat.errors import NotFound
from konstat.kinds import ConfigMap, Event
from konstat.objects.model import Spec, Status
from konstat.objects.resource import Resource
from konstat.status import Component

R = TypeVar("R", bound=Resource[Any, Any])

GROUP = "controller.example.com"
PATIENCE_SECONDS = 25.0


class CrateSpec(Spec):
    text: str = ""
    size: int = 1


class CrateStatus(Status):
    content: Component
    note: str = ""
    size: int = 0


class Crate(Resource[CrateSpec, CrateStatus], group=GROUP, version="v1"):
    """Holds a text in a ConfigMap of its own name."""


def config_map(crate: Resource[Any, Any], name: str = "", **data: str) -> ConfigMap:
    """A ConfigMap for ``crate``, with its text unless ``data`` says what it holds."""
    return ConfigMap(
        metadata={"name": name or crate.name}, data=data or {"text": str(crate.spec.text)}
    )


async def fill(crate: Crate, context: Context[Crate]) -> None:
    """The plain reconcile of a Crate."""
    await context.apply(config_map(crate), component=context.status.content)
    context.status.size = crate.spec.size


def crates(function: Any = fill, **options: Any) -> Controller[Crate]:
    """A controller of Crates that runs ``function``."""
    controller = Controller(Crate, owns=options.pop("owns", [ConfigMap]), **options)
    controller.reconcile(function)
    return controller


def ready(generation: int = 1) -> Said:
    return {
        "Ready": ("True", "Ready", generation),
        "ContentReady": ("True", "Exists", generation),
    }


def unready(
    status: str, reason: str, second: str, generation: int = 1, content: str = "NotObserved"
) -> Said:
    """Conditions of a Crate whose attempt ended before its part was observed."""
    return {
        "Ready": (status, reason, generation),
        "ContentReady": ("Unknown", content, generation),
        second: ("True", reason, generation),
    }


class Tap:
    """A transport between a manager and the server: remembers requests and breaks some.

    ``fault(request)`` may return an exception, which is then raised instead of sending.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.fault: Callable[[Request], Exception | None] = lambda _: None
        self.before: Callable[[Request], Awaitable[None]] | None = None
        self.requests: list[Request] = []

    async def _pass(self, request: Request) -> None:
        error = self.fault(request)
        if error is not None:
            raise error
        self.requests.append(request)
        if self.before is not None:
            await self.before(request)

    async def send(self, request: Request) -> Response:
        await self._pass(request)
        return await self._inner.send(request)

    async def open(self, request: Request) -> Stream:
        await self._pass(request)
        return await self._inner.open(request)

    async def close(self) -> None:
        await self._inner.close()

    @property
    def writes(self) -> list[str]:
        """Method and path of what changes objects, events left out."""
        return [
            f"{r.method} {r.path.partition('?')[0]}"
            for r in self.requests
            if r.method != "GET" and "/events" not in r.path
        ]


class Stage:
    """One namespace of a control plane, with managers that look after it alone."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.tap = Tap(client.transport)

    def manager(self, *controllers: Controller[Any], **options: Any) -> Manager:
        options.setdefault("client", Client(self.tap))
        options.setdefault("namespaces", (self.namespace,))
        return Manager(*controllers, **options)

    @asynccontextmanager
    async def running(
        self, *controllers: Controller[Any], **options: Any
    ) -> AsyncIterator[Manager]:
        """A manager for the length of a block; it stops gracefully at its end."""
        async with operating(self.manager(*controllers, **options)) as manager:
            yield manager

    # --- the world ----------------------------------------------------------------------------

    async def create(self, name: str = "c", cls: type[R] = Crate, **spec: Any) -> dict[str, Any]:
        made = await self.client.create(cls.named(name, namespace=self.namespace, **spec))
        return made.content

    async def edit(self, name: str = "c", cls: type[Resource[Any, Any]] = Crate, **spec: Any):
        return await self.client.patch(
            cls.kind, name, {"spec": spec}, type="merge", namespace=self.namespace
        )

    async def delete(self, name: str = "c", cls: type[Resource[Any, Any]] = Crate) -> None:
        await self.client.delete(cls, name, namespace=self.namespace)

    async def look(self, name: str = "c", cls: type[Resource[Any, Any]] = Crate) -> dict[str, Any]:
        """One object, its status checked against the contract; empty when it is not there."""
        try:
            content = await self.client.get(cls.kind, name, namespace=self.namespace)
        except NotFound:
            return {}
        assert keeps_contract(content)
        return content

    async def says(
        self, expected: Said, name: str = "c", cls: type[Resource[Any, Any]] = Crate
    ) -> dict[str, Any]:
        """Wait until the conditions are exactly these."""
        return await eventually(
            lambda: self.look(name, cls),
            lambda seen: said(seen) == expected,
            within_seconds=PATIENCE_SECONDS,
        )

    async def config(self, name: str = "c") -> dict[str, Any] | None:
        """A ConfigMap, None when it is not there."""
        try:
            return await self.client.get(ConfigMap.kind, name, namespace=self.namespace)
        except NotFound:
            return None

    async def configs(self) -> list[str]:
        found = await self.client.list(ConfigMap.kind, namespace=self.namespace)
        names = [c["metadata"]["name"] for c in found]
        return sorted(name for name in names if name != "kube-root-ca.crt")

    async def events(self, reason: str = "") -> list[dict[str, Any]]:
        found = await self.client.list(Event.kind, namespace=self.namespace)
        return [e for e in found if reason in ("", e["reason"])]


@asynccontextmanager
async def operating(manager: Manager) -> AsyncIterator[Manager]:
    """``manager`` at work for the length of a block; what ends it early ends the block."""
    async with open_tasks() as tasks:
        running = tasks.start(manager.run(), name="manager")
        started = tasks.start(manager.wait_running(), name="start")
        await asyncio.wait((running, started), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        yield manager
        manager.stop()
        await running


async def quiet(tap: Tap, *, looks: int = 10) -> None:
    """Wait until no request came for some looks in a row."""
    counts: list[int] = []

    async def look() -> list[int]:
        counts.append(len(tap.requests))
        return counts[-looks:]

    await eventually(look, lambda seen: len(seen) == looks and len(set(seen)) == 1)


async def spin(right: Callable[[], bool]) -> None:
    """Wait until something in this process is so."""

    async def look() -> bool:
        return right()

    await eventually(look, bool, within_seconds=PATIENCE_SECONDS)


def worker_of(manager: Manager) -> Worker:
    """The worker of the only controller, for what the world does not show: queue and memory."""
    (triggers,) = manager._triggers
    return triggers.worker
