"""The operator of the storm, as a process: one owned ConfigMap and one status write per change.

``python -m bench.storm_operator --kubeconfig FILE [--lag-seconds N]``: with a lag, what it watches
arrives that much later, as at an instance behind a slow or stale API server; its own requests are
as fast as ever. `bench.storm` starts one or two of them.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import click

from konstat import Component, Context, Controller, Resource, Spec, Status
from konstat.base import clock, limits
from konstat.base.tasks import end_apart, start_apart
from konstat.base.transport import Request, Response, Stream
from konstat.client import Client
from konstat.client.config import load_config
from konstat.client.transport import HttpTransport
from konstat.controller.manager import Manager
from konstat.controller.run import configure_logging, install
from konstat.errors import TransportError
from konstat.kinds import ConfigMap

# Chunks on their way to an instance that lags; a chunk is a few events.
ON_THE_WAY = 100_000


class StoneSpec(Spec):
    value: int = 0


class StoneStatus(Status):
    content: Component
    value: int = 0


class Stone(Resource[StoneSpec, StoneStatus], group="bench.konstat.dev", version="v1"):
    """A number that is kept in a ConfigMap."""


stones = Controller(Stone, owns=[ConfigMap])


@stones.reconcile
async def reconcile(stone: Stone, context: Context[Stone]) -> None:
    config = ConfigMap(metadata={"name": stone.name}, data={"value": str(stone.spec.value)})
    await context.apply(config, component=context.status.content)
    context.status.value = stone.spec.value


class LaggingTransport:
    """HTTP whose streams arrive ``lag_seconds`` late, in order and complete."""

    def __init__(self, http: HttpTransport, *, lag_seconds: float) -> None:
        self._http = http
        self._lag_seconds = lag_seconds

    async def send(self, request: Request) -> Response:
        return await self._http.send(request)

    async def open(self, request: Request) -> Stream:
        return LaggingStream(await self._http.open(request), lag_seconds=self._lag_seconds)

    async def close(self) -> None:
        await self._http.close()


class LaggingStream:
    """Reads ahead, and gives each chunk when its time has come."""

    def __init__(self, stream: Stream, *, lag_seconds: float) -> None:
        self._stream = stream
        self._lag_seconds = lag_seconds
        self._queue: asyncio.Queue[tuple[float, bytes | TransportError | None]]
        self._queue = asyncio.Queue(ON_THE_WAY)
        self._reading = start_apart(self._read(), name="read ahead")

    @property
    def status(self) -> int:
        return self._stream.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._stream.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            due, chunk = await self._queue.get()
            await clock.sleep(max(0.0, due - clock.monotonic()))
            if isinstance(chunk, TransportError):
                raise chunk
            if chunk is None:
                return
            yield chunk

    async def close(self) -> None:
        await end_apart(self._reading, tries=1, seconds=limits.ATTEMPT_END_SECONDS)
        await self._stream.close()

    async def _read(self) -> None:
        end: TransportError | None = None
        try:
            async for chunk in self._stream.chunks():
                await self._queue.put((clock.monotonic() + self._lag_seconds, chunk))
        except TransportError as error:
            end = error
        await self._queue.put((clock.monotonic() + self._lag_seconds, end))


async def operate(kubeconfig: Path, *, lag_seconds: float) -> None:
    """Run the operator until SIGTERM."""
    http = HttpTransport(load_config(kubeconfig=kubeconfig))
    await http.prepare()
    transport = LaggingTransport(http, lag_seconds=lag_seconds) if lag_seconds else http
    client = Client(transport, field_manager="konstat")
    try:
        manager = Manager(stones, client=client)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, manager.stop)
        await install(client, [stones])
        await manager.run()
    finally:
        await client.aclose()


@click.command()
@click.option("--kubeconfig", type=click.Path(path_type=Path), required=True)
@click.option("--lag-seconds", type=float, default=0.0)
def main(kubeconfig: Path, lag_seconds: float) -> None:
    """Run the operator of the storm."""
    configure_logging()
    asyncio.run(operate(kubeconfig, lag_seconds=lag_seconds))


if __name__ == "__main__":
    main()
