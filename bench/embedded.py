"""The embedded API beside kube-apiserver: requests a second by the same client, memory, start.

The embedded API is asked in this process (a request is a function call) and over HTTP in a process
of its own (`bench.scale_server`); kube-apiserver runs on the rig.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from bench.lines import ROOT, asked
from bench.processes import cpu_seconds, resident_bytes
from bench.scale_operator import Slab, slabs
from bench.settings import Settings
from bench.tables import Figure, Report, Table
from konstat.base import clock
from konstat.client import Client
from konstat.client.config import load_config
from konstat.controller.run import install
from konstat.embedded.memory import MemoryTransport
from konstat.embedded.server import EmbeddedServer
from konstat.errors import ControlPlaneError
from konstat.testing import control_plane, embedded_api
from konstat.testing.embedded_plane import kubeconfig

NAME: Final = "embedded"
TITLE: Final = "The embedded API beside kube-apiserver"

NAMESPACE: Final = "default"
TEXT: Final = "0123456789abcdef " * 400
WRITES: Final = 500
READS: Final = 1000
LISTS: Final = 10
AT_ONCE: Final = 8
STORED: Final = 20_000
OBJECT_BYTES: Final = 7_000
START_SECONDS: Final = 60.0
STARTS: Final = 3

SERVERS: Final = ("embedded, in process", "embedded, over HTTP", "kube-apiserver")
VERBS: Final = ("create", "get", f"list {WRITES}", "patch status", "apply", "watch events")


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server that is asked: ``pids`` are its processes, ours among them when it is in it."""

    client: Client
    pids: tuple[int, ...]

    def used(self) -> float:
        """The processor time of all its processes so far, in seconds."""
        return sum(map(cpu_seconds, self.pids))


class Cost(NamedTuple):
    """Of one verb: how many a second, and the server's processor time for each."""

    per_second: float
    milliseconds: float


Costs = dict[str, Cost]


class Load:
    """One round of requests by one client; objects carry the name of the round."""

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self._client = server.client
        self._name = name

    async def run(self) -> Costs:
        """What each verb costs."""
        costs: Costs = {}
        costs["create"] = await self._cost(WRITES, _each(WRITES, self._create))
        costs["get"] = await self._cost(READS, _each(READS, self._get))
        costs[VERBS[2]] = await self._cost(LISTS, _each(LISTS, self._list, at_once=1))
        version = await self._version()
        costs["patch status"] = await self._cost(WRITES, _each(WRITES, self._patch))
        costs["watch events"] = await self._cost(WRITES, self._watch(version))
        costs["apply"] = await self._cost(WRITES, _each(WRITES, self._apply))
        await self._client.delete_collection(Slab.kind, namespace=NAMESPACE)
        return costs

    async def _cost(self, count: int, work: Awaitable[None]) -> Cost:
        begun, used = clock.monotonic(), self._server.used()
        await work
        seconds, spent = clock.monotonic() - begun, self._server.used() - used
        return Cost(count / seconds, spent / count * 1000)

    def _name_of(self, number: int) -> str:
        return f"{self._name}-{number % WRITES}"

    async def _create(self, number: int) -> None:
        content = {"metadata": {"name": self._name_of(number)}, "spec": {"text": TEXT}}
        await self._client.create(Slab.kind, content, namespace=NAMESPACE)

    async def _get(self, number: int) -> None:
        await self._client.get(Slab.kind, self._name_of(number), namespace=NAMESPACE)

    async def _list(self, number: int) -> None:
        page = await self._client.list_page(Slab.kind, namespace=NAMESPACE, limit=WRITES)
        if len(page.items) != WRITES:
            raise ControlPlaneError(f"list {number} gave {len(page.items)} objects of {WRITES}")

    async def _patch(self, number: int) -> None:
        await self._client.patch(
            Slab.kind,
            self._name_of(number),
            {"status": {"stamp": float(number + 1)}},
            type="merge",
            namespace=NAMESPACE,
            subresource="status",
        )

    async def _apply(self, number: int) -> None:
        content = {"metadata": {"name": self._name_of(number)}, "spec": {"stamp": float(number)}}
        await self._client.apply(
            Slab.kind, content, namespace=NAMESPACE, force=True, field_manager="bench-apply"
        )

    async def _version(self) -> str:
        page = await self._client.list_page(Slab.kind, namespace=NAMESPACE, limit=1)
        return page.resource_version

    async def _watch(self, version: str) -> None:
        """Read a watch that begins so many changes ago."""
        count = 0
        async with self._client.watch(
            Slab.kind, namespace=NAMESPACE, resource_version=version, bookmarks=False
        ) as events:
            async for _ in events:
                count += 1
                if count == WRITES:
                    return
        raise ControlPlaneError(f"a watch of {WRITES} changes ended after {count} of them")


async def _each(
    count: int, send: Callable[[int], Awaitable[None]], *, at_once: int = AT_ONCE
) -> None:
    """Send that many requests, some at once."""

    async def some(first: int) -> None:
        for number in range(first, count, at_once):
            await send(number)

    await asyncio.gather(*(some(first) for first in range(at_once)))


