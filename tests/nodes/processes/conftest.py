"""A node actor that plays containers by processes, on the control plane of the session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import pytest

from konstat.base import chance
from konstat.base.tasks import open_tasks
from konstat.client.api import Client
from konstat.nodes import NodeActor, NodeOptions, Pace, ProcessCommand, ProcessRuntime

QUICK = Pace(
    backoff_first_seconds=0.4,
    backoff_maximum_seconds=1.6,
    shown_seconds=0.2,
    recheck_seconds=0.1,
)


class Play(Protocol):
    """Play nodes with these commands by image, for the length of a block."""

    def __call__(
        self,
        client: Client,
        *,
        prefix: str = ...,
        allow_commands: bool = ...,
        keep: bool = ...,
        **commands: tuple[str, ...],
    ) -> AbstractAsyncContextManager[NodeActor]: ...


@pytest.fixture(scope="session")
def play() -> Play:
    @asynccontextmanager
    async def run(
        client: Client,
        *,
        prefix: str = "",
        allow_commands: bool = False,
        keep: bool = False,
        **commands: tuple[str, ...],
    ) -> AsyncIterator[NodeActor]:
        mapped = [
            ProcessCommand(image=f"example.com/{image}", command=command)
            for image, command in commands.items()
        ]
        runtime = ProcessRuntime(mapped, allow_commands=allow_commands)
        options = NodeOptions(
            name_prefix=prefix or f"node-{chance.suffix()}", remove_nodes_on_exit=not keep
        )
        actor = NodeActor(client, options, runtime=runtime, pace=QUICK)
        async with open_tasks() as tasks:
            tasks.start(actor.run(), name="nodes")
            await actor.wait_registered()
            yield actor

    return run


@pytest.fixture(scope="session")
def pod_of() -> Any:
    """A pod with one container ``main`` of an image of the mapping."""

    def make(name: str, image: str, **options: Any) -> dict[str, Any]:
        spec, metadata = options.pop("spec", {}), options.pop("metadata", {})
        container = {"name": "main", "image": f"example.com/{image}:1", **options}
        return {
            "metadata": {"name": name, **metadata},
            "spec": {
                "automountServiceAccountToken": False,
                "containers": [container],
                "terminationGracePeriodSeconds": 5,
                **spec,
            },
        }

    return make
