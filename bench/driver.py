"""The user of the job: makes and changes Widgets, and sees when their status tells the truth.

A process of its own, so that neither it nor the operator waits for the other's event loop:

    python -m bench.driver --kubeconfig FILE fill --first 0 --count 300 --size 7000
    python -m bench.driver --kubeconfig FILE change --objects 50 --rate 10 --count 100

prints one JSON object at its end. It fails when a status or a ConfigMap is not what it should be.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from konstat.base import clock
from konstat.base.tasks import open_tasks
from konstat.client import Client
from konstat.client.config import load_config
from konstat.errors import KonstatError
from konstat.objects.kind import Kind

WIDGET: Final = Kind(group="bench.example.com", version="v1", kind="Widget", plural="widgets")
CONFIG_MAP: Final = Kind(group="", version="v1", kind="ConfigMap", plural="configmaps")
NAMESPACE: Final = "default"
CREATORS: Final = 16
PATIENCE_SECONDS: Final = 60.0
START_SECONDS: Final = 300.0
LOOK_SECONDS: Final = 0.05


def name_of(number: int) -> str:
    return f"widget-{number:05}"


def settings_of(number: int, size: int) -> dict[str, str]:
    """Settings as operators have them, about ``size`` bytes of JSON, different in each object."""
    found: dict[str, str] = {}
    weight = 0
    while weight < size:
        place = len(found)
        digest = hashlib.sha256(f"{number}/{place}".encode()).hexdigest()
        text = f"https://service-{place}.{NAMESPACE}.svc.cluster.local:8443/api/{digest[:16]}"
        found[f"SERVICE_{place}_ENDPOINT"] = text
        weight += len(text) + 28
    return found


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    observed_generation: int = 0


class _Status(msgspec.Struct, rename="camel"):
    observed_generation: int = 0
    value: int = -1
    conditions: list[_Condition] = []


class _Spec(msgspec.Struct):
    value: int = 0


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    generation: int = 0
    resource_version: str = ""


class Widget(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def true(self) -> bool:
        """Whether its status is about its present spec, and says the right thing."""
        generation = self.metadata.generation
        ready = any(
            c.type == "Ready" and c.status == "True" and c.observed_generation == generation
            for c in self.status.conditions
        )
        current = self.status.observed_generation == generation
        return ready and current and self.status.value == self.spec.value


_decode: Final = msgspec.json.Decoder(Widget).decode


class World:
    """Widgets as the watch shows them, and how long each change took to be true."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.wanted: dict[str, int] = {}
        self.latencies: list[float] = []
        self.interruptions = 0
        self._true: dict[str, int] = {}
        self._missing: set[str] = set()
        self._sent: dict[tuple[str, int], float] = {}
        self._progress = asyncio.Event()
        self._turns: dict[str, asyncio.Lock] = {}

    def want(self, name: str, value: int) -> None:
        """Wait for a value from now on (`all_true`)."""
        self.wanted[name] = value
        if self._true.get(name) != value:
            self._missing.add(name)

    def see(self, widget: Widget) -> None:
        if not widget.true:
            return
        name, value = widget.metadata.name, widget.spec.value
        self._true[name] = value
        if self.wanted.get(name) == value:
            self._missing.discard(name)
        sent = self._sent.pop((name, value), None)
        if sent is not None:
            self.latencies.append(clock.monotonic() - sent)
        self._progress.set()

    def value(self, name: str) -> int | None:
        """The value for which a Widget was last seen true."""
        return self._true.get(name)

    async def create(self, number: int, size: int) -> None:
        name = name_of(number)
        self.want(name, 0)
        content = {
            "apiVersion": WIDGET.api_version,
            "kind": WIDGET.kind,
            "metadata": {"name": name},
            "spec": {"value": 0, "settings": settings_of(number, size)},
        }
        await self.client.create(WIDGET, content, namespace=NAMESPACE)

    async def change(self, name: str, value: int) -> None:
        """Change one Widget; changes of the same one reach the server in the order of the calls."""
        self.want(name, value)
        async with self._turns.setdefault(name, asyncio.Lock()):
            self._sent[(name, value)] = clock.monotonic()
            patch = {"spec": {"value": value}}
            await self.client.patch(WIDGET, name, patch, type="merge", namespace=NAMESPACE)

    async def all_true(self) -> None:
        """Wait until each status is true for the wanted value; TimeoutError without progress."""
        await self._until(lambda: not self._missing)

    async def some_true(self, names: Sequence[str]) -> None:
        """Wait until these Widgets are true for whatever they ask."""
        await self._until(lambda: all(name in self._true for name in names))

    async def _until(self, done: Callable[[], bool]) -> None:
        while not done():
            self._progress.clear()
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._progress.wait()
            except TimeoutError:
                stuck = ", ".join(sorted(self._missing)[:5])
                raise TimeoutError(
                    f"nothing became true in {PATIENCE_SECONDS:.0f} s: {stuck}"
                ) from None

    async def check_children(self) -> None:
        """Fail when a ConfigMap does not hold the value of its Widget."""
        found = {
            child["metadata"]["name"]: (child.get("data") or {}).get("value")
            for child in await self.client.list(CONFIG_MAP, namespace=NAMESPACE)
        }
        wrong = {n: found.get(n) for n, value in self.wanted.items() if found.get(n) != str(value)}
        if wrong:
            raise RuntimeError(f"ConfigMaps with another value than their Widgets: {wrong}")


