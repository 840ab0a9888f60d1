"""The rules of operators' kinds: statuses beside the corpus, and that no rule hides another one."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from konstat.base.yamltext import load_yaml
from konstat.readiness import Rules, State, compute
from konstat.readiness.kindrule import read_rules

ROWS = Path(__file__).with_name("operators.yaml")
FILES = {
    entry.name.removesuffix(".yaml"): entry.read_text(encoding="utf-8")
    for entry in (resources.files("konstat.readiness") / "rules").iterdir()
    if entry.name.endswith(".yaml")
}
GENERAL = Rules(builtin=False)


class Row(NamedTuple):
    """An object, and the states that are honest for it."""

    wanted: tuple[State, ...]
    content: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.content['apiVersion']} {self.content['kind']} {self.wanted[0].value}"


def rows() -> list[Row]:
    found: list[Row] = []
    for wanted, version, kind, rest in load_yaml(
        ROWS.read_text(encoding="utf-8"), source=str(ROWS)
    ):
        states = [wanted] if isinstance(wanted, str) else wanted
        head = {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "generation": 2}}
        found.append(Row(tuple(State(s) for s in states), {**head, **rest}))
    return found


READY = [row for row in rows() if row.wanted == (State.READY,)]
OTHERS = [row for row in rows() if State.READY not in row.wanted]


def test_each_status_is_judged_as_its_documentation_says():
    wrong = [
        f"{row.name}: {verdict.state.value} ({verdict.message})"
        for row in rows()
        if (verdict := compute(row.content)).state not in row.wanted
    ]
    assert wrong == []


def test_no_verdict_is_too_good_without_the_rules():
    green = [row.name for row in OTHERS if compute(row.content, rules=GENERAL).ready]
    assert green == []


def test_what_is_ready_is_not_ready_for_a_newer_generation():
    left: list[str] = []
    for row in READY:
        changed = copy.deepcopy(dict(row.content))
        if "observedGeneration" in changed.get("status", {}):
            changed["metadata"]["generation"] = 3
            left += [row.name] if compute(changed).ready else []
    assert left == []


@pytest.mark.parametrize(
    ("key", "value"),
    [("error", "connection refused"), ("phase", "Failed"), ("phase", "Deleting")],
)
def test_what_is_ready_is_not_ready_beside_bad_news(key: str, value: str):
    left: list[str] = []
    for row in READY:
        changed = copy.deepcopy(dict(row.content))
        if changed.get("status"):
            changed["status"][key] = value
            left += [row.name] if compute(changed).ready else []
    assert left == []


def test_no_kind_has_its_rule_in_two_places():
    places: dict[tuple[str, str], list[str]] = {}
    for file, text in FILES.items():
        for name in read_rules(text, source=file).kinds:
            kind, dot, other = name.partition(".")
            places.setdefault((other if dot else file, kind), []).append(file)
    assert {key: files for key, files in places.items() if len(files) > 1} == {}


def test_every_rule_stands_where_it_is_looked_for():
    """A kind of another group stands in a file of a group above it, with no file between."""
    lost: list[str] = []
    for file, text in FILES.items():
        for name in read_rules(text, source=file).kinds:
            group = name.partition(".")[2] or file
            while group not in FILES and group.count(".") > 1:
                group = group.partition(".")[2]
            if group != file:
                lost.append(f"{file}: {name}")
    assert lost == []


@pytest.mark.parametrize("key", ["verdict", "result", "outcome", "conclusion"])
def test_a_bad_outcome_of_a_part_counts_without_rules(key: str):
    status = {"phase": "Ready", "checks": [{"name": "a", key: "Passed"}]}
    content: dict[str, Any] = {"apiVersion": "demo.example.com/v1", "kind": "Gauge"}
    assert compute({**content, "status": status}).ready
    status["checks"] = [{"name": "a", key: "Failed"}]
    assert compute({**content, "status": status}).state is State.FAILED


def test_a_spec_that_is_not_valid_counts_without_rules():
    conditions = [
        {"type": "Ready", "status": "True"},
        {"type": "ValidConfiguration", "status": "False", "reason": "UnknownRegion"},
    ]
    content = {"apiVersion": "demo.example.com/v1", "kind": "Gauge"}
    assert not compute({**content, "status": {"conditions": conditions}}).ready
