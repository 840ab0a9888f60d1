"""Stories of the cluster's own affairs, on a real control plane and with the actors."""

from __future__ import annotations

from typing import Any

import pytest
from actor_stories import Story, plain, until

from konstat.actors.quotas import RESOURCE_QUOTA
from konstat.errors import NotFound
from konstat.kinds import (
    ConfigMap,
    CustomResourceDefinition,
    Deployment,
    HorizontalPodAutoscaler,
    Namespace,
    Node,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    ServiceAccount,
)
from konstat.objects.kind import Kind

pytestmark = pytest.mark.realapi


def pod(name: str, **spec: Any) -> dict[str, Any]:
    given = {"containers": [{"name": "main", "image": "example.com/app:1"}]}
    return {"metadata": {"name": name}, "spec": given | spec}


def asking(**requests: str) -> list[dict[str, Any]]:
    """Containers with these requests."""
    return [{"name": "main", "image": "app", "resources": {"requests": requests}}]


def deployment(replicas: int, **spec: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod("unused")["spec"]}
    given = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "web"}, "spec": given | spec}


async def scheduled(story: Story, name: str) -> dict[str, Any]:
    """Condition PodScheduled, once it is there."""

    async def look() -> Any:
        found = await story.client.get(Pod.kind, name)
        conditions = found["status"].get("conditions") or ()
        return next((c for c in conditions if c["type"] == "PodScheduled"), None)

    return plain(await until(look, what=f"condition PodScheduled of {name}"))


_AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"
_TERM = {"matchExpressions": [{"key": "z", "operator": "In", "values": ["1"]}]}
_PORT = [{"name": "main", "image": "a", "ports": [{"containerPort": 80, "hostPort": 80}]}]
_ENEMY = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}


async def test_pods_that_fit_nowhere_say_why_in_the_same_words(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        mine = {n.name for n in await story.client.list(Node) if n.name.startswith("node-")}
        assert len(mine) == 2
        stories = {
            "selector": pod("selector", nodeSelector={"no": "where"}),
            "affinity": pod(
                "affinity", affinity={"nodeAffinity": {_AFFINITY: {"nodeSelectorTerms": [_TERM]}}}
            ),
            "cpu": pod("cpu", containers=asking(cpu="100")),
            "much": pod("much", containers=asking(cpu="100", memory="1Ti")),
            "unknown": pod("unknown", containers=asking(**{"example.com/gpu": "1"})),
            "claim": pod(
                "claim",
                volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "nothing"}}],
            ),
            "friend": pod("friend", affinity={"podAffinity": {_AFFINITY: [_ENEMY]}}),
        }
        # `limits` alone would make requests of an extended resource invalid.
        stories["unknown"]["spec"]["containers"][0]["resources"]["limits"] = {
            "example.com/gpu": "1"
        }
        found = {}
        for name, content in stories.items():
            await story.client.create(Pod.kind, content)
            found[name] = await scheduled(story, name)
        for number in range(3):
            await story.client.create(Pod.kind, pod(f"half-{number}", containers=asking(cpu="9")))
            found[f"half-{number}"] = await scheduled(story, f"half-{number}")
        for number in range(3):
            await story.client.create(Pod.kind, pod(f"port-{number}", containers=_PORT))
            found[f"port-{number}"] = await scheduled(story, f"port-{number}")
        for number in range(3):
            lonely = pod(f"lonely-{number}", affinity={"podAntiAffinity": {_AFFINITY: [_ENEMY]}})
            lonely["metadata"]["labels"] = {"a": "b"}
            await story.client.create(Pod.kind, lonely)
            found[f"lonely-{number}"] = await scheduled(story, f"lonely-{number}")
        return found, await story.events("FailedScheduling")

    await compare(scenario)


