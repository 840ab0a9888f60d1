"""Requests as the API server's audit log counts them: none that is not needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from story import EXAMPLE, Operator, eventually, keeps_contract

from konstat.base import clock
from konstat.client import Client
from konstat.errors import NotFound
from konstat.objects.kind import Kind
from konstat.testing import AuditEvent, ControlPlane, Options, User

NOTES = Path(__file__).parent / "operators/notes.py"
NOTE = Kind(group="e2e.example.com", version="v1", kind="Note", plural="notes")
WEB_APP = Kind(group="demo.example.com", version="v1", kind="WebApp", plural="webapps")
NAMESPACE = "default"
IDLE_SECONDS = 60.0
WRITES = ("create", "update", "patch", "delete", "deletecollection")


class Plane:
    """A control plane of its own, with an operator whose requests can be told apart."""

    def __init__(self, plane: ControlPlane, client: Client, folder: Path) -> None:
        self.plane = plane
        self.client = client
        kubeconfig = plane.access("operator").kubeconfig
        self.notes = Operator(kubeconfig, folder / "notes.log", target=NOTES)
        self.webapps = Operator(kubeconfig, folder / "webapps.log", target=EXAMPLE)

    async def start(self) -> None:
        for operator, kind in ((self.notes, NOTE), (self.webapps, WEB_APP)):
            await operator.start("--install-crds")
            await eventually(lambda kind=kind: self._served(kind), bool)

    async def stop(self) -> None:
        assert await self.notes.stop() == 0
        assert await self.webapps.stop() == 0

    async def _served(self, kind: Kind) -> bool:
        try:
            await self.client.list(kind, namespace=None)
        except NotFound:
            return False
        return True

    async def create(self, kind: Kind, name: str, **spec: Any) -> None:
        content = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        await self.client.create(kind, content, namespace=NAMESPACE)

    async def ready(self, kind: Kind) -> int:
        """How many objects of a kind are Ready for their current generation."""
        found = await self.client.list(kind, namespace=NAMESPACE)
        return sum(_is_ready(content) for content in found)

    def requests(self, since: int) -> list[AuditEvent]:
        """What the operator asked since that many events ago."""
        events = self.plane.audit_events(users=["operator"])
        return [e for e in events[since:] if e.stage == "ResponseComplete"]

    def mark(self) -> int:
        return len(self.plane.audit_events(users=["operator"]))


def _is_ready(content: dict[str, Any]) -> bool:
    status = content.get("status") or {}
    if status.get("observedGeneration") != content["metadata"]["generation"]:
        return False
    conditions = {c["type"]: c["status"] for c in status.get("conditions") or []}
    assert keeps_contract(content)
    return conditions.get("Ready") == "True"


@pytest.fixture
async def world(start_control_plane: Any, tmp_path: Path) -> AsyncIterator[Plane]:
    fast = ("--kube-api-qps=1000", "--kube-api-burst=2000", "--concurrent-deployment-syncs=20")
    plane: ControlPlane = start_control_plane(
        Options(
            audit=True,
            users=(User(name="operator", groups=("system:masters",)),),
            controller_manager_flags=fast,
        )
    )
    async with plane.client() as client:
        made = Plane(plane, client, tmp_path)
        try:
            await made.start()
            yield made
        finally:
            await made.notes.aclose()
            await made.webapps.aclose()


@pytest.mark.timeout(600)
async def test_requests_of_a_settled_operator(world: Plane) -> None:
    """One long test, because filling a cluster with a thousand objects takes its time."""
    await _one_status_write_per_change(world)
    await _fill(world)
    await _idle(world)
    await _restart(world)


async def _one_status_write_per_change(world: Plane) -> None:
    await world.create(NOTE, "counted", text="0")
    await eventually(lambda: world.ready(NOTE), lambda n: n == 1)
    since = world.mark()
    for turn in range(1, 21):
        patch = {"spec": {"text": "x" * turn}}
        await world.client.patch(NOTE, "counted", patch, type="merge", namespace=NAMESPACE)
        await eventually(lambda: world.ready(NOTE), lambda n: n == 1)

    async def counted() -> dict[str, int]:
        # Discovery and schemas are asked for when an operator starts, and name no resource.
        asked = [e for e in world.requests(since) if e.verb != "watch" and e.resource]
        return {
            "status": sum(e.subresource == "status" for e in asked),
            "children": sum(e.resource == "configmaps" for e in asked),
            "all": len(asked),
        }

    # The log may come a moment after the answers; it must then stop exactly there.
    await eventually(counted, lambda n: n["all"] >= 40)
    assert await counted() == {"status": 20, "children": 20, "all": 40}


async def _fill(world: Plane) -> None:
    names = [f"n{number}" for number in range(949)]

    async def some(slice_of: list[str]) -> None:
        for name in slice_of:
            await world.create(NOTE, name, text=name)

    await asyncio.gather(*(some(names[start::8]) for start in range(8)))
    for number in range(50):
        await world.create(WEB_APP, f"w{number}", image="nginx:1", replicas=0)
    await eventually(lambda: world.ready(NOTE), lambda n: n == 950, within_seconds=120)
    await eventually(lambda: world.ready(WEB_APP), lambda n: n == 50, within_seconds=120)


async def _idle(world: Plane) -> None:
    """At rest nothing is asked but resumptions of watches."""
    before = -1

    async def settled() -> bool:
        nonlocal before
        last, before = before, world.mark()
        return last == before

    await eventually(settled, bool)
    since = world.mark()
    end = clock.monotonic() + IDLE_SECONDS
    # The length of the silence is what is asked for here, not a wait for something to happen.
    while clock.monotonic() < end:
        await clock.sleep(1.0)
    others = [e.request_uri for e in world.requests(since) if e.verb != "watch"]
    assert others == []


async def _restart(world: Plane) -> None:
    await world.stop()
    since = world.mark()
    await world.notes.start()
    await world.webapps.start()

    async def attempts() -> int:
        return sum("running:" in o.text().rpartition("stopping")[2] for o in _both(world))

    await eventually(attempts, lambda n: n == 2)
    # A change to the last object shows that everything before it was attempted.
    patch = {"spec": {"text": "after the restart"}}
    await world.client.patch(NOTE, "counted", patch, type="merge", namespace=NAMESPACE)
    await eventually(lambda: world.ready(NOTE), lambda n: n == 950)
    before = -1

    async def settled() -> bool:
        nonlocal before
        last, before = before, world.mark()
        return last == before

    await eventually(settled, bool)
    writes = [e for e in world.requests(since) if e.verb in WRITES]
    assert [(e.resource, e.subresource, e.name) for e in writes] == [
        ("configmaps", "", "counted"),
        ("notes", "status", "counted"),
    ]


def _both(world: Plane) -> tuple[Operator, Operator]:
    return (world.notes, world.webapps)
