"""A manager stops in time although its events cannot be written."""

from __future__ import annotations

import asyncio

import pytest
from story import eventually
from widgets import FaultyTransport, Widget

from konstat.base.tasks import open_tasks
from konstat.base.transport import Request, Response
from konstat.client import Client
from konstat.controller.context import Context
from konstat.controller.controller import Controller
from konstat.controller.manager import Manager
from konstat.controller.run import install_kinds
from konstat.testing import ControlPlane


class Away(FaultyTransport):
    """Loses what concerns events: the server hangs, or refuses connections."""

    def __init__(self, inner: FaultyTransport, trouble: str) -> None:
        super().__init__(inner)
        self.trouble = trouble
        self.tried = 0
        self.fault = self._refuse

    async def send(self, request: Request) -> Response:
        if "/events" in request.path:
            self.tried += 1
            if self.trouble == "hang":
                await asyncio.Event().wait()
        return await super().send(request)

    def _refuse(self, request: Request) -> str:
        return "refuse" if "/events" in request.path else ""


@pytest.mark.parametrize("trouble", ["hang", "refuse"])
async def test_F72_a_stop_while_events_cannot_be_written(
    control_plane: ControlPlane, namespace: str, trouble: str
) -> None:
    controller = Controller(Widget)

    @controller.reconcile
    async def reconcile(widget: Widget, context: Context[Widget]) -> None:
        for number in range(5):
            context.event("Seen", str(number))
        context.status.body.good()

    async with control_plane.client() as client:
        await install_kinds(client, [Widget])
        await client.create(Widget.named("w", size=1), namespace=namespace)
        away = Away(FaultyTransport(client.transport), trouble)
        manager = Manager(controller, client=Client(away), namespaces=[namespace])

        async def ready() -> bool:
            widget = await client.get(Widget, "w", namespace=namespace)
            return "conditions" in (widget.raw("status") or {}) and away.tried > 0

        async with asyncio.timeout(60), open_tasks() as tasks:
            running = tasks.start(manager.run(), name="manager")
            await eventually(ready, bool)
            manager.stop()
            await running
