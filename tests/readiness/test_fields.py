"""Signals anywhere in a status: nested conditions, words, flags, counts, errors, records."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from konstat.base import limits
from konstat.readiness import Readiness, Reason, Rules, State, Turn, compute
from konstat.readiness.fields import Walk
from konstat.readiness.signals import Reader

RULES = Rules(builtin=False)
READY = {"type": "Ready", "status": "True"}


def judged(status: Any, kind: str = "WebApp", *, generation: int = 3, **more: Any) -> Readiness:
    content = {
        "apiVersion": "demo.example.com/v1",
        "kind": kind,
        "metadata": {"name": "web", "generation": generation},
        "status": status,
        **more,
    }
    return compute(content, rules=RULES)


def condition(name: str, status: Any, **more: Any) -> dict[str, Any]:
    return {"type": name, "status": status, **more}


# --- generations ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spelling",
    ["observedGeneration", "observedgeneration", "lastObservedGeneration", "observed_generation"],
)
@pytest.mark.parametrize(
    ("value", "current"),
    [(3, True), ("3", True), (2, False), ("2", False), (4, False), (-1, False)],
)
def test_an_observed_generation_in_any_spelling(spelling: str, value: Any, current: bool) -> None:
    assert judged({"conditions": [READY], spelling: value}).ready is current


def test_a_failure_that_names_the_present_generation_is_newer_than_the_status() -> None:
    failed = condition("Ready", "False", reason="InvalidURL", observedGeneration=3)
    assert judged({"observedGeneration": 2, "conditions": [failed]}).state is State.FAILED
    old = condition("Ready", "False", reason="InvalidURL")
    assert judged({"observedGeneration": 2, "conditions": [old]}).state is State.PROGRESSING


# --- conditions elsewhere -------------------------------------------------------------------


def test_a_route_is_ready_when_all_parents_accept_it() -> None:
    def route(*parents: list[Any]) -> Readiness:
        return judged({"parents": [{"conditions": c} for c in parents]}, "AnyRoute")

    good = [condition("Accepted", "True"), condition("ResolvedRefs", "True")]
    refused = [condition("Accepted", "False", reason="NoMatchingListenerHostname")]
    assert route(good, good).ready
    verdict = route(good, refused)
    assert verdict.state is State.FAILED
    assert verdict.evidence[0].path == 'status.parents[1].conditions[type="Accepted"].status'
    assert "parents[1]: condition Accepted is False" in verdict.message
    stale = [condition("Accepted", "True", observedGeneration=2)]
    assert route(good, stale).reason is Reason.GENERATION_NOT_OBSERVED
    assert route().state is State.UNKNOWN


def test_conditions_of_parts_count_against_but_never_decide() -> None:
    part = {"name": "db", "conditions": [condition("Ready", "False", reason="Starting")]}
    assert judged({"conditions": [READY], "components": [part]}).state is State.PROGRESSING
    good = {"name": "db", "conditions": [READY]}
    assert judged({"components": [good]}).state is State.UNKNOWN
    # a part's conditions may be about the part's own generation
    other = {"conditions": [condition("Ready", "True", observedGeneration=9)]}
    assert judged({"conditions": [READY], "components": {"db": other}}).ready
    single = {"parts": [{"ready": condition("Ready", "Unknown")}]}
    assert judged({"conditions": [READY], **single}).state is State.PROGRESSING


def test_conditions_as_a_mapping_and_without_a_status() -> None:
    assert judged({"conditions": {"Ready": {"status": "True"}}}).ready
    bare = {"type": "ComparisonError", "message": "no manifest"}
    assert judged({"conditions": [READY, bare]}).state is State.FAILED
    assert judged({"conditions": [{"type": "Ready"}]}).state is State.UNKNOWN


# --- words and flags ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Running"},
        {"state": "Healthy"},
        {"health": {"status": "Healthy"}},
        {"applicationState": {"state": "READY"}},
        {"clusterStatus": "Cluster in healthy state"},
        {"ready": True},
        {"ready": "True"},
        {"ready": "3/3"},
    ],
)
def test_a_word_or_a_flag_decides(status: Any) -> None:
    assert judged(status, generation=1).ready


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({"phase": "Pending"}, State.PROGRESSING),
        ({"phase": "CreateFailed"}, State.FAILED),
        ({"phase": "Paused"}, State.SUSPENDED),
        ({"phase": "Deleting"}, State.TERMINATING),
        ({"phase": "Unknown"}, State.UNKNOWN),
        ({"phase": "Foo"}, State.UNKNOWN),
        ({"powerState": "on"}, State.UNKNOWN),
        ({"ready": False}, State.PROGRESSING),
        ({"ready": False, "message": "cannot reach the server"}, State.FAILED),
        ({"ready": "2/3"}, State.PROGRESSING),
        ({"paused": True}, State.SUSPENDED),
        ({"ready": True, "failed": True}, State.FAILED),
        ({"phase": "Running", "health": "red"}, State.FAILED),
        ({"phase": "Running", "upgradeStatus": "failed"}, State.FAILED),
        ({"phase": "Running", "ready": False}, State.PROGRESSING),
        ({"phase": "Running", "databaseReady": False}, State.PROGRESSING),
        ({"phase": "Running", "reason": "CrashLoopBackOff"}, State.FAILED),
        ({"phase": "Running", "nodes": [{"phase": "Failed"}]}, State.FAILED),
        ({"phase": "Running", "components": {"db": "Ready", "web": "Failed"}}, State.FAILED),
        ({"phase": "Running", "components": {"db": {"ready": False}}}, State.PROGRESSING),
        ({"phase": "Running", "currentVersion": "1", "targetVersion": "2"}, State.PROGRESSING),
    ],
)
def test_words_and_flags(status: Any, state: State) -> None:
    assert judged(status).state is state


def test_what_is_over_or_wished_does_not_count() -> None:
    aside = {
        "lastBackup": {"status": "Failed"},
        "previousPhase": "Failed",
        "desiredState": "Stopped",
        "history": [{"state": "Failed"}],
        "warnings": ["deprecated"],
    }
    assert judged({"phase": "Running", **aside}).ready


def test_bounded_work() -> None:
    assert judged({"phase": "Running"}, "Backup").reason is Reason.RUNNING
    assert judged({"phase": "Accepted"}, "Backup").reason is Reason.RUNNING
    assert judged({"phase": "Completed"}, "Backup").reason is Reason.COMPLETED
    assert judged({"phase": "Ready"}, "Backup").ready
    assert judged({"phase": "Ready"}, "Order").reason is Reason.RUNNING
    assert judged({"phase": "valid"}, "Order").reason is Reason.COMPLETED
    assert judged({"phase": "Processed"}, "DownloadRequest").reason is Reason.COMPLETED
    assert judged({"conditions": [condition("Created", "True")]}, "Job").reason is Reason.RUNNING
    assert judged({"conditions": [condition("Accepted", "True")]}, "Job").reason is Reason.RUNNING
    assert judged({"note": "x"}, "Job").state is State.UNKNOWN
    assert judged({"phase": "Running"}, "CronJob").ready
    retried = {"phase": "Succeeded", "nodes": {"a": {"phase": "Failed"}}}
    assert judged(retried, "Workflow").reason is Reason.COMPLETED
    assert judged(retried, "WebApp").state is State.FAILED


# --- counts, errors, records ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        ({"readyReplicas": 3}, True),
        ({"readyReplicas": 2}, False),
        ({"replicas": 2, "readyReplicas": 3}, False),
        ({"readyReplicas": 3, "updatedReplicas": 1}, False),
        ({"readyReplicas": 3, "unavailableReplicas": 1}, False),
        ({"readyReplicas": 3, "desiredWorkers": 2, "readyWorkers": 1}, False),
        ({"readyReplicas": 3, "pools": [{"desired": 2, "ready": 1}]}, False),
        ({"readyReplicas": 3, "summary": {"ready": 1, "notReady": 1}}, False),
        ({"readyReplicas": 3, "desiredWorkerReplicas": 2, "readyWorkerReplicas": 2}, True),
        ({"readyReplicas": 3, "failedAttempts": 2, "port": 80}, True),
    ],
)
def test_counts(status: Any, ready: bool) -> None:
    verdict = judged(status, spec={"replicas": 3})
    assert verdict.state is (State.READY if ready else State.PROGRESSING)
    assert ready or verdict.reason is Reason.COUNTS_NOT_MET


@pytest.mark.parametrize(
    ("field", "counts"),
    [
        ({"error": "boom"}, True),
        ({"lastError": "boom"}, True),
        ({"errorMessage": "boom"}, True),
        ({"failureReason": "boom"}, True),
        ({"errors": [{"message": "boom"}]}, True),
        ({"validationErrors": ["boom"]}, True),
        ({"failedNamespaces": [{"namespace": "a", "reason": "boom"}]}, True),
        ({"error": ""}, False),
        ({"errors": []}, False),
        ({"error": None}, False),
        ({"errorMessage": "none"}, False),
        ({"errorCount": 3}, False),
    ],
)
def test_errors(field: Any, counts: bool) -> None:
    verdict = judged({"conditions": [READY], **field})
    assert verdict.state is (State.FAILED if counts else State.READY)
    assert not counts or "boom" in verdict.message


def test_the_record_of_the_last_operation() -> None:
    def last(state: str) -> Readiness:
        record = {"type": "Create", "state": state, "description": "quota exceeded"}
        return judged({"conditions": [READY], "lastOperation": record})

    assert last("Succeeded").ready
    assert last("Processing").state is State.PROGRESSING
    failed = last("Failed")
    assert (failed.state, failed.turn) == (State.FAILED, Turn.USER)
    assert "quota exceeded" in failed.message
    assert judged({"conditions": [READY], "lastSync": {"success": False}}).state is State.FAILED


# --- bounds ---------------------------------------------------------------------------------


def walked(status: Any) -> Walk:
    walk = Walk({"status": status}, Reader("WebApp", None), generation=1)
    walk.run(status)
    return walk


def values(content: Any) -> int:
    """All members of mappings and elements of lists inside."""
    if isinstance(content, dict):
        return len(content) + sum(values(v) for v in content.values())
    if isinstance(content, list):
        return len(content) + sum(values(v) for v in content)
    return 0


def component(number: int) -> dict[str, Any]:
    ready = condition("Ready", "True", reason="Fine", message=f"number {number}")
    return {"name": f"c{number}", "phase": "Running", "replicas": 1, "conditions": [ready]}


def test_each_value_is_looked_at_once_so_that_work_grows_with_the_object() -> None:
    looked: list[int] = []
    for size in (10, 20, 30, 40):
        status = {"conditions": [READY], "components": [component(i) for i in range(size)]}
        looked.append(walked(status).visited)
        assert looked[-1] <= values(status)
    assert len({after - before for before, after in pairwise(looked)}) == 1


def test_a_hostile_status_ends_within_bounds_and_is_never_ready() -> None:
    deep: Any = {"phase": "Failed"}
    for _ in range(5000):
        deep = {"inner": deep}
    wide = {f"k{i}": {"a": 1} for i in range(limits.READINESS_NODES)}
    for hostile in (deep, wide, [[deep]], {"list": [wide] * 3}):
        status = {"conditions": [READY], "parts": hostile}
        walk = walked(status)
        assert walk.cut
        assert walk.visited <= limits.READINESS_NODES + limits.READINESS_DEPTH
        assert judged(status).state is State.UNKNOWN
