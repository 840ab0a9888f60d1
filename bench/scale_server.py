"""The server of the scale bench, as a process: an embedded API that holds many large objects.

They are put into its storage directly, settled as the operator would settle them. Questions:
``["url"]``, and ``["expire", name]``, which changes one object and forgets the history at once, so
that the watches of that kind end in 410 before they could tell the change; the answer is the time.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import click

from bench.lines import questions, say
from bench.scale_operator import Slab, slabs
from konstat.base import clock
from konstat.client import Client
from konstat.controller.run import install
from konstat.embedded.http import serve
from konstat.embedded.memory import MemoryTransport
from konstat.embedded.server import EmbeddedServer
from konstat.embedded.storage import Key, clone
from konstat.testing import attempt

NAMESPACE: Final = "default"


class Slabs:
    """The objects in the storage of a server."""

    def __init__(self, server: EmbeddedServer, table: str, first: dict[str, Any]) -> None:
        self._storage = server.storage
        self._table = table
        self._first = first

    @classmethod
    async def make(cls, server: EmbeddedServer, *, size: int) -> Slabs:
        """The first object through the API, so that all are as it stores them."""
        client = Client(MemoryTransport(server), field_manager="bench")
        await install(client, [slabs])
        slab = Slab.named(name_of(0), namespace=NAMESPACE, stamp=0.0, text="")
        content = {**slab.content, "spec": {"stamp": 0.0, "text": text_of(size)}}
        made = Slab.from_content(await client.create(Slab.kind, content))
        status = (await attempt(slabs, made)).status
        await client.patch(
            Slab.kind,
            made.name,
            {"status": status},
            type="merge",
            namespace=NAMESPACE,
            subresource="status",
        )
        last = server.storage.log[-1]
        assert last.new is not None
        return cls(server, last.table, last.new)

    def fill(self, count: int) -> None:
        """As many as that, the first one included."""
        for number in range(1, count):
            obj = clone(self._first)
            obj["metadata"]["name"] = name_of(number)
            obj["metadata"]["uid"] = f"00000000-0000-4000-8000-{number:012}"
            self._storage.put(self._table, Key(NAMESPACE, name_of(number)), obj)

    def expire(self, name: str) -> float:
        """Change one object so that no watch can tell it; the moment."""
        key = Key(NAMESPACE, name)
        obj = clone(self._storage.get(self._table, key))
        stamp = clock.monotonic()
        obj["spec"]["stamp"] = stamp
        obj["metadata"]["generation"] += 1
        self._storage.put(self._table, key, obj)
        self._storage.compact(self._storage.revision)
        return stamp


def name_of(number: int) -> str:
    """The name of an object."""
    return f"slab-{number:06}"


def text_of(size: int) -> str:
    """Words that compress about as well as manifests do."""
    return " ".join(f"{number * 7919 % 100_003:x}" for number in range(size))[:size]


async def operate(*, count: int, size: int) -> None:
    """Serve until standard input ends."""
    server = EmbeddedServer()
    held = await Slabs.make(server, size=size)
    held.fill(count)
    async with serve(server) as address:
        async for question in questions():
            match question:
                case ["expire", str(name)]:
                    say(held.expire(name))
                case _:
                    say(address.url)


@click.command()
@click.option("--count", type=int, required=True)
@click.option("--size", type=int, required=True)
def main(count: int, size: int) -> None:
    """Serve many large objects."""
    asyncio.run(operate(count=count, size=size))


if __name__ == "__main__":
    main()