@asynccontextmanager
async def world(kubeconfig: Path, *, version: str | None = None) -> AsyncIterator[World]:
    """A world that is watched for the length of a block.

    From a resourceVersion on only what happens then is seen; without, what is there as well.
    """
    async with Client.connect(load_config(kubeconfig=kubeconfig), field_manager="driver") as client:
        made = World(client)
        async with open_tasks() as tasks:
            tasks.start(_watch(made, version), name="watch")
            yield made


async def _watch(made: World, version: str | None) -> None:
    """Show Widgets for ever, resuming where the server ended the watch of a reader too slow."""
    while True:
        async with made.client.watch(
            WIDGET,
            namespace=NAMESPACE,
            resource_version=version,
            send_initial_events=version is None,
        ) as events:
            async for event in events:
                widget = _decode(event.object)
                # What is there comes in no order of versions, up to a bookmark.
                if version is not None or event.type == "BOOKMARK":
                    version = widget.metadata.resource_version
                if event.type in ("ADDED", "MODIFIED"):
                    made.see(widget)
        made.interruptions += 1


async def _now(kubeconfig: Path) -> str:
    """The resourceVersion that the server is at."""
    async with Client.connect(load_config(kubeconfig=kubeconfig)) as client:
        page = await client.list_page(WIDGET, namespace=NAMESPACE, limit=1)
        return page.resource_version


async def _fill(kubeconfig: Path, first: int, count: int, size: int) -> dict[str, Any]:
    """Create Widgets as fast as a few creators can, and wait until all are true."""
    numbers = iter(range(first, first + count))

    async def creator(world: World) -> None:
        for number in numbers:
            await world.create(number, size)

    async with world(kubeconfig, version=await _now(kubeconfig)) as made:
        begin = clock.monotonic()
        await asyncio.gather(*(creator(made) for _ in range(CREATORS)))
        await made.all_true()
        seconds = clock.monotonic() - begin
        await made.check_children()
    return {"seconds": seconds}


async def _change(kubeconfig: Path, objects: int, rate: float, count: int) -> dict[str, Any]:
    """Change Widgets in turn, at a steady rate whether or not the operator keeps up."""
    names = [name_of(number) for number in range(objects)]
    async with world(kubeconfig) as made:
        await made.some_true(names)
        values = {name: (made.value(name) or 0) for name in names}
        begin = clock.monotonic()
        async with open_tasks() as changes:
            sent: list[asyncio.Task[Any]] = []
            for turn in range(count):
                name = names[turn % objects]
                values[name] += 1
                await clock.sleep(max(0.0, begin + turn / rate - clock.monotonic()))
                sent.append(changes.start(made.change(name, values[name]), name=name))
            await asyncio.gather(*sent)
        seconds = clock.monotonic() - begin
        await made.all_true()
        await made.check_children()
    return {
        "latencies": made.latencies,
        "seconds": seconds,
        "interruptions": made.interruptions,
    }


async def _edit(kubeconfig: Path, number: int, value: int) -> dict[str, Any]:
    """Change one Widget and do not wait."""
    async with Client.connect(load_config(kubeconfig=kubeconfig), field_manager="driver") as client:
        patch = {"spec": {"value": value}}
        await client.patch(WIDGET, name_of(number), patch, type="merge", namespace=NAMESPACE)
    return {}


async def _wait(kubeconfig: Path, number: int, value: int) -> dict[str, Any]:
    """Wait until one Widget is true for a value; when that was, on the clock of the machine."""
    name = name_of(number)
    async with (
        Client.connect(load_config(kubeconfig=kubeconfig)) as client,
        asyncio.timeout(START_SECONDS),
    ):
        while True:
            content = await client.get(WIDGET, name, namespace=NAMESPACE)
            widget = msgspec.convert(content, Widget)
            if widget.true and widget.spec.value == value:
                return {"moment": clock.monotonic()}
            await clock.sleep(LOOK_SECONDS)


@click.group()
@click.option("--kubeconfig", type=click.Path(path_type=Path), required=True)
@click.pass_context
def main(ctx: click.Context, kubeconfig: Path) -> None:
    """Play the user of the job."""
    ctx.obj = kubeconfig


def _first(error: BaseException) -> BaseException:
    """One of what went wrong at once says enough."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _command(name: str, work: Callable[..., Coroutine[Any, Any, Any]], **options: type) -> None:
    def run(ctx: click.Context, **given: Any) -> None:
        try:
            sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(work(ctx.obj, **given))))
        except* (KonstatError, RuntimeError, TimeoutError) as errors:
            raise click.ClickException(str(_first(errors))) from errors

    parameters = [click.Option([f"--{o}"], type=t, required=True) for o, t in options.items()]
    main.add_command(click.Command(name, params=[*parameters], callback=click.pass_context(run)))


_command("fill", _fill, first=int, count=int, size=int)
_command("change", _change, objects=int, rate=float, count=int)
_command("edit", _edit, number=int, value=int)
_command("wait", _wait, number=int, value=int)

if __name__ == "__main__":
    main()
