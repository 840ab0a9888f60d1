"""Why a pod has no node, or has lost it: classes B2, B3 and B10 of the root causes."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.readiness import Reason, State, Turn, compute

UNBOUND = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."


def seen(readiness: Any) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


def pending(build: Any, message: str = UNBOUND, **spec: Any) -> Any:
    pod = build.pod("p", "rs2", phase="Pending", containerStatuses=None)
    pod["metadata"]["namespace"] = "n"
    pod["status"]["conditions"] = [
        build.condition("PodScheduled", "False", "Unschedulable", message)
    ]
    claimed = [{"name": "data", "persistentVolumeClaim": {"claimName": "db"}}]
    pod["spec"].update({"volumes": claimed, **spec})
    return pod


def claim(build: Any, phase: str = "Pending", name: str = "db") -> Any:
    made = build.thing("v1", "PersistentVolumeClaim", {"phase": phase})
    made["metadata"].update(name=name, uid=f"uid-{name}")
    made["spec"] = {"storageClassName": "fast"}
    return made


def storage_class(build: Any, mode: str = "Immediate") -> Any:
    made = build.thing("storage.k8s.io/v1", "StorageClass", volumeBindingMode=mode)
    made["metadata"]["name"] = "fast"
    return made


# --- B2, B3: scheduling and claims -----------------------------------------------------------


def test_B3_an_unbound_claim_is_named_with_its_provisioners_error(build: Any) -> None:
    failed = build.event("uid-db", "ProvisioningFailed", "the pool is full", since=120)
    world = [claim(build), storage_class(build), failed]
    verdict = build.judge(pending(build), *world)
    assert seen(verdict) == (State.FAILED, Reason.VOLUME_NOT_PROVIDED)
    assert verdict.turn is Turn.OWNER
    assert verdict.message.startswith(
        "no node takes the pod: claim db waits for a volume of StorageClass fast: the pool is full;"
    )


def test_B3_claims_that_are_missing_lost_or_of_no_class(build: Any) -> None:
    pod = pending(build, 'persistentvolumeclaim "db" not found')
    other = claim(build, "Bound", "else")
    missing = build.judge(pod, other)
    assert seen(missing) == (State.PROGRESSING, Reason.CLAIM_NOT_FOUND)
    assert missing.turn is Turn.USER
    assert "claim db does not exist" in missing.message
    lost = build.judge(pending(build), claim(build, "Lost"))
    assert seen(lost) == (State.FAILED, Reason.CLAIM_LOST)
    classless = build.judge(pending(build), claim(build))
    assert seen(classless) == (State.PROGRESSING, Reason.STORAGE_CLASS_NOT_FOUND)
    assert "StorageClass fast does not exist" in classless.message


def test_B3_a_claim_that_waits_for_its_consumer_is_no_excuse_for_the_consumer(build: Any) -> None:
    lazy = storage_class(build, "WaitForFirstConsumer")
    verdict = build.judge(pending(build), claim(build), lazy)
    assert seen(verdict) == (State.PROGRESSING, Reason.UNSCHEDULABLE)
    assert "claim db" in verdict.message


def test_B3_the_claim_of_an_ephemeral_volume_is_named_after_its_pod(build: Any) -> None:
    pod = pending(build, volumes=[{"name": "tmp", "ephemeral": {}}])
    verdict = build.judge(pod, claim(build, "Lost", "p-tmp"))
    assert "claim p-tmp" in verdict.message


def test_B2_bound_or_unread_claims_leave_the_schedulers_words(build: Any) -> None:
    for world in ((claim(build, "Bound"),), ()):
        verdict = build.judge(pending(build), *world)
        expected = "unbound immediate" if world else "does not exist"
        assert expected in verdict.message
    unread = compute(pending(build), related=build.world(unsynced=["PersistentVolumeClaim"]))
    assert seen(unread) == (State.PROGRESSING, Reason.UNSCHEDULABLE)
    assert "unbound immediate" in compute(pending(build)).message


@pytest.mark.parametrize(
    "words",
    [
        "0/3 nodes are available: 3 Insufficient memory.",
        "0/3 nodes are available: 3 node(s) had untolerated taint {dedicated: gpu}.",
        "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
    ],
)
def test_B2_what_the_scheduler_says_is_told(build: Any, words: str) -> None:
    verdict = build.judge(pending(build, words))
    assert seen(verdict) == (State.PROGRESSING, Reason.UNSCHEDULABLE)
    assert words.rstrip(".") in verdict.message


# --- B10: the node ---------------------------------------------------------------------------


def on_node(build: Any, *containers: Any, **status: Any) -> Any:
    pod = build.pod("p", "rs2", *containers, **status)
    pod["spec"]["nodeName"] = "n1"
    return pod


@pytest.mark.parametrize(
    ("status", "words"), [("Unknown", "does not answer"), ("False", "is not ready")]
)
def test_B10_a_pod_on_a_lost_node(build: Any, status: str, words: str) -> None:
    pod = on_node(build)
    node = build.node(status)
    assert build.judge(pod, node).ready  # its Ready condition is what its endpoints go by
    pod["status"]["conditions"][-1]["status"] = "False"
    verdict = build.judge(pod, node)
    assert seen(verdict) == (State.FAILED, Reason.NODE_NOT_READY)
    assert verdict.turn is Turn.OWNER
    assert f"node n1 {words}" in verdict.message
    # What the lost node last said of containers is stale.
    crashing = on_node(build, build.crashing())
    assert build.judge(crashing, node).reason is Reason.NODE_NOT_READY
    assert build.judge(crashing, build.node()).reason is Reason.CRASH_LOOPING


def test_B10_a_pod_that_was_lost_says_so_itself(build: Any) -> None:
    for status in ({"phase": "Unknown"}, {"reason": "NodeLost", "message": "n1 was lost"}):
        pod = on_node(build, build.running(ready=False), **status)
        assert seen(compute(pod)) == (State.FAILED, Reason.NODE_NOT_READY)
        assert "node n1 has been lost" in compute(pod).message


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"reason": "Evicted", "message": "The node was low on resource: memory."}, "Evicted: The"),
        ({"reason": "Preempting", "message": "to admit a critical pod"}, "Preempting: to admit"),
        ({"conditions": "target"}, "PreemptionByScheduler: preempting to make room"),
    ],
)
def test_B10_evictions_and_preemptions_are_told(build: Any, status: Any, words: str) -> None:
    if status.get("conditions"):
        text = "preempting to make room"
        target = build.condition("DisruptionTarget", "True", "PreemptionByScheduler", text)
        status = {"conditions": [target]}
    verdict = build.judge(on_node(build, phase="Failed", **status))
    assert seen(verdict) == (State.FAILED, Reason.POD_EVICTED)
    assert verdict.turn is Turn.OWNER
    assert words in verdict.message


def test_B10_a_workload_counts_the_pods_of_a_lost_node(build: Any) -> None:
    pods: list[Any] = []
    for name in ("a", "b"):
        pod = on_node(build)
        pod["metadata"].update(name=name, uid=name)
        pod["status"]["conditions"][-1]["status"] = "False"
        pods.append(pod)
    verdict = build.judge(
        build.rolling(3), build.replica_set(), *pods, build.pod("c"), build.node("Unknown")
    )
    assert seen(verdict) == (State.FAILED, Reason.NODE_NOT_READY)
    assert verdict.message.startswith("2 of 3 pods: node n1 does not answer")
