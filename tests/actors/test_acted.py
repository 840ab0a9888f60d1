"""What the actors do that no real control plane shows, or that is slow to see there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from actor_stories import Story, until

from konstat.actors import ActorOptions, content
from konstat.actors.services import ENDPOINTS
from konstat.base import clock
from konstat.base.clock import SystemClock, use_clock
from konstat.errors import UserError
from konstat.kinds import (
    ConfigMap,
    CronJob,
    Deployment,
    EndpointSlice,
    Job,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    Service,
    StorageClass,
)
from konstat.nodes import NodeOptions
from konstat.testing import ControlPlane

pytestmark = pytest.mark.realapi

CONTAINERS = [{"name": "main", "image": "example.com/app:1"}]
LABELS = {"app": "web"}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": CONTAINERS, **spec}}


def workload(name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": CONTAINERS}}
    given = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
    return {"metadata": {"name": name}, "spec": given | spec}


async def available(story: Story, name: str, replicas: int) -> None:
    async def look() -> bool:
        found = await story.client.get(Deployment.kind, name)
        return (found.get("status") or {}).get("availableReplicas") == replicas

    await until(look, what=f"{replicas} available replicas of {name}")


async def reasons(story: Story, about: str) -> set[str]:
    return {event[3] for event in await story.events() if event[1] == about}


# --- volumes ----------------------------------------------------------------------------------


@asynccontextmanager
async def storage_class(story: Story, mode: str) -> AsyncIterator[str]:
    name = f"{story.namespace}-{mode.lower()}"
    made = {"metadata": {"name": name}, "provisioner": "example.com/p", "volumeBindingMode": mode}
    await story.client.create(StorageClass.kind, made)
    try:
        yield name
    finally:
        await story.client.delete(StorageClass, name)


@pytest.mark.parametrize("mode", ["Immediate", "WaitForFirstConsumer"])
async def test_a_pretended_volume_lives_as_long_as_its_claim(story: Story, mode: str) -> None:
    client = story.client
    async with storage_class(story, mode) as named:
        spec = {
            "storageClassName": named,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
        kind = PersistentVolumeClaim.kind
        await client.create(kind, {"metadata": {"name": "data"}, "spec": spec})
        if mode == "WaitForFirstConsumer":

            async def told() -> bool:
                return "WaitForFirstConsumer" in await reasons(story, "data")

            await until(told, what="an event that the claim waits")
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
        await client.create(Pod.kind, pod("user", volumes=volumes))

        async def runs() -> bool:
            found = await client.get(Pod.kind, "user")
            return found["status"].get("phase") == "Running"

        await until(runs, what="a pod with its volume")
        claim = await client.get(kind, "data")
        assert claim["status"]["phase"] == "Bound"
        assert claim["status"]["capacity"] == {"storage": "1Gi"}
        name = claim["spec"]["volumeName"]
        volume = await client.get(PersistentVolume.kind, name)
        assert volume["status"]["phase"] == "Bound"
        await client.delete(kind, "data")
        assert (await client.get(kind, "data"))["metadata"]["deletionTimestamp"]
        await client.delete(Pod.kind, "user")

        async def gone() -> bool:
            left = [v.name for v in await client.list(PersistentVolume)]
            return not await client.list(kind) and name not in left

        await until(gone, what="the end of claim and volume")


# --- nodes ------------------------------------------------------------------------------------


async def test_a_silent_node_loses_its_pods_and_comes_back(
    run_acted: Any, bare_plane: ControlPlane
) -> None:
    options = ActorOptions(node_grace_seconds=1.5)
    async with run_acted(options, NodeOptions(nodes=2)) as story:
        client = story.client
        # An impatient pod leaves a silent node at once.
        tolerations = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
            for key in ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")
        ]
        template = {
            "metadata": {"labels": LABELS},
            "spec": {"containers": CONTAINERS, "tolerations": tolerations},
        }
        await client.create(Deployment.kind, workload("web", 2, template=template))
        await available(story, "web", 2)
        first, second = sorted(
            n.name for n in await client.list(Node) if n.name.startswith(story.node_prefix)
        )
        story.nodes.fail_node(first)

        async def unreachable() -> bool:
            found = await client.get(Node.kind, first)
            marks = {t["key"] for t in found["spec"].get("taints") or ()}
            return marks == {"node.kubernetes.io/unreachable"}

        await until(unreachable, what="the taint of a silent node")
        found = await client.get(Node.kind, first)
        condition = content.condition(found["status"], "Ready")
        assert condition is not None
        assert (condition["status"], condition["reason"]) == ("Unknown", "NodeStatusUnknown")

        async def moved() -> bool:
            living = [p for p in await client.list(Pod.kind) if not content.deleting(p)]
            return len(living) == 2 and {p["spec"].get("nodeName") for p in living} == {second}

        await until(moved, what="both pods on the other node")
        story.nodes.recover_node(first)

        async def well() -> bool:
            return not (await client.get(Node.kind, first))["spec"].get("taints")

        await until(well, what="a node without taints")


async def test_pods_of_a_node_that_is_gone_are_removed(story: Story) -> None:
    client = story.client
    name = f"{story.node_prefix}-0"
    await client.create(Pod.kind, pod("lost", nodeName=name))

    async def runs() -> bool:
        return (await client.get(Pod.kind, "lost"))["status"].get("phase") == "Running"

    await until(runs, what="a running pod")
    await client.delete(Node, name)

    async def gone() -> bool:
        return not await client.list(Pod.kind)

    await until(gone, what="the end of the pod")


# --- CronJobs ---------------------------------------------------------------------------------


class _Ahead(SystemClock):
    """The machine's time, moved forward."""

    def __init__(self, ahead: timedelta) -> None:
        self._ahead = ahead

    def now(self) -> datetime:
        return super().now() + self._ahead


