"""The actors and nodes on the embedded server: a whole cluster in one program, without a port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from actor_stories import until

from konstat.actors import ControlPlaneActors
from konstat.base.tasks import open_tasks
from konstat.client.api import Client
from konstat.embedded.memory import MemoryTransport
from konstat.embedded.server import EmbeddedServer
from konstat.errors import NotFound
from konstat.kinds import DaemonSet, Deployment, Job, Namespace, Pod, Service, StatefulSet
from konstat.nodes import NodeActor, NodeOptions, PretendedRuntime


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    connected = Client(MemoryTransport(EmbeddedServer()))
    async with open_tasks() as tasks:
        tasks.start(ControlPlaneActors(connected).run(), name="actors")
        runtime = PretendedRuntime(run_seconds=0.1)
        nodes = NodeActor(connected, NodeOptions(nodes=2), runtime=runtime)
        tasks.start(nodes.run(), name="nodes")
        await nodes.wait_registered()
        connected.namespace = "demo"
        await connected.create(Namespace.kind, {"metadata": {"name": "demo"}})
        yield connected


def template(app: str, **spec: Any) -> dict[str, Any]:
    annotations = spec.pop("annotations", {})
    return {
        "metadata": {"labels": {"app": app}, "annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": "example.com/app:1"}], **spec},
    }


def workload(app: str, **spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    return {
        "metadata": {"name": app},
        "spec": {"selector": selector, "template": template(app), **spec},
    }


async def test_every_workload_comes_to_its_end(client: Client) -> None:
    await client.create(Deployment.kind, workload("web", replicas=3))
    await client.create(StatefulSet.kind, workload("db", replicas=2, serviceName="db"))
    await client.create(DaemonSet.kind, workload("agent"))
    once = template("job", annotations={"nodes.konstat.dev/exit": "main=0"}, restartPolicy="Never")
    await client.create(Job.kind, {"metadata": {"name": "job"}, "spec": {"template": once}})
    ports = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    await client.create(Service.kind, {"metadata": {"name": "web"}, "spec": ports})

    async def status(kind: Any, name: str) -> dict[str, Any]:
        return (await client.get(kind.kind, name)).get("status") or {}

    async def settled() -> bool:
        return (
            (await status(Deployment, "web")).get("availableReplicas") == 3
            and (await status(StatefulSet, "db")).get("readyReplicas") == 2
            and (await status(DaemonSet, "agent")).get("numberAvailable") == 2
            and (await status(Job, "job")).get("succeeded") == 1
        )

    await until(settled, what="all workloads", seconds=20)
    containers = [{"name": "main", "image": "example.com/app:2"}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    await client.patch(Deployment.kind, "web", patch, type="strategic")

    async def rolled_out() -> bool:
        found = await client.get(Deployment.kind, "web")
        counts = [found["status"].get(f) for f in ("replicas", "updatedReplicas", "readyReplicas")]
        seen = found["status"]["observedGeneration"] == found["metadata"]["generation"]
        return seen and counts == [3, 3, 3]

    await until(rolled_out, what="the rollout", seconds=20)
    found = await client.get(Deployment.kind, "web")
    assert found["metadata"]["generation"] == 2  # the revision's annotation is no new one
    assert found["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    await client.delete(Deployment.kind, "web", propagation="Foreground")

    async def gone() -> bool:
        left = [p for p in await client.list(Pod.kind) if p["metadata"]["labels"]["app"] == "web"]
        return not left and not await client.list(Deployment.kind)

    await until(gone, what="the end of the Deployment", seconds=20)


async def test_a_namespace_goes_with_its_content(client: Client) -> None:
    await client.create(Deployment.kind, workload("web", replicas=2))

    async def runs() -> bool:
        return len(await client.list(Pod.kind)) == 2

    await until(runs, what="two pods", seconds=20)
    await client.delete(Namespace, "demo")

    async def gone() -> bool:
        try:
            await client.get(Namespace.kind, "demo")
        except NotFound:
            return not await client.list(Pod.kind, namespace=None)
        return False

    await until(gone, what="the end of the namespace", seconds=20)
