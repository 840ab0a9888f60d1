"""Finalizers against a real API server."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import pytest
from widgets import FaultyTransport, Widget

from konstat.client import Client
from konstat.errors import NotFound
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot
from konstat.writing import Finalizer, finalizers_of, read_live

pytestmark = pytest.mark.realapi

OURS = "writing.example.com/widgets"
THEIRS = "elsewhere.example.com/hold"


class Bench:
    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.finalizer = Finalizer(client, OURS, field_manager="tests", overlay=self)

    def writing(self, kind: Kind, namespace: str, name: str) -> AbstractContextManager[None]:
        return nullcontext()

    def put_own(self, snapshot: Snapshot) -> None:
        """Nothing reads a cache here."""

    async def create(self, *finalizers: str) -> Snapshot:
        metadata = {"name": "w", "namespace": self.namespace, "finalizers": list(finalizers)}
        made = await self.client.create(Widget(metadata=metadata, spec={"size": 1}))
        return Snapshot.from_content(Widget.kind, made.content)

    async def read(self) -> Snapshot:
        found = await read_live(self.client, Widget.kind, self.namespace, "w")
        assert found is not None
        return found

    async def delete(self) -> Snapshot:
        await self.client.delete(Widget, "w", namespace=self.namespace)
        return await self.read()


async def test_added_once_and_removed(client: Client, namespace: str) -> None:
    bench = Bench(client, namespace)
    marked = await bench.finalizer.add(await bench.create())
    assert marked is not None
    assert finalizers_of(marked) == (OURS,)
    assert await bench.finalizer.add(marked) == marked
    assert await bench.finalizer.remove(await bench.delete()) is not None
    with pytest.raises(NotFound):
        await client.get(Widget, "w", namespace=namespace)


async def test_others_stay_also_when_they_moved_meanwhile(
    faulty: tuple[Client, FaultyTransport], namespace: str
) -> None:
    client, _ = faulty
    bench = Bench(client, namespace)
    stale = await bench.finalizer.add(await bench.create(THEIRS))
    assert stale is not None
    assert finalizers_of(stale) == (THEIRS, OURS)
    reordered = [{"op": "remove", "path": "/metadata/finalizers/0"}]
    await client.patch(Widget.kind, "w", reordered, type="json", namespace=namespace)
    assert await bench.finalizer.remove(stale) is not None
    assert finalizers_of(await bench.read()) == ()


async def test_S4_never_added_to_an_object_that_is_being_deleted(
    client: Client, namespace: str
) -> None:
    bench = Bench(client, namespace)
    alive = await bench.create(THEIRS)
    await bench.delete()
    # What we hold still looks alive; the server's state decides.
    assert await bench.finalizer.add(alive) is None
    assert finalizers_of(await bench.read()) == (THEIRS,)


async def test_F47_never_on_a_recreated_object(client: Client, namespace: str) -> None:
    bench = Bench(client, namespace)
    old = await bench.create()
    await client.delete(Widget, "w", namespace=namespace)
    await bench.create()
    assert await bench.finalizer.add(old) is None
    assert finalizers_of(await bench.read()) == ()
