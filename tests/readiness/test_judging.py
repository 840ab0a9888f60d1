"""What single conditions come to beside a summary that is True."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from konstat.base import limits
from konstat.readiness import Rules, State, compute
from konstat.readiness.conditiontypes import role_of
from konstat.readiness.keys import role_of_key


def condition(name: str, status: str = "True", reason: str = "", **more: str) -> dict[str, str]:
    return {"type": name, "status": status, "reason": reason, **more}


def judged(*listed: dict[str, str], **fields: Any) -> State:
    content = {
        "apiVersion": "x.example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "status": {"conditions": list(listed), **fields},
    }
    return compute(content, rules=Rules(builtin=False)).state


READY = condition("Ready")


@pytest.mark.parametrize(
    ("beside", "state"),
    [
        # trouble that nobody has named, by its type, its reason or its message
        (condition("Irreconcilable", reason="ReconcileError"), State.FAILED),
        (condition("OutOfDiskSpace"), State.FAILED),
        (condition("Widgets", reason="ApplyFailed"), State.FAILED),
        (condition("Widgets", message="failed to apply 3 widgets"), State.FAILED),
        (condition("Widgets", message="3 applied, 0 failed"), State.READY),
        (condition("Widgets", reason="NoWidgetsFound"), State.READY),
        (condition("DriftDetected", reason="ResourceMissing"), State.READY),
        # what is off on purpose
        (condition("QueueReady", "False", "Removed"), State.READY),
        (condition("QueueReady", "False", "NotManaged"), State.READY),
        (condition("QueueReady", "False", severity="Info"), State.READY),
        (condition("QueueReady", "False", "WaitingForPods", severity="Info"), State.PROGRESSING),
        (condition("QueueReady", "False", "SetupFailed", severity="Info"), State.FAILED),
        # what nobody has looked at
        (condition("Error", "Unknown", "Init"), State.READY),
        (condition("Error", "Unknown"), State.UNKNOWN),
        # the end of work
        (condition("Progressing", reason="AllOldPartsRemoved"), State.READY),
        (condition("Progressing", reason="Idle"), State.READY),
        (condition("Progressing", reason="AllPartsFailed"), State.FAILED),
        (condition("Progressing", reason="PartsUpdated"), State.PROGRESSING),
        (condition("Progressing", "False", "NoMatchingNode"), State.READY),
        # what it does, and how well
        (condition("Replicating"), State.READY),
        (condition("Replicating", "False"), State.READY),
        (condition("ChecksSucceeding", "False"), State.PROGRESSING),
        (condition("NoWarnings", "False", "LimitsDiffer"), State.READY),
    ],
)
def test_a_condition_beside_a_summary_that_is_true(beside: dict[str, str], state: State) -> None:
    assert judged(READY, beside) is state


def test_a_part_that_is_left_out_leaves_one_without_a_summary_undecided() -> None:
    parts = condition("WebReady"), condition("DataReady")
    assert judged(*parts) is State.READY
    assert judged(*parts, condition("QueueReady", "False", "NotConfigured")) is State.UNKNOWN
    assert judged(*parts, condition("Error", "Unknown", "Init")) is State.UNKNOWN


def test_none_of_what_is_started_is_a_wait() -> None:
    assert judged(condition("Available", "False", "NoReplicas")) is State.PROGRESSING
    assert judged(condition("Available", "False", "NoMatchingNode")) is State.FAILED


def test_conditions_per_controller_decide_when_all_hold() -> None:
    good = {"controllerName": "a", "conditions": [condition("Accepted")]}
    bad = {"controllerName": "b", "conditions": [condition("Accepted", "False", "Invalid")]}
    assert judged(controllers=[good]) is State.READY
    assert judged(controllers=[good, bad]) is State.FAILED


def test_another_object_that_a_status_repeats_is_not_its_own() -> None:
    other = {"kind": "Job", "metadata": {}, "status": {"phase": "Failed"}}
    part = {"kind": "Job", "name": "a", "status": "Failed"}
    assert judged(READY, provider={"seen": other}) is State.READY
    assert judged(READY, provider={"manifest": {"status": {"phase": "Failed"}}}) is State.READY
    assert judged(READY, resources=[part]) is State.FAILED


def test_findings_count_by_how_grave_they_are() -> None:
    assert judged(READY, validationMessages=[{"level": "ERROR"}]) is State.FAILED
    assert judged(READY, validationMessages=[{"level": "WARNING"}]) is State.READY
    assert judged(READY, cves=[{"severity": "CRITICAL"}]) is State.READY


def test_a_first_stage_is_over_once_the_summary_turned_later() -> None:
    early, late = "2026-02-01T10:00:00Z", "2026-02-01T11:00:00Z"
    since = {"lastTransitionTime": late}
    ready = {**READY, **since}
    assert judged(ready, condition("Starting", lastTransitionTime=early)) is State.READY
    assert judged(ready, condition("Starting", **since)) is State.PROGRESSING
    assert judged(ready, condition("Updating", lastTransitionTime=early)) is State.PROGRESSING


def test_servers_in_use_are_no_longer_counted_as_ready() -> None:
    counts = {"replicas": 5, "readyReplicas": 2, "allocatedReplicas": 3}
    assert judged(READY, **counts) is State.READY
    assert judged(READY, **{**counts, "allocatedReplicas": 2}) is State.PROGRESSING
    assert judged(READY, replicas=5, readyReplicas=2) is State.PROGRESSING


def test_work_that_reports_a_failure_has_failed_though_it_goes_on() -> None:
    tried = condition("Progressing", reason="Retrying", message="error resolving the bundle")
    waiting = condition("Progressing", reason="WaitingForX", message="cannot go on before X")
    assert judged(READY, tried) is State.FAILED
    assert judged(READY, waiting) is State.PROGRESSING


def test_counts_that_are_texts_are_counts() -> None:
    nodes = {"available": "1", "desired": "2"}
    assert judged(READY, nodes=nodes) is State.PROGRESSING
    assert judged(READY, nodes={**nodes, "available": "2"}) is State.READY


def test_what_stopped_because_it_was_done_does_not_rest() -> None:
    assert judged(READY, condition("Stopped", reason="InstallationCompleted")) is State.READY
    assert judged(READY, condition("Stopped", reason="UserAsked")) is State.SUSPENDED


def test_pods_that_match_are_those_that_are_wanted() -> None:
    assert judged(matchedPods=3, readyPods=2) is State.PROGRESSING
    assert judged(matchedPods=3, readyPods=3) is State.READY


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"message": "failed to reconcile"}, State.FAILED),
        ({"message": "3 parts, none failed to start"}, State.READY),
        ({"stateReason": "error: no route"}, State.FAILED),
        ({"degradedReason": "a disk is broken"}, State.FAILED),
        ({"warningMessage": "a disk is old"}, State.READY),
        ({"errorCode": "E12"}, State.FAILED),
        ({"errorCode": "0"}, State.READY),
        ({"errorCode": 12}, State.FAILED),
        ({"errorCode": 0}, State.READY),
        ({"nodesNotReady": ["a"]}, State.PROGRESSING),
        ({"nodesNotReady": []}, State.READY),
        ({"crashedInstances": 2}, State.PROGRESSING),
        ({"reachable": False}, State.PROGRESSING),
        ({"lastUpdateStatus": "Failed"}, State.FAILED),
        ({"lastUpdateStatus": "InProgress"}, State.PROGRESSING),
        ({"lastUpdateStatus": "Successful"}, State.READY),
        ({"lastBackupStatus": "Failed"}, State.READY),
        ({"stackStatus": "UPDATE_ROLLBACK_COMPLETE"}, State.FAILED),
        ({"hasQuorum": False}, State.PROGRESSING),
    ],
)
def test_fields_beside_a_summary_that_is_true(fields: dict[str, Any], state: State) -> None:
    assert judged(READY, **fields) is state


def test_a_rule_leaves_a_message_out(tmp_path: Path) -> None:
    content = {
        "apiVersion": "x.example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "status": {"phase": "Ready", "message": "failed to reconcile once"},
    }
    rules = Rules(builtin=False)
    file = tmp_path / "rules.yaml"
    file.write_text(
        "group: x.example.com\ndocs: https://x.example.com/\n"
        "kinds: {Thing: {ignore: [status.message]}}\n"
    )
    rules.load(file)
    assert compute(content, rules=Rules(builtin=False)).state is State.FAILED
    assert compute(content, rules=rules).state is State.READY


def test_a_backup_of_which_a_part_failed_is_not_whole() -> None:
    status = {"phase": "Completed", "shards": {"a": "Completed", "b": "Failed"}}
    content = {"apiVersion": "x.example.com/v1", "metadata": {"name": "a"}, "status": status}
    rules = Rules(builtin=False)
    assert compute({**content, "kind": "ShardBackup"}, rules=rules).state is State.FAILED
    assert compute({**content, "kind": "TestRun"}, rules=rules).state is State.READY


def test_conditions_per_controller_may_be_of_an_older_generation() -> None:
    told = {**condition("Accepted"), "observedGeneration": 1}
    content = {
        "apiVersion": "x.example.com/v1",
        "kind": "Filter",
        "metadata": {"name": "a", "generation": 2},
        "status": {"controllers": [{"controllerName": "a", "conditions": [told]}]},
    }
    assert compute(content, rules=Rules(builtin=False)).state is State.PROGRESSING


def test_a_route_waits_for_all_parents_that_it_refers_to() -> None:
    told = {"parentRef": {"name": "a"}, "conditions": [condition("Accepted")]}
    content = {
        "apiVersion": "x.example.com/v1",
        "kind": "SomeRoute",
        "metadata": {"name": "a"},
        "spec": {"parentRefs": [{"name": "a"}, {"name": "b"}]},
        "status": {"parents": [told]},
    }
    rules = Rules(builtin=False)
    assert compute(content, rules=rules).state is State.PROGRESSING
    content["status"] = {"parents": [told, told]}
    assert compute(content, rules=rules).state is State.READY


def test_names_that_are_whole_texts_are_not_remembered() -> None:
    text = "x" * limits.READINESS_WORD_CHARACTERS
    kept = role_of_key.cache_info().misses
    assert judged(READY, **{text + "Error": "boom", text + "s": [{"ready": False}]}) is (
        State.PROGRESSING
    )
    assert role_of_key.cache_info().misses <= kept + 2  # conditions, ready
    judged(condition(text + "1"))
    kept = role_of.cache_info().misses
    judged(condition(text + "2"))
    assert role_of.cache_info().misses == kept
