"""Rules at work: what they see, when they run, what they say, and what stops them (C51 to C54).

That each function does what a server does is in ``structural_corpus``; here are the ways through.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from structural_bench import Object, definition, definition_causes, ruled, whole

from konstat.base import limits
from konstat.embedded.cel import parsing
from konstat.embedded.cel.rules import Rules
from konstat.embedded.status_errors import FieldError
from konstat.embedded.structural.custom import CustomSchema

INTEGER = {"type": "integer"}
TEXT = {"type": "string", "maxLength": 20}
NODE: Object = {"type": "object", "properties": {"i": INTEGER, "j": INTEGER, "s": TEXT}}


def checked(rule: Object, new: Any, old: Any = None, node: Object = NODE) -> list[FieldError]:
    schema = CustomSchema(ruled(node, rule))
    before = None if old is None else whole({"spec": old})
    return schema.validate(whole({"spec": new}), before)


def texts(errors: list[FieldError]) -> list[str]:
    return [f"{error.path}: {error.message}" for error in errors]


def definition_texts(rule: Object, node: Object = NODE) -> list[str]:
    return [message for _, _, message in definition_causes(definition(ruled(node, rule)))]


def test_C51_a_rule_says_its_text_or_its_message() -> None:
    assert texts(checked({"rule": "self.i > 1"}, {"i": 1})) == [
        "spec: Invalid value: failed rule: self.i > 1"
    ]
    assert texts(checked({"rule": "self.i > 1", "message": "too small"}, {"i": 1})) == [
        "spec: Invalid value: too small"
    ]
    assert checked({"rule": "self.i > 1"}, {"i": 2}) == []


def test_C51_a_message_expression_speaks_and_the_message_stands_in() -> None:
    rule = {"rule": "self.i > 1", "message": "plain", "messageExpression": "'not ' + self.s"}
    assert texts(checked(rule, {"i": 1, "s": "so"})) == ["spec: Invalid value: not so"]
    assert texts(checked(rule, {"i": 1})) == ["spec: Invalid value: plain"]
    assert texts(checked(rule, {"i": 1, "s": "a\nb"})) == ["spec: Invalid value: plain"]


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("FieldValueInvalid", "Invalid value: no"),
        ("FieldValueForbidden", "Forbidden: no"),
        ("FieldValueRequired", "Required value: no"),
        ("FieldValueDuplicate", "Duplicate value"),
    ],
)
def test_C51_reason_and_field_path(reason: str, message: str) -> None:
    rule = {"rule": "self.i > 1", "message": "no", "reason": reason, "fieldPath": ".s"}
    (error,) = checked(rule, {"i": 1, "s": "a"})
    assert (error.path, error.reason) == ("spec.s", reason)
    assert error.message.startswith(message.split(":")[0])


def test_C52_rules_wait_until_the_form_is_right() -> None:
    found = checked({"rule": "self.i > 1"}, {"i": "x"})
    assert [error.path for error in found] == ["spec.i", "<nil>"]
    assert "some validation rules were not checked" in found[1].message


def test_C52_an_error_of_a_value_does_not_block_rules() -> None:
    node = {"type": "object", "properties": {"i": {"type": "integer", "maximum": 5}}}
    found = checked({"rule": "self.i < 3"}, {"i": 7}, node=node)
    assert [error.path for error in found] == ["spec.i", "spec"]


def test_C53_transition_rules_are_for_updates() -> None:
    rule = {"rule": "self.i >= oldSelf.i"}
    assert checked(rule, {"i": 1}) == []
    assert checked(rule, {"i": 2}, {"i": 1}) == []
    assert texts(checked(rule, {"i": 1}, {"i": 2})) == [
        "spec: Invalid value: failed rule: self.i >= oldSelf.i"
    ]


def test_C53_an_optional_old_value_makes_a_rule_for_creations_too() -> None:
    rule = {"rule": "oldSelf.hasValue() || self.i == 0", "optionalOldSelf": True}
    assert len(checked(rule, {"i": 1})) == 1
    assert checked(rule, {"i": 0}) == []
    assert checked(rule, {"i": 1}, {"i": 0}) == []


def test_C53_entries_of_a_list_map_have_old_values_by_key() -> None:
    value = {**INTEGER, "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}
    entries = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "required": ["k"], "properties": {"k": TEXT, "v": value}},
    }
    schema = CustomSchema({"type": "object", "properties": {"list": entries}})
    old = whole({"list": [{"k": "a", "v": 5}, {"k": "b", "v": 1}]})
    moved = whole({"list": [{"k": "b", "v": 2}, {"k": "c", "v": 0}, {"k": "a", "v": 4}]})
    assert [error.path for error in schema.validate(moved, old)] == ["list[2].v"]


def test_C54_what_was_wrong_before_may_stay() -> None:
    rule = {"rule": "self.i > 1"}
    assert checked(rule, {"i": 1}, {"i": 1}) == []
    assert len(checked(rule, {"i": 0}, {"i": 1})) == 1


def test_rules_stand_at_any_depth_and_at_the_root() -> None:
    inner = {**NODE, "x-kubernetes-validations": [{"rule": "self.i > 1"}]}
    schema = CustomSchema(
        {
            "type": "object",
            "x-kubernetes-validations": [{"rule": "self.metadata.name != 'x'"}],
            "properties": {
                "m": {"type": "object", "additionalProperties": {"type": "array", "items": inner}}
            },
        }
    )
    found = schema.validate(whole({"m": {"a.b": [{"i": 2}, {"i": 1}]}}), None)
    assert [error.path for error in found] == ["<nil>", "m[a.b][1]"]


@pytest.mark.parametrize(
    ("field", "name"),
    [("a-b", "a__dash__b"), ("a.b", "a__dot__b"), ("a/b", "a__slash__b"), ("in", "__in__")],
)
def test_names_that_cel_cannot_write_are_escaped(field: str, name: str) -> None:
    node = {"type": "object", "properties": {field: INTEGER}}
    assert checked({"rule": f"self.{name} == 1"}, {field: 1}, node=node) == []
    assert len(checked({"rule": f"self.{name} == 1"}, {field: 2}, node=node)) == 1


def test_what_is_lacking_is_refused_by_name() -> None:
    (text,) = definition_texts({"rule": "authorizer.group('a').check('get').allowed()"})
    assert "authorizer" in text
    deep = "(" * 40 + "self.i" + ")" * 40 + " == 1"
    (text,) = definition_texts({"rule": deep})
    assert "nested 32 levels deep" in text
    (text,) = definition_texts({"rule": f"'{'a' * limits.EMBEDDED_RULE_CHARACTERS}' != self.s"})
    assert "characters at most" in text


def test_without_the_library_a_definition_with_rules_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def without(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(parsing, "import_module", without)
    parsing._environment.cache_clear()
    try:
        (text,) = definition_texts({"rule": "self.i == 404"})
        assert "install konstat[cel]" in text
        assert definition_causes(definition({"type": "object"})) == []
    finally:
        parsing._environment.cache_clear()


def nested(depth: int) -> str:
    """A rule that goes through a list as many times as its length to the power of ``depth``."""
    rule = "x0 == x0"
    for level in reversed(range(depth)):
        rule = f"self.all(x{level}, {rule})"
    return rule


def test_costs_are_estimated_when_a_definition_is_made() -> None:
    items = {"type": "array", "maxItems": 1000, "items": INTEGER}
    assert definition_texts({"rule": nested(1)}, items) == []
    text = "\n".join(definition_texts({"rule": nested(3)}, items))
    assert "estimated rule cost exceeds budget by factor of" in text


def test_a_rule_that_costs_too_much_is_stopped() -> None:
    schema = {"type": "array", "items": INTEGER, "x-kubernetes-validations": [{"rule": nested(3)}]}
    rules = Rules.compile({"type": "object", "properties": {"l": schema}})
    assert rules is not None
    before = time.process_time()
    (error,) = rules.check({"l": [1] * 300})
    assert time.process_time() - before < 20
    assert "call cost exceeds limit" in error.message


@pytest.mark.parametrize(
    "rule",
    [
        "self.s.matches('(a+)+$')",
        "'%.9999f'.format([1.5]) == self.s",
        "lists.range(999999999999).size() > 1",
        "[self.s].map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).size() == 1",
    ],
)
def test_no_rule_takes_long(rule: str) -> None:
    rules = Rules.compile(ruled(NODE, {"rule": rule}))
    assert rules is not None
    before = time.process_time()
    rules.check({"spec": {"s": "a" * 20 + "!"}})
    assert time.process_time() - before < 10
