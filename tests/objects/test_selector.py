"""Label selectors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.objects.selector import (
    Requirement,
    Selector,
    format_selector,
    parse_selector,
    selector_of,
)

keys = st.sampled_from(["a", "b", "app.kubernetes.io/name", "in", "notin"])
words = st.sampled_from(["", "x", "y-1", "in", "Z_.9"])
requirements = st.one_of(
    st.builds(lambda k: Requirement(k, "exists"), keys),
    st.builds(lambda k: Requirement(k, "absent"), keys),
    st.builds(
        lambda k, o, v: Requirement(k, o, tuple(sorted(v))),
        keys,
        st.sampled_from(["in", "notin"]),
        st.sets(words, min_size=1, max_size=3),
    ),
)


@pytest.mark.parametrize(
    ("text", "selected", "others"),
    [
        ("", [{}, {"a": "1"}], []),
        ("a=1", [{"a": "1"}], [{}, {"a": "2"}]),
        ("a==1", [{"a": "1"}], [{}, {"a": "2"}]),
        ("a=", [{"a": ""}], [{}, {"a": "2"}]),
        ("a!=1", [{}, {"a": "2"}], [{"a": "1"}]),
        ("a in (1, 2)", [{"a": "1"}, {"a": "2"}], [{}, {"a": "3"}]),
        ("a notin (1,2)", [{}, {"a": "3"}], [{"a": "1"}]),
        ("a", [{"a": ""}], [{}]),
        ("!a", [{}], [{"a": "1"}]),
        (" a = 1 , ! b ", [{"a": "1"}], [{"a": "1", "b": ""}]),
        ("in in (in)", [{"in": "in"}], [{"in": "a"}]),
    ],
)
def test_78_operators_and_negatives_on_absent_keys(
    text: str, selected: list[dict[str, str]], others: list[dict[str, str]]
) -> None:
    selector = parse_selector(text)
    assert all(selector.matches(labels) for labels in selected)
    assert not any(selector.matches(labels) for labels in others)
    assert selector.matches(None) is selector.matches({})


@pytest.mark.parametrize(
    "text",
    ["a,", ",a", "a b", "a in 1", "a in (1", "a in", "=1", "!", "a=1=2", "a=b c", "-a", "a=-",
     "A.b/c/d=1", "a>1", "a=" + "x" * 64, "a" * 64, "()", "a in ((1))", "!a=1"],
)  # fmt: skip
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_selector(text)


@given(st.lists(requirements, max_size=4).map(tuple).map(Selector))
def test_text_round_trips(selector: Selector) -> None:
    assert parse_selector(str(selector)) == selector


@given(st.text(alphabet="ab/.-_ =!(),innotin\t", max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        selector = parse_selector(text)
    except ValueError:
        return
    assert parse_selector(str(selector)) == selector


def test_format_selector_is_sorted_and_checked() -> None:
    assert format_selector({"b": "2", "a": "1"}) == "a=1,b=2"
    with pytest.raises(ValueError):
        format_selector({"a": "not ok"})


def test_label_selector_objects() -> None:
    selector = selector_of(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["b", "a"]},
                {"key": "old", "operator": "DoesNotExist"},
                {"key": "x", "operator": "Exists"},
                {"key": "y", "operator": "NotIn", "values": ["1"]},
            ],
        }
    )
    assert str(selector) == "app=web,tier in (a,b),!old,x,y!=1"
    assert selector_of({}).matches({"any": "thing"})


@pytest.mark.parametrize(
    "selector",
    [
        None,
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
        {"matchLabels": {"": "b"}},
    ],
)
def test_bad_label_selector_objects_are_refused(selector: dict[str, Any] | None) -> None:
    with pytest.raises(ValueError):
        selector_of(selector)