async def test_cordoned_and_tainted_nodes_take_no_pods(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        nodes = sorted(n.name for n in await story.client.list(Node) if n.name.startswith("node-"))
        first, second = nodes
        await story.client.patch(Node.kind, first, {"spec": {"unschedulable": True}}, type="merge")
        taint = {"spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}}
        await story.client.patch(Node.kind, second, taint, type="merge")

        async def cordoned() -> Any:
            return (await story.client.get(Node.kind, first))["spec"].get("taints")

        taints = plain(await until(cordoned, what="the taint of a cordon"))
        await story.client.create(Pod.kind, pod("stays-out"))
        refused = await scheduled(story, "stays-out")
        tolerant = pod("tolerant", tolerations=[{"key": "k", "operator": "Exists"}])
        await story.client.create(Pod.kind, tolerant)
        accepted = await scheduled(story, "tolerant")
        on = (await story.client.get(Pod.kind, "tolerant"))["spec"]["nodeName"]
        await story.client.patch(Node.kind, first, {"spec": {"unschedulable": None}}, type="merge")

        async def let_in() -> bool:
            found = await story.client.get(Pod.kind, "stays-out")
            return found["spec"].get("nodeName") == first

        await until(let_in, what="the pod on the uncordoned node")
        return taints, refused, accepted, on == second

    await compare(scenario)


async def test_a_quota_shows_in_replica_set_and_deployment(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        hard = {"pods": "1", "services": "2", "count/deployments.apps": "5", "requests.cpu": "4"}
        content = {"metadata": {"name": "small"}, "spec": {"hard": hard}}
        await story.client.create(RESOURCE_QUOTA, content)

        async def counted() -> Any:
            return (await story.client.get(RESOURCE_QUOTA, "small"))["status"].get("used")

        used = await until(counted, what="a counted quota")
        await story.client.create(Deployment.kind, deployment(2))

        async def refused() -> Any:
            found = await story.client.get(Deployment.kind, "web")
            conditions = {c["type"]: c for c in found["status"].get("conditions") or ()}
            return conditions.get("ReplicaFailure")

        failure = plain(await until(refused, what="condition ReplicaFailure"))
        return used, failure["reason"], failure["status"], failure["message"]

    await compare(scenario)


async def test_a_budget_counts_healthy_pods(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        await story.watch(PodDisruptionBudget.kind)
        selector = {"matchLabels": {"app": "web"}}
        await story.client.create(
            PodDisruptionBudget.kind,
            {"metadata": {"name": "web"}, "spec": {"maxUnavailable": 1, "selector": selector}},
        )
        await story.client.create(Deployment.kind, deployment(3))

        async def healthy() -> bool:
            found = await story.client.get(PodDisruptionBudget.kind, "web")
            return (found.get("status") or {}).get("currentHealthy") == 3

        await until(healthy, what="three healthy pods")
        return await story.objects(PodDisruptionBudget.kind), story.conditions

    await compare(scenario)


async def test_an_autoscaler_without_metrics_keeps_the_bounds(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        await story.client.create(Deployment.kind, deployment(1))
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        spec = {"minReplicas": 2, "maxReplicas": 3, "scaleTargetRef": target}
        kind = Kind(
            group="autoscaling",
            version="v2",
            kind=HorizontalPodAutoscaler.kind.kind,
            plural="horizontalpodautoscalers",
        )
        await story.client.create(kind, {"metadata": {"name": "web"}, "spec": spec})

        async def scaled() -> Any:
            found = await story.client.get(kind, "web")
            conditions = (found.get("status") or {}).get("conditions") or ()
            return next((c for c in conditions if c["type"] == "AbleToScale"), None)

        condition = await until(scaled, what="condition AbleToScale")
        found = await story.client.get(Deployment.kind, "web")
        # Right after the step the reason is SucceededRescale, one look later SucceededGetScale.
        able = condition["status"]

        async def told() -> Any:
            return await story.events("SuccessfulRescale")

        events = await until(told, what="the Event")  # which is posted apart from the status
        return able, found["spec"]["replicas"], events

    await compare(scenario)


async def test_namespaces_hold_an_account_and_lose_everything(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        client, name = story.client, story.namespace
        await client.delete(ServiceAccount, "default")
        await until(lambda: client.get(ServiceAccount.kind, "default"), what="a new account")
        await client.create(Deployment.kind, deployment(2))
        held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
        await client.create(ConfigMap.kind, held)
        await client.delete(Namespace, name)

        async def remains() -> Any:
            found = await client.get(Namespace.kind, name)
            conditions = {c["type"]: c for c in found["status"].get("conditions") or ()}
            said = conditions.get("NamespaceFinalizersRemaining") or {}
            return said.get("status") == "True" and found["status"]

        status = plain(await until(remains, what="conditions that name what remains"))
        await client.patch(ConfigMap.kind, "held", {"metadata": {"finalizers": None}}, type="merge")

        async def gone() -> bool:
            try:
                await client.get(Namespace.kind, name)
            except NotFound:
                return True
            return False

        await until(gone, what="the end of the namespace")
        await client.create(Namespace.kind, {"metadata": {"name": name}})  # for the fixture
        return status

    await compare(scenario)


async def test_dependents_of_a_new_kind_are_collected(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        client = story.client
        suffix = story.namespace.rpartition("-")[2]
        kind = Kind(group=f"{suffix}.example.com", version="v1", kind="Box", plural="boxes")
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        definition = {
            "metadata": {"name": kind.resource},
            "spec": {
                "group": kind.group,
                "scope": "Namespaced",
                "names": {"kind": kind.kind, "plural": kind.plural, "singular": "box"},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": schema},
                    }
                ],
            },
        }
        await client.create(CustomResourceDefinition.kind, definition)
        owner = await until(lambda: _created(story, kind), what="an object of the new kind")
        reference = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "name": "owner",
            "uid": owner["metadata"]["uid"],
        }
        for name, references in (
            ("owned", [reference]),
            ("orphan", [{**reference, "uid": "00000000-0000-4000-8000-000000000000"}]),
            ("shared", [reference, {**reference, "name": "other", "uid": "no"}]),
        ):
            metadata = {"name": name, "ownerReferences": references}
            await client.create(ConfigMap.kind, {"metadata": metadata})

        async def names() -> set[str]:
            found = await client.list(ConfigMap.kind)
            return {c["metadata"]["name"] for c in found} & {"owned", "orphan", "shared"}

        async def collected() -> bool:
            shared = await client.get(ConfigMap.kind, "shared")
            return await names() == {"owned", "shared"} and (
                len(shared["metadata"]["ownerReferences"]) == 1
            )

        await until(collected, what="the end of an orphan, and of a reference to nobody")
        await client.delete(kind, "owner")

        async def all_gone() -> bool:
            return not await names()

        await until(all_gone, what="the end of the dependents")
        await client.delete(CustomResourceDefinition, kind.resource)
        return True

    await compare(scenario)


async def _created(story: Story, kind: Kind) -> Any:
    return await story.client.create(kind, {"metadata": {"name": "owner"}})


async def test_claims_without_a_volume_wait(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        spec = {
            "storageClassName": "",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
        kind = PersistentVolumeClaim.kind
        await story.client.create(kind, {"metadata": {"name": "data"}, "spec": spec})
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
        await story.client.create(Pod.kind, pod("user", volumes=volumes))
        refused = await scheduled(story, "user")
        # The answer, because an unscheduled Pod does not hold the claim for long.
        lingering = await story.client.delete(kind, "data")
        held = plain(lingering["metadata"]["finalizers"])
        await story.client.delete(Pod.kind, "user")

        async def gone() -> bool:
            return not await story.client.list(kind)

        await until(gone, what="the end of the claim")
        return refused, held

    await compare(scenario)


async def test_many_replicas_are_made_in_one_go(compare: Any) -> None:
    async def scenario(story: Story) -> Any:
        await story.client.create(Deployment.kind, deployment(30))

        async def available() -> bool:
            found = await story.client.get(Deployment.kind, "web")
            return (found.get("status") or {}).get("availableReplicas") == 30

        await until(available, what="30 available pods")
        return len(await story.client.list(Pod.kind)), await story.objects(ReplicaSet.kind)

    await compare(scenario)