async def run(settings: Settings) -> Report:
    """All servers at once, asked in turn, so that each round sees the same machine."""
    starts = await _starts(settings)
    stored = await _stored_kib(settings)
    rounds: dict[str, list[Costs]] = {server: [] for server in SERVERS}
    async with AsyncExitStack() as stack:
        servers = await _servers(stack)
        for number in range(settings.rounds):
            for name, server in servers.items():
                settings.say(f"round {number + 1} of {settings.rounds}: {name}")
                rounds[name].append(await Load(server, f"r{number}").run())
    return Report(tables=[_rates(rounds), _processor(rounds), _others(starts, stored)])


async def _servers(stack: AsyncExitStack) -> Mapping[str, Server]:
    """All servers, with the kind installed."""
    memory = Client(MemoryTransport(EmbeddedServer()), field_manager="bench")
    stack.push_async_callback(memory.aclose)
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="konstat-embedded-bench-")))
    server = await stack.enter_async_context(
        asked("bench.scale_server", "--count", "1", "--size", str(OBJECT_BYTES))
    )
    file = folder / "kubeconfig"
    file.write_bytes(kubeconfig(server=await server.ask("url")))
    http = await stack.enter_async_context(Client.connect(load_config(kubeconfig=file)))
    plane = await stack.enter_async_context(
        control_plane(controller_manager=False, scheduler=False)
    )
    rig = await stack.enter_async_context(plane.client())
    servers = (
        Server(client=memory, pids=(os.getpid(),)),
        Server(client=http, pids=(server.pid,)),
        Server(client=rig, pids=tuple(plane.pids().values())),
    )
    for one in servers:
        await install(one.client, [slabs])
        await one.client.delete_collection(Slab.kind, namespace=NAMESPACE)
    found: dict[str, Server] = dict(zip(SERVERS, servers, strict=True))
    return found


async def _starts(settings: Settings) -> dict[str, list[float]]:
    """Seconds until the server answers."""
    found: dict[str, list[float]] = {server: [] for server in SERVERS}
    for number in range(settings.at_most(STARTS)):
        settings.say(f"start {number + 1} of each")
        for server, start in zip(
            SERVERS, (_started_here, _started_process, control_plane), strict=True
        ):
            begun = clock.monotonic()
            async with start():
                found[server].append(clock.monotonic() - begun)
    return found


@asynccontextmanager
async def _started_here() -> AsyncIterator[None]:
    async with embedded_api():
        yield


@asynccontextmanager
async def _started_process() -> AsyncIterator[None]:
    """``konstat serve`` as a user starts it, until it says where it is."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-u", "-m", "konstat.cli.main", "serve"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            while not (line := await process.stdout.readline()).startswith(b"server"):
                if not line:
                    raise ControlPlaneError("konstat serve ended: what it said is above")
        yield
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.communicate()


async def _stored_kib(settings: Settings) -> Figure:
    """Memory of one object of 7 KB in the embedded API."""
    settings.say(f"storing {STORED:,} objects")
    resident: list[int] = []
    for count in (1, STORED + 1):
        arguments = ("--count", str(count), "--size", str(OBJECT_BYTES))
        async with asked("bench.scale_server", *arguments) as server:
            await server.ask("url")
            resident.append(resident_bytes(server.pid))
    return Figure.of([(resident[1] - resident[0]) / STORED / 1024], unit="KiB", digits=1)


def _rates(rounds: Mapping[str, Sequence[Costs]]) -> Table:
    rows = [
        [verb, *(_figure((r[verb].per_second for r in rounds[name]), digits=0) for name in SERVERS)]
        for verb in VERBS
    ]
    return Table(
        title="Requests and events a second",
        columns=["", *SERVERS],
        rows=rows,
        notes=[
            f"Custom objects of 7 KB; one client in Python, {AT_ONCE} requests at once (lists one"
            " by one), so that beside the server it is the client that limits. Watch events are"
            f" {WRITES} changes that lie in the past when the watch begins."
        ],
    )


def _processor(rounds: Mapping[str, Sequence[Costs]]) -> Table:
    rows = [
        [verb, *(_figure(r[verb].milliseconds for r in rounds[name]) for name in SERVERS)]
        for verb in VERBS
    ]
    return Table(
        title="Processor time of the server for each, ms",
        columns=["", *SERVERS],
        rows=rows,
        notes=["In process the client's part is in it; of kube-apiserver it is with etcd's."],
    )


def _figure(values: Iterable[float], *, digits: int = 2) -> Figure:
    return Figure.of(values, digits=digits)


def _others(starts: Mapping[str, Sequence[float]], stored: Figure) -> Table:
    rows: list[list[str | Figure]] = [
        [
            "start until it answers",
            *(Figure.of(starts[server], unit="s", digits=2) for server in SERVERS),
        ],
        ["memory of a stored object", str(stored), str(stored), "-"],
    ]
    return Table(
        title="Start and memory",
        columns=["", *SERVERS],
        rows=rows,
        notes=[
            "In process: `embedded_api()` with controllers and one node. Over HTTP: the process"
            " `konstat serve`, its interpreter included. kube-apiserver: etcd, kube-apiserver,"
            " kube-controller-manager and kube-scheduler until all of them are ready."
        ],
    )
