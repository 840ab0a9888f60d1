"""The operator of the scale bench, as a process that tells how it fares.

It has many large objects and nothing to do for those that are settled. A watchdog task measures
how long the event loop did not turn. Each line on standard input asks for a report, which comes as
a line of JSON on standard output and begins the counts anew; ``["reactions", n]`` and
``["attempts", n]`` ask for it once there were so many of them.
"""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Final

import click
import msgspec

from bench.lines import questions, say
from konstat import Component, Context, Controller, Resource, Spec, Status
from konstat.base import clock
from konstat.base.tasks import open_tasks
from konstat.client import Client
from konstat.client.config import load_config
from konstat.controller.manager import Manager
from konstat.controller.run import configure_logging

LOOK_SECONDS: Final = 0.005
LONG_SECONDS: Final = 0.02
SHOWN: Final = 10


class SlabSpec(Spec):
    stamp: float = 0.0
    text: str = ""


class SlabStatus(Status):
    content: Component
    stamp: float = 0.0


class Slab(Resource[SlabSpec, SlabStatus], group="bench.konstat.dev", version="v1"):
    """A large object; ``spec.stamp`` is the monotonic time of its last change."""


slabs = Controller(Slab)
# Attempts since the last report, and how long after its change the attempt of an object began.
attempts: list[float] = []
reactions: list[float] = []


@slabs.reconcile
async def reconcile(slab: Slab, context: Context[Slab]) -> None:
    attempts.append(clock.monotonic())
    if slab.spec.stamp != context.status.stamp:
        reactions.append(clock.monotonic() - slab.spec.stamp)
    context.status.content.good()
    context.status.stamp = slab.spec.stamp


class Numbers(msgspec.Struct):
    """What the operator tells: ``stalls`` are the longest times the loop did not turn, in seconds.

    ``own`` are the same without the time for which other processes had the processor;
    ``collected`` are the longest runs of the garbage collector.
    """

    attempts: int
    reactions: list[float]
    stalls: list[float]
    own: list[float]
    collected: list[float]


class Watchdog:
    """Looks whether the loop turns, and for how long it did not."""

    def __init__(self) -> None:
        self.stalls: list[float] = []
        self.own: list[float] = []
        self.collected: list[float] = []
        self._began = 0.0
        gc.callbacks.append(self._collecting)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            before, displaced = clock.monotonic(), displaced_seconds()
            await clock.sleep(LOOK_SECONDS)
            late = clock.monotonic() - before - LOOK_SECONDS
            if late > LONG_SECONDS:
                self.stalls.append(late)
                self.own.append(late - (displaced_seconds() - displaced))

    def _collecting(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = clock.monotonic()
        elif (seconds := clock.monotonic() - self._began) > LONG_SECONDS:
            self.collected.append(seconds)


def displaced_seconds() -> float:
    """For how long this thread wanted a processor and had none."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


async def operate(kubeconfig: Path) -> None:
    """Run until standard input ends."""
    watchdog = Watchdog()
    async with Client.connect(load_config(kubeconfig=kubeconfig)) as client, open_tasks() as tasks:
        tasks.start(watchdog.run(), name="watchdog")
        manager = Manager(slabs, client=client)
        running = tasks.start(manager.run(), name="manager")
        started = tasks.start(manager.wait_running(), name="start")
        async for question in questions():
            match question:
                case ["reactions", int(count)]:
                    while len(reactions) < count:
                        await clock.sleep(LOOK_SECONDS)
                case ["attempts", int(count)]:
                    while len(attempts) < count:
                        await clock.sleep(LOOK_SECONDS)
                case _:
                    await started
            say(_numbers(watchdog))
        manager.stop()
        await running


def _numbers(watchdog: Watchdog) -> Numbers:
    numbers = Numbers(
        attempts=len(attempts),
        reactions=[*reactions],
        stalls=_longest(watchdog.stalls),
        own=_longest(watchdog.own),
        collected=_longest(watchdog.collected),
    )
    for counted in (attempts, reactions, watchdog.stalls, watchdog.own, watchdog.collected):
        counted.clear()
    return numbers


def _longest(seconds: list[float]) -> list[float]:
    return sorted(seconds, reverse=True)[:SHOWN]


@click.command()
@click.option("--kubeconfig", type=click.Path(path_type=Path), required=True)
def main(kubeconfig: Path) -> None:
    """Run the operator of the scale bench."""
    configure_logging()
    asyncio.run(operate(kubeconfig))


if __name__ == "__main__":
    main()
