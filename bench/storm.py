"""The storm: an operator's status while its object is edited and written to by others.

A thousand edits of one object as fast as one client can, then four hundred at twenty per second,
beside a foreign writer that adds and removes a condition of its own under a lock. Then the same
with two instances of the operator, one of which sees everything late. `bench.storm_writers` are
the others, `bench.storm_operator` is the operator.
"""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.settings import Settings
from bench.storm_operator import stones
from bench.storm_writers import Editor, ForeignWriter, Record
from bench.tables import Bound, Figure, Report, Table
from konstat.base import clock
from konstat.base.tasks import open_tasks
from konstat.client import Client
from konstat.controller.run import install
from konstat.errors import UserError
from konstat.testing import control_plane

NAME: Final = "storm"
TITLE: Final = "The storm: one object, many writers"

ROOT: Final = Path(__file__).resolve().parents[1]
NAMESPACE: Final = "default"
FAST_EDITS: Final = 1000
SLOW_EDITS: Final = 400
SLOW_PER_SECOND: Final = 20.0
LEAST_WRITES: Final = 400
LAG_SECONDS: Final = 2.0
TWO_STORMS: Final = 2
RIGHT_SECONDS: Final = 30.0
REST_SECONDS: Final = 3.0
LOOK_SECONDS: Final = 0.02
# What an instance logs when it finds a newer outcome than its own.
SUPERSEDED: Final = "another instance has settled a newer generation"
END_SECONDS: Final = 30.0


@dataclass(kw_only=True)
class Storm:
    """What one storm did. ``right_after_seconds`` is None when the status never became right."""

    fast_seconds: float
    fast_writes: int
    writes: int
    right_after_seconds: float | None
    rest_writes: int
    foreign: ForeignWriter
    record: Record


@asynccontextmanager
async def operator(kubeconfig: Path, log: Path, *, lag_seconds: float = 0.0) -> AsyncIterator[None]:
    """The operator as a process for the length of a block; it logs to ``log``."""
    command = ["-m", "bench.storm_operator", "--kubeconfig", str(kubeconfig)]
    with log.open("ab") as file:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            "--lag-seconds",
            str(lag_seconds),
            cwd=ROOT,
            stdout=file,
            stderr=file,
        )
    try:
        yield
        if process.returncode is not None:
            raise UserError(f"the operator ended with {process.returncode}: see {log}")
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(END_SECONDS):
                    await process.wait()
            finally:
                # After the time-out, and when the bench itself is cancelled.
                if process.returncode is None:
                    process.kill()
                    await process.wait()


async def until_right(editor: Editor, *, within_seconds: float) -> float | None:
    """How long the status took to be right; None when it did not become so in time."""
    begun = clock.monotonic()
    while not editor.is_right(await editor.read()):
        if clock.monotonic() - begun > within_seconds:
            return None
        await clock.sleep(LOOK_SECONDS)
    return clock.monotonic() - begun


async def storm(
    client: Client,
    name: str,
    *,
    namespace: str = NAMESPACE,
    fast: int = FAST_EDITS,
    slow: int = SLOW_EDITS,
    rest_seconds: float = REST_SECONDS,
) -> Storm:
    """One storm over a new object."""
    editor = Editor(client, name, namespace=namespace)
    foreign = ForeignWriter(client, name, namespace=namespace)
    record = Record(client, name, namespace=namespace)
    await editor.create()
    if await until_right(editor, within_seconds=RIGHT_SECONDS) is None:
        raise UserError(f"{name}: the operator settled nothing within {RIGHT_SECONDS:.0f} s")
    async with open_tasks() as tasks:
        tasks.start(record.run(), name="record")
        theirs = tasks.start(foreign.run(), name="foreign writer")
        fast_seconds = await editor.edit(fast)
        fast_writes = record.status_writes
        await editor.edit(slow, per_second=SLOW_PER_SECOND)
        right_after = await until_right(editor, within_seconds=RIGHT_SECONDS)
        foreign.stop()
        await theirs
        writes = record.status_writes
        # The length of the silence is what is asked for.
        await clock.sleep(rest_seconds)
        return Storm(
            fast_seconds=fast_seconds,
            fast_writes=fast_writes,
            writes=writes,
            right_after_seconds=right_after,
            rest_writes=record.status_writes - writes,
            foreign=foreign,
            record=record,
        )


