"""Verdicts on what real controllers write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from konstat.base import clock
from konstat.client.api import Client
from konstat.kinds import BY_KIND, Deployment, Job, Pod, ReplicaSet, Service
from konstat.objects import codec
from konstat.objects.kind import Kind
from konstat.readiness import RULES, Readiness, Reason, State, Turn, compute
from konstat.testing import ControlPlane

pytestmark = pytest.mark.realapi

QUOTA = Kind(group="", version="v1", kind="ResourceQuota", plural="resourcequotas")
DEADLINE_SECONDS = 60


class Lists:
    """A `Related` over lists that were read from the server."""

    def __init__(self, lists: Mapping[str, list[dict[str, Any]]]) -> None:
        self.lists = lists

    def owned_by(self, uid: str, group: str, kind: str) -> list[dict[str, Any]]:
        return [
            item
            for item in self.lists[kind]
            if any(o["uid"] == uid for o in item["metadata"].get("ownerReferences", ()))
        ]

    def find(self, group: str, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        return next((i for i in self.lists[kind] if i["metadata"]["name"] == name), None)


async def judge(client: Client, cls: Any, name: str, namespace: str) -> Readiness:
    lists = {
        kind: [i.content for i in await client.list(BY_KIND[group, kind], namespace=namespace)]
        for group, kind in (
            ("apps", "ReplicaSet"),
            ("", "Pod"),
            ("discovery.k8s.io", "EndpointSlice"),
        )
    }
    found = await client.get(cls, name, namespace=namespace)
    return compute(found, related=Lists(lists), now=clock.now())


async def wait_for(
    client: Client, cls: Any, name: str, namespace: str, reason: Reason, *, begins: str = ""
) -> Readiness:
    """The verdict once it has that reason and its message begins so; pods come one by one."""
    deadline = clock.monotonic() + DEADLINE_SECONDS
    while True:
        verdict = await judge(client, cls, name, namespace)
        if verdict.reason == reason and verdict.message.startswith(begins):
            return verdict
        assert clock.monotonic() < deadline, f"still {verdict}"
        await clock.sleep(0.1)


def workload(replicas: int = 2) -> dict[str, Any]:
    labels = {"app": "web"}
    container = {
        "name": "web",
        "image": "registry.example.com/web:1",
        "resources": {"requests": {"cpu": "1"}},
    }
    return {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


async def create(client: Client, cls: Any, content: dict[str, Any], namespace: str) -> Any:
    return await client.create(cls.from_content(content), namespace=namespace)


async def test_a_deployment_that_no_node_takes(control_plane: ControlPlane, namespace: str) -> None:
    async with control_plane.client() as client:
        made = await create(client, Deployment, workload(), namespace)
        assert compute(made).reason == Reason.GENERATION_NOT_OBSERVED
        begins = "2 of 2 pods: no node takes the pod: "
        verdict = await wait_for(
            client, Deployment, "web", namespace, Reason.UNSCHEDULABLE, begins=begins
        )
        assert (verdict.state, verdict.turn) == (State.PROGRESSING, Turn.USER)


async def test_a_quota_reads_the_same_at_each_try(
    control_plane: ControlPlane, namespace: str
) -> None:
    async with control_plane.client() as client:
        quota = {"metadata": {"name": "small"}, "spec": {"hard": {"requests.cpu": "1"}}}
        await client.create(QUOTA, quota, namespace=namespace)
        await create(client, Deployment, workload(), namespace)
        verdict = await wait_for(client, Deployment, "web", namespace, Reason.QUOTA_EXCEEDED)
        assert verdict.state is State.FAILED
        assert verdict.message.startswith(
            "quota small leaves no room for the pods: one asks for requests.cpu=1,"
            " the quota is requests.cpu=1"
        )
        (rs,) = await client.list(ReplicaSet, namespace=namespace)
        assert compute(rs).message == verdict.message
        assert (await judge(client, Deployment, "web", namespace)).message == verdict.message


async def test_a_pull_that_fails_and_then_works(
    control_plane: ControlPlane, namespace: str
) -> None:
    """The kubelet is played by hand: real controllers count what it writes."""
    async with control_plane.client() as client:
        await create(client, Deployment, workload(1), namespace)
        await wait_for(client, Deployment, "web", namespace, Reason.UNSCHEDULABLE)
        (pod,) = await client.list(Pod, namespace=namespace)
        waiting = {"reason": "ErrImagePull", "message": "not found"}
        await report(client, pod, namespace, state={"waiting": waiting}, ready=False)
        verdict = await wait_for(client, Deployment, "web", namespace, Reason.IMAGE_PULL_FAILED)
        assert verdict.state is State.FAILED
        assert "image registry.example.com/web:1 of container web" in verdict.message
        started = {"running": {"startedAt": clock.timestamp(clock.now())}}
        await report(client, pod, namespace, state=started, ready=True)
        verdict = await wait_for(client, Deployment, "web", namespace, Reason.AVAILABLE)
        assert verdict.ready
        paused = {"spec": {"paused": True}}
        await client.patch(Deployment, "web", paused, type="merge", namespace=namespace)
        await wait_for(client, Deployment, "web", namespace, Reason.PAUSED)
        nothing = {"spec": {"paused": False, "replicas": 0}}
        await client.patch(Deployment, "web", nothing, type="merge", namespace=namespace)
        await wait_for(client, Deployment, "web", namespace, Reason.SCALED_TO_ZERO)


async def report(
    client: Client, pod: Pod, namespace: str, *, state: dict[str, Any], ready: bool
) -> None:
    """Write a pod's status as a kubelet does."""
    status = {"type": "Ready", "status": "True" if ready else "False"}
    container = {
        "name": "web",
        "image": "registry.example.com/web:1",
        "imageID": "",
        "restartCount": 0,
        "ready": ready,
        "state": state,
    }
    conditions = [
        status,
        {**status, "type": "ContainersReady"},
        {"type": "PodScheduled", "status": "True"},
    ]
    await client.patch(
        Pod,
        pod.name,
        {
            "status": {
                "phase": "Running" if ready else "Pending",
                "conditions": conditions,
                "containerStatuses": [container],
            }
        },
        type="strategic",
        namespace=namespace,
        subresource="status",
    )


