"""The rules for claims, namespaces, nodes, definitions, budgets, autoscalers, plain kinds."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.readiness import Reason, State, Turn, compute
from konstat.readiness.builtin import EXISTING


def thing(api_version: str, kind: str, status: Any = None, **content: Any) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "x", "uid": "x", "generation": 1},
        "status": status,
        **content,
    }


def seen(readiness: Any) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


@pytest.mark.parametrize(("group", "kind"), sorted(EXISTING))
def test_S2_kinds_without_status_are_ready_once_they_exist(group: str, kind: str) -> None:
    plain = thing(f"{group}/v1" if group else "v1", kind)
    assert seen(compute(plain)) == (State.READY, Reason.EXISTS)
    plain["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert compute(plain).state is State.TERMINATING


def test_a_secrets_value_is_in_no_verdict() -> None:
    assert "aHVudGVyMg" not in repr(compute(thing("v1", "Secret", data={"key": "aHVudGVyMg=="})))


def claim(phase: str, *conditions: Any, **spec: Any) -> dict[str, Any]:
    status = {"phase": phase, "conditions": list(conditions)}
    return thing("v1", "PersistentVolumeClaim", status, spec=spec)


def storage_class(mode: str) -> dict[str, Any]:
    return {
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "volumeBindingMode": mode,
    }


def test_S2a_lost_claim_is_failed() -> None:
    assert seen(compute(claim("Lost"))) == (State.FAILED, Reason.CLAIM_LOST)


def test_S2_claim(build: Any) -> None:
    assert compute(claim("Bound")).ready
    resizing = claim("Bound", build.condition("FileSystemResizePending"))
    assert seen(compute(resizing)) == (State.PROGRESSING, Reason.CLAIM_RESIZING)
    assert seen(compute(claim("Pending"))) == (State.PROGRESSING, Reason.CLAIM_PENDING)


def test_S2_claim_that_waits_for_its_consumer_is_ready(build: Any) -> None:
    waiting = claim("Pending", storageClassName="fast")
    lazy = build.judge(waiting, storage_class("WaitForFirstConsumer"))
    assert seen(lazy) == (State.READY, Reason.WAITING_FOR_CONSUMER)
    eager = build.judge(waiting, storage_class("Immediate"))
    assert seen(eager) == (State.PROGRESSING, Reason.CLAIM_PENDING)
    chosen = claim("Pending", storageClassName="fast")
    chosen["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "n1"}
    assert not build.judge(chosen, storage_class("WaitForFirstConsumer")).ready
    assert "StorageClass fast does not exist" in build.judge(waiting).message
    unread = compute(waiting, related=build.world(unsynced=["StorageClass"]))
    assert seen(unread) == (State.PROGRESSING, Reason.CLAIM_PENDING)
    assert "could not be read" in unread.message


def test_S2_volume() -> None:
    for phase in ("Available", "Bound", "Released"):
        assert compute(thing("v1", "PersistentVolume", {"phase": phase})).ready
    failed = thing("v1", "PersistentVolume", {"phase": "Failed", "message": "no recycler"})
    assert compute(failed).state is State.FAILED
    assert compute(thing("v1", "PersistentVolume")).state is State.PROGRESSING


def test_S2_namespace(build: Any) -> None:
    assert compute(thing("v1", "Namespace", {"phase": "Active"})).ready
    assert compute(thing("v1", "Namespace")).reason is Reason.STATUS_NOT_REPORTED
    remains = "Some resources are remaining: webapps.demo.example.com has 1 resource instances"
    held = thing(
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
    ready = thing("v1", "Node", {"conditions": [build.condition("Ready")]}, spec={})
    assert compute(ready).ready
    ready["spec"]["unschedulable"] = True
    assert "cordoned" in compute(ready).message
    for status in ("False", "Unknown"):
        lost = thing("v1", "Node", {"conditions": [build.condition("Ready", status)]})
        assert seen(compute(lost)) == (State.FAILED, Reason.NODE_NOT_READY)
        assert compute(lost).turn is Turn.OWNER
    assert compute(thing("v1", "Node")).state is State.UNKNOWN


def definition(*conditions: Any) -> dict[str, Any]:
    status = {"conditions": list(conditions) or None}
    return thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", status)


def test_S2a_definition_whose_names_clash_is_failed(build: Any) -> None:
    clash = definition(
        build.condition("NamesAccepted", "False", "PluralConflict"), build.condition("Established")
    )
    assert seen(compute(clash)) == (State.FAILED, Reason.NAMES_NOT_ACCEPTED)


def test_S2_definition(build: Any) -> None:
    names = build.condition("NamesAccepted")
    served = definition(names, build.condition("Established"))
    assert compute(served).ready
    installing = definition(names, build.condition("Established", "False", "Installing"))
    assert compute(installing).state is State.PROGRESSING
    refused = definition(names, build.condition("Established", "False", "NotAccepted"))
    assert seen(compute(refused)) == (State.FAILED, Reason.NOT_ESTABLISHED)
    loose = definition(
        names, build.condition("Established"), build.condition("NonStructuralSchema")
    )
    assert seen(compute(loose)) == (State.FAILED, Reason.SCHEMA_INVALID)
    assert seen(compute(definition())) == (State.UNKNOWN, Reason.STATUS_NOT_REPORTED)


def test_S2_budget(build: Any) -> None:
    def budget(*conditions: Any) -> dict[str, Any]:
        status = {"observedGeneration": 1, "conditions": list(conditions)}
        return thing("policy/v1", "PodDisruptionBudget", status)

    held = compute(budget(build.condition("DisruptionAllowed", "False", "InsufficientPods")))
    assert held.ready
    assert "no disruption is allowed" in held.message
    broken = budget(build.condition("DisruptionAllowed", "False", "SyncFailed"))
    assert compute(broken).state is State.FAILED
    unseen = thing("policy/v1", "PodDisruptionBudget")
    assert compute(unseen).reason is Reason.GENERATION_NOT_OBSERVED


def test_S2_autoscaler(build: Any) -> None:
    def autoscaler(*conditions: Any) -> dict[str, Any]:
        return thing("autoscaling/v2", "HorizontalPodAutoscaler", {"conditions": list(conditions)})

    able = build.condition("AbleToScale")
    assert compute(autoscaler(able, build.condition("ScalingActive"))).ready
    zero = build.condition("ScalingActive", "False", "ScalingDisabled")
    assert compute(autoscaler(able, zero)).ready
    blind = build.condition("ScalingActive", "False", "FailedGetResourceMetric")
    assert seen(compute(autoscaler(able, blind))) == (State.FAILED, Reason.AUTOSCALER_BLIND)
    assert compute(autoscaler()).state is State.UNKNOWN
