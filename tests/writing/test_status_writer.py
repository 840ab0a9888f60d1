"""The status writer against a real API server, with faults between them."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from widgets import FaultyTransport, Widget, WidgetStatus

from konstat.base.transport import Request
from konstat.client import Client
from konstat.controller.run import install_manifest
from konstat.errors import Forbidden, TransportError
from konstat.kinds import CustomResourceDefinition
from konstat.objects.crd import crd
from konstat.objects.kind import Kind
from konstat.objects.resource import stored_status
from konstat.objects.snapshot import Snapshot
from konstat.status import Outcome, Settlement, settle, started
from konstat.testing import ControlPlane, User
from konstat.writing import StatusWriter, Written
from konstat.writing.status_writer import StatusSubresourceMissing

pytestmark = pytest.mark.realapi

FOREIGN = {
    "type": "Theirs",
    "status": "True",
    "reason": "Elsewhere",
    "message": "€ < & é",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


class Bench:
    """One Widget, a writer for it, and what the writer saw."""

    def __init__(self, client: Client, namespace: str, admin: Client | None = None) -> None:
        self.client = client
        self.admin = admin or client
        self.namespace = namespace
        self.seen: list[Snapshot] = []
        self.writer = StatusWriter(client, field_manager="tests", overlay=self)

    def writing(self, kind: Kind, namespace: str, name: str) -> AbstractContextManager[None]:
        return nullcontext()

    def put_own(self, snapshot: Snapshot) -> None:
        self.seen.append(snapshot)

    async def create(self, name: str = "w") -> Snapshot:
        made = await self.admin.create(Widget.named(name, namespace=self.namespace, size=1))
        return Snapshot.from_content(Widget.kind, made.content)

    async def read(self, name: str = "w") -> Snapshot:
        content = await self.admin.get(Widget.kind, name, namespace=self.namespace)
        return Snapshot.from_content(Widget.kind, content)

    async def patch_status(self, *operations: dict[str, Any]) -> None:
        await self.admin.patch(
            Widget.kind,
            "w",
            list(operations),
            type="json",
            namespace=self.namespace,
            subresource="status",
        )

    async def grow(self, size: int) -> Snapshot:
        patch = {"spec": {"size": size}}
        await self.admin.patch(Widget.kind, "w", patch, type="merge", namespace=self.namespace)
        return await self.read()


def wanted(*, generation: int = 1, good: bool = True, **fields: Any) -> Settlement:
    draft = stored_status(WidgetStatus, fields)
    assert isinstance(draft, WidgetStatus)
    if good:
        draft.body.good()
    else:
        draft.body.bad("Broken", "it is broken <&> €")
    return settle(draft, Outcome.observed(), generation=generation)


def conditions(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    return {c["type"]: c for c in snapshot.content["status"]["conditions"]}


async def test_H8_one_request_for_a_change_and_none_without(
    faulty: tuple[Client, FaultyTransport], namespace: str
) -> None:
    client, transport = faulty
    bench = Bench(client, namespace)
    base = await bench.create()
    transport.sent.clear()
    assert (await bench.writer.write(base, wanted())).written is Written.WRITTEN
    assert len(transport.sent) == 1
    stored = bench.seen[-1]
    assert stored.resource_version == (await bench.read()).resource_version
    transport.sent.clear()
    assert (await bench.writer.write(stored, wanted())).written is Written.UNCHANGED
    assert transport.sent == []


async def test_S6_a_spec_edit_between_read_and_write_is_no_conflict(
    faulty: tuple[Client, FaultyTransport], namespace: str
) -> None:
    client, transport = faulty
    bench = Bench(client, namespace)
    base = await bench.create()
    await bench.grow(5)
    transport.sent.clear()
    assert (await bench.writer.write(base, wanted())).written is Written.WRITTEN
    assert len(transport.sent) == 1
    now = await bench.read()
    # F48: the status tells the generation that was read, not the newest.
    assert now.content["spec"]["size"] == 5
    assert (now.generation, now.content["status"]["observedGeneration"]) == (2, 1)


async def test_H5_foreign_conditions_survive_also_when_added_meanwhile(
    client: Client, namespace: str
) -> None:
    bench = Bench(client, namespace)
    await bench.writer.write(await bench.create(), wanted())
    base = bench.seen[-1]
    await bench.patch_status({"op": "add", "path": "/status/conditions/0", "value": FOREIGN})
    result = await bench.writer.write(base, wanted(good=False))
    assert result.written is Written.WRITTEN
    after = conditions(await bench.read())
    assert after["Theirs"] == FOREIGN
    assert after["Ready"]["status"] == "False"
    assert set(after) == {"Theirs", "Ready", "BodyReady", "Stalled"}


async def test_F47_a_recreated_object_is_never_written(client: Client, namespace: str) -> None:
    bench = Bench(client, namespace)
    base = await bench.create()
    await client.delete(Widget, "w", namespace=namespace)
    assert (await bench.writer.write(base, wanted())).written is Written.GONE
    await bench.create()
    assert (await bench.writer.write(base, wanted())).written is Written.GONE
    assert "status" not in (await bench.read()).content


async def test_F25_a_lost_answer_is_read_back_and_the_time_stays(
    faulty: tuple[Client, FaultyTransport], namespace: str
) -> None:
    client, transport = faulty
    bench = Bench(client, namespace)
    base = await bench.create()
    lost: list[Request] = []

    def lose_first(request: Request) -> str:
        if request.method == "PATCH" and not lost:
            lost.append(request)
            return "lose answer"
        return ""

    transport.fault = lose_first
    transport.sent.clear()
    result = await bench.writer.write(base, wanted())
    assert lost
    assert result.written is Written.UNCHANGED
    # The write landed once; the second look found it in place.
    assert [r.method for r in transport.sent] == ["PATCH", "GET"]


async def test_a_server_that_cannot_be_reached_is_an_error_and_nothing_else(
    faulty: tuple[Client, FaultyTransport], namespace: str
) -> None:
    client, transport = faulty
    bench = Bench(client, namespace)
    base = await bench.create()
    transport.fault = lambda _: "refuse"
    with pytest.raises(TransportError):
        await bench.writer.write(base, wanted())


async def test_F17_twenty_rivals_lose_nothing(client: Client, namespace: str) -> None:
    bench = Bench(client, namespace)
    base = await bench.create()
    await bench.writer.write(base, wanted())

    async def rival(number: int) -> None:
        entry = {**FOREIGN, "type": f"Theirs{number}"}
        await bench.patch_status({"op": "add", "path": "/status/conditions/-", "value": entry})

    async def ours() -> None:
        for turn in range(10):
            view = bench.seen[-1]
            await bench.writer.write(view, wanted(good=turn % 2 == 1, count=turn))

    await asyncio.gather(ours(), *(rival(number) for number in range(20)))
    after = conditions(await bench.read())
    assert {f"Theirs{n}" for n in range(20)} <= set(after)
    assert after["Ready"]["status"] == "True"


async def test_a_lagging_instance_never_takes_a_newer_outcome_back(
    client: Client, namespace: str
) -> None:
    bench, lagging = Bench(client, namespace), Bench(client, namespace)
    await bench.writer.write(await bench.create(), wanted())
    old = bench.seen[-1]
    newer = await bench.grow(2)
    await bench.writer.write(newer, wanted(generation=2))
    result = await lagging.writer.write(old, wanted(generation=1, good=False))
    assert result.written is Written.SUPERSEDED
    status = (await bench.read()).content["status"]
    assert status["observedGeneration"] == 2
    assert conditions(await bench.read())["Ready"]["status"] == "True"


async def test_a_lagging_instance_does_not_take_back_that_a_newer_generation_is_worked_on(
    client: Client, namespace: str
) -> None:
    bench, lagging = Bench(client, namespace), Bench(client, namespace)
    await bench.writer.write(await bench.create(), wanted())
    old = await bench.grow(2)
    await bench.writer.write(old, wanted(generation=2))
    newer = await bench.grow(3)
    await bench.writer.write(newer, started(3))
    result = await lagging.writer.write(old, wanted(generation=2, good=False))
    assert result.written is Written.SUPERSEDED
    after = conditions(await bench.read())
    assert (after["Ready"]["reason"], after["Ready"]["observedGeneration"]) == ("NewGeneration", 3)


async def test_a_lagging_instance_does_not_reset_what_is_settled(
    client: Client, namespace: str
) -> None:
    bench, lagging = Bench(client, namespace), Bench(client, namespace)
    await bench.writer.write(await bench.create(), wanted())
    newer = await bench.grow(2)
    await bench.writer.write(newer, wanted(generation=2))
    result = await lagging.writer.write(newer, started(2))
    assert result.written is Written.SUPERSEDED
    after = conditions(await bench.read())
    assert (after["Ready"]["status"], after["Ready"]["observedGeneration"]) == ("True", 2)


async def test_promise_1_the_reset_keeps_the_old_observed_generation(
    client: Client, namespace: str
) -> None:
    bench = Bench(client, namespace)
    await bench.writer.write(await bench.create(), wanted(count=7))
    newer = await bench.grow(2)
    await bench.writer.write(newer, started(2))
    now = await bench.read()
    after = conditions(now)
    assert (after["Ready"]["status"], after["Ready"]["reason"]) == ("Unknown", "NewGeneration")
    assert after["Reconciling"]["status"] == "True"
    assert now.content["status"]["observedGeneration"] == 1
    assert now.content["status"]["count"] == 7


async def test_F57_a_field_that_the_crd_does_not_declare_is_noticed_and_not_sent_again(
    client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    manifest = crd(Widget)
    properties = manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    del properties["status"]["properties"]["note"]
    name = manifest["metadata"]["name"]
    await client.apply(CustomResourceDefinition.kind, manifest, force=True, field_manager="konstat")
    bench = Bench(client, namespace)
    try:
        base = await bench.create()
        await _until_pruned(bench, base)
        assert bench.writer.pruned == {"note"}
        assert "note" in caplog.text
        again = await bench.writer.write(bench.seen[-1], wanted(note="hello", count=1))
        assert again.written is Written.UNCHANGED
    finally:
        await client.apply(
            CustomResourceDefinition.kind, crd(Widget), force=True, field_manager="konstat"
        )
        assert name


async def _until_pruned(bench: Bench, base: Snapshot) -> None:
    """The server takes a moment to serve a changed schema."""
    count = 0
    view = base
    while not bench.writer.pruned:
        count += 1
        assert count < 500, "the changed CRD was never served"
        await bench.writer.write(view, wanted(note=f"hello {count}", count=1))
        view = bench.seen[-1]


async def test_F58_a_status_beyond_the_servers_limit_is_told_in_a_smaller_one(
    client: Client, namespace: str
) -> None:
    bench = Bench(client, namespace)
    base = await bench.create()
    result = await bench.writer.write(base, wanted(note="x" * 3_500_000))
    assert result.written is Written.REDUCED
    ready = conditions(await bench.read())["Ready"]
    assert (ready["status"], ready["reason"]) == ("Unknown", "StatusTooLarge")
    again = await bench.writer.write(bench.seen[-1], wanted(note="x" * 3_500_000))
    assert again.written is Written.REDUCED
    assert bench.seen[-1].resource_version == (await bench.read()).resource_version


async def test_F62_without_the_permission_for_status_the_error_says_so(
    control_plane: ControlPlane, client: Client, namespace: str
) -> None:
    await control_plane.add_user(User(name="no-status"))
    async with control_plane.client(user="no-status") as powerless:
        bench = Bench(powerless, namespace, admin=client)
        base = await bench.create()
        with pytest.raises(Forbidden, match="write the status of Widget"):
            await bench.writer.write(base, wanted())


async def test_rule_44_a_kind_without_status_subresource_is_refused_with_what_to_do(
    client: Client, namespace: str
) -> None:
    manifest = crd(Widget)
    manifest["spec"]["names"] = {
        "kind": "Bare",
        "listKind": "BareList",
        "plural": "bares",
        "singular": "bare",
    }
    manifest["metadata"] = {"name": "bares.writing.example.com"}
    del manifest["spec"]["versions"][0]["subresources"]
    kind = Widget.kind.__class__(
        group="writing.example.com", version="v1", kind="Bare", plural="bares"
    )
    await install_manifest(client, manifest)
    content = {"apiVersion": kind.api_version, "kind": "Bare", "metadata": {"name": "b"}}
    made = await client.create(kind, content, namespace=namespace)
    base = Snapshot.from_content(kind, made)
    writer = StatusWriter(client, field_manager="tests", overlay=Bench(client, namespace))
    with pytest.raises(StatusSubresourceMissing, match="konstat crd"):
        await writer.write(base, wanted())
