"""Scenarios of `trials`: applying, reading and deleting, in worlds that are not empty."""

from __future__ import annotations

from typing import Any

from trials import (
    GROUP,
    LABELS,
    Absent,
    Part,
    Seen,
    Trial,
    TrialContext,
    Zone,
    asked,
    caught,
    config,
    deployment,
    scenario,
)

from konstat.kinds import ClusterRole, ConfigMap, Secret
from konstat.objects.resource import Resource


@scenario()
async def several_children_of_a_component(trial: Trial, context: TrialContext, seen: Seen) -> None:
    for name in ("b", "a"):
        await context.apply(config(name), component=context.status.main)
    await context.apply(deployment("d"), component=context.status.main)


@scenario()
async def child_without_component(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.good()
    await context.apply(deployment())


@scenario()
async def mapping(trial: Trial, context: TrialContext, seen: Seen) -> None:
    content = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "child"},
        "data": {"a": "b"},
    }
    child = await context.apply(content, component=context.status.main)
    seen.append((type(child).__name__, child.raw("data")))


@scenario()
async def mapping_of_own_kind(trial: Trial, context: TrialContext, seen: Seen) -> None:
    content = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Part",
        "metadata": {"name": "child"},
        "spec": {"size": 4},
    }
    child = await context.apply(content, component=context.status.main)
    seen.append((type(child).__name__, child.raw("spec")))


