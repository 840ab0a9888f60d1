"""A clock that moves only when a test says so, and informers against a scripted server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from fake_server import KIND, FakeServer, content_of
from stepped_clock import SteppedClock
from store_ear import Ear

from konstat.base import chance
from konstat.base import clock as base_clock
from konstat.base.tasks import Tasks, open_tasks
from konstat.cache import Informer, Store
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot


class Running:
    """An informer that runs against a `FakeServer`, and what its subscriber heard."""

    def __init__(self, server: FakeServer, *, namespace: str = "") -> None:
        self.server = server
        self.informer = Informer(server, KIND, namespace=namespace)  # type: ignore[arg-type]
        self.heard: list[tuple[str, str]] = []
        self.informer.subscribe(self._hear)

    def _hear(self, change: Any) -> None:
        verb = "gone" if change.new is None else "new" if change.old is None else "changed"
        self.heard.append((verb, (change.new or change.old).name))

    @property
    def store(self):
        return self.informer.store

    def agrees(self) -> bool:
        """Whether the store holds what the server has, no more and no less."""
        held = {(s.namespace, s.name): s.content for s in self.store.list()}
        return held == self.server.objects


@pytest.fixture
async def clock() -> AsyncIterator[SteppedClock]:
    stepped = SteppedClock()
    with base_clock.use_clock(stepped), chance.use_seed(1):
        yield stepped


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
async def tasks(clock: SteppedClock) -> AsyncIterator[Tasks]:
    async with open_tasks() as running:
        yield running


@pytest.fixture
async def start(server: FakeServer, clock: SteppedClock, tasks: Tasks):
    """Start an informer against the server."""

    async def start_one(*, namespace: str = "") -> Running:
        running = Running(server, namespace=namespace)
        tasks.start(running.informer.run(), name="informer")
        await clock.settle()
        return running

    return start_one


@pytest.fixture(scope="session")
def make() -> Callable[..., Snapshot]:
    """Make a snapshot of the test kind."""

    def make_one(name: str, version: object, **parts: Any) -> Snapshot:
        return Snapshot.from_content(KIND, content_of(name, version, **parts))

    return make_one


@pytest.fixture(scope="session")
def kind() -> Kind:
    return KIND


@pytest.fixture
def store(kind: Kind) -> Store:
    return Store(kind)


@pytest.fixture
def ear(store: Store) -> Ear:
    ear = Ear()
    store.subscribe(ear)
    return ear
