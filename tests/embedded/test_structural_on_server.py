"""The corpus of definitions, values, rules and updates is answered as a real server answers it.

``KONSTAT_RECORD_ANSWERS=1`` writes the record anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from typing import Any

import apply_rig
import pytest
from apply_rig import Wire
from structural_bench import (
    Object,
    chunks,
    contents,
    definition,
    edited,
    load,
    ruled,
    run_schema,
    same,
    save,
    told,
    whole,
)
from structural_rig import refusal, served, tightened

from konstat.testing import ControlPlane

pytestmark = pytest.mark.realapi


@pytest.fixture
async def wire(control_plane: ControlPlane) -> AsyncIterator[Wire]:
    async with apply_rig.wire_to(control_plane.config) as opened:
        yield opened


class Record:
    """One corpus: what the server answers is compared with it, or written into it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.content = load(name)
        self.cases: list[Object] = self.content["cases"]
        self.differences: list[Any] = []
        self._recording = bool(os.environ.get("KONSTAT_RECORD_ANSWERS"))

    def see(self, case: Object, key: str, answer: Any) -> None:
        if self._recording:
            case[key] = answer
            case.pop("refused" if key == "causes" else "", None)
        elif not same(case.get(key), answer):
            self.differences.append({"case": case, "key": key, "answer": answer})

    def end(self) -> None:
        if self._recording:
            save(self.name, self.content)
        assert self.differences == []


async def test_C47_definitions(wire: Wire) -> None:
    record = Record("definitions")
    for case in record.cases:
        record.see(case, "causes", await refusal(wire, case["crd"]))
    record.end()


async def test_C53_rules(wire: Wire) -> None:
    record = Record("rules")
    for case in record.cases:
        schema = ruled(record.content["node"], {"rule": case["rule"]})
        record.see(case, "causes", await refusal(wire, definition(schema)))
    record.end()


async def test_C49_C50_C51_C55_values(wire: Wire) -> None:
    record = Record("values")
    fields = record.content["fields"]
    spec = {"type": "object", "properties": fields}
    path = await served(wire, {"type": "object", "properties": {"spec": spec}}, "values")
    for case in record.cases:
        obj = whole({"spec": {case["field"]: case["value"]}}, "Values")
        answer = await wire.send("POST", f"{path}?dryRun=All", obj)
        if answer.code == 400:
            record.see(case, "refused", answer.body["message"])
            continue
        assert answer.code in (201, 422), answer
        record.see(case, "causes", told(answer.body))
        if answer.code == 201:
            record.see(case, "stored", contents(answer.body))
    record.end()


async def test_C53_rules_at_work(wire: Wire) -> None:
    record = Record("runs")
    node = load("rules")["node"]
    for number, part in enumerate(chunks(record.cases, 20)):
        named = [(f"r{index}", case["rule"]) for index, case in enumerate(part)]
        path = await served(wire, run_schema(node, named), f"runs{number}")
        for (name, _), case in zip(named, part, strict=True):
            answers = {}
            for label, value in record.content["values"].items():
                obj = whole({"spec": {name: value}}, f"Runs{number}")
                answer = await wire.send("POST", f"{path}?dryRun=All", obj)
                assert answer.code in (201, 422), answer
                # Every rule has its own field, whose name is of no interest.
                shown = json.dumps(told(answer.body)).replace(f"spec.{name}", "spec.r")
                answers[label] = json.loads(shown)
            record.see(case, "causes", answers)
    record.end()


async def test_C54_updates(wire: Wire) -> None:
    record = Record("updates")
    content, schema = record.content["object"], record.content["schema"]
    spec_only = {"spec": content["spec"]}
    for part, given, sub in (("spec", spec_only, ""), ("status", content, "/status")):
        plural = f"{part}updates"
        path = await tightened(wire, plural, given, schema)
        current = (await wire.send("GET", path)).body
        for case in record.cases:
            new = edited(current, case["edits"], part)
            if new is None:
                continue
            answer = await wire.send("PUT", f"{path}{sub}?dryRun=All", new)
            assert answer.code in (200, 422), answer
            record.see(case, part, told(answer.body))
    record.end()
