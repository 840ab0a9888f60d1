"""The rules for namespaces, nodes, budgets, autoscalers, and what the scheduler allocates."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from konstat.readiness import Reason, State, Turn, compute


def seen(readiness: Any) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


def test_S2_namespace(build: Any) -> None:
    assert compute(build.thing("v1", "Namespace", {"phase": "Active"})).ready
    assert compute(build.thing("v1", "Namespace")).reason is Reason.STATUS_NOT_REPORTED
    leaving = build.thing("v1", "Namespace", {"phase": "Terminating"})
    assert seen(compute(leaving)) == (State.TERMINATING, Reason.DELETING)
    remains = "Some resources are remaining: webapps.demo.example.com has 1 resource instances"
    held = build.thing(
        "v1",
        "Namespace",
        {
            "phase": "Terminating",
            "conditions": [build.condition("NamespaceContentRemaining", message=remains)],
        },
    )
    held["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert remains in compute(held).message


def test_S2_node(build: Any) -> None:
    ready = build.thing("v1", "Node", {"conditions": [build.condition("Ready")]}, spec={})
    assert compute(ready).ready
    ready["spec"]["unschedulable"] = True
    assert "cordoned" in compute(ready).message
    for status in ("False", "Unknown"):
        lost = build.thing("v1", "Node", {"conditions": [build.condition("Ready", status)]})
        assert seen(compute(lost)) == (State.FAILED, Reason.NODE_NOT_READY)
        assert compute(lost).turn is Turn.OWNER
    assert compute(build.thing("v1", "Node")).state is State.UNKNOWN


def test_R9_budget(build: Any) -> None:
    def budget(*conditions: Any) -> dict[str, Any]:
        status = {"observedGeneration": 1, "conditions": list(conditions)}
        return build.thing("policy/v1", "PodDisruptionBudget", status)

    held = compute(budget(build.condition("DisruptionAllowed", "False", "InsufficientPods")))
    assert held.ready
    assert "no disruption is allowed" in held.message
    broken = budget(build.condition("DisruptionAllowed", "False", "SyncFailed"))
    assert compute(broken).state is State.FAILED
    unseen = build.thing("policy/v1", "PodDisruptionBudget")
    assert compute(unseen).reason is Reason.GENERATION_NOT_OBSERVED


def test_R12_autoscaler(build: Any) -> None:
    def autoscaler(*conditions: Any) -> dict[str, Any]:
        return build.thing(
            "autoscaling/v2", "HorizontalPodAutoscaler", {"conditions": list(conditions)}
        )

    able = build.condition("AbleToScale")
    assert compute(autoscaler(able, build.condition("ScalingActive"))).ready
    zero = build.condition("ScalingActive", "False", "ScalingDisabled")
    assert compute(autoscaler(able, zero)).ready
    blind = build.condition("ScalingActive", "False", "FailedGetResourceMetric")
    assert seen(compute(autoscaler(able, blind))) == (State.FAILED, Reason.AUTOSCALER_BLIND)
    assert compute(autoscaler()).state is State.UNKNOWN


def test_R9_a_budget_without_pods_says_so(build: Any) -> None:
    status = {"observedGeneration": 1, "expectedPods": 0}
    idle = build.judge(build.thing("policy/v1", "PodDisruptionBudget", status))
    assert (idle.ready, idle.message) == (True, "selects no pods")


def test_R12_autoscaler_fails_after_a_minute(build: Any) -> None:
    def autoscaler(seconds: float) -> Any:
        blind = {
            **build.condition("ScalingActive", "False", "FailedGetResourceMetric"),
            "lastTransitionTime": build.ago(seconds),
        }
        status = {"conditions": [build.condition("AbleToScale"), blind]}
        return build.thing("autoscaling/v2", "HorizontalPodAutoscaler", status)

    young = build.judge(autoscaler(20))
    assert seen(young) == (State.PROGRESSING, Reason.AUTOSCALER_BLIND)
    assert young.recheck_at == build.now + timedelta(seconds=40)
    assert build.judge(autoscaler(20), now=young.recheck_at).state is State.FAILED
    assert build.judge(autoscaler(61)).state is State.FAILED


def test_R12_autoscaler_at_its_limit_is_ready_and_says_so(build: Any) -> None:
    limited = build.condition("ScalingLimited", "True", "TooManyReplicas", "the limit is 5")
    status = {"conditions": [build.condition("AbleToScale"), limited]}
    verdict = build.judge(build.thing("autoscaling/v2", "HorizontalPodAutoscaler", status))
    assert verdict.ready
    assert "TooManyReplicas" in verdict.message


def test_R12_autoscaler_v1_has_its_conditions_in_an_annotation(build: Any) -> None:
    old = build.thing("autoscaling/v1", "HorizontalPodAutoscaler", {"currentReplicas": 1})
    assert build.judge(old).state is State.UNKNOWN
    for text, state in (
        ('[{"type":"AbleToScale","status":"True"}]', State.READY),
        ('[{"type":"AbleToScale","status":"False","reason":"FailedGetScale"}]', State.FAILED),
        ("[[[", State.UNKNOWN),
        ("{}", State.UNKNOWN),
    ):
        annotation = {"autoscaling.alpha.kubernetes.io/conditions": text}
        old["metadata"]["annotations"] = annotation
        assert build.judge(old).state is state, text


def test_a_node_that_is_ready_but_runs_out_of_something_is_failed(build: Any) -> None:
    for name in ("DiskPressure", "MemoryPressure", "PIDPressure", "NetworkUnavailable"):
        node = build.node()
        node["status"]["conditions"].append(build.condition(name, "False"))
        assert build.judge(node).ready
        node["status"]["conditions"][-1]["status"] = "True"
        verdict = build.judge(node)
        assert (verdict.state, verdict.turn) == (State.FAILED, Turn.OWNER)
        assert name in verdict.message


def test_resource_claims(build: Any) -> None:
    claim = build.thing("resource.k8s.io/v1", "ResourceClaim")
    assert seen(build.judge(claim)) == (State.PROGRESSING, Reason.CLAIM_PENDING)
    claim["status"] = {"allocation": {"devices": {}}}
    assert seen(build.judge(claim)) == (State.READY, Reason.AVAILABLE)
    broken = {"device": "gpu-0", "conditions": [build.condition("Ready", "False", "Broken")]}
    claim["status"]["devices"] = [broken]
    verdict = build.judge(claim)
    assert verdict.state is State.PROGRESSING
    assert "gpu-0" in verdict.message


def test_pod_groups(build: Any) -> None:
    def judged(*conditions: Any) -> Any:
        status = {"conditions": list(conditions)}
        return seen(build.judge(build.thing("scheduling.k8s.io/v1alpha2", "PodGroup", status)))

    name = "PodGroupScheduled"
    assert judged() == (State.UNKNOWN, Reason.STATUS_NOT_REPORTED)
    assert judged(build.condition(name)) == (State.READY, Reason.AVAILABLE)
    held = build.condition(name, "False", "Unschedulable")
    assert judged(held) == (State.PROGRESSING, Reason.UNSCHEDULABLE)
    assert judged(build.condition(name), build.condition("DisruptionTarget")) == (
        State.FAILED,
        Reason.POD_EVICTED,
    )


def test_device_taint_rules(build: Any) -> None:
    def judged(*conditions: Any) -> Any:
        status = {"conditions": list(conditions)}
        return build.judge(build.thing("resource.k8s.io/v1beta2", "DeviceTaintRule", status)).state

    assert judged() is State.READY
    assert judged(build.condition("EvictionInProgress", "False")) is State.READY
    assert judged(build.condition("EvictionInProgress")) is State.PROGRESSING
