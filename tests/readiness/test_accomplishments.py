"""Good news where nothing sums the object up: steps never decide, wholes do, doubt prevails."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest
import status_corpus
from hypothesis import given
from hypothesis import strategies as st

from konstat.readiness import Readiness, Reason, State, accomplishments, generic
from konstat.readiness.subject import Subject

_STEPS = """
    Accepted Admitted Approved Claimed Created Initialized Installed Launched QuotaReserved
    Registered Requested Scheduled Started ValidationSucceeded Enabled Reserved
"""
STEPS = _STEPS.split()
WHOLES = "Valid Updated FullyApplied WidgetSynced ResourcesApplied WellFormed ACK.ResourceSynced"


def judged(
    status: Mapping[str, Any], *, kind: str = "Widget", spec: Mapping[str, Any] | None = None
) -> Readiness:
    content = {"kind": kind, "metadata": {"generation": 1}, "spec": spec or {}, "status": status}
    subject = Subject(content, group="example.com", kind=kind, related=None, now=None)
    return generic.by_conditions(subject)


def true(*types: str, **words: str) -> dict[str, Any]:
    return {"conditions": [{"type": name, "status": "True", **words} for name in types]}


@pytest.mark.parametrize("name", WHOLES.split())
def test_news_of_the_whole_decides(name: str) -> None:
    verdict = judged(true(name))
    assert (verdict.state, verdict.reason) == (State.READY, Reason.ALL_REPORTED_GOOD)
    assert verdict.evidence
    assert judged(true(name, "Scheduled")).ready
    assert not judged({"conditions": [{"type": name, "status": "False"}]}).ready


@given(st.lists(st.sampled_from(STEPS), min_size=1, unique=True))
def test_steps_do_not_decide(names: list[str]) -> None:
    kind = "Widget"
    steps = [n for n in names if n != "Accepted"]  # a summary of routes and policies
    assert not judged(true(*steps), kind=kind).ready
    assert not judged(true(*names), kind="WidgetRequest").ready


def test_parts_decide_together_and_without_a_step() -> None:
    assert not judged(true("NetworkReady")).ready
    assert judged(true("NetworkReady", "StorageHealthy")).ready
    assert not judged(true("NetworkReady", "StorageHealthy", "Admitted")).ready
    assert judged(true("RecommendationProvided")).ready
    assert not judged(true("RecommendationProvided", "Scheduled")).ready
    assert not judged(true("ConfigApplied")).ready


def test_an_unknown_condition_that_is_not_true_is_a_doubt() -> None:
    good = {"type": "Valid", "status": "True"}
    for status in ("False", "Unknown"):
        shiny = {"type": "Shiny", "status": status}
        assert judged({"conditions": [good, shiny]}).state is State.UNKNOWN
    assert judged({"conditions": [good, {"type": "Shiny", "status": "True"}]}).ready
    assert judged({"conditions": [{"type": "Shiny", "status": "True"}]}).state is State.UNKNOWN


def test_what_was_asked_for_elsewhere_is_not_there_yet() -> None:
    asked = true("Synced", reason="ReconcileSuccess")
    assert not judged({**asked, "observedGeneration": 1}).ready
    assert not judged(true("Synced")).ready
    assert judged({**true("Synced"), "observedGeneration": 1}).ready


def test_work_that_ends_needs_its_end() -> None:
    assert judged(true("Valid", "StorageReady", "NetworkReady"), kind="RestoreJob").state is (
        State.PROGRESSING
    )
    assert judged(true("Provisioned"), kind="WidgetRequest").reason is Reason.COMPLETED


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({"valid": True}, State.READY),
        ({"valid": False}, State.FAILED),
        ({"active": True, "problems": []}, State.READY),
        ({"active": True, "problems": ["no route"]}, State.FAILED),
        ({"created": True}, State.UNKNOWN),
        ({"networkReady": True}, State.UNKNOWN),
        ({"syncStatus": "Succeeded", "lastSyncError": ""}, State.READY),
        ({"networkStatus": "Ready"}, State.UNKNOWN),
        ({"state": "attached", "robustness": "healthy"}, State.READY),
        ({"phase": "Provisioned"}, State.UNKNOWN),
        ({"lastOperation": {"type": "Reconcile", "state": "Succeeded"}}, State.READY),
        ({"lastOperation": {"type": "Delete", "state": "Succeeded"}}, State.UNKNOWN),
        ({"lastOperation": {"type": "Create", "state": "Processing"}}, State.PROGRESSING),
        ({"cluster": {"status": "ONLINE"}}, State.READY),
        ({"currentState": {"currentStateSummary": "SchedulingFailure"}}, State.FAILED),
        ({"systemHealthStatus": "warning"}, State.FAILED),
        # an unknown word or a message of trouble is a doubt
        ({"synced": True, "phase": "Frobbed"}, State.UNKNOWN),
        ({"synced": True, "message": "the write was denied"}, State.UNKNOWN),
        ({"synced": True, "message": "failed to write"}, State.FAILED),
        ({"lastOperation": {"state": "Succeeded"}, "state": "Frobbed"}, State.UNKNOWN),
        # work that a flag or a number tells of
        ({"updating": True, "ready": True}, State.PROGRESSING),
        ({"outOfSync": True, "ready": True}, State.PROGRESSING),
        ({"deleting": True, "ready": True}, State.TERMINATING),
        ({"autoscaling": True, "retry": True, "ready": True}, State.READY),
        ({"state": "2/3 ready"}, State.PROGRESSING),
        ({"status": "Running (3/3/2)"}, State.PROGRESSING),
        ({"status": "3/3 running"}, State.READY),
        ({"state": "ready", "ready": 2, "size": 3}, State.PROGRESSING),
        ({"currentSize": 3, "desiredSize": 5, "phase": "Ready"}, State.PROGRESSING),
        ({"phase": "Ready", "members": {"ready": ["a"], "unready": ["b"]}}, State.PROGRESSING),
        ({"phase": "NotReady", "message": "error to connect"}, State.FAILED),
        ({"phase": "Setting up primary"}, State.PROGRESSING),
        ({"phase": "Not OK"}, State.FAILED),
        ({"conditions": {"Ready": "True"}}, State.READY),
        ({"conditions": {"Service": "True", "StatefulSet": "True"}}, State.READY),
        ({"desiredReadyClusters": 2, "readyClusters": 1, "state": "Active"}, State.PROGRESSING),
        ({"desiredReadyClusters": 2, "readyClusters": 2, "state": "Active"}, State.READY),
        ({"phase": "Ready", "desiredReplicas": 3, "replicas": 2}, State.PROGRESSING),
        ({"phase": "Ready", "replicas": 3, "upToDateReplicas": 2}, State.PROGRESSING),
        ({"phase": "Ready", "desiredScale": 1, "actualScale": 0}, State.PROGRESSING),
        ({"phase": "Ready", "replicas": 4, "availableReplicas": 3}, State.PROGRESSING),
        ({"phase": "Normal", "members": {"a": {"health": False}}}, State.PROGRESSING),
        ({"conditions": {"Ready": True, "WebReady": False}}, State.PROGRESSING),
    ],
)
def test_flags_words_and_records(status: dict[str, Any], state: State) -> None:
    assert judged(status).state is state


def test_a_schedule_counts_runs_of_the_past() -> None:
    assert judged({"phase": "Active", "failed": 1}, kind="CronWorkflow").ready
    assert not judged({"phase": "Active", "failed": 1}).ready


def test_worths() -> None:
    assert accomplishments.of_type("DashboardSynchronized", "GrafanaDashboard") == 3
    assert accomplishments.of_type("DependenciesSatisfied", "Widget") == accomplishments.STEP
    assert accomplishments.of_type("", "Widget") == accomplishments.NEUTRAL
    assert not accomplishments.convince([])
    assert not accomplishments.convince([accomplishments.NEUTRAL])


@given(st.lists(st.integers(-1, 3), max_size=6))
def test_a_further_step_never_convinces(worths: list[int]) -> None:
    more = accomplishments.convince([*worths, accomplishments.STEP])
    assert accomplishments.convince(worths) or not more


GOOD = (*STEPS, *WHOLES.split(), "Ready", "Active", "AgentHealthy", "StorageReady", "Running")
BAD = ("Progressing", "Degraded", "Upgrading", "StorageFailed", "NetworkUnavailable")
FLAGS = ("valid", "synced", "created", "agentReady")
TRISTATE = ("True", "Unknown", "False")


@given(
    st.dictionaries(st.sampled_from(GOOD), st.sampled_from(TRISTATE), min_size=1, max_size=4),
    st.dictionaries(st.sampled_from(BAD), st.sampled_from(TRISTATE), max_size=2),
    st.dictionaries(st.sampled_from(FLAGS), st.booleans(), max_size=2),
    st.data(),
)
def test_worse_news_never_makes_ready(
    good: dict[str, str], bad: dict[str, str], flags: dict[str, bool], data: st.DataObject
) -> None:
    def verdict() -> Readiness:
        said = [*good.items(), *bad.items()]
        listed = [{"type": name, "status": status} for name, status in said]
        return judged({"conditions": listed, "observedGeneration": 1, **flags})

    before = verdict()
    which = data.draw(st.sampled_from(sorted({*good, *bad, *flags})))
    if which in flags:
        flags[which] = False
    elif which in good:
        place = TRISTATE.index(good[which])
        good[which] = data.draw(st.sampled_from(TRISTATE[place:]))
    else:
        place = TRISTATE.index(bad[which])
        bad[which] = data.draw(st.sampled_from(TRISTATE[: place + 1]))
    assert before.ready or not verdict().ready


def test_conditions_as_a_mapping_are_read_as_a_list_is() -> None:
    better: list[str] = []
    for sample in status_corpus.samples():
        content = copy.deepcopy(dict(sample.object))
        status = content.get("status")
        listed = status.get("conditions") if isinstance(status, dict) else None
        if isinstance(listed, list) and all("type" in entry for entry in listed):
            content["status"]["conditions"] = {entry["type"]: entry for entry in listed}
            if status_corpus.general(content).ready > status_corpus.general(sample.object).ready:
                better.append(f"{sample.group} {sample.name}")
    assert better == []


# --- good and bad news at once ----------------------------------------------------------------


def test_active_counts_only_where_no_summary_does() -> None:
    idle = {"type": "Active", "status": "False", "reason": "NoTraffic"}
    refused = {"type": "Active", "status": "False", "reason": "FlavorNotFound"}
    ready = {"type": "Ready", "status": "True"}
    assert judged({"conditions": [ready, idle]}).ready
    assert judged({"conditions": [refused]}).state is State.FAILED
    assert judged(true("Active")).ready


def test_a_warning_is_no_failure_on_the_way() -> None:
    moving = {"type": "Progressing", "status": "True"}
    status = {"health": "warning", "conditions": [moving]}
    assert judged(status).state is State.PROGRESSING
    assert judged({"health": "warning"}).state is State.FAILED


def test_phases_of_the_past_are_over_when_a_word_and_a_newer_summary_say_so() -> None:
    def listed(ready_at: str) -> list[dict[str, Any]]:
        return [
            {
                "type": "initializing",
                "status": "True",
                "lastTransitionTime": "2026-01-01T10:00:00Z",
            },
            {"type": "ready", "status": "True", "lastTransitionTime": ready_at},
        ]

    later, earlier = listed("2026-01-01T10:05:00Z"), listed("2026-01-01T09:00:00Z")
    assert judged({"state": "ready", "conditions": later}).ready
    assert not judged({"state": "ready", "conditions": earlier}).ready
    assert not judged({"conditions": later}).ready
    assert not judged({"state": "initializing", "conditions": later}).ready


def test_a_condition_may_call_itself_an_error() -> None:
    entry = {"type": "Ready", "status": "False", "severity": "Error", "reason": "InstanceStopped"}
    assert judged({"conditions": [entry]}).state is State.FAILED
    assert judged({"conditions": [{**entry, "severity": "Info"}]}).state is not State.FAILED


@pytest.mark.parametrize(
    ("name", "status", "reason", "message", "state"),
    [
        ("SideInputsReady", "True", "NoSideInputs", "", None),
        ("Ready", "True", "NoErrors", "", State.READY),
        ("Ready", "False", "Blocked", "the instance is not ready", State.PROGRESSING),
        ("Ready", "False", "Blocked", "terminal error: no such image", State.FAILED),
        ("Healthy", "False", "", "", State.FAILED),
        ("Healthy", "False", "Starting", "", State.PROGRESSING),
        ("Valid", "False", "", "", State.FAILED),
        ("SideValid", "Unknown", "noop", "", None),
        ("EvaluationDetected", "False", "NoData", "", None),
        ("Install", "Failed", "", "no disk", State.FAILED),
        ("Install", "InProgress", "", "", State.PROGRESSING),
        ("Install", "Completed", "", "", None),
        ("Running", "False", "", "", State.PROGRESSING),
        ("Ready", "True", "NotReady", "", State.PROGRESSING),
        ("Ready", "Unknown", "NoData", "", State.UNKNOWN),
        ("Ready", "False", "Unpacking", "cannot unpack: no such image", State.FAILED),
        ("Ready", "False", "WaitingForSecret", "failed to find it", State.PROGRESSING),
        ("Ready", "False", "NotReachable", "", State.FAILED),
        ("Running", "True", "Running", "Running reconciliation", State.PROGRESSING),
        ("Irreconcilable", "True", "", "", State.FAILED),
        ("ActivitiesHalted", "True", "ParentMissing", "", State.FAILED),
        ("Synced", "False", "", "no key could decrypt it", State.FAILED),
        (
            "Synced",
            "False",
            "",
            "in state creating, cannot be changed until then",
            State.PROGRESSING,
        ),
    ],
)
def test_words_of_conditions(
    name: str, status: str, reason: str, message: str, state: State | None
) -> None:
    entry = {"type": name, "status": status, "reason": reason, "message": message}
    ready = {"type": "Ready", "status": "True"}
    if state is None:
        assert judged({"conditions": [entry, ready]}).ready
    else:
        assert judged({"conditions": [entry]}).state is state
