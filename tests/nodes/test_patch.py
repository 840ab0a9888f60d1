"""The guarded patch of a status that is ours in part."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from konstat.nodes.patch import status_patch

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
EARLIER = "2026-01-01T11:00:00Z"
TEST_UID = {"op": "test", "path": "/metadata/uid", "value": "u1"}


def condition(type: str, status: str = "True", **more: Any) -> dict[str, Any]:
    return {"type": type, "status": status, **more}


def stored(type: str, status: str = "True", **more: Any) -> dict[str, Any]:
    return condition(type, status, lastTransitionTime=EARLIER, lastProbeTime=None, **more)


def patch(before: Any, wanted: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    return status_patch(before, wanted, uid="u1", now=NOW, **options)


def applied(document: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    """What a server makes of the operations."""
    document = copy.deepcopy(document)
    for operation in operations:
        *parents, last = operation["path"].split("/")[1:]
        target: Any = document
        for part in parents:
            target = target[int(part) if isinstance(target, list) else part]
        if operation["op"] == "test":
            key = int(last) if isinstance(target, list) else last
            present = target[key] if isinstance(target, list) else target.get(key)
            assert present == operation["value"]
        elif isinstance(target, list):
            if last == "-":
                target.append(operation["value"])
            else:
                target[int(last)] = operation["value"]
        else:
            target[last] = operation["value"]
    return document


def test_nothing_changed_is_no_operation() -> None:
    before = {"phase": "Running", "conditions": [stored("Ready"), stored("Foreign")], "other": 1}
    assert patch(before, {"phase": "Running", "conditions": [condition("Ready")]}) == []


def test_foreign_fields_and_conditions_are_in_no_operation() -> None:
    before = {"qosClass": "BestEffort", "conditions": [stored("Foreign"), stored("Ready", "False")]}
    wanted = {"phase": "Running", "conditions": [condition("Ready"), condition("New")]}
    operations = patch(before, wanted)
    assert operations[0] == TEST_UID
    after = applied({"metadata": {"uid": "u1"}, "status": before}, operations)["status"]
    assert after["qosClass"] == "BestEffort"
    assert after["conditions"][0] == stored("Foreign")
    assert [c["type"] for c in after["conditions"]] == ["Foreign", "Ready", "New"]


def test_a_transition_time_moves_only_when_the_status_flips() -> None:
    before = {"conditions": [stored("Ready", "False", reason="A"), stored("Other", "True")]}
    wanted = {"conditions": [condition("Ready", "False", reason="B"), condition("Other", "False")]}
    after = applied({"metadata": {"uid": "u1"}, "status": before}, patch(before, wanted))
    times = {c["type"]: c["lastTransitionTime"] for c in after["status"]["conditions"]}
    assert times == {"Ready": EARLIER, "Other": "2026-01-01T12:00:00Z"}


def test_an_absent_status_is_added_whole() -> None:
    operations = patch(None, {"phase": "Running", "conditions": [condition("Ready")]})
    assert operations[1] == {"op": "test", "path": "/status", "value": None}
    after = applied({"metadata": {"uid": "u1"}}, operations)
    assert after["status"]["phase"] == "Running"


def test_a_heartbeat_is_written_without_a_change() -> None:
    first = patch({}, {"conditions": [condition("Ready")]}, heartbeat=True)
    status = applied({"metadata": {"uid": "u1"}, "status": {}}, first)["status"]
    assert status["conditions"][0]["lastHeartbeatTime"] == "2026-01-01T12:00:00Z"
    later = NOW + timedelta(minutes=5)
    wanted = {"conditions": [condition("Ready")]}
    assert status_patch(status, wanted, uid="u1", now=later) == []
    second = status_patch(status, wanted, uid="u1", now=later, heartbeat=True)
    status = applied({"metadata": {"uid": "u1"}, "status": status}, second)["status"]
    assert status["conditions"][0]["lastHeartbeatTime"] == "2026-01-01T12:05:00Z"
    assert status["conditions"][0]["lastTransitionTime"] == "2026-01-01T12:00:00Z"


CONDITIONS = st.lists(
    st.builds(
        stored,
        st.sampled_from(["Ready", "Initialized", "Foreign", "Gate"]),
        st.sampled_from(["True", "False", "Unknown"]),
    ),
    unique_by=lambda entry: entry["type"],
)
WANTED = st.lists(
    st.builds(
        condition, st.sampled_from(["Ready", "Initialized"]), st.sampled_from(["True", "False"])
    ),
    unique_by=lambda entry: entry["type"],
)


@given(
    before=st.none()
    | st.fixed_dictionaries({}, optional={"conditions": CONDITIONS, "a": st.just(1)}),
    conditions=WANTED,
    phase=st.sampled_from(["Running", "Pending"]),
)
def test_a_patch_leads_to_what_is_wanted_and_then_to_none(
    before: dict[str, Any] | None, conditions: list[dict[str, Any]], phase: str
) -> None:
    wanted = {"phase": phase, "conditions": conditions}
    document = {"metadata": {"uid": "u1"}} | ({} if before is None else {"status": before})
    after = applied(document, patch(before, wanted))["status"]
    assert after["phase"] == phase
    assert patch(after, wanted) == []
