"""Sizes of replica sets during a rollout: bounds that hold at every step, and its end."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from konstat.actors import rollout
from konstat.actors.replicaset_plan import replicas_of


def deployment(replicas: int, surge: int | str = "25%", away: int | str = "25%") -> dict[str, Any]:
    rolling = {"maxSurge": surge, "maxUnavailable": away}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"image": "new"}]}}
    return {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "template": template,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
        },
    }


def replica_set(name: str, replicas: int, available: int | None = None) -> dict[str, Any]:
    ready = replicas if available is None else available
    return {
        "metadata": {"name": name, "creationTimestamp": f"2026-01-01T00:00:0{name[-1]}Z"},
        "spec": {"replicas": replicas},
        "status": {"replicas": replicas, "availableReplicas": ready},
    }


def test_bounds_round_the_surge_up_and_the_unavailable_down() -> None:
    assert rollout.bounds(deployment(3)) == (1, 0)
    assert rollout.bounds(deployment(10)) == (3, 2)
    assert rollout.bounds(deployment(10, 0, 0)) == (0, 1)
    assert rollout.bounds(deployment(1, 0, "10%")) == (0, 1)
    assert rollout.bounds(deployment(2, "100%", 5)) == (2, 2)
    assert rollout.bounds(deployment(0)) == (0, 0)
    recreate = deployment(3)
    recreate["spec"]["strategy"] = {"type": "Recreate"}
    assert rollout.bounds(recreate) == (0, 0)


def test_a_new_set_begins_with_the_surge() -> None:
    old = replica_set("web-0", 10)
    assert rollout.new_size(deployment(10), [old], None) == 3
    assert rollout.new_size(deployment(10, 0, 1), [old], None) == 0


def test_pods_that_are_not_available_go_first() -> None:
    old = [replica_set("web-0", 3, 3), replica_set("web-1", 2, 0)]
    new = replica_set("web-2", 1, 0)
    assert rollout.shrink_old(deployment(5, 1, 0), old, new) == {}
    old = [replica_set("web-0", 5, 5), replica_set("web-1", 2, 0)]
    assert rollout.shrink_old(deployment(5, 3, 0), old, new) == {"web-1": 0}


@given(
    replicas=st.integers(0, 12),
    surge=st.integers(0, 5) | st.sampled_from(["0%", "25%", "100%"]),
    away=st.integers(0, 5) | st.sampled_from(["0%", "25%", "100%"]),
    before=st.lists(st.integers(0, 6), min_size=1, max_size=3),
    readiness=st.randoms(use_true_random=False),
)
def test_a_rollout_keeps_its_bounds_and_ends(
    replicas: int, surge: int | str, away: int | str, before: list[int], readiness: Any
) -> None:
    wanted = deployment(replicas, surge, away)
    most, least = rollout.bounds(wanted)
    old = [replica_set(f"web-{i}", size) for i, size in enumerate(before)]
    new = replica_set("web-9", 0)
    for _ in range(200):
        total = rollout.total([*old, new])
        ready = rollout.available([*old, new])
        size = rollout.new_size(wanted, [*old, new], new)
        if size != replicas_of(new):
            assert total - replicas_of(new) + size <= max(total, replicas + most)
            new["spec"]["replicas"] = size
        else:
            sizes = rollout.shrink_old(wanted, old, new)
            for one in old:
                one["spec"]["replicas"] = sizes.get(one["metadata"]["name"], replicas_of(one))
        for one in [*old, new]:
            have = one["status"]["availableReplicas"]
            limit = replicas_of(one)
            one["status"]["availableReplicas"] = min(limit, have + readiness.randint(0, 1))
        if ready >= replicas - least:
            assert rollout.available([*old, new]) >= replicas - least
    for one in [*old, new]:
        one["status"]["availableReplicas"] = replicas_of(one)
    assert (replicas_of(new), rollout.total(old)) == (replicas, 0)


@given(
    replicas=st.integers(0, 20),
    sizes=st.lists(st.integers(1, 9), min_size=2, max_size=4),
)
def test_scaling_shares_out_in_proportion(replicas: int, sizes: list[int]) -> None:
    wanted = deployment(replicas)
    surge, _ = rollout.bounds(wanted)
    old = [replica_set(f"web-{i}", size, 0) for i, size in enumerate(sizes)]
    for one in old:
        one["metadata"]["annotations"] = {rollout.MAXIMUM: str(sum(sizes)), rollout.DESIRED: "1"}
    new = old.pop()
    found = rollout.scale(wanted, old, new)
    allowed = replicas + surge if replicas else 0
    assert all(size >= 0 for size in found.values())
    # What rounding leaves goes to the largest set, which does not go below none.
    assert sum(found.values()) >= allowed
    if allowed >= sum(sizes):
        assert sum(found.values()) == allowed
    else:
        assert sum(found.values()) < sum(sizes)


def test_a_single_set_in_use_gets_everything() -> None:
    old = [replica_set("web-0", 0), replica_set("web-1", 3)]
    assert rollout.scale(deployment(7), old, None) == {"web-1": 7}
    assert rollout.scale(deployment(7), [replica_set("web-0", 0)], replica_set("web-1", 0)) == {
        "web-1": 7
    }
    assert rollout.scale(deployment(7), [], None) == {}


def test_the_oldest_set_of_the_template_is_the_new_one() -> None:
    wanted = deployment(1)
    sets = [replica_set("web-3", 1), replica_set("web-1", 1), replica_set("web-2", 1)]
    for one in sets[:2]:
        one["spec"]["template"] = wanted["spec"]["template"] | {
            "metadata": {"labels": {"app": "web", rollout.HASH_LABEL: "x"}}
        }
    found = rollout.new_set(wanted, sets)
    assert found is not None
    assert found["metadata"]["name"] == "web-1"


def test_revisions_are_counted_and_remembered() -> None:
    wanted = deployment(3)
    wanted["metadata"]["annotations"] = {"team": "a", rollout.REVISION: "7", "kubernetes.io/x": "y"}
    fresh = rollout.set_annotations(wanted, {}, next_revision=2, exists=False)
    assert fresh == {
        "team": "a",
        "kubernetes.io/x": "y",
        rollout.REVISION: "2",
        rollout.DESIRED: "3",
        rollout.MAXIMUM: "4",
    }
    known = {"metadata": {"annotations": {rollout.REVISION: "2", rollout.REVISION_HISTORY: "1"}}}
    again = rollout.set_annotations(wanted, known, next_revision=5, exists=True)
    assert (again[rollout.REVISION], again[rollout.REVISION_HISTORY]) == ("5", "1,2")
    same = rollout.set_annotations(wanted, known, next_revision=1, exists=True)
    assert (same[rollout.REVISION], same[rollout.REVISION_HISTORY]) == ("2", "1")


def test_only_old_and_empty_history_is_deleted() -> None:
    wanted = deployment(1)
    wanted["spec"]["revisionHistoryLimit"] = 1
    sets = [replica_set(f"web-{i}", size) for i, size in enumerate([0, 1, 0, 0])]
    for number, one in enumerate(sets):
        one["metadata"]["annotations"] = {rollout.REVISION: str(number)}
    found = [one["metadata"]["name"] for one in rollout.superfluous(wanted, sets)]
    assert found == ["web-0", "web-2"]
