"""The web_app example on both servers, from creation to deletion, step by step.

One long story, because each step starts from the world that the step before it left.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from story import Kubectl, Operator, eventually, keeps_contract, message, nodes, operator, said

from konstat.client import Client
from konstat.errors import NotFound
from konstat.kinds import Deployment, Event, Node, Pod, Service
from konstat.objects.kind import Kind

if TYPE_CHECKING:
    from story import Plane

WEB_APP = Kind(group="demo.example.com", version="v1", kind="WebApp", plural="webapps")
FOREIGN = {
    "type": "Theirs",
    "status": "True",
    "reason": "Elsewhere",
    "message": "set by another writer",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def manifest(name: str = "shop", image: str = "nginx:1.27", replicas: int = 3) -> str:
    return json.dumps(
        {
            "apiVersion": WEB_APP.api_version,
            "kind": "WebApp",
            "metadata": {"name": name},
            "spec": {"image": image, "replicas": replicas},
        }
    )


class World:
    """Looks at one WebApp and its children."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    async def app(self, name: str = "shop") -> dict[str, Any]:
        try:
            content = await self.client.get(WEB_APP, name, namespace=self.namespace)
        except NotFound:
            return {}
        assert keeps_contract(content)
        return content

    async def says(self, expected: dict[str, tuple[str, str, int | None]]) -> dict[str, Any]:
        """Wait until the conditions are exactly these."""
        return await eventually(self.app, lambda seen: said(seen) == expected)

    async def deployment(self) -> Deployment:
        return await self.client.get(Deployment, "shop", namespace=self.namespace)

    async def pods(self) -> list[Pod]:
        return await self.client.list(Pod, namespace=self.namespace)

    async def events(self) -> list[dict[str, Any]]:
        found = await self.client.list(Event, namespace=self.namespace)
        return [event.content for event in found]


def ready(generation: int) -> dict[str, tuple[str, str, int | None]]:
    return {
        "Ready": ("True", "Ready", generation),
        "WorkloadReady": ("True", "Available", generation),
        "NetworkReady": ("True", "Available", generation),
    }


def stalled(generation: int) -> dict[str, tuple[str, str, int | None]]:
    return {
        "Ready": ("False", "ImageUntagged", generation),
        "WorkloadReady": ("Unknown", "NotObserved", generation),
        "NetworkReady": ("Unknown", "NotObserved", generation),
        "Stalled": ("True", "ImageUntagged", generation),
    }


@pytest.mark.timeout(600)
async def test_the_story_of_a_web_app(plane: Plane, place: str, tmp_path: Path) -> None:
    kubectl = Kubectl(plane, place)
    async with (
        plane.client() as client,
        operator(plane, tmp_path / "operator.log") as running,
    ):
        world = World(client, place)
        await eventually(lambda: _served(client), bool)
        await _is_created(world, kubectl, client)
        async with nodes(client):
            await world.says(ready(1))
            await _stalls_and_is_mended(world, kubectl)
            await _cannot_be_pulled_and_is_mended(world, kubectl)
            await _is_scaled(world, kubectl)
            await _loses_a_pod(world, kubectl, client)
            await _child_is_edited_by_hand(world, kubectl)
            await _child_is_deleted(world, client)
            await _foreign_condition_survives(world, kubectl, running)
            await _operator_is_down_while_the_spec_changes(world, kubectl, running)
            await _is_recreated(world, kubectl)
            await _is_deleted(world, kubectl)
        assert await running.stop() == 0
        assert "Traceback" not in running.text()


async def _served(client: Client) -> bool:
    try:
        await client.list(WEB_APP, namespace=None)
    except NotFound:
        return False
    return True


async def _is_created(world: World, kubectl: Kubectl, client: Client) -> None:
    """Without nodes nothing can run: reconciling, with the scheduler's cause."""
    await kubectl("apply", "-f", "-", stdin=manifest())
    seen = await world.says(
        {
            "Ready": ("False", "Unschedulable", 1),
            "WorkloadReady": ("False", "Unschedulable", 1),
            "NetworkReady": ("True", "Available", 1),
            "Reconciling": ("True", "Unschedulable", 1),
        }
    )
    assert seen["status"]["observedGeneration"] == 1
    assert "no nodes available" in message(seen, "Ready")


