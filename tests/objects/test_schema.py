"""Type hints to structural schemas."""

# ruff: noqa: RUF012 - msgspec copies mutable defaults

from __future__ import annotations

import datetime
import decimal
import enum
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, NewType, TypeVar

import msgspec
import pytest

from konstat.errors import ModelError
from konstat.objects.constraint import (
    Atomic,
    Description,
    Duration,
    Format,
    Immutable,
    IntOrString,
    IntOrStringMark,
    Length,
    ListMap,
    ListSet,
    Pattern,
    PreserveUnknown,
    Range,
    Rule,
)
from konstat.objects.model import Model
from konstat.objects.quantity import QUANTITY_PATTERN, Quantity
from konstat.objects.schema import Place, struct_schema, value_schema

T = TypeVar("T")
Port = NewType("Port", int)
TEXT = {"type": "string"}
WHOLE = {"type": "integer", "format": "int64"}


class Mode(enum.Enum):
    FAST = "fast"
    SAFE = "safe"


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


class Item(Model):
    name: str
    port_number: int = 80


class Left(Model, tag="left"):
    x: int
    shared: str = "l"


class Right(Model, tag="right"):
    y: str
    shared: str = "r"


class Clash(Model, tag="clash"):
    x: str


class Tree(Model):
    children: list[Tree] = []


class OptionalKey(Model):
    name: str | None = None


class Plain(msgspec.Struct, array_like=True):
    a: int


class Box(Model, Generic[T]):
    inner: T


ITEM = {
    "type": "object",
    "properties": {"name": TEXT, "portNumber": {**WHOLE, "default": 80}},
    "required": ["name"],
}


