"""Constraints: what they refuse at declaration and what they make the decoder refuse."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from konstat.errors import ModelError
from konstat.objects.constraint import Immutable, Length, ListMap, Pattern, Range, Rule


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (Annotated[int, Range(0, 50)], [0, 50], [-1, 51]),
        (Annotated[int, Range(exclusive_minimum=0, exclusive_maximum=3)], [1, 2], [0, 3]),
        (Annotated[int, Range(multiple_of=5)], [0, 5], [4]),
        (Annotated[float, Range(0.5, 1)], [0.5, 1, 0.75], [0.4, 1.1]),
        (Annotated[str, Length(1, 3)], ["a", "äöü"], ["", "abcd"]),
        (Annotated[list[int], Length(maximum=1)], [[], [1]], [[1, 2]]),
        (Annotated[dict[str, int], Length(1)], [{"a": 1}], [{}]),
        (Annotated[str, Pattern("^a+$")], ["a", "aaa"], ["", "ab", "a\n"]),
        (Annotated[str, Pattern("a")], ["a", "bab"], ["", "b"]),
        (Annotated[str, Length(2), Length(maximum=3), Pattern("b")], ["ab"], ["b", "aaab", "aa"]),
    ],
)
def test_a_constraint_makes_decoding_refuse(hint: Any, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert msgspec.convert(value, hint) == value
    for value in bad:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(value, hint)


@pytest.mark.parametrize(
    "declare",
    [
        lambda: Range(),
        lambda: Range(5, 4),
        lambda: Range(exclusive_minimum=5, maximum=5),
        lambda: Range(1, exclusive_minimum=0),
        lambda: Range(maximum=1, exclusive_maximum=0),
        lambda: Range(0, 2**63),
        lambda: Range(multiple_of=0),
        lambda: Length(),
        lambda: Length(3, 2),
        lambda: Length(-1),
        lambda: Pattern("(?=a)"),
        lambda: ListMap(),
        lambda: Rule(" "),
        lambda: Rule("true", reason="Nonsense"),
        lambda: Rule("true", message="a\nb"),
        lambda: Rule("true &&\ntrue"),
    ],
)
def test_a_constraint_that_cannot_work_is_refused_at_once(declare: Any) -> None:
    with pytest.raises(ModelError):
        declare()


def test_immutable_is_a_transition_rule() -> None:
    assert Immutable().cel == "self == oldSelf"
    assert Immutable("spec.name stays").message == "spec.name stays"
