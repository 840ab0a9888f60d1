"""`Manager`: the root of an operator process; owns tasks, caches, workers, health and metrics.

Start order: informers, then (once every declared kind was read, or is known to be unreadable)
the workers. Stop order: no new attempts, the running ones end within a bound, then the rest.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from konstat.base import clock, limits
from konstat.base.tasks import Tasks, open_tasks
from konstat.cache import Informer, Informers
from konstat.client import Client
from konstat.controller.controller import Controller
from konstat.controller.triggers import Triggers
from konstat.controller.views import Views
from konstat.controller.watchdog import watch_loop
from konstat.controller.worker import Worker
from konstat.errors import ModelError
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
    Raises ModelError when two controllers claim one kind or one has no reconcile function.
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
        self._namespaces = tuple(namespaces)
        self._wanted_address = health_address
        self._workers: list[Worker] = []
        self._needed: list[Informer] = []
        self._started = False
        self._stopping = asyncio.Event()
        self._running = asyncio.Event()

    def stop(self) -> None:
        """Ask for a graceful stop; `run` returns when it is done."""
        self._stopping.set()

    async def wait_running(self) -> None:
        """Wait until the caches are read and attempts have begun."""
        await self._running.wait()

    async def run(self) -> None:
        """Keep the resources true until `stop`, or until something fails beyond repair."""
        recorder = Recorder(
            self._client,
            controller=self.controllers[0].field_manager,
            instance=socket.gethostname()[:128],
        )
        async with open_tasks() as services:
            services.start(watch_loop(self.metrics.blocked_seconds.inc), name="watchdog")
            services.start(recorder.run(), name="events")
            informers = Informers(self._client, services)
            triggers = [self._prepare(c, informers, recorder) for c in self.controllers]
            if self._wanted_address is None:
                await self._work(services, triggers, recorder)
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
                await self._work(services, triggers, recorder)

    def _prepare(
        self, controller: Controller[Any], informers: Informers, recorder: Recorder
    ) -> Triggers:
        views = Views(informers, namespaces=self._namespaces, writer=controller.field_manager)
        worker = Worker(
            controller,
            client=self._client,
            views=views,
            recorder=recorder,
            metrics=self.metrics,
        )
        triggers = Triggers(worker, views)
        self._needed.extend(triggers.open())
        self._workers.append(worker)
        kind = controller.kind.kind.lower()
        self.metrics.watch(
            f"konstat_queue_depth_{kind}",
            "Keys that wait for an attempt.",
            lambda: len(worker.queue),
        )
        return triggers

    async def _work(
        self, services: Tasks, triggers: Sequence[Triggers], recorder: Recorder
    ) -> None:
        services.start(self._report_unavailable(), name="unavailable kinds")
        await _first(self._wait_readable(), self._stopping.wait())
        async with open_tasks() as attempts:
            running: list[asyncio.Task[Any]] = []
            if not self._stopping.is_set():
                running = self._start_workers(attempts)
                for one, worker in zip(triggers, self._workers, strict=True):
                    seconds = worker.controller.resync_seconds
                    services.start(_resync(one, seconds), name=f"resync {worker.controller!r}")
                    services.start(self._wake_late(one), name=f"late kinds {worker.controller!r}")
                self._started = True
                self._running.set()
                log.info("running: %s", ", ".join(map(repr, self.controllers)))
            await self._stopping.wait()
            log.info("stopping")
            for worker in self._workers:
                worker.queue.close()
            if running:
                _, late = await asyncio.wait(running, timeout=limits.STOP_GRACE_SECONDS)
                if late:
                    log.warning("%d attempts did not end in time and are cancelled", len(late))
        try:
            async with asyncio.timeout(limits.EVENT_FLUSH_SECONDS):
                await recorder.flush()
        except TimeoutError:
            log.warning("%d events were not recorded", recorder.statistics().waiting)

    def _start_workers(self, attempts: Tasks) -> list[asyncio.Task[Any]]:
        return [
            attempts.start(worker.run(), name=f"{worker.controller!r} {number}")
            for worker in self._workers
            for number in range(worker.controller.concurrency)
        ]

    async def _wait_readable(self) -> None:
        """Wait until each needed kind was read, or is known to be forbidden or not installed."""
        for informer in self._needed:
            while informer.state == "unsynced":
                await informer.wait_changed()

    async def _wake_late(self, triggers: Triggers) -> None:
        """Attempt everything anew when a kind that could not be read becomes readable."""
        late = [informer for informer in self._needed if informer.state != "synced"]
        async with open_tasks() as tasks:
            waits = [tasks.start(_synced(i), name=f"wait for {i.kind.kind}") for i in late]
            for done in asyncio.as_completed(waits):
                await done
                triggers.add_all(fresh=True)

    async def _report_unavailable(self) -> None:
        """Say, and say again when it changes, which kinds cannot be read."""
        told: dict[str, str] = {}
        while True:
            for informer in self._needed:
                key = str(informer.kind)
                problem = informer.problem if informer.state != "synced" else ""
                if problem and told.get(key) != problem:
                    log.warning("%s: %s", informer.kind.resource, problem)
                elif told.get(key) and not problem:
                    log.info("%s can be read again", informer.kind.resource)
                told[key] = problem
            await clock.sleep(limits.LOOP_WATCH_SECONDS * 4)

    # --- health -------------------------------------------------------------------------------

    def _alive(self) -> Mapping[str, str]:
        return {}

    def _ready(self) -> Mapping[str, str]:
        problems = {
            informer.kind.resource: informer.problem or informer.state
            for informer in self._needed
            if informer.state != "synced"
        }
        if not self._started:
            problems["manager"] = "starting"
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


async def _synced(informer: Informer) -> None:
    while informer.state != "synced":
        await informer.wait_changed()


async def _resync(triggers: Triggers, seconds: float) -> None:
    while True:
        await clock.sleep(seconds)
        triggers.add_all(fresh=False)


async def _first(*waits: Any) -> None:
    """Return when the first of the waits is over; the others are cancelled."""
    async with open_tasks() as tasks:
        running = [tasks.start(wait, name="first") for wait in waits]
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
