"""The rules for Deployment, ReplicaSet, StatefulSet and DaemonSet."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from konstat.readiness import Reason, State, Turn, compute


def seen(readiness: Any) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


# --- Deployment: status-semantics §2, its first row ------------------------------------------


def test_R1_deployment_complete_is_ready(build: Any) -> None:
    verdict = build.judge(build.deployment(), build.replica_set(), build.pod())
    assert seen(verdict) == (State.READY, Reason.AVAILABLE)
    assert (verdict.turn, verdict.generation) == (Turn.NOBODY, 2)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"updatedReplicas": 2}, Reason.ROLLING_OUT),
        ({"replicas": 4}, Reason.ROLLING_OUT),
        ({"replicas": 4, "updatedReplicas": 4, "availableReplicas": 4}, Reason.SCALING_DOWN),
        ({"readyReplicas": 2}, Reason.PODS_NOT_READY),
        ({"availableReplicas": 2}, Reason.PODS_NOT_READY),
        ({"conditions": None}, Reason.CONDITION_NOT_MET),
    ],
)
def test_R1_deployment_short_of_one_number_is_progressing(
    build: Any, status: dict[str, Any], reason: Reason
) -> None:
    assert seen(build.judge(build.deployment(**status))) == (State.PROGRESSING, reason)


@pytest.mark.parametrize("name", ["Available", "Progressing"])
def test_R1_deployment_numbers_do_not_outvote_its_conditions(build: Any, name: str) -> None:
    deployment = build.deployment()
    for condition in deployment["status"]["conditions"]:
        if condition["type"] == name:
            condition["status"] = "False"
    assert seen(build.judge(deployment)) == (State.PROGRESSING, Reason.CONDITION_NOT_MET)


def test_R1_deployment_without_a_deadline_needs_no_progressing_condition(build: Any) -> None:
    deployment = build.deployment()
    del deployment["status"]["conditions"][1]
    assert not build.judge(deployment).ready
    deployment["spec"]["progressDeadlineSeconds"] = 2**31 - 1
    assert build.judge(deployment).ready


def test_R1_deployment_deadline_exceeded_is_failed(build: Any) -> None:
    late = build.condition("Progressing", "False", "ProgressDeadlineExceeded")
    deployment = build.rolling(conditions=[late])
    verdict = build.judge(deployment)
    assert seen(verdict) == (State.FAILED, Reason.PROGRESS_DEADLINE_EXCEEDED)
    assert verdict.turn is Turn.USER
    pod = build.pod("web-1", "rs2", build.running(ready=False))
    verdict = build.judge(deployment, build.replica_set(), pod)
    assert seen(verdict) == (State.FAILED, Reason.PROGRESS_DEADLINE_EXCEEDED)
    assert verdict.message.startswith("container web runs, but is not reported ready")


def test_R1_deployment_scaled_to_zero_is_ready_and_says_so(build: Any) -> None:
    assert seen(build.judge(build.deployment(0))) == (State.READY, Reason.SCALED_TO_ZERO)
    leaving = build.deployment(0, replicas=1)
    assert seen(build.judge(leaving)) == (State.PROGRESSING, Reason.SCALING_DOWN)


def test_R1_deployment_replicas_null_or_absent_means_one(build: Any) -> None:
    for spec in ({"replicas": None}, {}):
        deployment = build.deployment(1)
        deployment["spec"] = spec
        assert build.judge(deployment).ready


def test_R1_zero_to_one_with_a_broken_image_is_failed_although_conditions_are_true(
    build: Any,
) -> None:
    deployment = build.deployment(1, readyReplicas=0, availableReplicas=0)
    verdict = build.judge(
        deployment, build.replica_set(), build.pod("web-1", "rs2", build.waiting("ErrImagePull"))
    )
    assert seen(verdict) == (State.FAILED, Reason.IMAGE_PULL_FAILED)


def test_R1_ready_replicas_alone_prove_nothing(build: Any) -> None:
    assert not build.judge(build.deployment(updatedReplicas=0)).ready


def test_D5_paused_deployment_with_a_new_template_is_suspended(build: Any) -> None:
    deployment = build.deployment(updatedReplicas=0)
    deployment["spec"]["paused"] = True
    assert seen(build.judge(deployment)) == (State.SUSPENDED, Reason.PAUSED)


# --- pods of the newest revision only --------------------------------------------------------


def test_pods_of_an_old_revision_do_not_matter(build: Any) -> None:
    old = build.pod("web-0", "rs1", build.waiting("ImagePullBackOff"))
    sets = build.replica_set("rs1", revision=1), build.replica_set("rs2", revision=2)
    assert build.judge(build.deployment(), *sets, old, build.pod()).ready
    starting = build.pod("web-1", "rs2", build.waiting("ContainerCreating"))
    verdict = build.judge(build.rolling(), *sets, old, starting)
    assert seen(verdict) == (State.PROGRESSING, Reason.PODS_STARTING)


def test_a_revision_that_the_cache_has_not_seen_shows_no_old_pods(build: Any) -> None:
    old = build.pod("web-0", "rs1", build.waiting("ImagePullBackOff"))
    verdict = build.judge(build.rolling(updatedReplicas=0), build.replica_set("rs1", 1), old)
    assert seen(verdict) == (State.PROGRESSING, Reason.ROLLING_OUT)


def test_without_revisions_the_youngest_replica_set_is_the_newest(build: Any) -> None:
    deployment = build.rolling(1)
    del deployment["metadata"]["annotations"]
    sets = [build.replica_set("rs1"), build.replica_set("rs2")]
    for created, entry in zip(("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"), sets, strict=True):
        entry["metadata"]["creationTimestamp"] = created
    good, bad = build.pod("a", "rs1"), build.pod("b", "rs2", build.waiting("ErrImagePull"))
    assert build.judge(deployment, *sets, good, bad).reason is Reason.IMAGE_PULL_FAILED


def test_pods_that_leave_or_were_replaced_do_not_matter(build: Any) -> None:
    leaving = build.pod("web-0", "rs2", build.waiting("ImagePullBackOff"))
    leaving["metadata"]["deletionTimestamp"] = build.ago(3)
    evicted = build.pod("web-1", "rs2", phase="Failed", reason="Evicted")
    fresh = build.pod("web-2", "rs2", build.waiting("ContainerCreating"))
    verdict = build.judge(build.rolling(), build.replica_set(), leaving, evicted, fresh)
    assert seen(verdict) == (State.PROGRESSING, Reason.PODS_STARTING)
    verdict = build.judge(build.rolling(), build.replica_set(), leaving, evicted)
    assert seen(verdict) == (State.FAILED, Reason.POD_EVICTED)
    assert "Evicted" in verdict.message


def test_equal_causes_are_grouped_with_an_example(build: Any) -> None:
    pods = [build.pod(f"web-{i}", "rs2", build.waiting("ErrImagePull")) for i in (2, 1)]
    verdict = build.judge(build.rolling(), build.replica_set(), *pods, build.pod("web-3"))
    assert verdict.message.startswith(
        "2 of 3 pods: image web:1 of container web cannot be pulled, e.g. pod web-1; check "
    )
    assert verdict.turn is Turn.USER


def test_many_different_causes_are_bounded_and_counted(build: Any) -> None:
    pods = [
        build.pod(f"web-{i}", "rs2", build.waiting("CreateContainerConfigError", f'secret "s{i}"'))
        for i in range(9)
    ]
    verdict = build.judge(build.rolling(9), build.replica_set(), *pods)
    assert "and 6 other causes" in verdict.message
    assert len(verdict.message) <= 1024
    assert len(verdict.evidence) <= 8


def test_a_doomed_pod_outranks_one_that_waits_for_a_node(build: Any) -> None:
    unplaced = build.pod("a", "rs2", phase="Pending", containerStatuses=[])
    unplaced["status"]["conditions"] = [build.condition("PodScheduled", "False", "Unschedulable")]
    broken = build.pod("b", "rs2", build.waiting("ErrImagePull"))
    verdict = build.judge(build.rolling(), build.replica_set(), unplaced, broken)
    assert seen(verdict) == (State.FAILED, Reason.IMAGE_PULL_FAILED)


def test_order_of_pods_and_conditions_changes_nothing(build: Any) -> None:
    pods = [
        build.pod("a", "rs2", build.waiting("ErrImagePull")),
        build.pod("b", "rs2", build.crashing()),
        build.pod("c", "rs2", build.waiting("ImagePullBackOff")),
        build.pod("d", "rs2"),
    ]
    deployment = build.rolling(4)
    verdicts = set()
    for order in itertools.permutations(pods):
        for entry in (deployment, *order):
            entry["status"]["conditions"].reverse()
        verdicts.add(build.judge(deployment, build.replica_set(), *order))
    assert len(verdicts) == 1


# --- creation denied -------------------------------------------------------------------------


def test_B1_quota_denial_is_failed_with_the_quota_named(build: Any) -> None:
    rs = build.replica_set(conditions=[build.quota_failure()])
    verdict = build.judge(build.rolling(updatedReplicas=2, replicas=2), rs)
    assert seen(verdict) == (State.FAILED, Reason.QUOTA_EXCEEDED)
    assert verdict.message == (
        "quota small leaves no room for the pods: one asks for pods=1, the quota is pods=2;"
        " raise the quota or ask for less"
    )


def test_B1_quota_denial_reads_the_same_at_each_try(build: Any) -> None:
    texts = {
        build.judge(
            build.rolling(), build.replica_set(conditions=[build.quota_failure(word, used)])
        ).message
        for word, used in (("abcde", 2), ("fghij", 2), ("fghij", 5))
    }
    assert len(texts) == 1


def test_B1_quota_denial_is_seen_on_the_deployment_itself(build: Any) -> None:
    deployment = build.rolling(updatedReplicas=0)
    deployment["status"]["conditions"].append(build.quota_failure())
    assert compute(deployment).reason is Reason.QUOTA_EXCEEDED


def test_B1_pod_security_denial_is_the_users_turn(build: Any) -> None:
    text = (
        'pods "web-5d4f-abcde" is forbidden: violates PodSecurity "restricted:latest":'
        " runAsNonRoot != true"
    )
    failure = build.condition("ReplicaFailure", "True", "FailedCreate", text)
    verdict = build.judge(build.rolling(), build.replica_set(conditions=[failure]))
    assert (verdict.reason, verdict.turn) == (Reason.POD_SECURITY_VIOLATED, Turn.USER)
    assert "PodSecurity" in verdict.message
    assert "abcde" not in verdict.message


def test_D7_bare_replica_set_denied_by_quota_is_failed(build: Any) -> None:
    rs = build.replica_set(conditions=[build.quota_failure()])
    assert seen(build.judge(rs)) == (State.FAILED, Reason.QUOTA_EXCEEDED)


# --- pods that cannot be read ----------------------------------------------------------------


@pytest.mark.parametrize("unsynced", [("Pod",), ("ReplicaSet",)])
def test_unread_pods_are_told_when_it_matters(build: Any, unsynced: tuple[str, ...]) -> None:
    world = build.world(build.replica_set(), unsynced=unsynced)
    verdict = compute(build.rolling(), related=world)
    assert seen(verdict) == (State.PROGRESSING, Reason.PODS_NOT_READY)
    assert f"{unsynced[0]} objects could not be read" in verdict.message
    ready = compute(build.deployment(), related=world)
    assert ready.ready
    assert "could not" not in ready.message


def test_without_related_the_own_status_decides(build: Any) -> None:
    assert compute(build.deployment()).ready
    assert "not looked at" in compute(build.rolling()).message


# --- ReplicaSet, StatefulSet, DaemonSet ------------------------------------------------------


def test_R2_stateful_set_numbers(build: Any) -> None:
    assert build.judge(build.stateful_set()).ready
    assert build.judge(build.stateful_set(0)).reason is Reason.SCALED_TO_ZERO
    assert build.judge(build.stateful_set(readyReplicas=2)).reason is Reason.PODS_NOT_READY
    assert build.judge(build.stateful_set(replicas=4)).reason is Reason.SCALING_DOWN
    assert build.judge(build.stateful_set(updateRevision="r2")).reason is Reason.ROLLING_OUT


def test_R2_stateful_set_partition(build: Any) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    behind = build.stateful_set(strategy=strategy, updatedReplicas=0, updateRevision="r2")
    assert build.judge(behind).reason is Reason.ROLLING_OUT
    held = build.stateful_set(strategy=strategy, updatedReplicas=1, updateRevision="r2")
    assert build.judge(held).ready


def test_D6_stateful_set_on_delete_with_nothing_ready_is_progressing(build: Any) -> None:
    strategy = {"type": "OnDelete"}
    verdict = build.judge(build.stateful_set(strategy=strategy, readyReplicas=0))
    assert seen(verdict) == (State.PROGRESSING, Reason.PODS_NOT_READY)
    verdict = build.judge(
        build.stateful_set(strategy=strategy, updatedReplicas=1, updateRevision="r2")
    )
    assert verdict.ready
    assert "1 of 3 pods are of the new revision" in verdict.message


def test_R2_stateful_set_waits_for_min_ready_seconds(build: Any) -> None:
    young = build.stateful_set(availableReplicas=0)
    assert build.judge(young).reason is Reason.PODS_NOT_READY
    del young["status"]["availableReplicas"]  # not counted before Kubernetes 1.22
    assert build.judge(young).ready
    young["spec"]["minReadySeconds"] = 10
    assert build.judge(young).reason is Reason.PODS_NOT_READY


def test_R2_stateful_set_names_a_broken_pod_of_an_old_revision(build: Any) -> None:
    pod = build.pod("db-0", "s", build.waiting("ImagePullBackOff"))
    verdict = build.judge(build.stateful_set(readyReplicas=2, updateRevision="r2"), pod)
    assert seen(verdict) == (State.FAILED, Reason.IMAGE_PULL_FAILED)


def test_R3_daemon_set_numbers(build: Any) -> None:
    assert build.judge(build.daemon_set()).ready
    assert build.judge(build.daemon_set(updatedNumberScheduled=1)).reason is Reason.ROLLING_OUT
    assert build.judge(build.daemon_set(numberAvailable=1)).reason is Reason.PODS_NOT_READY
    assert seen(build.judge(build.daemon_set(0))) == (State.READY, Reason.NO_MATCHING_NODES)


def test_R3_daemon_set_on_delete_is_ready_with_old_pods(build: Any) -> None:
    held = build.daemon_set(updatedNumberScheduled=0)
    held["spec"]["updateStrategy"] = {"type": "OnDelete"}
    verdict = build.judge(held)
    assert verdict.ready
    assert "0 of 2 pods" in verdict.message


def test_R3_daemon_set_nobody_has_counted_is_unknown(build: Any) -> None:
    uncounted = build.daemon_set()
    del uncounted["status"]["desiredNumberScheduled"]
    assert seen(build.judge(uncounted)) == (State.UNKNOWN, Reason.STATUS_NOT_REPORTED)


def test_R3_daemon_set_looks_at_pods_of_the_newest_template(build: Any) -> None:
    old = build.pod("a", "ds", build.waiting("ErrImagePull"))
    old["metadata"]["labels"] = {"pod-template-generation": "1"}
    short = build.daemon_set(numberReady=1, numberAvailable=1)
    assert build.judge(short, old).state is State.PROGRESSING
    old["metadata"]["labels"] = {"pod-template-generation": "2"}
    assert build.judge(short, old).reason is Reason.IMAGE_PULL_FAILED


def test_R4_replica_set_numbers(build: Any) -> None:
    rs = build.replica_set()
    assert build.judge(rs).reason is Reason.PODS_NOT_READY
    rs["status"].update(replicas=3, readyReplicas=3, availableReplicas=3)
    assert build.judge(rs).ready
    rs["status"]["replicas"] = 4
    assert build.judge(rs).reason is Reason.SCALING_DOWN


def test_R4_replica_set_with_pods_of_other_labels_is_progressing(build: Any) -> None:
    rs = build.replica_set()
    rs["status"].update(replicas=3, readyReplicas=3, availableReplicas=3, fullyLabeledReplicas=2)
    assert seen(build.judge(rs)) == (State.PROGRESSING, Reason.ROLLING_OUT)
    rs["status"]["fullyLabeledReplicas"] = 3
    assert build.judge(rs).ready


def test_R4_replica_set_needs_its_pods_available(build: Any) -> None:
    rs = build.replica_set()
    rs["status"].update(replicas=3, readyReplicas=3, availableReplicas=2)
    assert seen(build.judge(rs)) == (State.PROGRESSING, Reason.PODS_NOT_READY)


def test_R4_replication_controller_is_judged_alike(build: Any) -> None:
    numbers = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}
    status = {**numbers, "observedGeneration": 1}
    controller = build.thing("v1", "ReplicationController", status, spec={"replicas": 2})
    assert build.judge(controller).ready
    controller["status"]["readyReplicas"] = 1
    assert not build.judge(controller).ready
    controller["status"] = {"replicas": 2}
    assert build.judge(controller).reason is Reason.GENERATION_NOT_OBSERVED
    refused = {**numbers, "observedGeneration": 1, "conditions": [build.quota_failure()]}
    controller["status"] = refused
    assert build.judge(controller).reason is Reason.QUOTA_EXCEEDED


def test_R1_deployment_paused_over_broken_pods_says_so(build: Any) -> None:
    deployment = build.rolling()
    deployment["spec"]["paused"] = True
    broken = build.pod("web-1", "rs2", build.waiting("ErrImagePull"))
    verdict = build.judge(deployment, build.replica_set(), broken)
    assert seen(verdict) == (State.SUSPENDED, Reason.PAUSED)
    assert "meanwhile image web:1 of container web cannot be pulled" in verdict.message
    assert "meanwhile" not in build.judge(deployment, build.replica_set(), build.pod()).message
