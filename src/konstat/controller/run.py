"""`run`: the whole life of an operator process, from configuration to a clean exit."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from konstat.base import clock, limits
from konstat.base.backoff import Backoff
from konstat.client import Client, ClusterConfig
from konstat.client.config import load_config
from konstat.controller.controller import Controller
from konstat.controller.logs import PlainLines
from konstat.controller.manager import HealthAddress, Manager
from konstat.errors import APIError, ConfigError, NotFound, TransportError
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
    way to a cluster; a server that does not answer is waited for, visibly in the log. A second
    signal ends the process at once, also while an attempt blocks the event loop.
    """
    if not logging.getLogger().handlers:
        configure_logging()
    config = load_config(kubeconfig=kubeconfig, context=context)
    # What is loaded by now stays: collections, which stop the event loop, need not walk it.
    gc.freeze()
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
    with _Stop() as stop:
        async with Client.connect(config) as client:
            manager = Manager(
                *controllers, client=client, namespaces=namespaces, health_address=health_address
            )
            if install_crds:
                await _install_when_there(client, controllers)
            stop.through(manager)
            await manager.run()


async def _install_when_there(client: Client, controllers: Sequence[Controller[Any]]) -> None:
    """As `install`, for a server that may still start; each new problem is logged."""
    backoff = Backoff(
        first_seconds=limits.WATCH_BACKOFF_FIRST_SECONDS,
        maximum_seconds=limits.WATCH_BACKOFF_MAXIMUM_SECONDS,
    )
    told = ""
    failures = 0
    while True:
        try:
            await install(client, controllers)
        except (TransportError, APIError) as error:
            if isinstance(error, APIError) and not error.retryable:
                raise
            if str(error) != told:
                told = str(error)
                log.warning("the CRDs are not installed yet, trying again: %s", told)
            await clock.sleep(backoff.delay_seconds(failures))
            failures += 1
        else:
            return


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


class _Stop:
    """What SIGTERM and SIGINT do for the length of a block, from the first connection on.

    The first one cancels the start, or stops the manager once there is one; the block then ends
    without an error. One more ends the process at once. They are Python's own handlers and not the
    event loop's, which would not hear of a signal while an attempt blocks the loop.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._manager: Manager | None = None
        self._former: dict[signal.Signals, Any] = {}
        self._asked = False
        self._cancelled = False

    def through(self, manager: Manager) -> None:
        """From now on the manager is stopped, in its own order."""
        self._manager = manager

    def __enter__(self) -> _Stop:
        for one in (signal.SIGTERM, signal.SIGINT):
            self._former[one] = signal.signal(one, self._received)
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> bool:
        for one, former in self._former.items():
            signal.signal(one, former)
        if not self._cancelled or kind is not asyncio.CancelledError:
            return False
        if self._task is not None:
            self._task.uncancel()
        return True

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._loop.set_exception_handler(_tell_failure)
            signal.raise_signal(number)
            return
        self._asked = True
        log.info("%s: stopping; once more to stop at once", signal.Signals(number).name)
        self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if self._manager is not None:
            self._manager.stop()
        elif self._task is not None:
            self._cancelled = True
            self._task.cancel()


def _tell_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """As the loop's own, but that the Ctrl-C which broke an attempt off is no failure of it."""
    if not isinstance(context.get("exception"), KeyboardInterrupt):
        loop.default_exception_handler(context)
