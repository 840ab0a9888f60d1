"""The guarded patch: minimal, leading where it says, and touching nothing of others."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from konstat.status import Condition, Settlement, plan
from konstat.status.condition import ConditionStatus

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
OWNED = ("Ready", "WorkloadReady", "Reconciling", "Stalled")


class Refused(Exception):
    """What the server's causeless 422 is here."""


def apply_patch(document: dict[str, Any], operations: Any) -> dict[str, Any]:
    """JSON Patch as far as the plan uses it, with the server's reading of null in a test."""
    document = copy.deepcopy(document)
    for operation in operations:
        segments = operation["path"].split("/")[1:]
        *parents, last = (s.replace("~1", "/").replace("~0", "~") for s in segments)
        target: Any = document
        for segment in parents:
            try:
                target = target[int(segment)] if isinstance(target, list) else target[segment]
            except (KeyError, IndexError) as error:
                raise Refused(operation) from error
        key: Any = int(last) if isinstance(target, list) and last != "-" else last
        present = target[key] if _has(target, key) else None
        match operation["op"]:
            case "test" if present != operation["value"]:
                raise Refused(operation)
            case "remove":
                del target[key]
            case "replace":
                target[key] = operation["value"]
            case "add" if isinstance(target, list):
                target.append(operation["value"])
            case "add":
                target[key] = operation["value"]
    return document


def _has(target: Any, key: Any) -> bool:
    return key in target if isinstance(target, dict) else key != "-" and key < len(target)


def settlement(
    *conditions: tuple[str, ConditionStatus], generation: int = 3, **fields: Any
) -> Settlement:
    made = tuple(
        Condition(type=t, status=s, reason=f"R{s}", message="<&>", observed_generation=generation)
        for t, s in conditions
    )
    absent = tuple(t for t in ("Reconciling", "Stalled") if t not in dict(conditions))
    return Settlement(
        conditions=made,
        absent=absent,
        fields=fields,
        observed_generation=generation,
        generation=generation,
    )


def world(status: Any, uid: str = "u1") -> dict[str, Any]:
    document: dict[str, Any] = {"metadata": {"uid": uid}}
    if status is not None:
        document["status"] = status
    return document


def settled(stored: Any, wanted: Settlement) -> dict[str, Any]:
    made = plan(stored, wanted, uid="u1", now=NOW)
    after = apply_patch(world(stored), made.operations)
    assert after["status"] == made.status
    return after["status"]


def test_the_first_write_adds_the_whole_status_and_tests_that_there_was_none() -> None:
    made = plan(None, settlement(("Ready", "True"), replicas=1), uid="u1", now=NOW)
    assert [o["op"] for o in made.operations] == ["test", "test", "add"]
    assert made.operations[1] == {"op": "test", "path": "/status", "value": None}
    assert made.status["replicas"] == 1


def test_S6_a_first_write_is_refused_when_another_was_faster() -> None:
    made = plan(None, settlement(("Ready", "True")), uid="u1", now=NOW)
    try:
        apply_patch(world({"conditions": []}), made.operations)
    except Refused:
        return
    raise AssertionError("overwrote a status that was not read")


def test_H8_nothing_changed_is_no_operation() -> None:
    wanted = settlement(("Ready", "True"), replicas=1)
    stored = settled(None, wanted)
    assert plan(stored, wanted, uid="u1", now=NOW).operations == ()


def test_H8_a_number_that_the_server_spells_otherwise_is_no_change() -> None:
    plain = {"ratio": 2, "parts": [{"ratio": 2}], "flag": 1, "table": {"flags": [1]}}
    stored = {"observedGeneration": 3, "conditions": [], **plain}
    wanted = settlement(ratio=2.0, parts=[{"ratio": 2.0}], flag=True, table={"flags": [True]})
    paths = {o["path"] for o in plan(stored, wanted, uid="u", now=NOW).operations}
    assert paths & {f"/status/{name}" for name in plain} == {"/status/flag", "/status/table"}


def test_F47_a_recreated_object_refuses() -> None:
    stored = settled(None, settlement(("Ready", "True")))
    made = plan(stored, settlement(("Ready", "False")), uid="u1", now=NOW)
    try:
        apply_patch(world(stored, uid="u2"), made.operations)
    except Refused:
        return
    raise AssertionError("landed on another uid")


