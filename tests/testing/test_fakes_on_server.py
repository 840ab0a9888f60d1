"""A `FakeContext` agrees with a manager on a real server, scenario by scenario.

The server runs without controllers, so that children stay as they were made; `children="new"` is
the same in a fake.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
import trial_children
import trial_endings
import trials
from story import eventually
from trials import SCENARIOS, ZONES, Absent, Part, Scenario, Seen, Trial, Zone

from konstat.base.tasks import open_tasks
from konstat.client import Client
from konstat.controller.manager import Manager
from konstat.controller.run import install_kinds
from konstat.kinds import Namespace
from konstat.objects.diff import differences
from konstat.objects.resource import Resource
from konstat.testing import Binaries, ControlPlane, FakeContext, Options, attempt
from konstat.writing import Owner, prepare
from konstat.writing.manifest import APPLIED_ANNOTATION

pytestmark = pytest.mark.realapi

# Imported for the scenarios that they add.
assert trial_children
assert trial_endings

# Why a kind cannot be read is told by the server.
_WORDED_OTHERWISE = {"absent_kind"}
_BY_SERVER = {"kube-root-ca.crt"}


class Lived(msgspec.Struct):
    """What came of one scenario."""

    status: dict[str, Any]
    seen: Seen
    children: dict[str, dict[str, Any]]

    @property
    def conditions(self) -> dict[str, tuple[str, str, int]]:
        return {
            c["type"]: (c["status"], c["reason"], c["observedGeneration"])
            for c in self.status["conditions"]
        }

    @property
    def messages(self) -> dict[str, str]:
        return {c["type"]: c["message"] for c in self.status["conditions"]}

    @property
    def fields(self) -> dict[str, Any]:
        return {k: v for k, v in self.status.items() if k != "conditions"}


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()


@pytest.fixture(scope="module")
def live(rig_binaries: Binaries) -> Iterator[dict[str, Lived]]:
    """Every scenario as it went on a server."""
    options = Options(controller_manager=False, scheduler=False)
    plane = ControlPlane(options, binaries=rig_binaries)
    _run(plane.start())
    try:
        yield _run(_live_through(plane))
    finally:
        _run(plane.stop())


def _space(name: str) -> str:
    return f"trial-{name.replace('_', '-')}"


async def _live_through(plane: ControlPlane) -> dict[str, Lived]:
    first_seen: dict[str, Seen] = {}

    def record(trial: Trial, seen: Seen) -> None:
        if "KindUnsynced" not in seen:  # the optional kind may be looked for still
            first_seen.setdefault(trial.spec.scenario, seen)

    async with plane.client() as client:
        await install_kinds(client, [Trial, Part, Zone])
        for zone in ZONES:
            await client.create(zone)
        for name, scenario in SCENARIOS.items():
            await _furnish(client, name, scenario)
        manager = Manager(trials.controller(record), client=client)
        async with open_tasks() as tasks:
            running = tasks.start(manager.run(), name="manager")
            lived = {name: await _look(client, name) for name in SCENARIOS}
            manager.stop()
            await running
    return {
        name: Lived(status=status, seen=first_seen[name], children=children)
        for name, (status, children) in lived.items()
    }


async def _furnish(client: Client, name: str, scenario: Scenario) -> None:
    space = _space(name)
    await client.create(Namespace(metadata={"name": space}))
    trial = await client.create(Trial.named("trial", namespace=space, scenario=name))
    owner = Owner(kind=Trial.kind, reference=trial.owner_reference(), namespace=space)
    for item in scenario.existing:
        await _create(client, item, item.content, space)
    for item in scenario.owned:
        # As it would be after an earlier attempt: with the hash of what was applied.
        await _create(client, item, prepare(item.content, kind=item.kind, owner=owner), space)


async def _create(
    client: Client, item: Resource[Any, Any], content: dict[str, Any], space: str
) -> None:
    await client.create(item.kind, content, namespace=space)
    if status := item.raw("status"):
        patch = {"status": status}
        await client.patch(
            item.kind, item.name, patch, type="merge", namespace=space, subresource="status"
        )


async def _look(client: Client, name: str) -> tuple[dict[str, Any], Any]:
    """The status once it is settled, and the children."""
    space = _space(name)

    async def look() -> dict[str, Any]:
        trial = await client.get(Trial, "trial", namespace=space)
        return trial.raw("status") or {}

    def settled(status: dict[str, Any]) -> bool:
        return status.get("observedGeneration") == 1 and "KindUnsynced" not in str(status)

    status = await eventually(look, settled)
    children: dict[str, dict[str, Any]] = {}
    for cls in trials.OWNED:
        for item in await client.list(cls, namespace=space):
            if item.name not in _BY_SERVER:
                children[f"{item.kind.kind} {item.name}"] = item.content
    return status, children


async def _pretend(name: str) -> Lived:
    scenario = SCENARIOS[name]
    recorded: list[Seen] = []
    context: FakeContext[Trial] = FakeContext(
        existing=(*scenario.existing, *ZONES),
        owned=scenario.owned,
        children="new",
        unavailable=[Absent],
    )
    trial = Trial.named("trial", namespace=_space(name), scenario=name)
    controller = trials.controller(lambda _, seen: recorded.append(seen))
    settled = await attempt(controller, trial, context)
    children = {
        f"{o['kind']} {o['metadata']['name']}": dict(o)
        for o in context.objects
        if o["kind"] != Zone.__name__
    }
    return Lived(status=settled.status, seen=recorded[0], children=children)


def _without_uids(content: dict[str, Any]) -> dict[str, Any]:
    """An object as both worlds have it: uids and the applied hash over them differ."""
    metadata = dict(content["metadata"])
    owners = metadata.pop("ownerReferences", [])
    annotations = dict(metadata.pop("annotations", {}))
    annotations.pop(APPLIED_ANNOTATION, None)
    metadata["labels"] = {
        **metadata.get("labels", {}),
        "owners": ",".join(f"{o['kind']}/{o['name']}" for o in owners),
    }
    return {**content, "metadata": {**metadata, "annotations": annotations}}


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_fake_agrees_with_a_cluster(name: str, live: dict[str, Lived]) -> None:
    there, here = live[name], await _pretend(name)
    assert here.conditions == there.conditions
    if name not in _WORDED_OTHERWISE:
        assert here.messages == there.messages
    assert here.fields == there.fields
    assert here.seen == there.seen
    assert here.children.keys() == there.children.keys()
    for child, content in here.children.items():
        assert differences(_without_uids(content), _without_uids(there.children[child])) == []
