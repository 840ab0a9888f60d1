"""Any JSON is judged and nothing more: definitions, objects and rules from anywhere never raise.

Before: `structural_strategies`. After: nothing; `test_structural_random_on_server.py` asks a
server about the same inputs.
"""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from structural_bench import (
    Object,
    completed,
    creation,
    definition,
    definition_causes,
    load,
    numbers,
    ruled,
    whole,
)
from structural_strategies import RULE_NODE, RULE_VALUES, RULES, SCHEMAS, fitting, json_values, root

from konstat.embedded.builtin.catalog import builtin_types
from konstat.embedded.cel import parsing
from konstat.embedded.cel.wire import WireError, parsed_expression
from konstat.embedded.status_errors import StatusError
from konstat.embedded.structural.crd import check_crd, crd_warnings
from konstat.embedded.structural.custom import CustomSchema

CRD = next(kind for kind in builtin_types() if kind.kind == "CustomResourceDefinition")
GIVEN = [case["crd"] for case in load("definitions")["cases"]]
FIELDS = load("values")["fields"]
EVERYTHING: Object = root({"type": "object", "properties": FIELDS})
ALL_VALUES = CustomSchema(EVERYTHING)


def bounded(examples: int) -> Any:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))]


@bounded(400)
@given(data=st.data(), crd=st.sampled_from(GIVEN))
def test_C47_any_definition_is_judged(data: st.DataObject, crd: Object) -> None:
    made = copy.deepcopy(crd)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(made["spec"], ("spec",))[1:] or [("spec",)]))
        place = made
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = data.draw(json_values(3))
    try:
        CRD.decode(made)
    except (StatusError, ValueError):
        return  # a 400 before anything is judged
    CRD.defaults(made)
    made = completed(made) if isinstance(made["spec"].get("names"), dict) else made
    found = check_crd(made)
    assert all(error.reason and error.message for error in found)
    crd_warnings(made)


@bounded(400)
@given(content=st.dictionaries(st.sampled_from(sorted(FIELDS)), json_values(), max_size=4))
def test_C49_C51_any_object_is_judged(content: Object) -> None:
    answer = creation(ALL_VALUES, whole({"spec": content}))
    assert set(answer) & {"refused", "causes"}


@bounded(150)
@given(spec=json_values(4), metadata=json_values(3), name=st.sampled_from(sorted(FIELDS)))
def test_C49_any_object_is_pruned_for_good(spec: Any, metadata: Any, name: str) -> None:
    obj = numbers(whole({"spec": {name: spec, "unknown": metadata}}))
    try:
        ALL_VALUES.check_form(obj)
    except ValueError:
        return
    dropped = ALL_VALUES.prune(obj)
    assert any("unknown" in path for path in dropped)
    once = copy.deepcopy(obj)
    assert ALL_VALUES.prune(obj) == []
    assert obj == once


@bounded(200)
@given(data=st.data(), spec=SCHEMAS)
def test_C50_C54_what_is_stored_may_stay(data: st.DataObject, spec: Object) -> None:
    # Entries without keys and unknown fields have no old value for a server.
    if any(word in json.dumps(spec) for word in ("map-keys", "preserve-unknown")):
        return
    if definition_causes(definition(root(spec))):
        return
    schema = CustomSchema(root(spec))
    obj = numbers(whole({"spec": data.draw(fitting(spec))}))
    schema.prune(obj)
    schema.defaults(obj)
    filled = copy.deepcopy(obj)
    schema.defaults(obj)
    assert obj == filled
    assert schema.validate(copy.deepcopy(obj), obj) == []
    assert schema.validate_status(copy.deepcopy(obj), obj) == []


@bounded(300)
@given(text=st.text(max_size=30) | st.text(alphabet="self.abx()[]{}'\"+-?:&|!<>=,1 ", max_size=40))
@example(text="self." * 2000 + "x")
@example(text="(" * 500 + "1" + ")" * 500)
@example(text="[" * 400)
@example(text="self.l" + ".map(x, x)" * 200 + ".size() > 1")
@example(text="'" + "a" * 20_000 + "' == 'b'")
@example(text="1" * 5000 + " > 1")
@example(text="'\\ud800' == 'a'")
@example(text="\x00")
@example(text="`")
def test_C53_any_text_is_judged_as_a_rule(text: str) -> None:
    definition_causes(definition(ruled(RULE_NODE, {"rule": text})))
    rule = {"rule": "self.i > 1", "messageExpression": text, "fieldPath": text, "message": text}
    definition_causes(definition(ruled(RULE_NODE, rule)))


@bounded(400)
@given(rule=RULES, values=st.lists(RULE_VALUES | json_values(4), min_size=1, max_size=3))
@example(rule="int(self.s) > 1", values=[{"s": "9" * 6000}])
@example(rule="self.s.matches(self.s)", values=[{"s": "(" * 200}])
@example(rule="double(self.s) > 1.0", values=[{"s": "1" * 6000}])
@example(rule="quantity(self.s) == quantity('1')", values=[{"s": "1e999999999"}, {"s": "1" * 6000}])
@example(rule="semver(self.s) == semver('1.0.0')", values=[{"s": f"{'1' * 6000}.0.0"}])
@example(rule="timestamp(self.s) == self.t", values=[{"s": "9999-12-31T23:59:59.999999999Z"}])
@example(rule="duration(self.s) == self.d", values=[{"s": "1" * 6000 + "h"}])
@example(rule="'%.9999f'.format([self.n]) == 'a'", values=[{"n": 1.5}])
@example(rule="ip(self.s) == ip(self.s)", values=[{"s": "1" * 6000}])
def test_C53_any_rule_runs_over_any_object(rule: str, values: list[Any]) -> None:
    schema = CustomSchema(ruled(RULE_NODE, {"rule": rule}))
    for value in values:
        obj = numbers(whole({"spec": value}))
        schema.prune(obj)
        schema.validate(obj, None)
        # Rules are run even where the form is wrong, as long as nothing blocks them.
        assert schema.validate(obj, whole({"spec": values[0]})) is not None


@bounded(500)
@given(data=st.binary(max_size=60), text=st.text(max_size=5))
def test_any_bytes_of_the_parser_are_read_or_refused(data: bytes, text: str) -> None:
    with contextlib.suppress(WireError):
        parsed_expression(data, text)


def test_the_library_is_present() -> None:
    assert parsing.missing() == ""