async def test_services_and_jobs(control_plane: ControlPlane, namespace: str) -> None:
    async with control_plane.client() as client:
        ports = [{"port": 80}]
        for name, spec in (
            ("inner", {"ports": ports, "selector": {"app": "web"}}),
            ("outer", {"ports": ports, "type": "LoadBalancer"}),
        ):
            await create(client, Service, {"metadata": {"name": name}, "spec": spec}, namespace)
        inner = await judge(client, Service, "inner", namespace)
        assert inner.ready
        assert "no ready endpoints" in inner.message
        assert (await judge(client, Service, "outer", namespace)).reason == (
            Reason.LOAD_BALANCER_PENDING
        )
        template = workload()["spec"]["template"]
        template["spec"]["restartPolicy"] = "Never"
        job = {"metadata": {"name": "load"}, "spec": {"template": template, "suspend": True}}
        await create(client, Job, job, namespace)
        await wait_for(client, Job, "load", namespace, Reason.SUSPENDED)
        resumed = {"spec": {"suspend": False}}
        await client.patch(Job, "load", resumed, type="merge", namespace=namespace)
        verdict = await wait_for(client, Job, "load", namespace, Reason.UNSCHEDULABLE)
        assert verdict.state is State.PROGRESSING


async def test_every_kind_of_the_server_has_a_rule(control_plane: ControlPlane) -> None:
    async with control_plane.client() as client:
        served = await served_kinds(client)
    assert ("apps", "Deployment") in served
    assert served - set(RULES) == set()


async def served_kinds(client: Client) -> set[tuple[str, str]]:
    """Group and kind of everything that can be listed, whatever others have defined aside."""
    groups = codec.decode(await client.exchange("GET", "/apis", request="list the API's groups"))
    paths = {("", "/api/v1")} | {
        (group["name"], f"/apis/{version['groupVersion']}")
        for group in groups["groups"]
        for version in group["versions"]
        if "k8s.io" in group["name"] or "." not in group["name"]
    }
    found: set[tuple[str, str]] = set()
    for group, path in paths:
        kinds = codec.decode(await client.exchange("GET", path, request=f"list {path}"))
        found |= {(group, r["kind"]) for r in kinds["resources"] if "list" in r["verbs"]}
    return found
