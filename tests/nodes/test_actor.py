"""The node actor on a real control plane: what the controllers and the scheduler make of it."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.base.tasks import open_tasks
from konstat.client.api import Client
from konstat.errors import NotFound, UserError
from konstat.kinds import (
    BY_KIND,
    ConfigMap,
    Deployment,
    EndpointSlice,
    Job,
    Lease,
    Node,
    Pod,
    Service,
)
from konstat.nodes import NodeActor, NodeOptions, PretendedRuntime
from konstat.nodes.node import LEASE_NAMESPACE
from konstat.testing import ControlPlane

pytestmark = pytest.mark.realapi

EVENT = BY_KIND["events.k8s.io", "Event"]


def template(image: str = "example.com/app:1", **spec: Any) -> dict[str, Any]:
    annotations = spec.pop("annotations", {})
    return {
        "metadata": {"labels": {"app": "web"}, "annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": image}], **spec},
    }


def deployment(replicas: int = 3, **options: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(**options),
        },
    }


def pod(name: str, **options: Any) -> dict[str, Any]:
    content = template(**options)
    return {"metadata": {"name": name, **content["metadata"]}, "spec": content["spec"]}


async def get(client: Client, kind: Any, name: str) -> Any:
    """The object as plain data; None when it is not there."""
    try:
        return await client.get(kind.kind, name)
    except NotFound:
        return None


def condition(content: dict[str, Any] | None, type: str) -> dict[str, Any]:
    entries = ((content or {}).get("status") or {}).get("conditions") or ()
    return next((entry for entry in entries if entry["type"] == type), {})


def main(content: dict[str, Any]) -> dict[str, Any]:
    """The status of the first container; empty before there is one."""
    return (content["status"].get("containerStatuses") or [{}])[0]


async def test_a_deployment_becomes_available(client: Client, nodes: NodeActor, until: Any) -> None:
    await client.create(Deployment.kind, deployment())
    await client.create(
        Service.kind,
        {
            "metadata": {"name": "web"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        },
    )

    async def available() -> bool:
        found = await get(client, Deployment, "web")
        return found["status"].get("availableReplicas") == 3

    await until(available, what="three available replicas")

    async def addresses() -> set[str]:
        slices = await client.list(EndpointSlice.kind)
        found = [endpoint for one in slices for endpoint in one.get("endpoints") or ()]
        ready = [endpoint for endpoint in found if endpoint["conditions"]["ready"]]
        named = {address for endpoint in ready for address in endpoint["addresses"]}
        return named if len(named) == 3 else set()

    pods = await client.list(Pod.kind)
    assert await until(addresses, what="three endpoints") == {p["status"]["podIP"] for p in pods}
    for one in pods:
        assert one["status"]["phase"] == "Running"
        assert one["status"]["qosClass"] == "BestEffort"
        assert one["status"]["observedGeneration"] == one["metadata"]["generation"]
        assert condition(one, "PodScheduled")["status"] == "True"
        assert condition(one, "Ready")["status"] == "True"


async def test_a_pod_becomes_ready_and_rests_at_one_write(
    client: Client, nodes: NodeActor, until: Any, control_plane: ControlPlane
) -> None:
    await client.create(Pod.kind, pod("calm"))
    await until(lambda: _is_ready(client, "calm"), what="a ready pod")
    before = await client.get(Pod.kind, "calm")
    # A change that is none of the kubelet's business makes it look again.
    await client.patch(Pod.kind, "calm", {"metadata": {"labels": {"a": "b"}}}, type="merge")
    await client.create(Pod.kind, pod("later"))
    await until(lambda: _is_ready(client, "later"), what="a later pod")

    async def written() -> list[str]:
        """The pods whose status we wrote, as logged by the server."""
        found = [
            event.name
            for event in control_plane.audit_events()
            if event.subresource == "status"
            and event.namespace == client.namespace
            and not event.of_control_plane
        ]
        return found if "later" in found else []

    assert sorted(await until(written, what="the log of the writes")) == ["calm", "later"]
    assert (await client.get(Pod.kind, "calm"))["status"] == before["status"]


async def _is_ready(client: Client, name: str) -> bool:
    return condition(await client.get(Pod.kind, name), "Ready").get("status") == "True"


async def test_an_image_of_invalid_alternates_between_its_two_reasons(
    client: Client, nodes: NodeActor, until: Any
) -> None:
    await client.create(Pod.kind, pod("stuck", image="registry.invalid/app:1"))
    seen: list[str] = []

    async def alternates() -> bool:
        waiting = main(await client.get(Pod.kind, "stuck")).get("state", {}).get("waiting", {})
        reason = waiting.get("reason", "")
        if reason.endswith(("Pull", "BackOff")) and seen[-1:] != [reason]:
            assert "lookup registry.invalid: no such host" in waiting["message"]
            seen.append(reason)
        return len(seen) >= 4

    await until(alternates, what="two rounds of both reasons")
    assert seen[:4] == ["ErrImagePull", "ImagePullBackOff"] * 2
    found = await client.get(Pod.kind, "stuck")
    assert found["status"]["phase"] == "Pending"

    async def told() -> bool:
        events = await client.list(EVENT.kind)
        return {"Failed", "BackOff"} <= {e["reason"] for e in events if e["type"] == "Warning"}

    await until(told, what="events about the image")

    image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "example.com/app:1"}]
    await client.patch(Pod.kind, "stuck", image, type="json")
    await until(lambda: _is_ready(client, "stuck"), what="the pod with a good image")


async def test_a_deleted_pod_goes_and_is_replaced(
    client: Client, nodes: NodeActor, until: Any
) -> None:
    await client.create(Deployment.kind, deployment(replicas=1))

    async def the_ready_pod() -> Any:
        pods = [p for p in await client.list(Pod.kind) if "deletionTimestamp" not in p["metadata"]]
        return len(pods) == 1 and condition(pods[0], "Ready").get("status") == "True" and pods[0]

    first = (await until(the_ready_pod, what="the first pod"))["metadata"]
    await client.delete(Pod, first["name"])

    async def gone() -> bool:
        return await get(client, Pod, first["name"]) is None

    await until(gone, what="the end of the first pod", seconds=20)
    second = (await until(the_ready_pod, what="the second pod"))["metadata"]
    assert second["uid"] != first["uid"]


async def test_a_finalizer_keeps_a_stopped_pod(
    client: Client, nodes: NodeActor, until: Any
) -> None:
    content = pod("kept")
    content["metadata"]["finalizers"] = ["example.com/hold"]
    await client.create(Pod.kind, content)
    await until(lambda: _is_ready(client, "kept"), what="a ready pod")
    await client.delete(Pod, "kept")

    async def stopped() -> Any:
        found = await client.get(Pod.kind, "kept")
        return found["metadata"].get("deletionGracePeriodSeconds") == 0 and found

    found = await until(stopped, what="a stopped pod", seconds=20)
    assert main(found)["state"]["terminated"]["exitCode"] == 143
    assert found["status"]["phase"] == "Failed"
    await client.patch(Pod.kind, "kept", {"metadata": {"finalizers": None}}, type="merge")

    async def gone() -> bool:
        return await get(client, Pod, "kept") is None

    await until(gone, what="the end of the pod")


async def test_foreground_deletion_of_a_deployment_ends(
    client: Client, nodes: NodeActor, until: Any
) -> None:
    await client.create(Deployment.kind, deployment(replicas=2))

    async def available() -> bool:
        found = await client.get(Deployment.kind, "web")
        return found["status"].get("availableReplicas") == 2

    await until(available, what="two available replicas")
    await client.delete(Deployment, "web", propagation="Foreground")

    async def all_gone() -> bool:
        return await get(client, Deployment, "web") is None and not await client.list(Pod.kind)

    await until(all_gone, what="the end of the deployment and its pods", seconds=25)


@pytest.mark.parametrize(("code", "type"), [(0, "Complete"), (3, "Failed")], ids=["good", "bad"])
async def test_a_job_ends_as_its_script_says(
    client: Client, nodes: NodeActor, until: Any, code: int, type: str
) -> None:
    annotations = {"nodes.konstat.dev/exit": f"main={code}"}
    content = {
        "metadata": {"name": "work"},
        "spec": {
            "backoffLimit": 0,
            "template": template(restartPolicy="Never", annotations=annotations),
        },
    }
    await client.create(Job.kind, content)

    async def ended() -> bool:
        return condition(await client.get(Job.kind, "work"), type).get("status") == "True"

    await until(ended, what=f"condition {type} of the job")
    [one] = await client.list(Pod.kind)
    assert one["status"]["phase"] == ("Failed" if code else "Succeeded")


async def test_a_scripted_crash_loops(client: Client, nodes: NodeActor, until: Any) -> None:
    annotations = {"nodes.konstat.dev/crash": "main=137:OOMKilled"}
    await client.create(Pod.kind, pod("crashing", annotations=annotations))

    async def crashed_often() -> Any:
        entry = main(await client.get(Pod.kind, "crashing"))
        waiting = entry.get("state", {}).get("waiting", {})
        return waiting.get("reason") == "CrashLoopBackOff" and entry["restartCount"] >= 2 and entry

    entry = await until(crashed_often, what="two restarts and a back-off")
    last = entry["lastState"]["terminated"]
    assert (last["reason"], last["exitCode"]) == ("OOMKilled", 137)

    remove = {"metadata": {"annotations": {"nodes.konstat.dev/crash": None}}}
    await client.patch(Pod.kind, "crashing", remove, type="merge")
    await until(lambda: _is_ready(client, "crashing"), what="the pod without its script")


async def test_a_missing_config_map_holds_the_container_up(
    client: Client, nodes: NodeActor, until: Any
) -> None:
    content = pod("needy")
    content["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    await client.create(Pod.kind, content)

    async def waits() -> Any:
        waiting = main(await client.get(Pod.kind, "needy")).get("state", {}).get("waiting", {})
        return waiting.get("reason") == "CreateContainerConfigError" and waiting

    waiting = await until(waits, what="an error about the configuration")
    assert waiting["message"] == 'configmap "settings" not found'
    await client.create(ConfigMap.kind, {"metadata": {"name": "settings"}, "data": {"a": "b"}})
    await until(lambda: _is_ready(client, "needy"), what="the pod with its configuration")


async def test_a_readiness_gate_is_somebody_elses(
    client: Client, nodes: NodeActor, until: Any
) -> None:
    gate = [{"conditionType": "example.com/gate"}]
    await client.create(Pod.kind, pod("gated", readinessGates=gate))

    async def waits_for_gate() -> bool:
        found = condition(await client.get(Pod.kind, "gated"), "Ready")
        return found.get("reason") == "ReadinessGatesNotReady"

    await until(waits_for_gate, what="a pod that waits for its gate")
    opened = {"type": "example.com/gate", "status": "True"}
    operations = [{"op": "add", "path": "/status/conditions/-", "value": opened}]
    await client.patch(Pod.kind, "gated", operations, type="json", subresource="status")
    await until(lambda: _is_ready(client, "gated"), what="a pod whose gate is open")
    gate_condition = condition(await client.get(Pod.kind, "gated"), "example.com/gate")
    assert gate_condition["status"] == "True"


async def test_a_node_is_ready_and_its_lease_is_renewed(
    client: Client, nodes: NodeActor, until: Any
) -> None:
    [name] = nodes.node_names

    async def schedulable() -> bool:
        found = await client.get(Node.kind, name)
        ready = condition(found, "Ready").get("status") == "True"
        return ready and not found["spec"].get("taints")

    await until(schedulable, what="a node without taints")
    first = await client.get(Lease, name, namespace=LEASE_NAMESPACE)
    assert first.spec.holder_identity == name

    async def renewed() -> bool:
        lease = await client.get(Lease, name, namespace=LEASE_NAMESPACE)
        return lease.spec.renew_time != first.spec.renew_time

    await until(renewed, what="a renewed lease", seconds=30)


async def test_nodes_are_removed_on_exit(client: Client, run_nodes: Any) -> None:
    async with run_nodes(client, NodeOptions(nodes=3)) as actor:
        names = actor.node_names
        assert len(names) == 3
    assert not {node.name for node in await client.list(Node)} & set(names)
    leases = await client.list(Lease, namespace=LEASE_NAMESPACE)
    assert not {lease.name for lease in leases} & set(names)


async def test_a_later_actor_takes_a_node_over_with_its_pods(client: Client, until: Any) -> None:
    options = NodeOptions(name_prefix="taken-over", remove_nodes_on_exit=False)
    async with open_tasks() as tasks:
        first = tasks.start(NodeActor(client, options).run(), name="first")
        here = {"kubernetes.io/hostname": "taken-over-0"}
        await client.create(Pod.kind, pod("stays", nodeSelector=here))
        await until(lambda: _is_ready(client, "stays"), what="a ready pod")
        before = (await client.get(Pod.kind, "stays"))["status"]
        first.cancel()

    options = NodeOptions(name_prefix="taken-over")
    async with open_tasks() as tasks:
        second = NodeActor(client, options)
        tasks.start(second.run(), name="second")
        await second.wait_registered()

        async def plays() -> bool:
            return second.statistics().pods == 1

        await until(plays, what="the pod in the hands of the second actor")
        assert (await client.get(Pod.kind, "stays"))["status"] == before
        await client.delete(Pod, "stays")

        async def gone() -> bool:
            return await get(client, Pod, "stays") is None

        await until(gone, what="the end of the pod", seconds=20)


async def test_a_foreign_node_of_the_name_is_refused(client: Client) -> None:
    await client.create(Node.kind, {"metadata": {"name": "foreign-0"}})
    try:
        actor = NodeActor(client, NodeOptions(name_prefix="foreign"), runtime=PretendedRuntime())
        with pytest.raises(UserError, match="node foreign-0 exists and is not a played one"):
            await actor.run()
        assert (await client.get(Node, "foreign-0")).name == "foreign-0"
    finally:
        await client.delete(Node, "foreign-0")
