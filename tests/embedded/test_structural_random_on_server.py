"""Random schemas, objects, updates and rules: a real server and we say the same about them."""

from __future__ import annotations

from typing import Any

import apply_rig
import pytest
from apply_rig import Wire
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st
from structural_bench import (
    Object,
    agreed,
    contents,
    creation,
    definition,
    definition_causes,
    ruled,
    told,
    update_causes,
    whole,
)
from structural_rig import refusal, removed, served, tightened
from structural_strategies import (
    RULE_NODE,
    RULE_VALUES,
    RULES,
    SCHEMAS,
    fitting,
    json_values,
    root,
)

from konstat.embedded.structural.custom import CustomSchema
from konstat.testing import ControlPlane

pytestmark = pytest.mark.realapi
WITHOUT_KEYS: Object = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["a"],
    "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
}
KEEPING: Object = {
    "type": "object",
    "required": ["b"],
    "x-kubernetes-preserve-unknown-fields": True,
}
Case = tuple[Object, list[Any]]


def bounded(examples: int) -> Any:
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=checks,
    )


class Trial:
    """Definitions one after the other, each under a name of its own."""

    def __init__(self, wire: Wire, prefix: str) -> None:
        self._wire = wire
        self._prefix = prefix

    async def judged(self, schema: Object) -> bool:
        """Whether both accept a schema; that they agree is asserted."""
        theirs = await refusal(self._wire, definition(schema))
        assert definition_causes(definition(schema)) == theirs
        return theirs == []

    async def objects(self, schema: Object, number: int, specs: list[Any]) -> None:
        """Create each object; update a stored one to each of them."""
        plural = f"{self._prefix}{number}"
        path, kind = await served(self._wire, schema, plural), plural.title()
        ours = CustomSchema(schema)
        stored: Object | None = None
        for spec in specs:
            obj = whole({"spec": spec}, kind)
            note(f"object {spec!r}")
            if stored is not None:
                await self._update(f"{path}/stored", ours, {**stored, "spec": spec}, stored)
            if not await self._create(f"{path}?dryRun=All", ours, obj) or stored is not None:
                continue
            named = {**obj, "metadata": {"name": "stored"}}
            answer = await self._wire.send("POST", path, named)
            assert answer.code == 201, answer
            stored = answer.body
        await removed(self._wire, plural)

    async def updates(self, schema: Object, number: int, specs: list[Any]) -> None:
        """Update an object that was stored before its definition had this schema."""
        plural = f"{self._prefix}{number}"
        first, *others = specs
        path = await tightened(self._wire, plural, {"spec": first}, schema)
        ours, stored = CustomSchema(schema), (await self._wire.send("GET", path)).body
        for spec in (first, *others):
            note(f"update {spec!r}")
            await self._update(path, ours, {**stored, "spec": spec}, stored)
        await removed(self._wire, plural)

    async def _create(self, path: str, ours: CustomSchema, obj: Object) -> bool:
        answer = await self._wire.send("POST", path, obj)
        if answer.code == 400:
            theirs: Object = {"refused": answer.body["message"]}
        elif answer.code == 422:
            theirs = {"causes": told(answer.body)}
        else:
            assert answer.code == 201, answer
            theirs = {"causes": [], "stored": contents(answer.body)}
        mine = creation(ours, obj)
        assert agreed(mine, theirs), (mine, theirs)
        return answer.code == 201

    async def _update(self, path: str, ours: CustomSchema, new: Object, old: Object) -> None:
        answer = await self._wire.send("PUT", f"{path}?dryRun=All", new)
        assert answer.code in (200, 422), answer
        assert update_causes(ours, new, old, status=False) == told(answer.body)


def cases(schemas: st.SearchStrategy[Object]) -> st.SearchStrategy[Case]:
    return schemas.flatmap(
        lambda schema: st.tuples(
            st.just(schema), st.lists(fitting(schema), min_size=4, max_size=10)
        )
    )


def test_C47_C49_C51_C54_C55_random_schemas_and_objects(control_plane: ControlPlane) -> None:
    numbers = iter(range(10_000))

    @bounded(15)
    @given(case=cases(SCHEMAS))
    def run(case: Case) -> None:
        spec, objects = case

        async def work(wire: Wire) -> None:
            trial = Trial(wire, "random")
            if await trial.judged(root(spec)):
                await trial.objects(root(spec), next(numbers), objects)

        apply_rig.with_wire(control_plane.config, work)

    run()


def test_C54_random_updates_of_what_was_stored(control_plane: ControlPlane) -> None:
    numbers = iter(range(10_000))

    @bounded(15)
    @given(case=cases(SCHEMAS), others=st.lists(json_values(3), max_size=2))
    @example(case=(KEEPING, [{"a": None}, {"a": None}, {"a": 1}]), others=[])
    @example(case=(WITHOUT_KEYS, [[{}], [{}, {"a": "x"}]]), others=[])
    def run(case: Case, others: list[Any]) -> None:
        spec, objects = case

        async def work(wire: Wire) -> None:
            trial = Trial(wire, "tightened")
            if await trial.judged(root(spec)):
                # A server drops null before it stores anything.
                first, *rest = [value for value in (*objects, *others, {}) if value is not None]
                await trial.updates(root(spec), next(numbers), [first, *rest])

        apply_rig.with_wire(control_plane.config, work)

    run()


@bounded(150)
@given(rule=RULES)
def test_C53_random_rules_are_judged_alike(control_plane: ControlPlane, rule: str) -> None:
    async def work(wire: Wire) -> None:
        await Trial(wire, "judged").judged(ruled(RULE_NODE, {"rule": rule}))

    apply_rig.with_wire(control_plane.config, work)


def test_C53_random_rules_at_work(control_plane: ControlPlane) -> None:
    numbers = iter(range(10_000))

    @bounded(15)
    @given(
        rules=st.lists(RULES, min_size=10, max_size=25),
        objects=st.lists(RULE_VALUES, min_size=3, max_size=5),
    )
    def run(rules: list[str], objects: list[Object]) -> None:
        good = [
            {"rule": rule}
            for rule in rules
            if not definition_causes(definition(ruled(RULE_NODE, {"rule": rule})))
        ]

        async def work(wire: Wire) -> None:
            trial = Trial(wire, "working")
            schema = ruled(RULE_NODE, *good)
            if good and await trial.judged(schema):
                await trial.objects(schema, next(numbers), objects)

        apply_rig.with_wire(control_plane.config, work)

    run()
