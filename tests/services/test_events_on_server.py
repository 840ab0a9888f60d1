"""Events as a real server stores them and as kubectl shows them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from story import Kubectl, eventually

from konstat.base import limits
from konstat.base.tasks import open_tasks
from konstat.client import Client
from konstat.kinds import ConfigMap, Event, Namespace
from konstat.objects.resource import Resource
from konstat.services.events import Recorder, Regarding
from konstat.testing import ControlPlane

CONTROLLER = "webapps.demo.example.com"


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with control_plane.client() as client:
        yield client


@pytest.fixture
def recorder(client: Client) -> Recorder:
    return Recorder(client, controller=CONTROLLER, instance="host")


def regarding(thing: Resource[Any, Any]) -> Regarding:
    return Regarding(
        api_version=thing.kind.api_version,
        kind=thing.kind.kind,
        name=thing.name,
        namespace=thing.namespace,
        uid=thing.uid,
        resource_version=thing.metadata.resource_version,
    )


@pytest.fixture
async def shop(client: Client, namespace: str) -> Regarding:
    config = ConfigMap(metadata={"name": "shop"})
    return regarding(await client.create(config, namespace=namespace))


async def stored(client: Client, namespace: str, reason: str) -> list[Event]:
    found = await client.list(Event, namespace=namespace)
    return [event for event in found if event.reason == reason]


async def written(recorder: Recorder) -> None:
    """Everything recorded has been taken by the server."""
    await recorder.flush()
    seen = recorder.statistics()
    assert (seen.written, seen.dropped) == (seen.recorded, 0)


async def test_a_series_is_one_event_and_kubectl_tells_its_count(
    client: Client, control_plane: ControlPlane, recorder: Recorder, shop: Regarding
) -> None:
    kubectl = Kubectl(control_plane, shop.namespace)
    recorder.record(shop, "Repaired", "the field was put back", type="Warning")
    await written(recorder)
    assert "the field was put back" in await kubectl("describe", "configmap", "shop")
    for _ in range(2):
        recorder.record(shop, "Repaired", "the field was put back", type="Warning")
    await written(recorder)
    [event] = await stored(client, shop.namespace, "Repaired")
    assert event.series.count == 3
    assert event.reporting_controller == CONTROLLER
    for command in (("events", "--for", "configmap/shop"), ("describe", "configmap", "shop")):
        [line] = [x for x in (await kubectl(*command)).splitlines() if "Repaired" in x]
        assert "Warning" in line
        assert "x3" in line
        assert "the field was put back" in line


async def test_an_expired_event_is_written_anew(
    client: Client, recorder: Recorder, shop: Regarding
) -> None:
    recorder.record(shop, "Repaired", "again")
    await written(recorder)
    [event] = await stored(client, shop.namespace, "Repaired")
    await client.delete(Event, event.name, namespace=shop.namespace)
    recorder.record(shop, "Repaired", "again")
    await written(recorder)
    [anew] = await stored(client, shop.namespace, "Repaired")
    assert anew.uid != event.uid


@pytest.mark.parametrize(
    "note",
    [
        "",
        "x" * 5000,
        "é" * 1024,  # the limit counts bytes
        "x" + "€" * 400,
        "a\x00b\x1b[31m\n\tc",
        "lone \ud800 surrogate",
    ],
)
async def test_F72_the_server_takes_any_note(
    client: Client, recorder: Recorder, shop: Regarding, note: str
) -> None:
    recorder.record(shop, "Told", note)
    await written(recorder)
    [event] = await stored(client, shop.namespace, "Told")
    assert len(event.note.encode()) <= limits.EVENT_NOTE_BYTES
    assert event.note[:1] == note[:1]
    cut = len(note.encode(errors="replace")) > limits.EVENT_NOTE_BYTES
    assert event.note.endswith("…") == cut


async def test_F72_the_server_takes_any_words(
    client: Client, recorder: Recorder, shop: Regarding
) -> None:
    recorder.record(shop, "", "no reason", action="")
    recorder.record(shop, "R" * 500, "long reason", action="A" * 500)
    recorder.record(shop, "Größer ist's", "odd reason", action="ä" * 128)
    await written(recorder)
    assert len(await client.list(Event, namespace=shop.namespace)) >= 3


async def test_objects_at_cluster_scope(
    client: Client, control_plane: ControlPlane, recorder: Recorder, namespace: str
) -> None:
    about = regarding(await client.get(Namespace, namespace))
    role = Regarding(
        api_version="rbac.authorization.k8s.io/v1", kind="ClusterRole", name=f"System:{namespace}"
    )
    recorder.record(about, "Checked", "a namespace")
    recorder.record(role, "Checked", "a name that is no subdomain")
    await written(recorder)
    events = await stored(client, "default", "Checked")
    names = {event.regarding.name for event in events}
    assert {about.name, role.name} <= names
    kubectl = Kubectl(control_plane, "default")
    assert "a namespace" in await kubectl("events", "--for", f"namespace/{namespace}")


@pytest.mark.parametrize(
    "controller",
    [
        "widgets.a.b",
        "certificatesigningpolicies.security.infrastructure.platform.example.com",
        f"{'w' * 70}.example.com",
        "x" * 90,
    ],
)
async def test_a_controller_with_a_long_name_is_named(
    client: Client, shop: Regarding, controller: str
) -> None:
    recorder = Recorder(client, controller=controller, instance="i" * 300)
    recorder.record(shop, "Named", controller)
    await written(recorder)
    [event] = await stored(client, shop.namespace, "Named")
    assert event.reporting_controller.rpartition("/")[2][:20] == controller[:20]


async def test_an_object_with_the_longest_name(client: Client, recorder: Recorder, namespace: str):
    name = ".".join(("a" * 57 + "-b" * 3, "c" * 63, "d" * 63, "e" * 61))[:253]
    thing = await client.create(ConfigMap(metadata={"name": name}), namespace=namespace)
    recorder.record(regarding(thing), "Long", "")
    await written(recorder)
    [event] = await stored(client, namespace, "Long")
    assert event.regarding.name == name


async def test_F72_events_of_a_deleted_namespace_are_lost_and_nothing_else(
    client: Client, recorder: Recorder, shop: Regarding
) -> None:
    async def recorded() -> bool:
        recorder.record(shop, "Late", "too late")
        await recorder.flush()
        return recorder.statistics().dropped > 0

    await client.delete(Namespace, shop.namespace)
    await eventually(recorded, bool)
    other = Regarding(api_version="v1", kind="Node", name="other", uid=shop.uid)
    before = recorder.statistics().written
    recorder.record(other, "Kept", "elsewhere")
    await recorder.flush()
    assert recorder.statistics().written == before + 1


async def test_what_is_recorded_at_the_end_is_flushed(
    client: Client, recorder: Recorder, shop: Regarding
) -> None:
    async with open_tasks() as tasks:
        tasks.start(recorder.run(), name="events")
        for number in range(20):
            recorder.record(shop, "Last", str(number))
        await recorder.flush()
    assert len(await stored(client, shop.namespace, "Last")) == 20
