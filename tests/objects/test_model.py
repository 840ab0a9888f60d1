"""Declared classes and what their instances are on the wire."""

# ruff: noqa: RUF012 - msgspec copies mutable defaults

from __future__ import annotations

import datetime
from typing import Annotated, Any

import pytest

from konstat.errors import ModelError
from konstat.objects import codec
from konstat.objects.constraint import Rule
from konstat.objects.model import (
    Model,
    PerAttempt,
    Spec,
    Status,
    StatusField,
    StatusPart,
    rules_of,
    status_fields,
    to_plain,
)
from konstat.objects.quantity import Quantity


class Part(StatusPart):
    @classmethod
    def begin(cls, field: StatusField) -> Part:
        return cls()


class Inner(Model):
    first_word: str
    note: str | None = None


class Wide(Spec):
    inner: Inner
    tags: set[str] = set()
    amount: Quantity = Quantity("1Gi")
    since: datetime.datetime | None = None


def test_a_model_is_frozen_and_keyword_only() -> None:
    inner = Inner(first_word="a")
    with pytest.raises(AttributeError):
        setattr(inner, "first_word", "b")  # noqa: B010 - a type checker refuses the plain form
    with pytest.raises(TypeError):
        Inner("a")  # type: ignore[call-arg]


def test_plain_data_is_camel_case_ordered_and_without_none() -> None:
    wide = Wide(inner=Inner(first_word="a"), tags={"c", "a", "b"})
    assert to_plain(wide) == {
        "inner": {"firstWord": "a"},
        "tags": ["a", "b", "c"],
        "amount": "1Gi",
    }
    assert to_plain({"a": None, "b": [None, {"c": None}]}) == {"b": [None, {}]}
    with pytest.raises(TypeError):
        to_plain({"a": object()})


def test_quantities_go_through_json() -> None:
    wide = codec.typed_json(b'{"inner":{"firstWord":"a"},"amount":"2Gi"}', Wide)
    assert wide.amount == Quantity("2048Mi")
    assert codec.typed({"inner": {"firstWord": "a"}, "amount": 2}, Wide).amount == Quantity("2")
    assert b'"amount":"2Gi"' in codec.encode(wide)
    with pytest.raises(ValueError, match=r"not a quantity.*\$\.amount"):
        codec.typed({"inner": {"firstWord": "a"}, "amount": "x"}, Wide)


def test_rules_stand_on_the_class() -> None:
    class One(Model, rules=[Rule("self.a > 0")]):
        a: int

    class Two(One, rules=[Rule("self.a < 9")]):
        pass

    assert [rule.cel for rule in rules_of(Two)] == ["self.a > 0", "self.a < 9"]
    assert rules_of(Inner) == ()
    with pytest.raises(ModelError, match="Three"):

        class Three(Model, rules=["self.a > 0"]):
            a: int


def test_an_option_that_msgspec_refuses_names_the_class() -> None:
    with pytest.raises(ModelError, match="Odd"):

        class Odd(Model, rename="sideways"):
            a: int


class Report(Status):
    part: Part
    maybe: Part | None = None
    kept: int = 1
    fresh: Annotated[list[int], PerAttempt] = []


def test_status_fields() -> None:
    part, maybe, kept, fresh = status_fields(Report)
    assert (part.part, part.optional) == (Part, False)
    assert (maybe.part, maybe.optional) == (Part, True)
    assert (kept.part, kept.per_attempt, kept.default()) == (None, False, 1)
    assert (fresh.per_attempt, fresh.default()) == (True, [])
    assert fresh.default() is not fresh.default()


def test_status_fields_that_cannot_be() -> None:
    class Taken(Status):
        conditions: int = 0

    class Needed(Status):
        count: int

    class Lost(Status):
        a: int = 0

    Lost.__annotations__["a"] = "Nowhere"
    for cls, words in ((Taken, "conditions"), (Needed, "default"), (Lost, "Nowhere")):
        with pytest.raises(ModelError, match=words):
            status_fields(cls)


def test_a_status_is_a_draft_that_may_be_assigned_to() -> None:
    report: Any = Report(part=Part())
    report.kept = 5
    assert report.kept == 5


def test_a_part_must_say_how_an_attempt_begins_it() -> None:
    class Silent(StatusPart):
        pass

    with pytest.raises(TypeError, match="begin"):
        Silent()  # pyright: ignore[reportAbstractUsage]
