"""What many settled objects weigh, how a restart takes them, and what is asked at rest.

The objects are made once for each contender; the restarts are what is repeated, in turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

from bench import processes
from bench.driver import name_of
from bench.settings import Settings
from bench.stage import WRITES, Contender, Stage, count_requests, stage
from bench.tables import Bound, Cell, Figure, Table
from konstat.base import clock
from konstat.testing.rig_process import Program

WARM: Final = 300
OBJECTS: Final = 5_300
# With metadata and status an object is then some 7 KB, without managedFields.
SETTINGS_BYTES: Final = 6_300
# Longer than kopf keeps the workers of objects that are at rest.
QUIET_SECONDS: Final = 7.0
IDLE_SECONDS: Final = 60.0
RESTARTS: Final = 3
RESTART_SHARE: Final = 0.5
PAIR_KIBIBYTES: Final = 6.0


@dataclass(kw_only=True)
class Settled:
    """What was measured of one contender; memory in KiB per pair, times in seconds."""

    empty_bytes: int = 0
    fill_seconds: float = 0.0
    filling: Counter[str] = field(default_factory=Counter[str])
    growing: float = 0.0
    restarted: list[float] = field(default_factory=list[float])
    seconds: list[float] = field(default_factory=list[float])
    cpu_seconds: list[float] = field(default_factory=list[float])
    writes: list[Counter[str]] = field(default_factory=list[Counter[str]])
    idle: Counter[str] = field(default_factory=Counter[str])

    @property
    def idle_requests(self) -> int:
        """Without the resumptions of watches."""
        return _asked(self.idle)

    @property
    def requests_per_object(self) -> float:
        """Of a new object, until its status is true."""
        return _asked(self.filling) / (OBJECTS - WARM)


async def measure(contenders: Sequence[Contender], settings: Settings) -> dict[str, Settled]:
    """Measure each contender on a control plane of its own; the restarts take turns."""
    found = {contender.name: Settled() for contender in contenders}
    async with AsyncExitStack() as stack:
        stages = [await stack.enter_async_context(stage(one)) for one in contenders]
        for made in stages:
            one = found[made.contender.name]
            await _fill(made, one)
            settings.say(f"filled: {made.contender.name} {one.growing:.1f} KiB per pair")
        for number in range(settings.at_most(RESTARTS)):
            for made in stages:
                one = found[made.contender.name]
                await _restart(made, one, value=number + 1)
                settings.say(f"restart {number + 1}: {made.contender.name} {one.seconds[-1]:.1f} s")
        await _idle(stages, found)
    return found


async def _fill(made: Stage, found: Settled) -> None:
    async with made.operator() as operator:
        pid = _pid(operator)
        await made.drive("fill", first=OBJECTS, count=1, size=0)  # its connections are open now
        found.empty_bytes = await _memory(pid)
        await made.drive("fill", first=0, count=WARM, size=SETTINGS_BYTES)
        warm = await _memory(pid)
        rest = OBJECTS - WARM
        since = await made.mark()
        driven = await made.drive("fill", first=WARM, count=rest, size=SETTINGS_BYTES)
        found.fill_seconds = driven["seconds"]
        found.growing = (await _memory(pid) - warm) / rest / 1024
        found.filling = count_requests(await made.requests(since))


async def _restart(made: Stage, found: Settled, *, value: int) -> None:
    """Start an operator that finds everything settled but the last object."""
    last = OBJECTS - 1
    since = await made.mark()
    await made.drive("edit", number=last, value=value)
    begin = clock.monotonic()
    async with made.operator() as operator:
        pid = _pid(operator)
        answered = await made.drive("wait", number=last, value=value)
        rested = await processes.rest(pid, quiet_seconds=QUIET_SECONDS)
        found.cpu_seconds.append(processes.cpu_seconds(pid))
        found.seconds.append(max(answered["moment"], rested) - begin)
        weight = processes.resident_bytes(pid) - found.empty_bytes
        found.restarted.append(weight / OBJECTS / 1024)
        events = await made.requests(since)
    others = [e for e in events if e.verb in WRITES and e.name != name_of(last)]
    found.writes.append(count_requests(others))


async def _idle(stages: Sequence[Stage], found: Mapping[str, Settled]) -> None:
    """All operators at once, each on its own control plane: they do nothing."""
    async with AsyncExitStack() as stack:
        for made in stages:
            operator = await stack.enter_async_context(made.operator())
            await made.drive("wait", number=0, value=0)
            await processes.rest(_pid(operator), quiet_seconds=QUIET_SECONDS)
        marks = [await made.mark() for made in stages]
        # The length of the silence is what is asked for, not a wait for something to happen.
        await clock.sleep(IDLE_SECONDS)
        for made, mark in zip(stages, marks, strict=True):
            found[made.contender.name].idle = count_requests(await made.requests(mark))


async def _memory(pid: int) -> int:
    await processes.rest(pid, quiet_seconds=QUIET_SECONDS)
    return processes.resident_bytes(pid)


def _pid(operator: Program) -> int:
    operator.check()
    assert operator.pid is not None
    return operator.pid


def table(settled: Mapping[str, Settled]) -> Table:
    """All contenders side by side; the ratio is konstat to the other."""
    found, pairs = settled.values(), settled.items()
    rows: list[list[Cell]] = [
        ["KiB per object with its ConfigMap, growing", *_each(settled, "growing"), ""],
        ["the same after a restart", *_each(settled, "restarted"), ""],
        ["restart until all is seen and at rest, s", *_each(settled, "seconds"), ratio(settled)],
        ["CPU seconds of it", *_each(settled, "cpu_seconds"), ""],
        ["writes in it", *(Figure.of(_counts(one), digits=0) for one in found), ""],
        [f"requests in {IDLE_SECONDS:.0f} s at rest", *(one.idle_requests for one in found), ""],
        ["resumed watches meanwhile", *(_watches(one) for one in found), ""],
        [f"s to make {OBJECTS - WARM:,} new ones true", *_each(settled, "fill_seconds"), ""],
        ["requests per new one", *_each(settled, "requests_per_object"), ""],
    ]
    return Table(
        title=f"{OBJECTS:,} settled objects of 7 KB",
        columns=["", *settled, "konstat / kopf"],
        rows=rows,
        notes=[
            "Memory is the resident set. The objects are made once for each operator; restarts:"
            f" {len(next(iter(found)).seconds)}. One object is changed while the operator is down;"
            " its own writes are not counted.",
            *(f"What {name} asked for new objects: {_words(one.filling)}." for name, one in pairs),
            *(f"What {name} wrote in restarts: {_written(one)}." for name, one in pairs),
        ],
    )


def _each(settled: Mapping[str, Settled], name: str) -> list[Cell]:
    values = [getattr(one, name) for one in settled.values()]
    return [Figure.of(value if isinstance(value, list) else [value], digits=1) for value in values]


def _counts(found: Settled) -> list[int]:
    return [sum(writes.values()) for writes in found.writes]


def _asked(requests: Counter[str]) -> int:
    return sum(count for what, count in requests.items() if not what.startswith("watch "))


def _watches(found: Settled) -> int:
    return sum(found.idle.values()) - found.idle_requests


def _written(found: Settled) -> str:
    total: Counter[str] = Counter()
    for writes in found.writes:
        total += writes
    return _words(total)


def _words(requests: Counter[str]) -> str:
    return ", ".join(f"{what} {count:,}" for what, count in requests.most_common()) or "nothing"


def ratio(settled: Mapping[str, Settled]) -> Figure:
    """The time of a restart, of the first contender to the second, round by round."""
    ours, theirs, *_ = settled.values()
    return Figure.of(a / b for a, b in zip(ours.seconds, theirs.seconds, strict=True))


def bounds(settled: Mapping[str, Settled]) -> list[Bound]:
    """What is required of konstat, the first contender."""
    ours = next(iter(settled.values()))
    return [
        Bound.at_most("KiB per pair, growing", PAIR_KIBIBYTES, ours.growing),
        Bound.at_most("KiB per pair after a restart", PAIR_KIBIBYTES, Figure.of(ours.restarted)),
        Bound.exactly("writes in a restart", 0, Figure.of(_counts(ours), digits=0)),
        Bound.at_most("time of a restart, of kopf's", RESTART_SHARE, ratio(settled)),
        Bound.exactly(f"requests in {IDLE_SECONDS:.0f} s at rest", 0, ours.idle_requests),
    ]
