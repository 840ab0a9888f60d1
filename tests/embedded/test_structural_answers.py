"""Definitions, values, rules and updates: our answers are those that a real server gave.

Before: the record in ``structural_corpus``, which ``test_structural_on_server.py`` compares with
a server. After: nothing.
"""

from __future__ import annotations

from typing import Any

from structural_bench import (
    Object,
    agreed,
    creation,
    definition,
    definition_causes,
    edited,
    load,
    ruled,
    run_schema,
    update_causes,
    whole,
)

from konstat.embedded.structural.custom import CustomSchema


def differences(pairs: list[tuple[Object, Any, Any]]) -> list[Object]:
    return [
        {"case": case, "ours": ours, "theirs": theirs}
        for case, ours, theirs in pairs
        if ours != theirs
    ]


def test_C47_definitions_are_judged_as_by_a_server() -> None:
    cases = load("definitions")["cases"]
    pairs = [(case, definition_causes(case["crd"]), case["causes"]) for case in cases]
    assert differences(pairs) == []
    assert sum(bool(case["causes"]) for case in cases) > 100


def test_C53_rules_are_judged_as_by_a_server() -> None:
    rules = load("rules")
    pairs = [
        (
            case,
            definition_causes(definition(ruled(rules["node"], {"rule": case["rule"]}))),
            case["causes"],
        )
        for case in rules["cases"]
        if "authorizer" not in case["rule"]
    ]
    assert differences(pairs) == []


def test_C49_C50_C51_C55_values_are_judged_as_by_a_server() -> None:
    values = load("values")
    spec = {"type": "object", "properties": values["fields"]}
    schema = CustomSchema({"type": "object", "properties": {"spec": spec}})
    disputed: list[Object] = []
    for case in values["cases"]:
        ours = creation(schema, whole({"spec": {case["field"]: case["value"]}}))
        if not agreed(ours, case):
            disputed.append({"case": case, "ours": ours})
    assert disputed == []


def test_C53_rules_work_as_on_a_server() -> None:
    runs, node = load("runs"), load("rules")["node"]
    disputed: list[Object] = []
    for case in runs["cases"]:
        schema = CustomSchema(run_schema(node, [("r", case["rule"])]))
        for label, value in runs["values"].items():
            ours = creation(schema, whole({"spec": {"r": value}}))
            if not agreed({"causes": ours.get("causes")}, {"causes": case["causes"][label]}):
                disputed.append({"rule": case["rule"], "value": label, "ours": ours})
    assert disputed == []


def test_C54_updates_are_judged_as_by_a_server() -> None:
    updates = load("updates")
    schema = CustomSchema(updates["schema"])
    current = whole(updates["object"])
    pairs: list[tuple[Object, Any, Any]] = []
    for case in updates["cases"]:
        for part in ("spec", "status"):
            new = edited(current, case["edits"], part)
            if new is not None:
                ours = update_causes(schema, new, current, status=part == "status")
                pairs.append((case, ours, case.get(part)))
    assert differences(pairs) == []
    assert sum(bool(theirs) for _, _, theirs in pairs) > 10
