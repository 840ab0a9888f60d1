"""A stage for controllers: a client, the Crate kind installed, and a fresh namespace."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from stage import Crate, Stage

from konstat.controller.run import install_kinds
from konstat.testing import ControlPlane


@pytest.fixture
async def stage(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Stage]:
    async with control_plane.client() as client:
        await install_kinds(client, [Crate])
        yield Stage(client, namespace)
