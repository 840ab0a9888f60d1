"""The server's verdict on plain data, given locally."""

# ruff: noqa: RUF012 - msgspec copies mutable defaults

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

from konstat.objects.constraint import Length, ListMap, Pattern, Range
from konstat.objects.crd import status_schema
from konstat.objects.model import Model, NoStatus, Spec
from konstat.objects.quantity import Quantity
from konstat.objects.schema import struct_schema
from konstat.objects.violation import violations


class Item(Model):
    name: str
    kind: str = "a"


class Left(Model, tag="left"):
    x: int


class Right(Model, tag="right"):
    y: str


class Wide(Spec):
    count: Annotated[int, Range(0, exclusive_maximum=10)] = 0
    ratio: Annotated[float, Range(0, 1)] = 0.5
    even: Annotated[int, Range(multiple_of=2)] = 0
    word: Annotated[str, Length(1, 3), Pattern("^[a-z]*$")] = "a"
    flag: bool = False
    level: Literal["low", "high"] | None = None
    items: Annotated[list[Item], ListMap("name", "kind"), Length(maximum=3)] = []
    tags: set[str] = set()
    labels: Annotated[dict[str, int], Length(maximum=1)] = {}
    amount: Quantity | None = None
    data: bytes | None = None
    variant: Left | Right | None = None
    any: Any = None


SCHEMA = struct_schema(Wide)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"count": 9, "ratio": 1, "even": 4, "word": "abc", "flag": True, "level": None},
        {"items": [{"name": "a"}, {"name": "a", "kind": "b"}], "tags": ["a", "b"]},
        {"labels": {"a": 1}, "amount": "1Gi", "data": "YQ==", "unknown": object},
        {"amount": 5, "variant": {"type": "left", "x": 1}, "any": [None]},
        {
            "count": None,
            "labels": {"a": None},
            "level": None,
        },  # pruned by the server, as an absent field
    ],
)
def test_good_values(value: Any) -> None:
    assert violations(value, SCHEMA) == []


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"count": 10}, "count"),
        ({"count": -1}, "count"),
        ({"count": "1"}, "count"),
        ({"count": True}, "count"),
        ({"count": 1.5}, "count"),
        ({"count": 2**63}, "count"),
        ({"ratio": 1.1}, "ratio"),
        ({"ratio": float("nan")}, "ratio"),
        ({"even": 3}, "even"),
        ({"word": ""}, "word"),
        ({"word": "abcd"}, "word"),
        ({"word": "a\n"}, "word"),
        ({"flag": 1}, "flag"),
        ({"level": "mid"}, "level"),
        ({"items": [{}]}, "items[0].name"),
        ({"items": [{"name": "a"}, {"name": "a", "kind": "a"}]}, "items[1]"),
        ({"items": {"name": "a"}}, "items"),
        ({"items": [{"name": str(i)} for i in range(4)]}, "items"),
        ({"tags": ["a", "a"]}, "tags[1]"),
        ({"labels": {"a": "b"}}, "labels.a"),
        ({"labels": {"a": 1, "b": 2}}, "labels"),
        ({"amount": "x"}, "amount"),
        ({"amount": 0.5}, "amount"),
        ({"data": "%"}, "data"),
        ({"variant": {"type": "left", "y": "a"}}, "variant"),
        ({"variant": {"type": "middle"}}, "variant.type"),
        ({"variant": {"x": 1}}, "variant.type"),
    ],
)
def test_bad_values(value: Any, path: str) -> None:
    found = violations(value, SCHEMA, path="spec")
    assert f"spec.{path}" in [violation.path for violation in found]


def condition(**changes: Any) -> dict[str, Any]:
    good = {
        "type": "Ready",
        "status": "True",
        "reason": "AllGood",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    return {"conditions": [{**good, **changes}]}


@pytest.mark.parametrize(
    "changes",
    [{}, {"type": "a.b/Ready"}, {"observedGeneration": 0}, {"message": "é" * 32768}],
)
def test_good_conditions(changes: dict[str, Any]) -> None:
    assert violations(condition(**changes), status_schema(NoStatus)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"type": ""},
        {"type": "a b"},
        {"type": "a" * 317},
        {"status": "true"},
        {"reason": ""},
        {"reason": "A-B"},
        {"reason": "A\n"},
        {"reason": "A" * 1025},
        {"message": "x" * 32769},
        {"message": None},
        {"observedGeneration": -1},
        *[{"lastTransitionTime": text} for text in ("", "now", "2026-13-01T00:00:00Z",
          "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T24:00:00Z")],
    ],
)  # fmt: skip
def test_89_bad_conditions(changes: dict[str, Any]) -> None:
    assert violations(condition(**changes), status_schema(NoStatus), path="status") != []


def test_88_duplicate_types() -> None:
    twice = {"conditions": condition()["conditions"] * 2}
    (found,) = violations(twice, status_schema(NoStatus), path="status")
    assert found.path == "status.conditions[1]"


def test_long_values_are_not_repeated() -> None:
    (found,) = violations({"word": "Z" * 5000}, SCHEMA)[1:]
    assert len(found.problem) < 200