async def test_a_cron_job_starts_its_job_at_its_minute(run_acted: Any) -> None:
    now = clock.now()
    # Three seconds before the end of this minute.
    ahead = _Ahead(timedelta(seconds=(57 - now.second) % 60))
    with use_clock(ahead):
        async with run_acted() as story:
            template = {"spec": {"containers": CONTAINERS, "restartPolicy": "Never"}}
            spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}
            await story.client.create(CronJob.kind, {"metadata": {"name": "tick"}, "spec": spec})

            async def started() -> Any:
                found = await story.client.get(CronJob.kind, "tick")
                return (found.get("status") or {}).get("lastScheduleTime")

            due = await until(started, what="a started Job")
            assert due.endswith(":00Z")
            [job] = await story.client.list(Job.kind)
            assert job["metadata"]["name"].startswith("tick-")
            assert job["metadata"]["ownerReferences"][0]["name"] == "tick"


async def test_an_unreadable_schedule_is_told(run_acted: Any) -> None:
    async with run_acted(
        ActorOptions(only=("cronjob", "serviceaccount", "node-lifecycle"))
    ) as story:
        template = {"spec": {"containers": CONTAINERS, "restartPolicy": "Never"}}
        spec = {"schedule": "0 0 31 2 *", "jobTemplate": {"spec": {"template": template}}}
        await story.client.create(CronJob.kind, {"metadata": {"name": "never"}, "spec": spec})
        spec = {**spec, "schedule": "@every 1h"}
        await story.client.create(CronJob.kind, {"metadata": {"name": "word"}, "spec": spec})

        async def told() -> bool:
            return "UnparseableSchedule" in await reasons(story, "word")

        await until(told, what="an event about the schedule")


# --- what is not played -----------------------------------------------------------------------


async def test_a_job_that_asks_for_more_is_told_so(story: Story) -> None:
    template = {"spec": {"containers": CONTAINERS, "restartPolicy": "Never"}}
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    spec = {"template": template, "podFailurePolicy": {"rules": rules}}
    await story.client.create(Job.kind, {"metadata": {"name": "picky"}, "spec": spec})

    async def told() -> bool:
        return "NotPlayed" in await reasons(story, "picky")

    await until(told, what="an event that says what is not played")
    assert await story.client.list(Pod.kind) == []


def test_actors_are_chosen_by_name() -> None:
    assert "root-certificate" not in ActorOptions().chosen
    assert "root-certificate" in ActorOptions(root_certificate="PEM").chosen
    assert ActorOptions(only=("job", "garbage"), without=("job",)).chosen == ("garbage",)
    with pytest.raises(UserError, match="no actor is called 'jobs'"):
        ActorOptions(only=("jobs",))


# --- the rest ---------------------------------------------------------------------------------


async def test_every_namespace_gets_the_certificate(run_acted: Any) -> None:
    async with run_acted(ActorOptions(root_certificate="PEM")) as story:

        async def published() -> Any:
            found = await story.client.get(ConfigMap.kind, "kube-root-ca.crt")
            return found["data"] == {"ca.crt": "PEM"}

        await until(published, what="the certificate")
        wrong = {"data": {"ca.crt": "x"}}
        await story.client.patch(ConfigMap.kind, "kube-root-ca.crt", wrong, type="merge")
        await until(published, what="the corrected certificate")


async def test_a_job_goes_when_its_time_has_passed(story: Story) -> None:
    annotations = {"nodes.konstat.dev/exit": "main=0"}
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"containers": CONTAINERS, "restartPolicy": "Never"},
    }
    spec = {"template": template, "ttlSecondsAfterFinished": 0}
    await story.client.create(Job.kind, {"metadata": {"name": "brief"}, "spec": spec})

    async def gone() -> bool:
        return not await story.client.list(Job.kind) and not await story.client.list(Pod.kind)

    await until(gone, what="the end of the Job")


async def test_a_deleted_job_lets_its_pods_go(story: Story) -> None:
    template = {"spec": {"containers": CONTAINERS, "restartPolicy": "Never"}}
    await story.client.create(Job.kind, {"metadata": {"name": "x"}, "spec": {"template": template}})

    async def runs() -> bool:
        found = await story.client.list(Pod.kind)
        return bool(found) and found[0]["status"].get("phase") == "Running"

    await until(runs, what="a running pod")
    await story.client.delete(Job.kind, "x", propagation="Background")

    async def gone() -> bool:
        return not await story.client.list(Pod.kind)

    await until(gone, what="the end of the pod")


