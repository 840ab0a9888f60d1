"""The same stories on a real control plane and with the actors: what is seen must be the same."""

from __future__ import annotations

from typing import Any

import pytest
from actor_stories import Story, until

from konstat.actors.revisions import CONTROLLER_REVISION
from konstat.actors.services import ENDPOINTS
from konstat.kinds import (
    DaemonSet,
    Deployment,
    EndpointSlice,
    Job,
    Pod,
    ReplicaSet,
    Service,
    StatefulSet,
)
from konstat.objects.kind import Kind

pytestmark = pytest.mark.realapi

GOOD = {"nodes.konstat.dev/exit": "main=0"}
BAD = {"nodes.konstat.dev/exit": "main=3"}


def template(image: str = "example.com/app:1", **spec: Any) -> dict[str, Any]:
    annotations = spec.pop("annotations", {})
    return {
        "metadata": {"labels": {"app": "web"}, "annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": image}], **spec},
    }


def workload(**spec: Any) -> dict[str, Any]:
    given = {"selector": {"matchLabels": {"app": "web"}}, "template": template()}
    return {"metadata": {"name": "web"}, "spec": given | spec}


def image(name: str) -> dict[str, Any]:
    """A patch of the only container."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": name}]}}}}


async def edit(story: Story, kind: Kind, patch: dict[str, Any], name: str = "web") -> None:
    await story.client.patch(kind, name, patch, type="merge")


async def rolled_out(story: Story, replicas: int) -> None:
    """Wait until the Deployment is complete and nothing ends any more."""

    async def look() -> bool:
        found = await story.client.get(Deployment.kind, "web")
        status = found.get("status") or {}
        fields = ("replicas", "updatedReplicas", "availableReplicas")
        return (
            status.get("observedGeneration") == found["metadata"]["generation"]
            and all(status.get(field, 0) == replicas for field in fields)
            and not status.get("terminatingReplicas")
            and not status.get("unavailableReplicas")
        )

    await until(look, what=f"a rollout to {replicas} replicas")

    async def pods_settled() -> bool:
        return len(await story.client.list(Pod.kind)) == replicas

    await until(pods_settled, what=f"{replicas} pods")


async def test_a_rolling_update_scaling_and_a_rollback(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        await story.watch(Deployment.kind)
        await story.client.create(Deployment.kind, workload(replicas=3))
        await rolled_out(story, 3)
        await edit(story, Deployment.kind, image("example.com/app:2"))
        await rolled_out(story, 3)
        await edit(story, Deployment.kind, {"spec": {"replicas": 5}})
        await rolled_out(story, 5)
        await edit(story, Deployment.kind, {"spec": {"replicas": 2}})
        await rolled_out(story, 2)
        await edit(story, Deployment.kind, image("example.com/app:1"))
        await rolled_out(story, 2)
        kinds = (Deployment.kind, ReplicaSet.kind, Pod.kind)
        return (
            _without_order(await story.objects(*kinds)),
            story.conditions,
            await story.events("ScalingReplicaSet", "SuccessfulCreate", "SuccessfulDelete"),
        )

    await compare(scenario)


def _without_order(objects: list[Any]) -> list[Any]:
    """Conditions in the order of their types: a write more or less changes it."""
    for obj in objects:
        conditions = (obj.get("status") or {}).get("conditions")
        if conditions:
            conditions.sort(key=lambda c: c["type"])
    return objects


def _without_generation(objects: list[Any]) -> list[Any]:
    """How many writes it took is not compared."""
    for obj in objects:
        obj["metadata"].pop("generation", None)
    return objects


async def test_recreate(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        await story.watch(Deployment.kind)
        content = workload(replicas=2, strategy={"type": "Recreate"})
        await story.client.create(Deployment.kind, content)
        await rolled_out(story, 2)
        await edit(story, Deployment.kind, image("example.com/app:2"))
        await rolled_out(story, 2)
        return (
            _without_order(await story.objects(Deployment.kind, ReplicaSet.kind)),
            story.conditions,
            await story.events("ScalingReplicaSet"),
        )

    await compare(scenario)


async def test_pause_and_resume(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        await story.watch(Deployment.kind)
        await story.client.create(Deployment.kind, workload(replicas=2))
        await rolled_out(story, 2)
        await edit(story, Deployment.kind, {"spec": {"paused": True}})

        async def paused() -> bool:
            found = await story.client.get(Deployment.kind, "web")
            seen = found["status"]["observedGeneration"] == found["metadata"]["generation"]
            reasons = {c["reason"] for c in found["status"]["conditions"]}
            return seen and "DeploymentPaused" in reasons

        await until(paused)
        await edit(story, Deployment.kind, image("example.com/app:2"))
        await until(paused)
        held = len(await story.client.list(ReplicaSet.kind))
        await edit(story, Deployment.kind, {"spec": {"paused": False}})
        await rolled_out(story, 2)
        return held, story.conditions, await story.events("ScalingReplicaSet")

    await compare(scenario)


async def test_a_bad_image_passes_the_deadline_and_is_mended(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        await story.watch(Deployment.kind)
        content = workload(replicas=2, progressDeadlineSeconds=2)
        await story.client.create(Deployment.kind, content)
        await rolled_out(story, 2)
        await edit(story, Deployment.kind, image("nothing.invalid/app:2"))

        async def timed_out() -> Any:
            found = await story.client.get(Deployment.kind, "web")
            reasons = {c["reason"] for c in found["status"]["conditions"]}
            return "ProgressDeadlineExceeded" in reasons and found

        await until(timed_out, what="the deadline")
        stuck = _without_order(await story.objects(Deployment.kind, ReplicaSet.kind))
        await edit(story, Deployment.kind, image("example.com/app:3"))
        await rolled_out(story, 2)
        return stuck, story.conditions, await story.events("ScalingReplicaSet")

    await compare(scenario)


async def test_a_deleted_pod_is_replaced(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        await story.watch(Deployment.kind)
        await story.client.create(Deployment.kind, workload(replicas=2, minReadySeconds=1))
        await rolled_out(story, 2)
        first = (await story.client.list(Pod.kind))[0]["metadata"]["name"]
        await story.client.delete(Pod.kind, first)

        async def replaced() -> bool:
            found = await story.client.list(Pod.kind)
            return len(found) == 2 and first not in {p["metadata"]["name"] for p in found}

        await until(replaced, what="a new pod")
        await rolled_out(story, 2)
        return story.conditions, await story.events("SuccessfulCreate")

    await compare(scenario)


async def test_deletion_in_the_foreground_and_as_orphans(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        await story.client.create(Deployment.kind, workload(replicas=2))
        await rolled_out(story, 2)
        await story.client.delete(Deployment.kind, "web", propagation="Orphan")

        async def gone() -> bool:
            return not await story.client.list(Deployment.kind)

        await until(gone, what="the Deployment's end")
        orphans = await story.objects(ReplicaSet.kind)
        await story.client.create(Deployment.kind, workload(replicas=2))
        await rolled_out(story, 2)
        adopted = _without_order(await story.objects(Deployment.kind, ReplicaSet.kind))
        await story.client.delete(Deployment.kind, "web", propagation="Foreground")
        await until(gone, what="the Deployment's end")
        return orphans, adopted, await story.objects(ReplicaSet.kind, Pod.kind)

    await compare(scenario)


@pytest.mark.parametrize(
    ("name", "spec", "annotations", "end"),
    [
        ("good", {}, GOOD, "Complete"),
        ("bad", {"backoffLimit": 0}, BAD, "Failed"),
        ("many", {"completions": 3, "parallelism": 2}, GOOD, "Complete"),
        ("indexed", {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}, GOOD,
         "Complete"),
        ("late", {"activeDeadlineSeconds": 1}, {}, "Failed"),
    ],
    ids=["good", "bad", "many", "indexed", "late"],
)  # fmt: skip
async def test_jobs(
    compare: Any, name: str, spec: dict[str, Any], annotations: dict[str, str], end: str
) -> None:
    async def scenario(story: Story) -> Any:
        await story.watch(Job.kind)
        made = template(annotations=annotations, restartPolicy="Never")
        content = {"metadata": {"name": name}, "spec": {**spec, "template": made}}
        await story.client.create(Job.kind, content)

        async def ended() -> bool:
            found = await story.client.get(Job.kind, name)
            conditions = (found.get("status") or {}).get("conditions") or ()
            return any(c["type"] == end and c["status"] == "True" for c in conditions)

        await until(ended, what=f"condition {end}")
        return (
            await story.objects(Job.kind, Pod.kind),
            story.conditions,
            await story.events("SuccessfulCreate", "SuccessfulDelete", "Completed",
                               "BackoffLimitExceeded", "DeadlineExceeded"),
        )  # fmt: skip

    await compare(scenario)


async def test_a_suspended_job(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        await story.watch(Job.kind)
        made = template(annotations=GOOD, restartPolicy="Never")
        content = {"metadata": {"name": "late"}, "spec": {"suspend": True, "template": made}}
        await story.client.create(Job.kind, content)

        async def conditions() -> list[str]:
            found = await story.client.get(Job.kind, "late")
            return [c["type"] for c in (found.get("status") or {}).get("conditions") or ()]

        await until(conditions, what="condition Suspended")
        await edit(story, Job.kind, {"spec": {"suspend": False}}, "late")

        async def complete() -> bool:
            return "Complete" in await conditions()

        await until(complete, what="condition Complete")
        return (
            await story.objects(Job.kind),
            story.conditions,
            await story.events("Suspended", "Resumed", "Completed"),
        )

    await compare(scenario)


async def test_a_stateful_set_rolls_and_shrinks(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        await story.client.create(StatefulSet.kind, workload(replicas=3, serviceName="db"))

        async def settled(replicas: int) -> bool:
            found = await story.client.get(StatefulSet.kind, "web")
            status = found.get("status") or {}
            return (
                status.get("observedGeneration") == found["metadata"]["generation"]
                and status.get("currentRevision") == status.get("updateRevision")
                and status.get("replicas") == status.get("readyReplicas", 0) == replicas
            )

        await until(lambda: settled(3), what="three pods")
        await edit(story, StatefulSet.kind, image("example.com/app:2"))
        await until(lambda: settled(3), what="three updated pods")
        rolled = await story.objects(StatefulSet.kind, Pod.kind, CONTROLLER_REVISION)
        await edit(story, StatefulSet.kind, {"spec": {"replicas": 1}})
        await until(lambda: settled(1), what="one pod")
        shrunk = await story.objects(StatefulSet.kind, Pod.kind)
        return rolled, shrunk, await story.events("SuccessfulCreate", "SuccessfulDelete")

    await compare(scenario)


async def test_a_partition_keeps_lower_ordinals(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        parallel = {"podManagementPolicy": "Parallel"}
        content = workload(replicas=3, serviceName="db", **parallel)
        await story.client.create(StatefulSet.kind, content)

        async def ready(updated: int) -> bool:
            found = await story.client.get(StatefulSet.kind, "web")
            status = found.get("status") or {}
            return (
                status.get("observedGeneration") == found["metadata"]["generation"]
                and status.get("readyReplicas") == status.get("availableReplicas") == 3
                and status.get("updatedReplicas") == updated
            )

        await until(lambda: ready(3), what="three pods")
        patch = image("example.com/app:2")
        patch["spec"]["updateStrategy"] = {"rollingUpdate": {"partition": 2}}
        await edit(story, StatefulSet.kind, patch)
        await until(lambda: ready(1), what="one updated pod")
        return await story.objects(StatefulSet.kind, Pod.kind)

    await compare(scenario)


async def test_a_daemon_set_rolls_and_leaves(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        await story.client.create(DaemonSet.kind, workload())

        async def settled(nodes: int) -> bool:
            found = await story.client.get(DaemonSet.kind, "web")
            status = found.get("status") or {}
            return (
                status.get("observedGeneration") == found["metadata"]["generation"]
                and status.get("updatedNumberScheduled", 0)
                == status.get("numberAvailable", 0)
                == status.get("desiredNumberScheduled")
                == nodes
                and not status.get("numberMisscheduled")
            )

        await until(lambda: settled(2), what="a pod on each node")
        await edit(story, DaemonSet.kind, image("example.com/app:2"))
        await until(lambda: settled(2), what="an updated pod on each node")
        rolled = await story.objects(DaemonSet.kind, Pod.kind, CONTROLLER_REVISION)
        patch = {"spec": {"template": {"spec": {"nodeSelector": {"no": "where"}}}}}
        await edit(story, DaemonSet.kind, patch)
        await until(lambda: settled(0), what="no pods")
        return (
            rolled,
            await story.objects(DaemonSet.kind, Pod.kind),
            await story.events("SuccessfulCreate", "SuccessfulDelete"),
        )

    await compare(scenario)


async def test_services_lead_to_ready_pods(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        ports = [
            {"port": 80, "name": "http", "targetPort": "web"},
            {"port": 81, "name": "raw", "targetPort": 8081},
        ]
        selector = {"app": "web"}
        for name, spec in (
            ("web", {"selector": selector, "ports": ports}),
            ("headless", {"selector": selector, "clusterIP": "None"}),
            ("manual", {"ports": [{"port": 80}]}),
        ):
            content = {"metadata": {"name": name, "labels": {"a": "b"}}, "spec": spec}
            await story.client.create(Service.kind, content)
        made = template()
        made["spec"]["containers"][0]["ports"] = [{"name": "web", "containerPort": 8080}]
        await story.client.create(Deployment.kind, workload(replicas=2, template=made))

        async def addresses() -> int:
            slices = await story.client.list(EndpointSlice.kind)
            old = await story.client.list(ENDPOINTS)
            new = [e for one in slices for e in one.get("endpoints") or ()]
            ready = [e for e in new if e["conditions"]["ready"]]
            subsets = [s for one in old for s in one.get("subsets") or ()]
            return len(ready) + sum(len(s.get("addresses") or ()) for s in subsets)

        async def lead() -> bool:
            return await addresses() == 8

        async def lead_nowhere() -> bool:
            return await addresses() == 0

        await until(lead, what="two addresses in each")
        there = _without_generation(await story.objects(EndpointSlice.kind, ENDPOINTS))
        await edit(story, Deployment.kind, {"spec": {"replicas": 0}})
        await until(lead_nowhere, what="no addresses")
        await rolled_out(story, 0)

        async def empty() -> bool:
            slices = await story.client.list(EndpointSlice.kind)
            return not any(one.get("endpoints") for one in slices)

        await until(empty, what="empty slices")
        none = _without_generation(await story.objects(EndpointSlice.kind, ENDPOINTS))
        await story.client.delete(Service.kind, "web")

        async def gone() -> bool:
            found = await story.client.list(EndpointSlice.kind)
            return len(found) == 1 and len(await story.client.list(ENDPOINTS)) == 1

        await until(gone, what="the end of what belonged to the Service")
        return there, none

    await compare(scenario)
