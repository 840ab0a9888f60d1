"""Many large objects: memory, the first list, a forced relist, and one change among them.

`bench.scale_server` holds the objects in a process of its own, `bench.scale_operator` is the
operator in another; this one asks both, and changes single objects.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from bench.lines import Asked, asked
from bench.processes import resident_bytes
from bench.scale_operator import Numbers, Slab, slabs
from bench.scale_server import NAMESPACE, name_of, text_of
from bench.settings import Settings
from bench.tables import Bound, Figure, Report, Table
from konstat.base import clock
from konstat.client import Client
from konstat.client.config import load_config
from konstat.controller.run import install
from konstat.testing import control_plane
from konstat.testing.embedded_plane import kubeconfig

NAME: Final = "scale"
TITLE: Final = "Scale: fifty thousand objects of 7 KB"

OBJECTS: Final = 50_000
OBJECT_BYTES: Final = 7_000
RIG_OBJECTS: Final = 5_000
AT_ONCE: Final = 8
CHANGES: Final = 40
CHANGES_PER_SECOND: Final = 10.0
STALL_SECONDS: Final = 0.1
REACTION_MS: Final = 100.0
WAIT_SECONDS: Final = 120.0
MIB: Final = 2**20


class Phase(msgspec.Struct, kw_only=True):
    """One part of a run: how long it took and what the operator told of it."""

    name: str
    seconds: float
    numbers: Numbers
    resident: float


class Run:
    """One operator beside one server, through all phases."""

    def __init__(self, operator: Asked, client: Client, *, objects: int) -> None:
        self.operator = operator
        self.client = client
        self.phases: list[Phase] = []
        self._objects = objects
        self._changed = 0

    async def start(self) -> None:
        """The first list, and changes while all objects wait for an attempt."""
        begun = clock.monotonic()
        numbers = await self._ask("running")
        self._note("the first list, with the start of the process", begun, numbers)
        begun = clock.monotonic()
        await self._change()
        self._note(f"{CHANGES} changes, all others waiting", begun, await self._reactions(CHANGES))

    async def relist(self, server: Asked) -> None:
        """A list that the server forces, and changes beside it."""
        begun = clock.monotonic()
        # The last one of the list: it is told when all others were.
        await server.ask("expire", name_of(self._objects - 1))
        await self._change()
        numbers = await self._reactions(CHANGES + 1)
        self._note(f"a relist after 410, {CHANGES} changes beside it", begun, numbers)

    async def settle(self) -> None:
        """Wait until every object had its attempt."""
        await self._ask("attempts", self._objects)

    async def _change(self) -> None:
        """Change single objects, spread over all of them, at a steady rate."""
        begun = clock.monotonic()
        for number in range(CHANGES):
            await clock.sleep(max(0.0, begun + number / CHANGES_PER_SECOND - clock.monotonic()))
            self._changed += 1
            place = self._changed * 7919 % (self._objects - 1)
            patch = {"spec": {"stamp": clock.monotonic()}}
            await self.client.patch(
                Slab.kind, name_of(place), patch, type="merge", namespace=NAMESPACE
            )

    async def _reactions(self, count: int) -> Numbers:
        return await self._ask("reactions", count)

    async def _ask(self, *question: str | int) -> Numbers:
        async with asyncio.timeout(WAIT_SECONDS):
            return msgspec.convert(await self.operator.ask(*question), Numbers)

    def _note(self, name: str, begun: float, numbers: Numbers) -> None:
        phase = Phase(
            name=name,
            seconds=clock.monotonic() - begun,
            numbers=numbers,
            resident=resident_bytes(self.operator.pid),
        )
        self.phases.append(phase)


async def run(settings: Settings) -> Report:
    """One run; it is long, and its stalls are judged by the longest, not by a median."""
    with TemporaryDirectory(prefix="konstat-scale-") as folder:
        file = Path(folder) / "kubeconfig"
        settings.say(f"filling a server with {OBJECTS:,} objects")
        arguments = ("--count", str(OBJECTS), "--size", str(OBJECT_BYTES))
        async with asked("bench.scale_server", *arguments) as server:
            file.write_bytes(kubeconfig(server=await server.ask("url")))
            settings.say("the operator starts")
            async with _operator(file, objects=OBJECTS) as many:
                await many.start()
                await many.relist(server)
    return _report(many.phases, await _on_rig(settings))


async def _on_rig(settings: Settings) -> list[Phase]:
    """The start of an operator whose objects are settled, on kube-apiserver."""
    async with (
        control_plane(controller_manager=False, scheduler=False) as plane,
        plane.client() as client,
    ):
        await install(client, [slabs])
        settings.say(f"creating {RIG_OBJECTS:,} objects on kube-apiserver")
        await asyncio.gather(*(_create(client, first) for first in range(AT_ONCE)))
        settings.say("the operator settles them, and starts once more")
        async with _operator(plane.kubeconfig, objects=RIG_OBJECTS) as first:
            await first.settle()
        async with _operator(plane.kubeconfig, objects=RIG_OBJECTS) as again:
            await again.start()
        return again.phases


async def _create(client: Client, first: int) -> None:
    spec = {"stamp": 0.0, "text": text_of(OBJECT_BYTES)}
    for number in range(first, RIG_OBJECTS, AT_ONCE):
        content = {"metadata": {"name": name_of(number)}, "spec": spec}
        await client.create(Slab.kind, content, namespace=NAMESPACE)


@asynccontextmanager
async def _operator(file: Path, *, objects: int) -> AsyncIterator[Run]:
    async with (
        asked("bench.scale_operator", "--kubeconfig", str(file)) as operator,
        Client.connect(load_config(kubeconfig=file)) as client,
    ):
        yield Run(operator, client, objects=objects)


def _report(many: Sequence[Phase], rig: Sequence[Phase]) -> Report:
    tables = [
        Table(
            title=f"{OBJECTS:,} objects of 7 KB, embedded API over HTTP",
            columns=_COLUMNS,
            rows=_rows(many, objects=OBJECTS),
            notes=[
                "A stall is a time for which the event loop did not turn; of our own is what is"
                " left of it without the time for which other processes had the processor."
                " During a relist changes come behind the list, so they wait for its end."
            ],
        ),
        Table(
            title=f"{RIG_OBJECTS:,} objects of 7 KB, kube-apiserver",
            columns=_COLUMNS,
            rows=_rows(rig, objects=RIG_OBJECTS),
        ),
    ]
    worst = max(_first(phase.numbers.own) for phase in (*many, *rig))
    waits = median(many[1].numbers.reactions)
    bounds = [
        Bound.at_most("longest stall of our own, ms", STALL_SECONDS * 1000, round(worst * 1000)),
        Bound.at_most("from change to attempt, others waiting, ms", REACTION_MS, waits * 1000),
    ]
    return Report(tables=tables, bounds=bounds)


_COLUMNS: Final = (
    "",
    "s",
    "RSS MiB",
    "KiB an object",
    "attempts",
    "from change to attempt, ms",
    "longest stall, ms",
    "of our own, ms",
    "longest collection, ms",
)


def _rows(phases: Sequence[Phase], *, objects: int) -> list[list[str | int | float | Figure]]:
    return [
        [
            phase.name,
            Figure.of([phase.seconds], digits=1),
            Figure.of([phase.resident / MIB], digits=0),
            Figure.of([phase.resident / objects / 1024], digits=1),
            phase.numbers.attempts,
            _spread(phase.numbers.reactions),
            Figure.of([_first(phase.numbers.stalls) * 1000], digits=0),
            Figure.of([_first(phase.numbers.own) * 1000], digits=0),
            Figure.of([_first(phase.numbers.collected) * 1000], digits=0),
        ]
        for phase in phases
    ]


def _spread(seconds: Sequence[float]) -> str | Figure:
    return Figure.of((one * 1000 for one in seconds), digits=1) if seconds else "-"


def _first(found: Sequence[float]) -> float:
    return found[0] if found else 0.0
