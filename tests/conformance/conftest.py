"""Both servers as one parametrised fixture: the embedded one, fresh, and a real one, shared."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from both_servers import Subject, fresh, prepare

from konstat.client.transport import HttpTransport
from konstat.embedded.memory import MemoryTransport
from konstat.embedded.server import EmbeddedServer
from konstat.testing import ControlPlane


@pytest.fixture(
    params=["embedded", pytest.param("rig", marks=pytest.mark.realapi)],
)
def server_name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def server(server_name: str, request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    """The server that a test looks at, with a fresh namespace."""
    if server_name == "embedded":
        transport = MemoryTransport(EmbeddedServer())
    else:
        plane: ControlPlane = request.getfixturevalue("control_plane")
        transport = HttpTransport(plane.config)
        await transport.prepare()
    subject = Subject(server_name, transport, fresh("conformance-"))
    try:
        await prepare(subject)
        yield subject
        if subject.is_real:
            await subject.delete(f"/api/v1/namespaces/{subject.namespace}")
    finally:
        await transport.close()
