"""`run`: the whole life of an operator process, from configuration to a clean exit."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from konstat.base import clock, limits
from konstat.client import Client, ClusterConfig
from konstat.client.config import load_config
from konstat.controller.controller import Controller
from konstat.controller.logs import PlainLines
from konstat.controller.manager import HealthAddress, Manager
from konstat.errors import ConfigError, NotFound
from konstat.kinds import CustomResourceDefinition
from konstat.objects.crd import crd
from konstat.objects.resource import Resource
from konstat.status.condition import find

log = logging.getLogger("konstat.manager")


def run(
    *controllers: Controller[Any],
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    namespaces: Sequence[str] = (),
    health_address: HealthAddress | None = None,
    install_crds: bool = False,
) -> None:
    """Run controllers until SIGTERM or SIGINT; the last line of an operator's main program.

    The cluster is found as kubectl finds it, or in-cluster. Raises ConfigError when there is no
    way to a cluster; a second signal ends the process at once.
    """
    if not logging.getLogger().handlers:
        configure_logging()
    config = load_config(kubeconfig=kubeconfig, context=context)
    asyncio.run(
        run_manager(
            controllers,
            config=config,
            namespaces=namespaces,
            health_address=health_address or HealthAddress(),
            install_crds=install_crds,
        )
    )


async def run_manager(
    controllers: Sequence[Controller[Any]],
    *,
    config: ClusterConfig,
    namespaces: Sequence[str] = (),
    health_address: HealthAddress | None = None,
    install_crds: bool = False,
) -> None:
    """As `run`, inside a running event loop."""
    async with Client.connect(config) as client:
        manager = Manager(
            *controllers, client=client, namespaces=namespaces, health_address=health_address
        )
        with _signals(manager):
            if install_crds:
                await install(client, controllers)
            await manager.run()


async def install(client: Client, controllers: Sequence[Controller[Any]]) -> None:
    """Apply the CRDs of the controllers' kinds and wait until the server serves them.

    Raises ConfigError when a CRD is not established in time, with the server's reasons.
    """
    await install_kinds(client, [controller.resource for controller in controllers])


async def install_kinds(client: Client, resources: Iterable[type[Resource[Any, Any]]]) -> None:
    """As `install`, for resource classes."""
    for resource in resources:
        await install_manifest(client, crd(resource))


async def install_manifest(client: Client, manifest: dict[str, Any]) -> None:
    """Apply one CustomResourceDefinition and wait until its kind is served."""
    name = manifest["metadata"]["name"]
    await client.apply(CustomResourceDefinition.kind, manifest, force=True, field_manager="konstat")
    log.info("installed CustomResourceDefinition %s", name)
    deadline = clock.monotonic() + limits.CRD_ESTABLISHED_SECONDS
    while problem := await _not_served(client, manifest):
        if clock.monotonic() > deadline:
            raise ConfigError(
                f"CustomResourceDefinition {name} is not served after"
                f" {limits.CRD_ESTABLISHED_SECONDS:.0f} s: {problem}"
            )
        await clock.sleep(limits.CRD_POLL_SECONDS)


async def _not_served(client: Client, manifest: dict[str, Any]) -> str:
    """Why a kind is not served yet; empty when it is.

    Established is not enough: the server opens the endpoint a moment later (C48).
    """
    if problem := await _not_established(client, manifest["metadata"]["name"]):
        return problem
    spec = manifest["spec"]
    for version in spec["versions"]:
        path = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}?limit=1"
        try:
            await client.exchange("GET", path, request=f"list {spec['names']['plural']}")
        except NotFound as error:
            return str(error)
    return ""


async def _not_established(client: Client, name: str) -> str:
    """Why a CRD is not served yet; empty when it is."""
    content = await client.get(CustomResourceDefinition.kind, name)
    conditions = (content.get("status") or {}).get("conditions") or []
    established = find(conditions, "Established")
    if established is not None and established.get("status") == "True":
        return ""
    texts = [str(c.get("message")) for c in conditions if c.get("status") == "False"]
    return "; ".join(texts) or "the server has not judged it yet"


def configure_logging(level: str = "INFO") -> None:
    """Plain lines on standard error, as a person or a log collector reads them."""
    lines = logging.StreamHandler()
    lines.setFormatter(PlainLines())
    logging.basicConfig(level=level, handlers=[lines])


@contextlib.contextmanager
def _signals(manager: Manager) -> Any:
    """SIGTERM and SIGINT stop the manager; once more, and the default action ends the process."""
    loop = asyncio.get_running_loop()
    caught = (signal.SIGTERM, signal.SIGINT)

    def stop(number: signal.Signals) -> None:
        log.info("%s: stopping; once more to stop at once", number.name)
        for one in caught:
            loop.remove_signal_handler(one)
        manager.stop()

    for one in caught:
        loop.add_signal_handler(one, stop, one)
    try:
        yield
    finally:
        for one in caught:
            loop.remove_signal_handler(one)