def logged(logs: Sequence[Path], level: str) -> list[str]:
    """The lines of that level."""
    pattern = re.compile(rf"^\S+ \S+ {level}\b.*", re.MULTILINE)
    return [line for log in logs for line in pattern.findall(log.read_text())]


async def run(settings: Settings) -> Report:
    """One operator in as many storms as there are rounds, then two of them."""
    with TemporaryDirectory(prefix="konstat-storm-") as folder:
        logs = [Path(folder) / f"{which}.log" for which in ("one", "first", "late")]
        async with (
            control_plane(controller_manager=False, scheduler=False) as plane,
            plane.client() as client,
        ):
            await install(client, [stones])
            async with operator(plane.kubeconfig, logs[0]):
                one = await _storms(client, "one", settings.rounds, settings)
            async with (
                operator(plane.kubeconfig, logs[1]),
                operator(plane.kubeconfig, logs[2], lag_seconds=LAG_SECONDS),
            ):
                two = await _storms(client, "two", settings.at_most(TWO_STORMS), settings)
        for line in (*logged(logs, "ERROR"), *logged(logs, "WARNING"))[:20]:
            settings.say(line)
        gave_way = sum(SUPERSEDED in line for line in logged(logs, "INFO"))
        return _report(one, two, errors=len(logged(logs, "ERROR")), gave_way=gave_way)


async def _storms(client: Client, name: str, count: int, settings: Settings) -> list[Storm]:
    found: list[Storm] = []
    for number in range(count):
        settings.say(f"storm {number + 1} of {count} ({name})")
        found.append(await storm(client, f"{name}-{number}"))
        for text in (*found[-1].record.backwards[:5], *found[-1].record.broken):
            settings.say(text)
    return found


def _report(one: Sequence[Storm], two: Sequence[Storm], *, errors: int, gave_way: int) -> Report:
    rows = [_row("one operator", one), _row(f"two, one {LAG_SECONDS:g} s late", two)]
    table = Table(
        title=f"{FAST_EDITS:,} edits at full speed, {SLOW_EDITS} at {SLOW_PER_SECOND:g}/s, a storm",
        columns=_COLUMNS,
        rows=rows,
        notes=[
            "Foreign writes are counted over all storms, status writes in the fast part of each."
            " A status is right when all of it, every condition included, is of the last spec.",
            f"An instance gave way to the newer outcome of the other {gave_way:,} times.",
        ],
    )
    both = (*one, *two)
    bounds = [
        Bound.exactly("foreign entries lost", 0, sum(s.foreign.lost for s in both)),
        Bound.exactly("foreign entries brought back", 0, sum(s.foreign.brought_back for s in both)),
        Bound.at_least(
            "status writes during the fast edits, least",
            LEAST_WRITES,
            float(min(s.fast_writes for s in one)),
        ),
        Bound.exactly("storms with a status not right at the end", 0, _wrong(both)),
        Bound.exactly("generations that went back", 0, sum(len(s.record.backwards) for s in both)),
        Bound.exactly(
            "states and steps against the contract", 0, sum(s.record.broken.total() for s in both)
        ),
        Bound.exactly("status writes at rest", 0, sum(s.rest_writes for s in both)),
        Bound.at_least("times that an instance gave way to the other", 1, float(gave_way)),
        Bound.exactly("errors logged", 0, errors),
    ]
    return Report(tables=[table], bounds=bounds)


_COLUMNS: Final = (
    "",
    "storms",
    "edits/s, fast part",
    "foreign writes",
    "of them 409 first",
    "lost",
    "brought back",
    "status writes, fast part",
    "right at the end",
    "right after s",
    "generations back",
)


def _row(name: str, storms: Sequence[Storm]) -> list[str | int | float | Figure]:
    right = [s.right_after_seconds for s in storms if s.right_after_seconds is not None]
    return [
        name,
        len(storms),
        Figure.of((FAST_EDITS / s.fast_seconds for s in storms), digits=0),
        sum(s.foreign.writes for s in storms),
        sum(s.foreign.conflicts for s in storms),
        sum(s.foreign.lost for s in storms),
        sum(s.foreign.brought_back for s in storms),
        Figure.of((s.fast_writes for s in storms), digits=0),
        f"{len(right)} of {len(storms)}",
        Figure.of(right, digits=2) if right else "-",
        sum(len(s.record.backwards) for s in storms),
    ]


def _wrong(storms: Sequence[Storm]) -> int:
    return sum(s.right_after_seconds is None for s in storms)
