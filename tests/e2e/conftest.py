"""Both servers as one fixture: an embedded one, fresh, and a real control plane, shared."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from konstat import testing
from konstat.errors import MissingToolError
from konstat.testing.plugin import give_up

if TYPE_CHECKING:
    from story import Plane


@pytest.fixture(params=["embedded", pytest.param("rig", marks=pytest.mark.realapi)])
async def plane(request: pytest.FixtureRequest) -> AsyncIterator[Plane]:
    """The server that a test looks at, without nodes."""
    if request.param == "rig":
        yield request.getfixturevalue("control_plane")
        return
    async with testing.embedded_api(nodes=0) as api:
        try:
            api.kubectl_command()
        except MissingToolError as error:
            give_up(str(error))
        yield api


@pytest.fixture
def place(plane: Plane, request: pytest.FixtureRequest) -> str:
    """The namespace for a test; it alone uses it."""
    if isinstance(plane, testing.ControlPlane):
        return request.getfixturevalue("namespace")
    return "default"