def schema(hint: Any) -> dict[str, Any]:
    return value_schema(hint, Place("WebSpec", "field"))


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (str, TEXT),
        (int, WHOLE),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (bytes, {"type": "string", "format": "byte"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (Port, WHOLE),
        (Quantity, {"x-kubernetes-int-or-string": True, "pattern": QUANTITY_PATTERN}),
        (IntOrString, {"x-kubernetes-int-or-string": True}),
        (int | str, {"x-kubernetes-int-or-string": True}),
        (
            Annotated[int, Range(0)] | Annotated[str, Pattern("%$")],
            {"x-kubernetes-int-or-string": True, "minimum": 0, "pattern": "%$"},
        ),
        (int | float, {"type": "number"}),
        (str | None, {**TEXT, "nullable": True}),
        (str | msgspec.UnsetType, TEXT),
        (Mode, {**TEXT, "enum": ["fast", "safe"]}),
        (Mode | None, {**TEXT, "enum": ["fast", "safe"]}),  # the server drops null from choices
        (Literal["a", "b"], {**TEXT, "enum": ["a", "b"]}),
        (Literal[1, 2, None], {**WHOLE, "enum": [1, 2]}),
        (list[str], {"type": "array", "items": TEXT}),
        (tuple[str, ...], {"type": "array", "items": TEXT}),
        (Sequence[str], {"type": "array", "items": TEXT}),
        (tuple[str, str], {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}),
        (set[str], {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}),
        (frozenset[int], {"type": "array", "items": WHOLE, "x-kubernetes-list-type": "set"}),
        (dict[str, int], {"type": "object", "additionalProperties": WHOLE}),
        (Mapping[str, int], {"type": "object", "additionalProperties": WHOLE}),
        (dict[str, Any], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (dict, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (Any, {"x-kubernetes-preserve-unknown-fields": True, "nullable": True}),
        (Item, ITEM),
        (Item | None, {**ITEM, "nullable": True}),
        (Annotated[int, Range(1, 5)], {**WHOLE, "minimum": 1, "maximum": 5}),
        (
            Annotated[float, Range(exclusive_minimum=0, exclusive_maximum=1.5)],
            {
                "type": "number",
                "minimum": 0,
                "exclusiveMinimum": True,
                "maximum": 1.5,
                "exclusiveMaximum": True,
            },
        ),
        (Annotated[int, Range(multiple_of=5)], {**WHOLE, "multipleOf": 5}),
        (Annotated[str, Length(1, 5)], {**TEXT, "minLength": 1, "maxLength": 5}),
        (Annotated[list[str], Length(1)], {"type": "array", "items": TEXT, "minItems": 1}),
        (
            Annotated[dict[str, int], Length(maximum=2)],
            {"type": "object", "additionalProperties": WHOLE, "maxProperties": 2},
        ),
        (Annotated[str, Pattern("^a$")], {**TEXT, "pattern": "^a$"}),
        (Annotated[str, Pattern("^a$")] | None, {**TEXT, "pattern": "^a$", "nullable": True}),
        (Annotated[str, Format("ipv4")], {**TEXT, "format": "ipv4"}),
        (Annotated[str, Description("A name.")], {**TEXT, "description": "A name."}),
        (Annotated[str, msgspec.Meta(extra_json_schema={"x-a": 1})], {**TEXT, "x-a": 1}),
        (
            Annotated[str, Immutable()],
            {
                **TEXT,
                "x-kubernetes-validations": [
                    {"rule": "self == oldSelf", "message": "value is immutable"}
                ],
            },
        ),
        (
            Annotated[list[Item], ListMap("name", "port_number")],
            {
                "type": "array",
                "items": ITEM,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name", "portNumber"],
            },
        ),
        (
            Annotated[list[str], ListSet],
            {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        ),
        (
            Annotated[list[Item], Atomic()],
            {"type": "array", "items": ITEM, "x-kubernetes-list-type": "atomic"},
        ),
        (
            Annotated[dict[str, int], Atomic()],
            {"type": "object", "additionalProperties": WHOLE, "x-kubernetes-map-type": "atomic"},
        ),
        (
            Annotated[Item, PreserveUnknown()],
            {**ITEM, "x-kubernetes-preserve-unknown-fields": True},
        ),
        (Annotated[int, "a note of somebody else"], WHOLE),
    ],
)
def test_a_hint_has_its_schema(hint: Any, expected: dict[str, Any]) -> None:
    assert schema(hint) == expected
    assert list(map(repr, schema(hint))) == list(map(repr, schema(hint)))


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (complex, "complex"),
        (datetime.timedelta, "Duration"),
        (datetime.time, "Pattern"),
        (decimal.Decimal, "Quantity"),
        (type(None), "NoneType"),
        (tuple, "list"),
        (tuple[int, str], "one type"),
        (T, "type variable"),
        (Tree, "contains itself"),
        (Plain, "array_like"),
        (Mixed, "all texts"),
        (Literal["a", 1], "all texts"),
        (Literal[True], "all texts"),
        (dict[int, str], "plain str"),
        (dict[Annotated[str, Length(1)], str], "plain str"),
        (int | bool, "union"),
        (list[int] | str, "union"),
        (Item | Left, "tag"),
        (Left | Clash, "another schema"),
        (set[Item], "scalars"),
        (set[str | None], "scalars"),
        (Box[int], "no schema"),
        (Annotated[str, Range(1)], "Range"),
        (Annotated[int, Range(0.5)], "whole number"),
        (Annotated[int, Length(1)], "Length"),
        (Annotated[bytes, Length(1)], "Length"),
        (Annotated[Item, Length(1)], "Length"),
        (Annotated[int, Pattern("a")], "Pattern"),
        (Annotated[Mode, Length(1)], "choices"),
        (Annotated[Quantity, Length(1)], "Quantity"),
        (Annotated[int | None, Range(1)], "stands on the type"),
        (Annotated[int, Format("ipv4")], "Format"),
        (Annotated[list[str], ListMap("name")], "Models"),
        (Annotated[list[Item], ListMap("nam")], "no field 'nam'"),
        (Annotated[list[OptionalKey], ListMap("name")], "never null"),
        (Annotated[list[Item], ListSet()], "scalars"),
        (Annotated[str, Atomic()], "Atomic"),
        (Annotated[str, PreserveUnknown()], "PreserveUnknown"),
        (Annotated[str, IntOrStringMark()], "int | str"),
        (Annotated[int, Range], "Range(…)"),
        (Annotated[list[Item], ListMap], "ListMap(…)"),
        (list[complex], "complex"),
    ],
)
def test_what_has_no_schema_is_refused_by_class_and_field(hint: Any, words: str) -> None:
    with pytest.raises(ModelError) as refused:
        schema(hint)
    assert words in str(refused.value)
    assert "WebSpec.field" in str(refused.value) or hint in (Tree, Plain)


def test_recursion_names_the_field_that_closes_the_circle() -> None:
    with pytest.raises(ModelError, match=r"Tree\.children: Tree contains itself"):
        struct_schema(Tree)


def test_tagged_models_share_one_object() -> None:
    assert schema(Left | Right) == {
        "type": "object",
        "properties": {
            "type": {**TEXT, "enum": ["left", "right"]},
            "x": WHOLE,
            "shared": TEXT,
            "y": TEXT,
        },
        "required": ["type"],
        "oneOf": [
            {"properties": {"type": {"enum": ["left"]}}, "required": ["x"]},
            {"properties": {"type": {"enum": ["right"]}}, "required": ["y"]},
        ],
    }


class Documented(Model, rules=[Rule("self.low <= self.high", message="low is above high")]):
    """A range.

    Of two
    numbers.
    """

    low: int
    """The lower
    end."""
    high: Annotated[int, Description("The upper end.")] = 5
    """Not this one."""
    item: Item = Item(name="a")
    """An item."""
    nothing: str | None = None
    words: list[str] = []
    more: list[str] = msgspec.field(default_factory=lambda: ["a"])
    unset: int | msgspec.UnsetType = msgspec.UNSET
    amount: Quantity = Quantity("1Gi")
    every: Duration = "1m"
    mode: Mode = Mode.SAFE
    renamed: int = msgspec.field(default=0, name="otherName")


class Narrower(Documented, rules=[Rule("self.low > 0")]):
    pass


def test_a_model_has_descriptions_defaults_required_fields_and_rules() -> None:
    found = struct_schema(Documented)
    assert found["description"] == "A range.\nOf two numbers."
    assert found["required"] == ["low"]
    assert found["x-kubernetes-validations"] == [
        {"rule": "self.low <= self.high", "message": "low is above high"}
    ]
    properties = found["properties"]
    descriptions = {k: v.get("description", "") for k, v in properties.items()}
    assert descriptions["low"] == "The lower end."
    assert descriptions["high"] == "The upper end."
    assert descriptions["item"] == "An item."
    assert descriptions["words"] == ""
    defaults = {k: v["default"] for k, v in properties.items() if "default" in v}
    assert defaults == {
        "high": 5,
        "item": {"name": "a", "portNumber": 80},
        "more": ["a"],
        "amount": "1Gi",
        "every": "1m",
        "mode": "safe",
        "otherName": 0,
    }


def test_rules_and_descriptions_are_inherited() -> None:
    found = struct_schema(Narrower)
    assert [rule["rule"] for rule in found["x-kubernetes-validations"]] == [
        "self.low <= self.high",
        "self.low > 0",
    ]
    assert "description" not in found
    assert found["properties"]["low"]["description"] == "The lower end."


def test_no_empty_required_list() -> None:
    assert "required" not in struct_schema(OptionalKey)


def test_a_default_that_does_not_fit_is_refused() -> None:
    class Bad(Model):
        low: Annotated[int, Range(1)] = 0

    with pytest.raises(ModelError, match=r"Bad\.low: the default 0"):
        struct_schema(Bad)


def test_a_hint_that_names_nothing_is_refused() -> None:
    class Lost(Model):
        a: int

    Lost.__annotations__["a"] = "Nowhere"
    with pytest.raises(ModelError, match="Nowhere"):
        struct_schema(Lost)
