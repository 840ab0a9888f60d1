"""Both servers as one parametrised fixture: the embedded one, fresh, and a real one, shared."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from both_servers import CRDS, PLAINS, WIDGETS, Subject, fresh

from konstat.client.transport import HttpTransport
from konstat.embedded.memory import MemoryTransport
from konstat.embedded.server import EmbeddedServer
from konstat.testing import ControlPlane

_NAMESPACES = "/api/v1/namespaces"


def _namespace(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def _prepare(subject: Subject) -> None:
    """Definitions and a namespace of its own."""
    for crd in (WIDGETS, PLAINS):
        answer = await subject.post(CRDS, crd)
        assert answer.code in (201, 409), answer
    for path in (subject.widgets, subject.plains):
        await subject.until(path, lambda answer: answer.code == 200)
    answer = await subject.post(_NAMESPACES, _namespace(subject.namespace))
    assert answer.code == 201, answer


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
        await _prepare(subject)
        yield subject
        if subject.is_real:
            await subject.delete(f"{_NAMESPACES}/{subject.namespace}")
    finally:
        await transport.close()
