"""A `stage.Stage` on an embedded API without actors, for what needs no real server.

Nothing acts there but the test and its managers, so a test takes a fraction of a second.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from stage import Crate, Stage

from konstat.client import Client
from konstat.controller.run import install_kinds
from konstat.embedded.memory import MemoryTransport
from konstat.embedded.server import EmbeddedServer
from konstat.kinds import Namespace
from konstat.objects.resource import Resource

NAMESPACE = "stage"


@asynccontextmanager
async def embedded_stage(
    *, install: tuple[type[Resource[Any, Any]], ...] = (Crate,)
) -> AsyncIterator[Stage]:
    """A namespace of a fresh embedded API with these kinds installed."""
    client = Client(MemoryTransport(EmbeddedServer()))
    try:
        await client.create(Namespace.named(NAMESPACE))
        await install_kinds(client, install)
        yield Stage(client, NAMESPACE)
    finally:
        await client.aclose()