def test_a_lagging_instance_cannot_take_a_newer_outcome_back() -> None:
    stored = settled(None, settlement(("Ready", "True"), generation=3))
    late = plan(stored, settlement(("Ready", "False"), generation=3), uid="u1", now=NOW)
    newer = settled(stored, settlement(("Ready", "True"), generation=4))
    try:
        apply_patch(world(newer), late.operations)
    except Refused:
        return
    raise AssertionError("an older generation overwrote a newer one")


def test_H5_foreign_entries_and_fields_are_in_no_operation() -> None:
    stored = settled(None, settlement(("Ready", "False"), ("Reconciling", "True")))
    foreign = {"type": "Theirs", "status": "True", "reason": "X", "message": "€ <"}
    stored["conditions"].insert(1, foreign)
    stored["theirs"] = {"deep": [1, 2]}
    made = plan(stored, settlement(("Ready", "True")), uid="u1", now=NOW)
    assert all("theirs" not in o["path"].lower() for o in made.operations)
    after = apply_patch(world(stored), made.operations)["status"]
    assert foreign in after["conditions"]
    assert after["theirs"] == {"deep": [1, 2]}
    assert [c["type"] for c in after["conditions"]] == ["Ready", "Theirs"]


def test_a_test_never_compares_text_with_two_spellings() -> None:
    stored = settled(None, settlement(("Ready", "False"), note="<>&", number=1))
    made = plan(stored, settlement(("Ready", "True"), note="ok", number=2), uid="u1", now=NOW)
    tested = {o["path"] for o in made.operations if o["op"] == "test"}
    assert "/status/note" not in tested
    assert "/status/number" in tested
    assert not any(path.endswith("/message") for path in tested)


def test_a_null_list_of_conditions_is_replaced() -> None:
    made = plan({"conditions": None, "x": 1}, settlement(("Ready", "True")), uid="u1", now=NOW)
    after = apply_patch(world({"conditions": None, "x": 1}), made.operations)["status"]
    assert [c["type"] for c in after["conditions"]] == ["Ready"]
    assert after["x"] == 1


def test_unknown_members_of_our_own_entry_are_kept() -> None:
    stored = settled(None, settlement(("Ready", "False")))
    stored["conditions"][0]["severity"] = "Warning"
    assert settled(stored, settlement(("Ready", "True")))["conditions"][0]["severity"] == "Warning"


def test_field_names_are_escaped() -> None:
    assert settled({}, settlement(("Ready", "True"), **{"a/b~c": 1}))["a/b~c"] == 1


STATUS = st.sampled_from(["True", "False", "Unknown"])
STORED = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "observedGeneration": st.integers(1, 5),
        "replicas": st.integers() | st.text() | st.booleans() | st.none(),
        "theirs": st.text(),
        "conditions": st.none()
        | st.lists(
            st.fixed_dictionaries(
                {"type": st.sampled_from([*OWNED, "Theirs", "Other"]), "status": STATUS},
                optional={
                    "reason": st.sampled_from(["A", "B"]),
                    "message": st.text(max_size=5),
                    "lastTransitionTime": st.just("2026-01-01T00:00:00Z"),
                    "observedGeneration": st.integers(1, 5),
                },
            ),
            unique_by=lambda c: c["type"],
            max_size=6,
        ),
    },
)
WANTED = st.builds(
    lambda ready, work, extra, replicas: settlement(
        ("Ready", ready),
        ("WorkloadReady", work),
        *([(extra, "True")] if extra else []),
        replicas=replicas,
    ),
    STATUS,
    STATUS,
    st.sampled_from(["", "Reconciling", "Stalled"]),
    st.none() | st.integers(0, 3) | st.text(max_size=3),
)


@given(STORED, WANTED)
def test_any_stored_status_is_brought_to_the_settlement_and_stays(
    stored: Any, wanted: Settlement
) -> None:
    after = settled(stored, wanted)
    types = [c["type"] for c in after["conditions"]]
    assert len(types) == len(set(types))
    assert {c.type for c in wanted.conditions} <= set(types)
    assert not set(wanted.absent) & set(types)
    assert after.get("replicas") == wanted.fields["replicas"]
    before = {c["type"]: c for c in (stored or {}).get("conditions") or []}
    for entry in after["conditions"]:
        if entry["type"] not in OWNED:
            assert entry == before[entry["type"]]
    if stored is not None and "theirs" in stored:
        assert after["theirs"] == stored["theirs"]
    assert plan(after, wanted, uid="u1", now=NOW).operations == ()
