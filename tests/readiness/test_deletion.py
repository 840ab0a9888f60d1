"""Deletions that last: class B11 of the root causes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from konstat.readiness import Reason, State, Turn, compute


def seen(readiness: Any) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


def leaving(build: Any, *finalizers: Any, ago: float = 10, kind: str = "ConfigMap") -> Any:
    thing = build.thing("v1", kind, {})
    thing["metadata"].update(deletionTimestamp=build.ago(ago), finalizers=list(finalizers))
    return thing


def test_B11_a_young_deletion_is_nobodys_turn_and_names_its_finalizers(build: Any) -> None:
    verdict = build.judge(leaving(build, "b.example.com/x", "a.example.com/y"))
    assert (*seen(verdict), verdict.turn) == (State.TERMINATING, Reason.DELETING, Turn.NOBODY)
    assert verdict.message == (
        "is being deleted; waits for finalizers: a.example.com/y, b.example.com/x"
    )
    assert verdict.recheck_at == build.now + timedelta(seconds=290)


def test_B11_a_deletion_that_lasts_is_stuck_since_when(build: Any) -> None:
    texts = {
        build.judge(
            leaving(build, "a.example.com/y", ago=900), now=build.now + timedelta(seconds=later)
        ).message
        for later in (0, 1, 86400)
    }
    assert len(texts) == 1  # a duration would tick
    assert texts == {
        f"is being deleted since {build.ago(900)}; waits for finalizers: a.example.com/y;"
        f" {Reason.DELETION_STUCK.advice}"
    }
    verdict = build.judge(leaving(build, "a.example.com/y", ago=900))
    assert (*seen(verdict), verdict.turn) == (
        State.TERMINATING, Reason.DELETION_STUCK, Turn.OWNER,
    )  # fmt: skip
    assert ("metadata.finalizers", "a.example.com/y") in [
        (e.path, e.value) for e in verdict.evidence
    ]
    assert build.judge(leaving(build, "x", ago=900), now=None).reason is Reason.DELETING


def test_B11_a_pod_that_its_lost_node_holds_says_so(build: Any) -> None:
    pod = leaving(build, ago=900, kind="Pod")
    pod["spec"] = {"nodeName": "n1"}
    assert "node n1 does not answer" in build.judge(pod, build.node("Unknown")).message
    assert "no finalizer holds it" in build.judge(pod, build.node()).message


@pytest.mark.parametrize(
    "name",
    ["NamespaceDeletionDiscoveryFailure", "NamespaceDeletionContentFailure",
     "NamespaceFinalizersRemaining"],
)  # fmt: skip
def test_B11_a_namespace_tells_what_it_still_holds(build: Any, name: str) -> None:
    namespace = leaving(build, kind="Namespace")
    condition = build.condition(name, "True", "X", "metrics.example.com/v1: no answer")
    namespace["status"] = {"phase": "Terminating", "conditions": [condition]}
    assert "metrics.example.com/v1: no answer" in build.judge(namespace).message
    other = {**namespace, "kind": "ConfigMap"}
    assert "no answer" not in build.judge(other).message


@pytest.mark.parametrize("when", ["x", "", 5, "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"])
def test_whatever_the_timestamp_is_it_is_being_deleted(build: Any, when: Any) -> None:
    thing = leaving(build, "a", None, 5)
    thing["metadata"]["deletionTimestamp"] = when
    assert compute(thing, now=build.now).state is State.TERMINATING
