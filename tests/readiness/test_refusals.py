"""Pods that the server refuses, and pods that do not go, where no condition tells: B1 and B11."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.readiness import Reason, State, Turn


def seen(readiness: Any) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


# --- what the server refuses, told by events only --------------------------------------------

DENIALS = [
    ('is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2',
     Reason.QUOTA_EXCEEDED, Turn.USER),
    ('is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true',
     Reason.POD_SECURITY_VIOLATED, Turn.USER),
    ('is forbidden: error looking up service account n/web: serviceaccount "web" not found',
     Reason.SERVICE_ACCOUNT_MISSING, Turn.USER),
    ('Internal error occurred: failed calling webhook "v.example.com": no endpoints available',
     Reason.WEBHOOK_FAILED, Turn.OWNER),
    ('admission webhook "v.example.com" denied the request: no team label',
     Reason.PODS_FORBIDDEN, Turn.OWNER),
]  # fmt: skip


def denial(kind: str, words: str, pod: str = "db-0") -> str:
    named = f'pods "{pod}" {words}' if words.startswith("is ") else words
    if kind == "StatefulSet":
        return f"create Pod {pod} in StatefulSet db failed error: {named}"
    return f"Error creating: {named}"


@pytest.mark.parametrize(("words", "reason", "turn"), DENIALS)
@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet", "Job"])
def test_B1_a_refusal_that_only_events_tell(
    build: Any, kind: str, words: str, reason: Reason, turn: Turn
) -> None:
    owner = {
        "StatefulSet": lambda: build.stateful_set(replicas=0, readyReplicas=0),
        "DaemonSet": lambda: build.daemon_set(currentNumberScheduled=0, numberReady=0),
        "Job": lambda: build.thing("batch/v1", "Job", {"conditions": []}, spec={}),
    }[kind]()
    uid = owner["metadata"]["uid"]
    texts: set[str] = set()
    for pod in ("db-0", "db-x7x2p"):
        verdict = build.judge(owner, build.event(uid, "FailedCreate", denial(kind, words, pod)))
        assert (*seen(verdict), verdict.turn) == (State.FAILED, reason, turn)
        assert verdict.recheck_at is not None
        texts.add(verdict.message)
    assert len(texts) == 1
    assert "db-" not in texts.pop()
    assert build.judge(owner).state is State.PROGRESSING


@pytest.mark.parametrize(("words", "reason", "turn"), DENIALS)
def test_B1_a_refusal_reads_as_in_the_condition_of_a_replica_set(
    build: Any, words: str, reason: Reason, turn: Turn
) -> None:
    named = f'pods "web-x" {words}' if words.startswith("is ") else words
    failure = build.condition("ReplicaFailure", "True", "FailedCreate", named)
    verdict = build.judge(build.replica_set(conditions=[failure]))
    assert (*seen(verdict), verdict.turn) == (State.FAILED, reason, turn)
    owner = build.stateful_set(replicas=0, readyReplicas=0)
    told = build.judge(owner, build.event("s", "FailedCreate", denial("StatefulSet", words)))
    assert told.message == verdict.message


def test_B1_a_refusal_is_past_once_a_younger_pod_is_there(build: Any) -> None:
    """An ordered StatefulSet makes its pods one by one: fewer than wanted is not refused."""
    owner = build.stateful_set(replicas=1, readyReplicas=0)
    told = build.event("s", "FailedCreate", denial("StatefulSet", DENIALS[0][0]), ago=60)
    pod = build.pod("db-0", "s", build.waiting("ContainerCreating"), phase="Pending")
    for ago, reason in ((30, Reason.PODS_STARTING), (90, Reason.QUOTA_EXCEEDED)):
        pod["metadata"]["creationTimestamp"] = build.ago(ago)
        assert build.judge(owner, pod, told).reason is reason
    complete = build.stateful_set()
    assert build.judge(complete, told).ready


# --- pods that do not go ---------------------------------------------------------------------


def test_B11_a_stuck_pod_keeps_the_next_one_of_a_stateful_set_from_coming(build: Any) -> None:
    pod = build.pod("db-0", "s")
    pod["spec"]["nodeName"] = "n1"
    pod["metadata"].update(deletionTimestamp=build.ago(900), finalizers=["a.example.com/x"])
    short = build.stateful_set(readyReplicas=2)
    verdict = build.judge(short, pod, build.node("Unknown"))
    assert (*seen(verdict), verdict.turn) == (
        State.PROGRESSING, Reason.DELETION_STUCK, Turn.OWNER,
    )  # fmt: skip
    assert f"should be gone since {build.ago(900)}" in verdict.message
    assert "finalizers a.example.com/x; node n1 does not answer" in verdict.message
    assert build.judge(build.stateful_set(), pod).ready
    pod["metadata"]["deletionTimestamp"] = build.ago(20)
    assert build.judge(short, pod).reason is Reason.PODS_NOT_READY
    # A Deployment has replaced it long ago.
    pod["metadata"].update(deletionTimestamp=build.ago(900), ownerReferences=build.owned("rs2"))
    assert build.judge(build.deployment(), build.replica_set(), pod, build.pod()).ready
