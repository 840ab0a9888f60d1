"""The embedded API with everything that acts on it, in this process, in the blink of an eye.

`embedded_api` serves an embedded Kubernetes API (`konstat.embedded`) on loopback, with the actors
that play controller-manager and scheduler (`konstat.actors`) and with nodes (`konstat.nodes`):

    async with embedded_api() as api, api.client() as client:
        await client.create(Deployment.named("web", …))

It needs nothing but Python. What is yielded has the surface of `konstat.testing.ControlPlane` where
that makes sense, so the same test can run on either. `konstat serve`, `konstat dev` and
`konstat demo` are built on it.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

from konstat.actors import ControlPlaneActors
from konstat.base import clock, limits
from konstat.base.tasks import open_tasks
from konstat.client.api import Client
from konstat.client.config import ClusterConfig, load_config
from konstat.embedded.http import Address, serve
from konstat.embedded.memory import MemoryTransport
from konstat.embedded.server import EmbeddedServer
from konstat.errors import MissingToolError
from konstat.kinds import ServiceAccount
from konstat.nodes import ContainerRuntime, NodeActor, NodeOptions
from konstat.testing.embedded_logs import PodLogs
from konstat.testing.rig_access import write_secret
from konstat.testing.rig_binaries import find_binaries
from konstat.testing.rig_folder import claim_folder
from konstat.testing.rig_health import exists, wait_until
from konstat.testing.rig_module import KUBECTL

CLUSTER: Final = "konstat-embedded"  # the name of cluster and context in the kubeconfig file
_PREFIX: Final = "konstat-embedded-"


@asynccontextmanager
async def embedded_api(
    *,
    port: int = 0,
    actors: bool = True,
    nodes: int = 1,
    runtime: ContainerRuntime | None = None,
    data: Path | None = None,
) -> AsyncIterator[EmbeddedApi]:
    """Serve an embedded API for the length of a block.

    ``port``
        Of 127.0.0.1; 0 lets the system choose.
    ``actors``
        Whether controllers and the scheduler are played. Without them nothing acts but the test: a
        Deployment makes no Pods, and a deleted namespace does not go.
    ``nodes``
        How many nodes are played; with none, Pods stay pending.
    ``runtime``
        What plays containers: pretended by default, or processes of this machine, by
        `konstat.nodes.ProcessRuntime`; their logs are then served too, but cannot be followed.
    ``data``
        A folder to keep; the kubeconfig file is in it. Objects are in memory and are never kept.
        Without it a temporary folder is used and removed.

    Raises `konstat.errors.UserError` when the port cannot be had, or for too many nodes.

    Guarantees: it listens on loopback only, and everything ends with the block; what is yielded is
    ready (nodes registered, the default ServiceAccount there). All of it runs on the event loop of
    the block: a caller that blocks the loop, say by `subprocess.run`, waits for itself.
    """
    server = EmbeddedServer()
    with claim_folder(data, prefix=_PREFIX) as folder:
        async with serve(server, port=port) as address:
            api = EmbeddedApi(server, address, folder)
            async with api.client(field_manager="konstat-actors") as client, open_tasks() as tasks:
                if actors:
                    tasks.start(ControlPlaneActors(client).run(), name="actors")
                    await _wait_account(client)
                if nodes:
                    # They end with their server: nobody would see that they were removed.
                    options = NodeOptions(nodes=nodes, remove_nodes_on_exit=False)
                    actor = NodeActor(client, options, runtime=runtime)
                    server.verbs.logs = PodLogs(actor)
                    tasks.start(actor.run(), name="nodes")
                    await actor.wait_registered()
                yield api


async def _wait_account(client: Client) -> None:
    """Pods of the default namespace need its ServiceAccount."""
    await wait_until(
        lambda: exists(client, ServiceAccount.kind, "default", namespace="default"),
        what="the creation of ServiceAccount default",
        programs=(),
        deadline=clock.monotonic() + limits.RIG_START_SECONDS,
    )


class EmbeddedApi:
    """An embedded API that is being served; `embedded_api` makes one.

    ``embedded`` is the server itself, for tests that look inside (its storage) or send requests.
    """

    def __init__(self, embedded: EmbeddedServer, address: Address, folder: Path) -> None:
        self.embedded = embedded
        self.address = address
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        write_secret(self.kubeconfig, kubeconfig(server=self.server))

    @property
    def server(self) -> str:
        """The URL of the API, plain HTTP."""
        return self.address.url

    @property
    def config(self) -> ClusterConfig:
        """The way in over HTTP, as other programs have it."""
        return load_config(kubeconfig=self.kubeconfig)

    @property
    def kubectl(self) -> Path:
        """The program kubectl: of the rig if that is there, else the one on the path.

        Raises MissingToolError when there is none; nothing here needs it.
        """
        try:
            return find_binaries().path(KUBECTL)
        except MissingToolError as error:
            found = shutil.which(KUBECTL)
            if found is None:
                raise MissingToolError(f"there is no kubectl on the path, and {error}") from error
            return Path(found)

    def kubectl_command(self, *arguments: str) -> list[str]:
        """A command line of kubectl against this server; run it without blocking the loop."""
        return [
            str(self.kubectl),
            f"--kubeconfig={self.kubeconfig}",
            f"--cache-dir={self.folder / 'kubectl-cache'}",
            *arguments,
        ]

    @asynccontextmanager
    async def client(self, *, field_manager: str = "konstat") -> AsyncIterator[Client]:
        """A client for the length of a block; its requests are function calls, not HTTP."""
        client = Client(MemoryTransport(self.embedded), field_manager=field_manager)
        try:
            yield client
        finally:
            await client.aclose()


def kubeconfig(*, server: str) -> bytes:
    """A kubeconfig file, in JSON (which is YAML), for a server without authentication."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CLUSTER, "cluster": {"server": server}}],
        "users": [{"name": CLUSTER, "user": {}}],
        "contexts": [{"name": CLUSTER, "context": {"cluster": CLUSTER, "user": CLUSTER}}],
        "current-context": CLUSTER,
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2)