async def _stalls_and_is_mended(world: World, kubectl: Kubectl) -> None:
    before = await world.app()
    since = {c["type"]: c["lastTransitionTime"] for c in before["status"]["conditions"]}
    assert before["status"]["readyReplicas"] == 3
    patch = {"spec": {"image": "nginx"}}
    await kubectl("patch", "webapp", "shop", "--type=merge", "-p", json.dumps(patch))
    seen = await world.says(stalled(2))
    assert "write it as name:tag (the user must act)" in message(seen, "Ready")
    # The children stay as they were: a stalled spec does not tear down what runs.
    assert (await world.deployment()).spec.template.spec.containers[0].image == "nginx:1.27"
    patch = {"spec": {"image": "nginx:1.28"}}
    await kubectl("patch", "webapp", "shop", "--type=merge", "-p", json.dumps(patch))
    await kubectl("wait", "--for=condition=Ready", "webapp/shop", "--timeout=60s")
    seen = await world.says(ready(3))
    assert (await world.deployment()).spec.template.spec.containers[0].image == "nginx:1.28"
    assert since["Ready"] <= seen["status"]["conditions"][0]["lastTransitionTime"]


async def _cannot_be_pulled_and_is_mended(world: World, kubectl: Kubectl) -> None:
    image = "registry.invalid/nginx:1"
    patch = json.dumps({"spec": {"image": image}})
    await kubectl("patch", "webapp", "shop", "--type=merge", "-p", patch)
    seen = await world.says(
        {
            "Ready": ("False", "ImagePullFailed", 4),
            "WorkloadReady": ("False", "ImagePullFailed", 4),
            "NetworkReady": ("True", "Available", 4),
            "Stalled": ("True", "ImagePullFailed", 4),
        }
    )
    text = message(seen, "Ready")
    assert image in text
    assert "the user must act" in text
    patch = json.dumps({"spec": {"image": "nginx:1.29"}})
    await kubectl("patch", "webapp", "shop", "--type=merge", "-p", patch)
    await world.says(ready(5))


async def _is_scaled(world: World, kubectl: Kubectl) -> None:
    patch = json.dumps({"spec": {"replicas": 5}})
    await kubectl("patch", "webapp", "shop", "--type=merge", "-p", patch)
    seen = await world.says(ready(6))
    assert seen["status"]["readyReplicas"] == 5
    columns = await kubectl("get", "webapp", "shop")
    assert columns.splitlines()[0].split() == ["NAME", "READY", "REASON", "AGE"]
    assert columns.splitlines()[1].split()[:3] == ["shop", "True", "Ready"]


async def _loses_a_pod(world: World, kubectl: Kubectl, client: Client) -> None:
    """A killed pod is seen as not ready, and as ready again; both flips are recorded."""
    before = await world.app()
    victim = (await world.pods())[0]
    states: list[str] = []
    # A replacement that ran at once might leave nothing to be seen of the loss.
    for node in await client.list(Node):
        await kubectl("cordon", node.name)
    async with client.watch(
        WEB_APP,
        namespace=world.namespace,
        resource_version=before["metadata"]["resourceVersion"],
        timeout_seconds=60,
    ) as changes:
        await client.delete(Pod, victim.name, namespace=world.namespace, grace_period_seconds=0)
        async for change in changes:
            if change.type == "BOOKMARK":
                continue
            seen = json.loads(bytes(change.object))
            assert keeps_contract(seen)
            states.append(said(seen)["Ready"][0])
            if states[-1] == "True":
                break
            if len(states) == 1:
                for node in await client.list(Node):
                    await kubectl("uncordon", node.name)
    assert states[0] == "False"
    assert states[-1] == "True"
    await world.says(ready(6))


