from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.cli.status.tree import Gathered, TreeNode, build
from konstat.cli.wait.goal import parse_goal
from konstat.cli.wait.looking import Look, Target, Watcher
from konstat.kinds import Deployment, Job, Node
from konstat.objects.kind import Kind

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WIDGET = Kind(group="example.com", version="v1", kind="Widget", plural="widgets")
PATIENCE_SECONDS = 30.0


def _node(*, name: str = "w", uid: str = "1", generation: int = 2, **parts: Any) -> TreeNode:
    content = {
        "apiVersion": WIDGET.api_version,
        "kind": WIDGET.kind,
        "metadata": {"name": name, "uid": uid, "generation": generation},
        **parts,
    }
    return build(Gathered(resources=(content,)), now=NOW)[0]


def _ready(status: str, **more: Any) -> Any:
    return {"conditions": [{"type": "Ready", "status": status, **more}]}


def _watcher(goal: str, *targets: Target) -> Watcher:
    return Watcher(
        targets or (Target(kind=WIDGET, name="w"),),
        parse_goal(goal),
        place="in namespace demo",
        patience_seconds=PATIENCE_SECONDS,
    )


def _look(goal: str, *nodes: TreeNode) -> Look:
    return _watcher(goal).look(nodes, monotonic=0.0)


def test_what_is_ready_is_reached() -> None:
    assert _look("ready", _node(status=_ready("True"))).reached == ("Widget w is ready",)


def test_an_old_ready_is_not_reached() -> None:
    for status in (
        _ready("True", observedGeneration=1),
        {"observedGeneration": 1, **_ready("True")},
        {"observedGeneration": 3, **_ready("True")},
    ):
        assert not _look("ready", _node(status=status)).decided
        assert not _look("condition=Ready", _node(status=status)).decided


def test_a_conditions_own_generation_goes_before_that_of_the_status() -> None:
    status = {"observedGeneration": 1, **_ready("True", observedGeneration=2)}
    assert _look("condition=Ready", _node(status=status)).reached


def test_a_condition_is_compared_in_any_case_and_with_its_value() -> None:
    node = _node(status={"conditions": [{"type": "Degraded", "status": "False"}]})
    assert _look("condition=degraded=false", node).reached
    pending = _look("condition=Degraded", node)
    assert "Degraded is False" in pending.pending[0]
    assert "has no condition Other" in _look("condition=Other", node).pending[0]


def test_a_name_that_does_not_exist_is_waited_for() -> None:
    look = _look("ready")
    assert look.pending == ("Widget w does not exist in namespace demo",)
    every = _watcher("ready", Target(kind=WIDGET)).look([], monotonic=0.0)
    assert every.pending == ("there are no widgets.example.com in namespace demo",)


def test_what_has_no_namespace_is_not_missed_in_one() -> None:
    watcher = _watcher("ready", Target(kind=Node.kind), Target(kind=Node.kind, name="a"))
    assert watcher.look([], monotonic=0.0).pending == (
        "there are no nodes",
        "Node a does not exist",
    )


def test_nothing_is_decided_on_what_was_before_the_server_went() -> None:
    stalled = {"conditions": [{"type": "Stalled", "status": "True"}]}
    for look in (
        _look("ready", _node(status=stalled)),
        _look("ready", _node(status=_ready("True"))),
    ):
        assert look.decided
        away = look.without_news("connection\x1b refused")
        assert not away.decided
        assert away.pending == ("no news from the server: connection refused",)
    waiting = _look("ready").without_news("refused")
    assert len(waiting.pending) == 2


def test_what_was_never_there_is_not_said_to_be_gone() -> None:
    assert _look("gone").reached == ("Widget w does not exist in namespace demo",)
    every = _watcher("gone", Target(kind=WIDGET)).look([], monotonic=0.0)
    assert every.reached == ("there are no widgets.example.com in namespace demo",)


def test_all_targets_and_all_objects_of_a_kind_must_be_as_wanted() -> None:
    good, bad = _node(status=_ready("True")), _node(name="v", uid="2", status=_ready("Unknown"))
    watcher = _watcher("ready", Target(kind=WIDGET))
    assert not watcher.look([good, bad], monotonic=0.0).decided
    assert watcher.look([good], monotonic=0.0).reached
    both = _watcher("ready", Target(kind=WIDGET, name="w"), Target(kind=WIDGET, name="v"))
    assert both.look([good], monotonic=0.0).pending


