"""A node actor on the control plane of the session, and waits for what it shall bring about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import msgspec
import pytest

from konstat.base import chance, clock
from konstat.base.tasks import open_tasks
from konstat.client.api import Client
from konstat.nodes import NodeActor, NodeOptions, Pace, PretendedRuntime
from konstat.testing import ControlPlane

_DEADLINE_SECONDS = 60.0
_POLL_SECONDS = 0.05

QUICK = Pace(
    backoff_first_seconds=0.4,
    backoff_maximum_seconds=0.8,
    shown_seconds=0.2,
    recheck_seconds=0.1,
)


class Until(Protocol):
    """Wait until ``look`` gives something true, and give that."""

    async def __call__(
        self, look: Callable[[], Awaitable[Any]], *, what: str, seconds: float = ...
    ) -> Any: ...


class RunNodes(Protocol):
    """Play nodes for the length of a block."""

    def __call__(
        self, client: Client, options: NodeOptions | None = ..., *, pace: Pace = ...
    ) -> AbstractAsyncContextManager[NodeActor]: ...


@pytest.fixture
async def client(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Client]:
    """An admin's client whose namespace is the one of the test."""
    async with Client.connect(control_plane.config) as connected:
        connected.namespace = namespace
        yield connected


@pytest.fixture(scope="session")
def until() -> Until:
    async def wait(
        look: Callable[[], Awaitable[Any]], *, what: str, seconds: float = _DEADLINE_SECONDS
    ) -> Any:
        deadline = clock.monotonic() + seconds
        while True:
            found = await look()
            if found:
                return found
            assert clock.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
            await clock.sleep(_POLL_SECONDS)

    return wait


@pytest.fixture(scope="session")
def run_nodes() -> RunNodes:
    @asynccontextmanager
    async def run(
        client: Client, options: NodeOptions | None = None, *, pace: Pace = QUICK
    ) -> AsyncIterator[NodeActor]:
        # Each test its own nodes: another's may still be on their way out.
        options = msgspec.structs.replace(
            options or NodeOptions(), name_prefix=f"node-{chance.suffix()}"
        )
        runtime = PretendedRuntime(run_seconds=0.2)
        actor = NodeActor(client, options, runtime=runtime, pace=pace)
        async with open_tasks() as tasks:
            tasks.start(actor.run(), name="nodes")
            await actor.wait_registered()
            yield actor

    return run


@pytest.fixture
async def nodes(client: Client, run_nodes: RunNodes) -> AsyncIterator[NodeActor]:
    async with run_nodes(client) as actor:
        yield actor