async def _child_is_edited_by_hand(world: World, kubectl: Kubectl) -> None:
    patch = json.dumps({"spec": {"replicas": 1}})
    await kubectl("patch", "deployment", "shop", "--type=merge", "-p", patch)

    async def replicas() -> int:
        return (await world.deployment()).spec.replicas

    await eventually(replicas, lambda n: n == 5)
    events = await eventually(
        world.events, lambda seen: any(e["reason"] == "Corrected" for e in seen)
    )
    note = next(e["note"] for e in events if e["reason"] == "Corrected")
    assert "spec.replicas" in note
    assert "kubectl" in note
    await world.says(ready(6))


async def _child_is_deleted(world: World, client: Client) -> None:
    before = await client.get(Service, "shop", namespace=world.namespace)
    await client.delete(Service, "shop", namespace=world.namespace)

    async def uid() -> str:
        try:
            return (await client.get(Service, "shop", namespace=world.namespace)).uid
        except NotFound:
            return ""

    await eventually(uid, lambda now: now not in ("", before.uid))
    await world.says(ready(6))


async def _foreign_condition_survives(world: World, kubectl: Kubectl, running: Operator) -> None:
    add = [{"op": "add", "path": "/status/conditions/-", "value": FOREIGN}]
    patch = ("patch", "webapp", "shop", "--subresource=status", "--type=json")
    await kubectl(*patch, "-p", json.dumps(add))
    theirs = ("True", "Elsewhere", None)
    for generation, replicas in ((7, 2), (8, 4)):
        spec = json.dumps({"spec": {"replicas": replicas}})
        await kubectl("patch", "webapp", "shop", "--type=merge", "-p", spec)
        seen = await world.says({**ready(generation), "Theirs": theirs})
        assert FOREIGN in seen["status"]["conditions"]
    # Restarted in the middle of a change, by force.
    spec = json.dumps({"spec": {"replicas": 3}})
    await kubectl("patch", "webapp", "shop", "--type=merge", "-p", spec)
    await running.stop(signal.SIGKILL)
    await running.start()
    seen = await world.says({**ready(9), "Theirs": theirs})
    assert FOREIGN in seen["status"]["conditions"]


async def _operator_is_down_while_the_spec_changes(
    world: World, kubectl: Kubectl, running: Operator
) -> None:
    assert await running.stop() == 0
    spec = json.dumps({"spec": {"replicas": 2}})
    await kubectl("patch", "webapp", "shop", "--type=merge", "-p", spec)
    seen = await world.app()
    # Nobody has seen generation 10: the status says so by its observedGeneration.
    assert (seen["metadata"]["generation"], seen["status"]["observedGeneration"]) == (10, 9)
    await running.start()
    seen = await world.says({**ready(10), "Theirs": ("True", "Elsewhere", None)})
    assert seen["status"]["readyReplicas"] == 2


async def _is_recreated(world: World, kubectl: Kubectl) -> None:
    """The same name under a new uid starts clean: nothing of the old status shows."""
    before = await world.app()
    await kubectl("delete", "webapp", "shop", "--cascade=background", "--wait=false")
    await eventually(world.app, lambda seen: not seen)
    await kubectl("apply", "-f", "-", stdin=manifest(image="nginx"))
    seen = await world.says(stalled(1))
    assert seen["metadata"]["uid"] != before["metadata"]["uid"]
    assert seen["status"]["observedGeneration"] == 1
    assert "readyReplicas" not in seen["status"] or seen["status"]["readyReplicas"] == 0
    spec = json.dumps({"spec": {"image": "nginx:1.27"}})
    await kubectl("patch", "webapp", "shop", "--type=merge", "-p", spec)
    await world.says(ready(2))


async def _is_deleted(world: World, kubectl: Kubectl) -> None:
    await kubectl("delete", "webapp", "shop", "--cascade=foreground", "--timeout=60s")
    assert await world.app() == {}
    await eventually(world.pods, lambda pods: pods == [])