async def test_a_taken_name_makes_the_deployment_choose_another(story: Story) -> None:
    client = story.client
    wanted = workload("web", 1)
    dry = await client.create(Deployment.kind, wanted, dry_run=True)
    mark = content.template_hash(dry["spec"]["template"], None)
    foreign = workload(f"web-{mark}", 0)
    foreign["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    foreign["spec"]["template"]["metadata"] = {"labels": {"app": "other"}}
    await client.create(ReplicaSet.kind, foreign)
    await client.create(Deployment.kind, wanted)
    await available(story, "web", 1)
    found = await client.get(Deployment.kind, "web")
    assert found["status"]["collisionCount"] == 1
    assert len(await client.list(ReplicaSet.kind)) == 2


async def test_pods_are_adopted_and_let_go_by_their_labels(story: Story) -> None:
    client = story.client
    stray = pod("stray")
    stray["metadata"]["labels"] = LABELS
    await client.create(Pod.kind, stray)
    await client.create(ReplicaSet.kind, workload("web", 1))

    async def owner(name: str) -> str:
        found = content.controller(await client.get(Pod.kind, name))
        return found["name"] if found else ""

    async def adopted() -> bool:
        return await owner("stray") == "web"

    await until(adopted, what="the adoption")
    assert len(await client.list(Pod.kind)) == 1
    await client.patch(Pod.kind, "stray", {"metadata": {"labels": {"app": "x"}}}, type="merge")

    async def replaced() -> bool:
        return not await owner("stray") and len(await client.list(Pod.kind)) == 2

    await until(replaced, what="the release and a new pod")


async def test_endpoints_that_users_write_are_mirrored(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        client = story.client
        service = {"metadata": {"name": "db"}, "spec": {"ports": [{"port": 5432, "name": "pg"}]}}
        await client.create(Service.kind, service)
        subsets = [
            {
                "addresses": [{"ip": "192.0.2.7"}],
                "notReadyAddresses": [{"ip": "192.0.2.8"}],
                "ports": [{"name": "pg", "port": 5432}],
            }
        ]
        made = {"metadata": {"name": "db", "labels": {"a": "b"}}, "subsets": subsets}
        await client.create(ENDPOINTS, made)

        async def mirrored() -> Any:
            return await client.list(EndpointSlice.kind)

        await until(mirrored, what="a slice")
        found = await story.objects(EndpointSlice.kind)
        await client.delete(ENDPOINTS, "db")

        async def gone() -> bool:
            return not await client.list(EndpointSlice.kind)

        await until(gone, what="the end of the slice")
        return found

    await compare(scenario)


async def test_H8_nothing_is_written_at_rest(story: Story) -> None:
    client = story.client
    await client.create(Deployment.kind, workload("calm", 2))
    await client.create(
        Service.kind,
        {"metadata": {"name": "calm"}, "spec": {"selector": LABELS, "ports": [{"port": 80}]}},
    )
    await available(story, "calm", 2)

    async def served() -> bool:
        slices = await client.list(EndpointSlice.kind)
        found = [e for one in slices for e in one.get("endpoints") or ()]
        return len([e for e in found if e["conditions"]["ready"]]) == 2

    await until(served, what="two endpoints")

    async def versions() -> dict[str, str]:
        kinds = (Deployment.kind, ReplicaSet.kind, Pod.kind, EndpointSlice.kind, ENDPOINTS)
        return {
            obj["metadata"]["uid"]: obj["metadata"]["resourceVersion"]
            for kind in kinds
            for obj in await client.list(kind)
        }

    async def rests() -> bool:
        before = await versions()
        await clock.sleep(0.3)
        return before == await versions()

    await until(rests, what="a moment without writes")
    before = await versions()
    # Everybody looks again, and a second Deployment shows that they have.
    [first, _] = await client.list(Pod.kind)
    touched = first["metadata"]["uid"]
    patch = {"metadata": {"annotations": {"a": "b"}}}
    await client.patch(Pod.kind, first["metadata"]["name"], patch, type="merge")
    other = workload("other", 1)
    other["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    other["spec"]["template"]["metadata"] = {"labels": {"app": "other"}}
    await client.create(Deployment.kind, other)
    await available(story, "other", 1)
    after = await versions()
    assert {uid: v for uid, v in before.items() if after[uid] != v}.keys() == {touched}


async def test_an_outage_of_the_server_is_survived(
    run_acted: Any, bare_plane: ControlPlane
) -> None:
    async with run_acted() as story:
        await story.client.create(Deployment.kind, workload("web", 1))
        await available(story, "web", 1)
        await asyncio.wait_for(bare_plane.restart_apiserver(), timeout=60)

        async def scaled() -> bool:
            found = await story.client.patch(
                Deployment.kind, "web", {"spec": {"replicas": 3}}, type="merge"
            )
            return bool(found)

        await scaled()
        await available(story, "web", 3)
