"""`Manager`: the root of an operator process; owns tasks, caches, workers, health and metrics.

Start order: informers, then the workers of each controller, once every kind that it declares was
read or is known to be unreadable. Stop order: no new attempts, the running ones end within a
bound, then the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from konstat.base import clock, limits
from konstat.base.tasks import Tasks, open_tasks
from konstat.cache import Informer, Informers
from konstat.client import Client
from konstat.controller.availability import Availability, name_of
from konstat.controller.controller import Controller
from konstat.controller.triggers import Triggers
from konstat.controller.views import Views
from konstat.controller.watchdog import watch_loop
from konstat.controller.worker import Worker
from konstat.errors import KindUnavailable, ModelError
from konstat.services import health
from konstat.services.events import Recorder
from konstat.services.metrics import Metrics

log = logging.getLogger("konstat.manager")


class HealthAddress(msgspec.Struct, frozen=True):
    """Where /healthz, /readyz and /metrics are served; port 0 lets the system choose."""

    host: str = "127.0.0.1"
    port: int = 0


class Manager:
    """Runs controllers against one API server until it is told to stop.

    ``namespaces`` restricts everything namespaced to those namespaces (empty: all of them), so
    that an operator with Roles instead of ClusterRoles can run.
    Raises ModelError when two controllers claim one kind, one has no reconcile function, or a
    namespace cannot be one. A manager runs once.
    """

    def __init__(
        self,
        *controllers: Controller[Any],
        client: Client,
        namespaces: Sequence[str] = (),
        health_address: HealthAddress | None = None,
    ) -> None:
        _require_distinct(controllers)
        self.controllers = controllers
        self.metrics = Metrics()
        self.health_address: HealthAddress | None = None
        self._client = client
        self._namespaces = _checked(namespaces)
        self._wanted_address = health_address
        self._triggers: list[Triggers] = []
        self._availability = Availability(client, ())
        self._recorders: list[Recorder] = []
        self._starting = {controller.kind.resource for controller in controllers}
        self._attempts: list[asyncio.Task[Any]] = []
        self._stopping = asyncio.Event()
        self._running = asyncio.Event()

    def stop(self) -> None:
        """Ask for a graceful stop; `run` returns when it is done."""
        self._stopping.set()

    async def wait_running(self) -> None:
        """Wait until the caches are read and attempts have begun."""
        await self._running.wait()

    async def run(self) -> None:
        """Keep the resources true until `stop`, or until something fails beyond repair.

        Raises ConfigError when the health address cannot be had.
        """
        async with open_tasks() as services:
            services.start(watch_loop(self.metrics.blocked_seconds.inc), name="watchdog")
            informers = Informers(self._client, services)
            self._triggers = [self._prepare(c, informers, services) for c in self.controllers]
            self._availability = Availability(self._client, self._triggers)
            if self._wanted_address is None:
                await self._work(services)
                return
            async with health.serve(
                self._wanted_address.host,
                self._wanted_address.port,
                alive=self._alive,
                ready=self._ready,
                metrics=self.metrics.text,
            ) as bound:
                self.health_address = HealthAddress(*bound)
                log.info("health and metrics on http://%s:%d", *bound)
                await self._work(services)

    def _prepare(
        self, controller: Controller[Any], informers: Informers, services: Tasks
    ) -> Triggers:
        name = controller.field_manager
        recorder = Recorder(self._client, controller=name, instance=socket.gethostname())
        self._recorders.append(recorder)
        services.start(recorder.run(), name=f"events of {controller!r}")
        views = Views(informers, namespaces=self._namespaces, writer=name)
        worker = Worker(
            controller,
            client=self._client,
            views=views,
            recorder=recorder,
            metrics=self.metrics,
        )
        triggers = Triggers(worker, views)
        triggers.open()
        self.metrics.watch(
            "konstat_queue_depth",
            "Keys that wait for an attempt.",
            lambda: len(worker.queue),
            resource=controller.kind.resource,
        )
        return triggers

    async def _work(self, services: Tasks) -> None:
        services.start(self._availability.run(), name="unavailable kinds")
        async with open_tasks() as attempts:
            starts = [
                attempts.start(self._begin(one, attempts, services), name="start")
                for one in self._triggers
            ]
            await self._stopping.wait()
            log.info("stopping")
            for start in starts:
                start.cancel()
            for triggers in self._triggers:
                triggers.worker.end()
            await self._end_attempts()
        await self._flush_events()

    async def _begin(self, triggers: Triggers, attempts: Tasks, services: Tasks) -> None:
        """Start the workers of one controller once its kinds are read; no other waits for it."""
        controller = triggers.worker.controller
        await _wait_readable(triggers.informers)
        await self._availability.begin(triggers)
        for number in range(controller.concurrency):
            work = triggers.worker.run()
            self._attempts.append(attempts.start(work, name=f"{controller!r} {number}"))
        services.start(_resync(triggers, controller.resync_seconds), name=f"resync {controller!r}")
        for informer in triggers.others:
            services.start(_follow(triggers, informer), name=f"follow {informer.kind.kind}")
        self._starting.discard(controller.kind.resource)
        log.info("running: %r", controller)
        if not self._starting:
            self._running.set()

    async def _end_attempts(self) -> None:
        """Let the attempts in hand end; leaving the block cancels those that do not."""
        if not self._attempts:
            return
        _, late = await asyncio.wait(self._attempts, timeout=limits.STOP_GRACE_SECONDS)
        if late:
            log.warning("%d attempts did not end in time and are cancelled", len(late))

    async def _flush_events(self) -> None:
        try:
            async with asyncio.timeout(limits.EVENT_FLUSH_SECONDS):
                for recorder in self._recorders:
                    await recorder.flush()
        except TimeoutError:
            waiting = sum(recorder.statistics().waiting for recorder in self._recorders)
            log.warning("%d events were not recorded", waiting)

    # --- health -------------------------------------------------------------------------------

    def _alive(self) -> Mapping[str, str]:
        return {}

    def _ready(self) -> Mapping[str, str]:
        problems = dict(self._availability.problems())
        if self._starting:
            problems["manager"] = f"starting: {', '.join(sorted(self._starting))}"
        if self._stopping.is_set():
            problems["manager"] = "stopping"
        return problems


def _require_distinct(controllers: Iterable[Controller[Any]]) -> None:
    seen: dict[str, Controller[Any]] = {}
    for controller in controllers:
        controller.require_complete()
        if controller.kind.resource in seen:
            raise ModelError(f"two controllers for {controller.kind.resource}: merge them into one")
        seen[controller.kind.resource] = controller
    if not seen:
        raise ModelError("a manager needs at least one Controller")


def _checked(namespaces: Sequence[str]) -> tuple[str, ...]:
    if isinstance(namespaces, str):
        raise ModelError(f"namespaces is {namespaces!r}: give a list of names")
    if not all(namespaces):
        raise ModelError("namespaces contains an empty name: leave namespaces out for all of them")
    return tuple(dict.fromkeys(namespaces))


async def _wait_readable(informers: Iterable[Informer]) -> None:
    """Wait until each kind was read or is known to be forbidden or not installed.

    One whose list only fails is waited for in vain; attempts then begin without it, and reading
    it raises KindUnsynced (L3, F54). A list that merely takes long is waited for.
    """
    deadline = clock.monotonic() + limits.FIRST_LIST_SECONDS
    for informer in informers:
        while informer.state == "unsynced":
            with contextlib.suppress(KindUnavailable):  # then its state says so
                await informer.wait_synced(1.0)
            failing = informer.state == "unsynced" and informer.statistics().watcher.errors
            if failing and clock.monotonic() > deadline:
                log.warning("%s: starting without it: %s", name_of(informer), informer.problem)
                break


async def _follow(triggers: Triggers, informer: Informer) -> None:
    """Attempt everything anew when a kind becomes readable, and when it stays unreadable (H3)."""
    readable = informer.state == "synced"
    while True:
        if (informer.state == "synced") == readable:
            await informer.wait_changed()
        if informer.state == "synced":
            if not readable:
                await triggers.add_all()
            readable = True
        elif readable:
            # A server that starts refuses for a moment what it allows: that is no news (F29).
            await clock.sleep(limits.UNREADABLE_SECONDS)
            readable = informer.state == "synced"
            await triggers.add_all()


async def _resync(triggers: Triggers, seconds: float) -> None:
    while True:
        await clock.sleep(seconds)
        await triggers.add_all()
