"""Pure decisions of the workload actors: ReplicaSet, StatefulSet, DaemonSet, Job, claims."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.actors import (
    claims,
    content,
    daemonset_plan,
    deployment_status,
    job_plan,
    pods,
    replicaset_plan,
    statefulset_plan,
)
from konstat.actors.statefulset_plan import Revisions
from konstat.base import clock
from konstat.objects.selector import selector_of

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ago(seconds: float) -> str:
    return clock.timestamp(NOW - timedelta(seconds=seconds))


def pod(
    name: str = "p",
    *,
    ready: float | None = 60.0,
    phase: str = "Running",
    node: str = "n",
    deleting: bool = False,
    **metadata: Any,
) -> dict[str, Any]:
    """A pod that has been ready for ``ready`` seconds (None: it is not)."""
    conditions = (
        [{"type": "Ready", "status": "True", "lastTransitionTime": ago(ready)}]
        if ready is not None
        else []
    )
    found = {"name": name, "uid": f"uid-{name}", "creationTimestamp": ago(600), **metadata}
    if deleting:
        found["deletionTimestamp"] = ago(1)
    return {
        "metadata": found,
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase, "conditions": conditions},
    }


# --- pods -------------------------------------------------------------------------------------


def test_a_pod_is_available_after_its_time() -> None:
    assert pods.seconds_to_available(pod(ready=3), 10, NOW) == 7.0
    assert pods.available(pod(ready=10), 10, NOW)
    assert pods.seconds_to_available(pod(ready=None), 10, NOW) is None
    assert pods.next_available([pod(ready=3), pod(ready=8), pod(ready=20)], 10, NOW) == 2.0


def test_pods_that_are_missed_least_go_first() -> None:
    cheap = pod("cheap")
    cheap["metadata"]["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": "-5"}
    restarted = pod("restarted")
    restarted["status"]["containerStatuses"] = [{"restartCount": 3}]
    found = pods.deletion_order(
        [
            pod("old", ready=500),
            restarted,
            pod("crowded", node="m"),
            cheap,
            pod("unready", ready=None),
            pod("pending", ready=None, phase="Pending"),
            pod("unbound", ready=None, phase="Pending", node=""),
        ],
        related=[pod("a", node="m"), pod("b", node="m"), pod("c", node="n")],
        now=NOW,
    )
    assert [content.name(p) for p in found] == [
        "unbound",
        "pending",
        "unready",
        "cheap",
        "crowded",
        "restarted",
        "old",
    ]


@pytest.mark.parametrize(("text", "cost"), [("7", 7), ("-3", -3), ("x", 0), ("", 0), ("1.5", 0)])
def test_a_cost_that_cannot_be_read_is_none(text: str, cost: int) -> None:
    marked = pod()
    marked["metadata"]["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": text}
    assert pods.deletion_cost(marked) == cost


# --- claims -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "manager", "owner_goes", "child_goes", "decision"),
    [
        ({"a": "b"}, "me", False, False, "keep"),
        ({"a": "c"}, "me", False, False, "release"),
        ({"a": "c"}, "me", True, False, "ignore"),
        ({"a": "b"}, "other", False, False, "ignore"),
        ({"a": "b"}, "", False, False, "adopt"),
        ({"a": "b"}, "", True, False, "ignore"),
        ({"a": "b"}, "", False, True, "ignore"),
        ({"a": "c"}, "", False, False, "ignore"),
    ],
)
def test_whose_a_child_is(
    labels: dict[str, str], manager: str, owner_goes: bool, child_goes: bool, decision: str
) -> None:
    child = pod(labels=labels, deleting=child_goes)
    if manager:
        child["metadata"]["ownerReferences"] = [{"uid": manager, "controller": True}]
    owner: dict[str, Any] = {"metadata": {"uid": "me"}}
    if owner_goes:
        owner["metadata"]["deletionTimestamp"] = ago(1)
    selector = selector_of({"matchLabels": {"a": "b"}})
    assert claims.decide(owner, selector, child) == decision


# --- ReplicaSet -------------------------------------------------------------------------------


@given(wanted=st.integers(0, 8), active=st.integers(0, 8), ended=st.integers(0, 3))
def test_a_replica_set_counts_active_pods_only(wanted: int, active: int, ended: int) -> None:
    replica_set = {"metadata": {"generation": 2}, "spec": {"replicas": wanted}}
    owned = [pod(f"a{i}") for i in range(active)]
    owned += [pod(f"e{i}", phase="Failed") for i in range(ended)]
    owned += [pod(f"d{i}", deleting=True) for i in range(ended)]
    plan = replicaset_plan.plan(replica_set, owned, related=owned, now=NOW)
    assert active + plan.create - len(plan.surplus) == wanted
    assert not (plan.create and plan.surplus)
    status = replicaset_plan.status(replica_set, owned, failure=None, now=NOW)
    assert (status["replicas"], status["terminatingReplicas"]) == (active, ended)


def test_a_failure_that_is_told_stays_as_it_is_and_goes() -> None:
    replica_set: dict[str, Any] = {"metadata": {}, "spec": {"replicas": 1}}
    first = replicaset_plan.failure("FailedCreate", "quota", now=NOW)
    status = replicaset_plan.status(replica_set, [], failure=first, now=NOW)
    assert status["conditions"] == [first]
    replica_set["status"] = status
    later = replicaset_plan.failure("FailedCreate", "again", now=NOW + timedelta(1))
    assert replicaset_plan.status(replica_set, [], failure=later, now=NOW)["conditions"] == [first]
    assert "conditions" not in replicaset_plan.status(replica_set, [], failure=None, now=NOW)


# --- Deployment conditions --------------------------------------------------------------------


def test_H4_a_transition_time_moves_when_the_status_flips() -> None:
    first = deployment_status.entry("Progressing", "True", "A", "m", NOW)
    later = NOW + timedelta(seconds=9)
    second = deployment_status.entry("Progressing", "True", "B", "m", later)
    [kept] = deployment_status.put([first], second)
    assert kept["lastTransitionTime"] == first["lastTransitionTime"]
    assert kept["lastUpdateTime"] == second["lastUpdateTime"]
    same = deployment_status.entry("Progressing", "True", "B", "other", later)
    assert deployment_status.put([kept], same) == [kept]
    flipped = deployment_status.entry("Progressing", "False", "C", "m", later)
    assert deployment_status.put([kept], flipped) == [flipped]


def test_the_deadline_counts_from_the_last_progress() -> None:
    deployment: dict[str, Any] = {
        "metadata": {"generation": 1},
        "spec": {"progressDeadlineSeconds": 10},
        "status": {
            "conditions": [
                {"type": "Progressing", "reason": "ReplicaSetUpdated", "lastUpdateTime": ago(4)}
            ]
        },
    }
    assert deployment_status.seconds_to_deadline(deployment, now=NOW) == 6.0
    assert not deployment_status.timed_out(deployment, now=NOW)
    assert deployment_status.timed_out(deployment, now=NOW + timedelta(seconds=7))
    deployment["spec"]["progressDeadlineSeconds"] = 2**31 - 1
    assert not deployment_status.timed_out(deployment, now=NOW + timedelta(days=7))


# --- StatefulSet ------------------------------------------------------------------------------


def stateful_set(replicas: int, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "db", "uid": "u"}, "spec": {"replicas": replicas, **spec}}


def member(number: int, revision: str = "new", **options: Any) -> dict[str, Any]:
    return pod(f"db-{number}", labels={"controller-revision-hash": revision}, **options)


BOTH = Revisions(current="old", update="new")


@pytest.mark.parametrize(
    ("name", "number"), [("db-0", 0), ("db-17", 17), ("db-01", None), ("dbx-1", None), ("db", None)]
)
def test_ordinals_are_read_from_names(name: str, number: int | None) -> None:
    assert statefulset_plan.ordinal(stateful_set(1), pod(name)) == number


def test_one_pod_at_a_time_upwards() -> None:
    step = statefulset_plan.plan(stateful_set(3), [member(0)], BOTH, now=NOW)
    assert step.create == [1]
    step = statefulset_plan.plan(stateful_set(3), [member(0, ready=None)], BOTH, now=NOW)
    assert step.create == []
    parallel = stateful_set(3, podManagementPolicy="Parallel")
    assert statefulset_plan.plan(parallel, [], BOTH, now=NOW).create == [0, 1, 2]
    shifted = stateful_set(2, ordinals={"start": 5}, podManagementPolicy="Parallel")
    assert statefulset_plan.plan(shifted, [], BOTH, now=NOW).create == [5, 6]


def test_one_pod_at_a_time_downwards() -> None:
    owned = [member(n) for n in range(4)]
    step = statefulset_plan.plan(stateful_set(2), owned, BOTH, now=NOW)
    assert [content.name(p) for p in step.delete] == ["db-3"]
    owned[3] = member(3, deleting=True)
    assert statefulset_plan.plan(stateful_set(2), owned, BOTH, now=NOW).delete == []


def test_updates_go_downwards_and_stop_at_the_partition() -> None:
    owned = [member(n, "old") for n in range(3)]
    step = statefulset_plan.plan(stateful_set(3), owned, BOTH, now=NOW)
    assert [content.name(p) for p in step.replaced] == ["db-2"]
    owned[2] = member(2, ready=None)
    assert statefulset_plan.plan(stateful_set(3), owned, BOTH, now=NOW).replaced == []
    owned[2] = member(2)
    held = stateful_set(3, updateStrategy={"rollingUpdate": {"partition": 2}})
    assert statefulset_plan.plan(held, owned, BOTH, now=NOW).replaced == []
    assert statefulset_plan.revision_for(held, 1, BOTH) == "old"
    assert statefulset_plan.revision_for(held, 2, BOTH) == "new"
    on_delete = stateful_set(3, updateStrategy={"type": "OnDelete"})
    assert statefulset_plan.plan(on_delete, owned, BOTH, now=NOW).replaced == []


@given(
    replicas=st.integers(0, 5),
    policy=st.sampled_from(["OrderedReady", "Parallel"]),
    names=st.sets(st.integers(0, 6)),
    old=st.sets(st.integers(0, 6)),
)
def test_a_stateful_set_converges(
    replicas: int, policy: str, names: set[int], old: set[int]
) -> None:
    wanted = stateful_set(replicas, podManagementPolicy=policy)
    present = {n: member(n, "old" if n in old else "new") for n in names}
    for _ in range(60):
        step = statefulset_plan.plan(wanted, list(present.values()), BOTH, now=NOW)
        if policy == "OrderedReady":
            assert len(step.create) + len(step.delete) + len(step.replaced) <= 1
        for gone in (*step.delete, *step.replaced):
            del present[int(content.name(gone).removeprefix("db-"))]
        for number in step.create:
            present[number] = member(number)
    assert sorted(present) == list(range(replicas))
    assert all(statefulset_plan.revision_of(p) == "new" for p in present.values())
    status = statefulset_plan.status(wanted, list(present.values()), BOTH, now=NOW)
    assert (status["replicas"], status["currentRevision"]) == (replicas, "new")


# --- DaemonSet --------------------------------------------------------------------------------


def node(name: str, **spec: Any) -> dict[str, Any]:
    labels = spec.pop("labels", {})
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def daemon_set(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {}}
    return {"metadata": {"name": "d", "uid": "u"}, "spec": {"template": template, **spec}}


def test_every_fitting_node_gets_one_pod() -> None:
    nodes = [node("a"), node("b"), node("c", taints=[{"key": "k", "effect": "NoSchedule"}])]
    owned = [pod("one", node="a"), pod("two", node="a"), pod("left", node="gone")]
    plan = daemonset_plan.plan(daemon_set(), nodes, owned)
    assert plan.create == ["b"]
    assert {content.name(p) for p in plan.delete} == {"two", "left"}


def test_a_pod_stays_where_new_ones_may_not_come() -> None:
    cordoned = node("a", taints=[{"key": "k", "effect": "NoSchedule"}])
    evicting = node("b", taints=[{"key": "k", "effect": "NoExecute"}])
    owned = [pod("one", node="a"), pod("two", node="b")]
    plan = daemonset_plan.plan(daemon_set(), [cordoned, evicting], owned)
    assert [content.name(p) for p in plan.delete] == ["two"]
    unready = node("c", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}])
    assert daemonset_plan.should_run(daemon_set(), unready)


def test_a_daemon_pod_is_made_for_its_node() -> None:
    made = daemonset_plan.new_pod(daemon_set(), "a", revision_hash="h")
    assert daemonset_plan.target_node(made) == "a"
    assert made["metadata"]["labels"] == {"a": "b", "controller-revision-hash": "h"}


@given(
    count=st.integers(1, 6),
    away=st.integers(0, 3),
    surge=st.integers(0, 2),
)
def test_a_daemon_set_rolls_within_its_bounds(count: int, away: int, surge: int) -> None:
    bounds = {"maxUnavailable": 0 if surge else away, "maxSurge": surge}
    wanted = daemon_set(updateStrategy={"rollingUpdate": bounds})
    nodes = [node(f"n{i}") for i in range(count)]
    old = {"controller-revision-hash": "old"}
    owned = [pod(f"p{i}", node=f"n{i}", labels=old) for i in range(count)]
    new = {"controller-revision-hash": "new"}
    for turn in range(40):
        plan = daemonset_plan.plan(wanted, nodes, owned)
        if not (plan.create or plan.delete):
            plan = daemonset_plan.roll(wanted, nodes, owned, "new", now=NOW)
        gone = {content.uid(p) for p in plan.delete}
        owned = [p for p in owned if content.uid(p) not in gone]
        served = {pods.node_name(p) for p in owned}
        assert len(served) >= count - (0 if surge else max(1, away))
        owned += [pod(f"{n}-{turn}", node=n, labels=new) for n in plan.create]
        assert len(owned) <= count + surge
    assert [daemonset_plan.updated(p, "new") for p in owned] == [True] * count


# --- Job --------------------------------------------------------------------------------------


@given(st.sets(st.integers(0, 200)))
def test_indexes_survive_their_text(indexes: set[int]) -> None:
    assert job_plan.parse_indexes(job_plan.format_indexes(indexes)) == indexes


def test_indexes_are_written_as_the_server_writes_them() -> None:
    assert job_plan.format_indexes({0, 1, 3, 4, 5, 9}) == "0,1,3-5,9"


@given(st.text(max_size=20))
def test_any_text_of_indexes_is_read(text: str) -> None:
    assert all(n >= 0 for n in job_plan.parse_indexes(text))


def job(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    given = {"parallelism": 1, "completions": 1, **spec}
    return {"metadata": {"name": "j", "uid": "u"}, "spec": given, "status": status or {}}


def task(name: str, phase: str, **options: Any) -> dict[str, Any]:
    return pod(name, phase=phase, ready=None, finalizers=[job_plan.TRACKING], **options)


def test_a_finished_pod_counts_once() -> None:
    counted = job({"succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["uid-b"]}})
    owned = [pod("a", phase="Succeeded"), task("b", "Succeeded"), task("c", "Succeeded")]
    found = job_plan.tally(counted, owned)
    assert (found.succeeded, found.newly_succeeded) == (3, ["uid-c"])
    assert {content.name(p) for p in found.settled} == {"b", "c"}


def test_a_deleted_pod_failed_unless_replacements_wait() -> None:
    owned = [task("a", "Running", deleting=True)]
    assert job_plan.tally(job(), owned).failed == 1
    assert job_plan.tally(job(podReplacementPolicy="Failed"), owned).failed == 0


@pytest.mark.parametrize(
    ("phases", "spec", "reason"),
    [
        (["Succeeded"], {}, "CompletionsReached"),
        (["Failed"], {}, None),
        (["Failed"], {"backoffLimit": 0}, "BackoffLimitExceeded"),
        (["Succeeded", "Running"], {"completions": None, "parallelism": 2}, None),
        (["Succeeded", "Failed"], {"completions": None, "parallelism": 2}, "CompletionsReached"),
        (["Succeeded"], {"suspend": True}, None),
        (["Running"], {"activeDeadlineSeconds": 5}, "DeadlineExceeded"),
        (["Running"], {"activeDeadlineSeconds": 500}, None),
    ],
)
def test_how_a_job_ends(phases: list[str], spec: dict[str, Any], reason: str | None) -> None:
    owned = [task(f"p{i}", phase) for i, phase in enumerate(phases)]
    asked = job({"startTime": ago(60)}, **spec)
    found = job_plan.ending(asked, job_plan.tally(asked, owned), now=NOW)
    assert (found.reason if found else None) == reason


def test_failures_in_a_row_wait_longer_each_time() -> None:
    def failed(name: str, seconds: float) -> dict[str, Any]:
        found = task(name, "Failed")
        found["status"]["containerStatuses"] = [
            {"state": {"terminated": {"finishedAt": ago(seconds)}}}
        ]
        return found

    one = [failed("a", 4)]
    assert job_plan.backoff_seconds(job(), one, now=NOW) == 6.0
    assert job_plan.backoff_seconds(job(), [*one, failed("b", 30)], now=NOW) == 16.0
    assert job_plan.backoff_seconds(job(), [], now=NOW) == 0.0


@given(
    done=st.integers(0, 6), running=st.integers(0, 4), parallelism=st.integers(0, 5),
    completions=st.integers(0, 6),
)  # fmt: skip
def test_no_more_pods_than_are_needed(
    done: int, running: int, parallelism: int, completions: int
) -> None:
    asked = job({"succeeded": done}, parallelism=parallelism, completions=completions)
    found = job_plan.tally(asked, [task(f"r{i}", "Running") for i in range(running)])
    wanted = job_plan.wanted_active(asked, found)
    assert 0 <= wanted <= parallelism
    assert wanted <= max(0, completions - done)


def test_missing_indexes_are_the_lowest() -> None:
    asked = job({"completedIndexes": "0,2"}, completions=5, completionMode="Indexed")
    active = task("r", "Running", annotations={job_plan.INDEX: "3"})
    found = job_plan.tally(asked, [active])
    assert job_plan.missing_indexes(asked, found, 9) == [1, 4]


# --- shared -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "of", "up", "number"),
    [
        ("25%", 10, True, 3),
        ("25%", 10, False, 2),
        (4, 10, True, 4),
        (None, 10, True, 7),
        ("x", 1, True, 0),
    ],
)
def test_shares(value: int | str | None, of: int, up: bool, number: int) -> None:
    assert content.scaled(value, of, round_up=up, default=7) == number


def test_hashes_depend_on_content_not_on_order() -> None:
    one = content.template_hash({"a": 1, "b": {"c": [1]}}, None)
    assert one == content.template_hash({"b": {"c": [1]}, "a": 1}, None)
    assert one != content.template_hash({"b": {"c": [1]}, "a": 1}, 1)
    assert 1 <= len(one) <= 10
    assert set(one) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_long_names_keep_their_hash() -> None:
    assert content.name_with("a" * 80, "h4sh") == "a" * 58 + "-h4sh"