def test_a_final_failure_dooms_at_once_and_names_the_cause() -> None:
    stalled = {"conditions": [{"type": "Stalled", "status": "True", "message": "no such zone"}]}
    look = _look("ready", _node(status=stalled))
    assert "will not be ready" in look.doomed[0]
    assert "no such zone" in look.doomed[0]


def test_whose_turn_it_is_is_said_once() -> None:
    for text in ("no such zone", "no such zone (the user must act)"):
        stalled = {"type": "Stalled", "status": "True", "reason": "NoZone", "message": text}
        [line] = _look("ready", _node(status={"conditions": [stalled]})).doomed
        assert line.endswith("no such zone (the user must act)")


def _failed_job() -> TreeNode:
    condition = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
    content = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "uid": "9"},
        "status": {"conditions": [condition]},
    }
    return build(Gathered(resources=(content,)), now=NOW)[0]


def test_a_failed_job_will_never_be_complete_but_it_is_failed() -> None:
    job = Target(kind=Job.kind, name="j")
    assert _watcher("condition=complete", job).look([_failed_job()], monotonic=0.0).doomed
    assert _watcher("condition=Failed", job).look([_failed_job()], monotonic=0.0).reached
    assert not _watcher("condition=Other", job).look([_failed_job()], monotonic=0.0).decided


def _crashing() -> TreeNode:
    container = {"name": "app", "restartCount": 3, "state": {"waiting": {}}}
    container["state"] = {"waiting": {"reason": "CrashLoopBackOff"}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "p", "ownerReferences": [{"uid": "r"}]},
        "spec": {"containers": [{"name": "app"}]},
        "status": {"phase": "Running", "containerStatuses": [container]},
    }
    numbers = {"deployment.kubernetes.io/revision": "1"}
    owned = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "r",
            "uid": "r",
            "annotations": numbers,
            "ownerReferences": [{"uid": "d"}],
        },
        "spec": {"replicas": 1},
        "status": {"replicas": 1},
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "uid": "d", "generation": 1, "annotations": numbers},
        "spec": {"replicas": 1},
        "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1},
    }
    objects = {("apps", "ReplicaSet"): [owned], ("", "Pod"): [pod]}
    return build(Gathered(resources=(deployment,), objects=objects), now=NOW)[0]


def test_a_failure_that_may_pass_is_borne_for_a_while() -> None:
    watcher = _watcher("ready", Target(kind=Deployment.kind, name="d"))
    node = _crashing()
    first = watcher.look([node], monotonic=100.0)
    assert not first.decided
    assert first.again_seconds == PATIENCE_SECONDS
    assert not watcher.look([node], monotonic=129.0).decided
    assert "CrashLooping" in watcher.look([node], monotonic=130.0).doomed[0]


def test_a_recovery_in_between_begins_the_patience_anew() -> None:
    watcher = _watcher("ready", Target(kind=Deployment.kind, name="d"))
    node = _crashing()
    watcher.look([node], monotonic=0.0)
    watcher.look([], monotonic=20.0)
    assert not watcher.look([node], monotonic=40.0).decided


def test_gone_means_those_that_were_there_at_first() -> None:
    watcher = _watcher("gone")
    first = watcher.look([_node(uid="1")], monotonic=0.0)
    assert first.pending == ("Widget w: nobody has asked for its deletion",)
    going = _node(uid="1")
    assert not watcher.look([going], monotonic=1.0).decided
    assert watcher.look([_node(uid="2")], monotonic=2.0).reached == ("Widget w is gone",)
    assert _look("delete").reached


def test_what_keeps_an_object_from_going_is_named() -> None:
    content = {
        "apiVersion": WIDGET.api_version,
        "kind": WIDGET.kind,
        "metadata": {
            "name": "w",
            "uid": "1",
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["example.com/guard"],
        },
    }
    node = build(Gathered(resources=(content,)), now=NOW)[0]
    assert "example.com/guard" in _look("gone", node).pending[0]


@pytest.mark.parametrize("text", ["", "ready=", "conditon=Ready", "condition=", "condition==True"])
def test_other_goals_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="give ready, suspended, gone"):
        parse_goal(text)


@given(st.text())
def test_any_text_is_a_goal_or_refused(text: str) -> None:
    try:
        goal = parse_goal(text)
    except ValueError:
        return
    assert goal.what in ("ready", "suspended", "gone", "condition")