@scenario()
async def mapping_of_another_version(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.good()
    content = {"apiVersion": "apps/v9", "kind": "Deployment", "metadata": {"name": "child"}}
    await context.apply(content, component=context.status.main)


@scenario()
async def no_manifest(trial: Trial, context: TrialContext, seen: Seen) -> None:
    await context.apply("kind: ConfigMap", component=context.status.main)  # type: ignore[arg-type]


@scenario()
async def no_name(trial: Trial, context: TrialContext, seen: Seen) -> None:
    await context.apply(ConfigMap(metadata={}), component=context.status.main)


@scenario()
async def another_namespace(trial: Trial, context: TrialContext, seen: Seen) -> None:
    child = ConfigMap(metadata={"name": "child", "namespace": "kube-public"})
    await context.apply(child, component=context.status.main)


@scenario()
async def cluster_scoped_child(trial: Trial, context: TrialContext, seen: Seen) -> None:
    await context.apply(Zone.named("child", size=1), component=context.status.main)


@scenario()
async def undeclared_child(trial: Trial, context: TrialContext, seen: Seen) -> None:
    await context.apply(ClusterRole(metadata={"name": "child"}), component=context.status.main)


@scenario()
async def undeclared_reads(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.good()
    asked(seen, lambda: context.get(ClusterRole, "x"))
    asked(seen, lambda: context.list(ClusterRole))
    await caught(seen, context.delete(ClusterRole, "x"))
    await caught(seen, context.prune([ClusterRole]))


@scenario()
async def absent_kind(trial: Trial, context: TrialContext, seen: Seen) -> None:
    asked(seen, lambda: context.get(Absent, "x"))
    asked(seen, lambda: context.list(Absent))
    await caught(seen, context.delete(Absent, "x"))
    await caught(seen, context.prune([Absent]))
    await context.apply(Absent.named("child"), component=context.status.main)


@scenario(existing=(config(owner="somebody"),))
async def namesake(trial: Trial, context: TrialContext, seen: Seen) -> None:
    await context.apply(config(owner="us"), component=context.status.main)


@scenario(existing=(config(owner="somebody"),))
async def namesake_caught(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.good()
    await caught(seen, context.apply(config(owner="us")))
    await caught(seen, context.delete(ConfigMap, "child"))
    asked(seen, lambda: context.get(ConfigMap, "child"))


@scenario(existing=(config(owner="somebody"),))
async def namesake_caught_on_a_component(trial: Trial, context: TrialContext, seen: Seen) -> None:
    await caught(seen, context.apply(config(owner="us"), component=context.status.main))


@scenario(
    existing=(
        ConfigMap(
            metadata={
                "name": "child",
                "ownerReferences": [
                    {
                        "apiVersion": f"{GROUP}/v1",
                        "kind": "Trial",
                        "name": "trial",
                        "uid": "of-the-former-one",
                        "controller": True,
                    }
                ],
            },
            data={"left": "behind"},
        ),
    )
)
async def left_by_a_former_resource(trial: Trial, context: TrialContext, seen: Seen) -> None:
    child = await context.apply(config(made="anew"), component=context.status.main)
    seen.append(child.raw("data"))


# --- children that are there ------------------------------------------------------------------

READY_STATUS = {
    "observedGeneration": 1,
    "replicas": 2,
    "updatedReplicas": 2,
    "readyReplicas": 2,
    "availableReplicas": 2,
    "conditions": [
        {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
        {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
    ],
}
SHORT_STATUS = {**READY_STATUS, "readyReplicas": 1, "availableReplicas": 1}


def with_status(child: Resource[Any, Any], status: dict[str, Any]) -> Resource[Any, Any]:
    return type(child).from_content({**child.content, "status": status})


@scenario(owned=(with_status(deployment(), READY_STATUS),))
async def ready_child_held(trial: Trial, context: TrialContext, seen: Seen) -> None:
    child = await context.apply(deployment(), component=context.status.main)
    context.status.count = child.status.ready_replicas


@scenario(owned=(with_status(deployment(), SHORT_STATUS),))
async def short_child_held(trial: Trial, context: TrialContext, seen: Seen) -> None:
    child = await context.apply(deployment(), component=context.status.main)
    context.status.count = child.status.ready_replicas


@scenario(owned=(with_status(deployment(), READY_STATUS),))
async def ready_child_changed(trial: Trial, context: TrialContext, seen: Seen) -> None:
    child = await context.apply(deployment(replicas=3), component=context.status.main)
    seen.append((child.generation, child.spec.replicas))


@scenario(owned=(with_status(Part.named("child", size=1), {"count": 5}),))
async def own_kind_changed(trial: Trial, context: TrialContext, seen: Seen) -> None:
    child = await context.apply(Part.named("child", size=2), component=context.status.main)
    seen.append((child.generation, child.spec.size, child.status.count))


@scenario(
    owned=(
        ConfigMap(metadata={"name": "child", "annotations": {"theirs": "1"}}, data={"theirs": "1"}),
    )
)
async def others_fields_stay(trial: Trial, context: TrialContext, seen: Seen) -> None:
    child = await context.apply(config(ours="2"), component=context.status.main)
    seen.append(child.raw("data"))
    seen.append((child.metadata.annotations or {}).get("theirs"))


@scenario()
async def what_is_no_longer_wanted_goes(trial: Trial, context: TrialContext, seen: Seen) -> None:
    await context.apply(config(a="1", b="1"), component=context.status.main)
    child = await context.apply(config(b="2"), component=context.status.main)
    seen.append(child.raw("data"))


@scenario(owned=(ConfigMap(metadata={"name": "child", "finalizers": ["example.com/hold"]}),))
async def lingering_child(trial: Trial, context: TrialContext, seen: Seen) -> None:
    seen.append(await context.delete(ConfigMap, "child"))
    found = context.get(ConfigMap, "child")
    seen.append(found is not None and found.deleting)
    seen.append(await context.delete(ConfigMap, "child"))
    child = await context.apply(config(new="1"), component=context.status.main)
    seen.append((child.deleting, child.raw("data")))


@scenario(owned=(config("a"), config("b"), Part.named("p")), existing=(config("foreign"),))
async def delete(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.good()
    seen.append(await context.delete(ConfigMap, "a"))
    seen.append(await context.delete(ConfigMap, "a"))
    seen.append(await context.delete(ConfigMap, "never-there"))
    seen.append(await context.delete(Part, "p"))
    asked(seen, lambda: context.get(ConfigMap, "a"))
    asked(seen, lambda: context.list(ConfigMap, labels=LABELS))


@scenario(
    owned=(config("old"), config("kept"), config("older"), Part.named("p")),
    existing=(config("foreign"),),
)
async def prune(trial: Trial, context: TrialContext, seen: Seen) -> None:
    await context.apply(config("kept"), component=context.status.main)
    seen.append(await context.prune([Part, ConfigMap]))
    asked(seen, lambda: context.list(ConfigMap, labels=LABELS))
    asked(seen, lambda: context.list(Part))
    seen.append(await context.prune([Part, ConfigMap]))


@scenario(
    existing=(
        Secret(metadata={"name": "one", "labels": {"team": "a", "tier": "x"}}),
        Secret(metadata={"name": "two", "labels": {"team": "b"}}),
        Secret(metadata={"name": "three"}),
    )
)
async def reads(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.good()
    asked(seen, lambda: context.get(Secret, "one"))
    asked(seen, lambda: context.get(Secret, "none"))
    asked(seen, lambda: context.get(Secret, "one", namespace="elsewhere"))
    asked(seen, lambda: context.list(Secret))
    asked(seen, lambda: context.list(Secret, labels={"team": "a"}))
    asked(seen, lambda: context.list(Secret, labels={"team": "a", "tier": "y"}))
    asked(seen, lambda: context.list(Secret, namespace="elsewhere"))
    await context.apply(Secret(metadata={"name": "four", "labels": {"team": "a"}}))
    asked(seen, lambda: context.list(Secret, labels={"team": "a"}))
    asked(seen, lambda: context.get(Trial, trial.name))
    asked(seen, lambda: context.list(Trial))


@scenario()
async def reads_at_cluster_scope(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.good()
    asked(seen, lambda: context.get(Zone, "north"))
    asked(seen, lambda: context.list(Zone))
    asked(seen, lambda: context.list(Zone, labels={"far": "yes"}))
    asked(seen, lambda: context.list(Zone, namespace=None))


@scenario()
async def resource_as_stored(trial: Trial, context: TrialContext, seen: Seen) -> None:
    context.status.main.good()
    seen.append((bool(trial.uid), bool(trial.namespace), trial.generation, context.resource.name))
    seen.append((trial.spec.size, trial.deleting))


@scenario(owned=(config(),))
async def children_cannot_be_changed_in_place(
    trial: Trial, context: TrialContext, seen: Seen
) -> None:
    child = await context.apply(config(a="1"), component=context.status.main)
    child.raw("data")["a"] = "changed"
    again = context.get(ConfigMap, "child")
    seen.append(again and again.raw("data"))
