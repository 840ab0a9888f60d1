"""A client on the rig with the Widget kind installed, plain and with faults between."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from widgets import FaultyTransport, Widget

from konstat.client import Client
from konstat.controller.run import install_kinds
from konstat.testing import ControlPlane


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with control_plane.client() as client:
        await install_kinds(client, [Widget])
        yield client


@pytest.fixture
def faulty(client: Client) -> tuple[Client, FaultyTransport]:
    transport = FaultyTransport(client.transport)
    return Client(transport), transport
