"""The readiness tables of the project's status rules, row by row.

Each row has tests named by its number, here or in the file of its rule:

====  =======================================  ====  =======================================
R0    the order before any rule                R9    PodDisruptionBudget (`test_cluster`)
R1    Deployment (`test_workloads`)            R10   Service (`test_networking`)
R2    StatefulSet (`test_workloads`)           R11   Ingress (`test_networking`)
R3    DaemonSet (`test_workloads`)             R12   HorizontalPodAutoscaler (`test_cluster`)
R4    ReplicaSet (`test_workloads`)            R13   CustomResourceDefinition (`test_machinery`)
R5    Job (`test_jobs`)                        R14   APIService (`test_machinery`)
R6    CronJob (`test_jobs`)                    R15   Secret, ConfigMap, plain kinds
R7    Pod (`test_pods`)                              (`test_machinery`)
R8    PersistentVolumeClaim (`test_storage`)   R16   any custom resource (here, `test_generic`)
====  =======================================  ====  =======================================

The differential table (one object, other verdicts elsewhere): D1 LoadBalancer without address, D2
Pod failed, D3 Job running, D4 Job resumed, D5 Deployment paused, D6 OnDelete StatefulSet not
ready, D7 ReplicaSet denied by quota, D8 claim lost, D9 definition whose names clash, D10 custom
resource without status, D11 stale condition generation, D12 observed ahead of the generation, D13
Reconciling with Stalled, D14 Ready with an empty status.

Root causes: B1 cannot create, B2 cannot schedule, B3 storage, B4 sandbox, B5 image, B6
configuration and start, B7 crash, B8 probe, B9 gate, B10 node, B11 stuck deletion.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from konstat.readiness import RULES, Reason, State, compute

ROWS = {
    *(f"R{row}" for row in range(17)),
    *(f"D{row}" for row in range(1, 15)),
    *(f"B{row}" for row in range(1, 12)),
}


def seen(readiness: Any) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


def test_every_row_has_a_test() -> None:
    names = [
        name
        for path in Path(__file__).parent.glob("test_*.py")
        for name in re.findall(r"^(?:async )?def test_(\w+)", path.read_text(), re.MULTILINE)
    ]
    numbers = {row for name in names for row in re.findall(r"(?:^|_)([RDB]\d+)(?=_)", name)}
    assert numbers == ROWS


# --- R0: the order before any rule -----------------------------------------------------------


@pytest.mark.parametrize(("group", "kind"), sorted(RULES))
def test_R0_deletion_comes_before_every_rule(build: Any, group: str, kind: str) -> None:
    thing = build.thing(f"{group}/v1" if group else "v1", kind, {"phase": "Failed"})
    thing["metadata"].update(deletionTimestamp=build.ago(5), finalizers=["a.example.com/x"])
    verdict = build.judge(thing)
    assert verdict.state is State.TERMINATING
    assert "a.example.com/x" in verdict.message


def test_R0_what_does_not_exist_is_missing() -> None:
    assert seen(compute(None)) == (State.MISSING, Reason.NOT_FOUND)


@pytest.mark.parametrize("observed", [1, 3])
def test_R0_a_stale_status_comes_before_the_rule(build: Any, observed: int) -> None:
    deployment = build.deployment(observedGeneration=observed)
    verdict = build.judge(deployment)
    assert seen(verdict) == (State.PROGRESSING, Reason.GENERATION_NOT_OBSERVED)
    assert str(observed) in verdict.message


# Kinds that the tables say have a status; nobody has written it here.
@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("v1", "Namespace"),
        ("v1", "Node"),
        ("v1", "PersistentVolume"),
        ("v1", "PersistentVolumeClaim"),
        ("v1", "Pod"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io/v1", "APIService"),
        ("apps/v1", "DaemonSet"),
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("batch/v1", "Job"),
        ("policy/v1", "PodDisruptionBudget"),
        ("gateway.networking.k8s.io/v1", "Gateway"),
        ("gateway.networking.k8s.io/v1", "GatewayClass"),
        ("gateway.networking.k8s.io/v1", "HTTPRoute"),
        ("snapshot.storage.k8s.io/v1", "VolumeSnapshot"),
    ],
)
@pytest.mark.parametrize("status", [None, {}])
def test_R0_a_kind_with_a_status_is_not_ready_without_it(
    build: Any, version: str, kind: str, status: Any
) -> None:
    thing = build.thing(version, kind, status, spec={"replicas": 1})
    assert build.judge(thing).state in (State.UNKNOWN, State.PROGRESSING)


# --- R16 and D10 to D14: custom resources ----------------------------------------------------


def custom(build: Any, *conditions: Any, **status: Any) -> Any:
    content = {"conditions": list(conditions), **status}
    return build.thing("demo.example.com/v1", "WebApp", content, spec={"size": 1})


def test_R16_a_custom_resource_by_its_conditions(build: Any) -> None:
    assert build.judge(custom(build, build.condition("Ready"))).ready
    assert build.judge(custom(build, build.condition("Ready", "False"))).state is State.PROGRESSING


def test_D10_a_custom_resource_without_status_is_unknown(build: Any) -> None:
    fresh = build.thing("demo.example.com/v1", "WebApp", spec={"size": 1})
    del fresh["status"]
    assert build.judge(fresh).state is State.UNKNOWN


def test_D11_a_stale_condition_is_progressing(build: Any) -> None:
    stale = custom(build, {**build.condition("Ready"), "observedGeneration": 1})
    stale["metadata"]["generation"] = 2
    assert seen(build.judge(stale)) == (State.PROGRESSING, Reason.GENERATION_NOT_OBSERVED)


def test_D12_observed_ahead_of_the_generation_is_not_current_and_says_so(build: Any) -> None:
    restored = custom(build, build.condition("Ready"), observedGeneration=9)
    verdict = build.judge(restored)
    assert seen(verdict) == (State.PROGRESSING, Reason.GENERATION_NOT_OBSERVED)
    assert "9" in verdict.message


def test_D13_reconciling_and_stalled_together_are_failed(build: Any) -> None:
    for names in (("Reconciling", "Stalled"), ("Stalled", "Reconciling")):
        both = custom(build, build.condition("Ready"), *map(build.condition, names))
        assert build.judge(both).state is State.FAILED


def test_D14_ready_with_an_empty_status_is_unknown(build: Any) -> None:
    assert build.judge(custom(build, build.condition("Ready", ""))).state is State.UNKNOWN
