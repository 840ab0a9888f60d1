"""A kind to write to on the rig, and a transport that fails on demand."""

from __future__ import annotations

from collections.abc import Callable

from konstat.base.transport import Request, Response, Stream, Transport
from konstat.errors import TransportError
from konstat.objects.model import Spec, Status
from konstat.objects.resource import Resource
from konstat.status import Component


class WidgetSpec(Spec):
    size: int = 1


class WidgetStatus(Status):
    body: Component
    note: str = ""
    count: int = 0


class Widget(Resource[WidgetSpec, WidgetStatus], group="writing.example.com", version="v1"):
    """Something to write to."""


class FaultyTransport:
    """Passes requests on, but for what ``fault`` does with them.

    ``fault(request)`` returns "" (pass), "lose answer" (the request lands, its answer does not
    arrive) or "refuse" (it is never sent); ``before`` runs ahead of each request that matches.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.fault: Callable[[Request], str] = lambda _: ""
        self.sent: list[Request] = []

    async def send(self, request: Request) -> Response:
        fault = self.fault(request)
        if fault == "refuse":
            raise TransportError("connection refused (as the test asked)", sent=False)
        self.sent.append(request)
        answer = await self._inner.send(request)
        if fault == "lose answer":
            raise TransportError("connection reset (as the test asked)")
        return answer

    async def open(self, request: Request) -> Stream:
        return await self._inner.open(request)

    async def close(self) -> None:
        await self._inner.close()

    @property
    def writes(self) -> list[Request]:
        return [r for r in self.sent if r.method not in ("GET", "HEAD")]
