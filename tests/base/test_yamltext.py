"""YAML becomes what kubectl would send, or an error that says where."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from konstat.base import limits
from konstat.base.yamltext import load_yaml, load_yaml_documents
from konstat.errors import UserError


def load(text: str):
    return load_yaml(text, source="file.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("NO", "NO"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("[~, '', null]", [None, "", None]),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"),
        ("12:30:45", "12:30:45"),
        ("12", 12),
        ("-3", -3),
        ("0644", 0o644),
        ("0o17", 15),
        ("0x1F", 31),
        ("1e3", 1000.0),
        ("1.5", 1.5),
        ("1.2.3", "1.2.3"),
        ("v1", "v1"),
        (".inf", ".inf"),
        ("1_000", "1_000"),
        ("'12'", "12"),
        ("=", "="),
        ("{1: a, true: b, null: c}", {"1": "a", "true": "b", "null": "c"}),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}),
    ],
)
def test_values(text, value):
    assert load(text) == value


def test_an_empty_text_is_none():
    assert load("") is None
    assert load("# nothing\n") is None


def test_documents_that_are_empty_are_left_out():
    assert load_yaml_documents("---\na: 1\n---\n---\n# no\n---\nb: 2\n", source="x") == [
        {"a": 1},
        {"b": 2},
    ]


def test_two_documents_where_one_is_expected():
    with pytest.raises(UserError, match=r"file\.yaml holds 2 YAML documents"):
        load("a\n---\nb")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3", "line 3, column 1.*the key 'a' a second time"),
        ("a: [1", "line [12], column"),
        ("a:\n\t- b", "line 2"),
        ("a: *nothing", "undefined alias"),
        ("{[1]: 2}", "a key that is not plain text"),
        ("!!python/object:os.system {}", "the tag .*JSON cannot say"),
        ("!!binary aGk=", "the tag .*JSON cannot say"),
        ("!!timestamp 2026-01-01", "the tag .*JSON cannot say"),
        ("1" * 5000, "no usable number in 5000 characters"),
        ("1e999", "a number that is too large"),
        ("a: \x00", "not usable YAML"),
    ],
)
def test_mistakes_say_where(text, words):
    with pytest.raises(UserError, match=words) as caught:
        load(text)
    assert "file.yaml" in str(caught.value)


def test_the_text_itself_is_not_shown_for_it_may_hold_secrets():
    with pytest.raises(UserError) as caught:
        load("token: 'topsecret' x")
    assert "topsecret" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a]",
        "[" * 500 + "]" * 500,
        "[" * 100_000,
        "".join(
            f"a{i}: &a{i} [{', '.join([f'*a{i - 1}' if i else 'x'] * 10)}]\n" for i in range(9)
        ),
    ],
    ids=["recursive", "deep", "deeper", "multiplied"],
)
def test_L2_anchors_and_depth_are_bounded(text):
    with pytest.raises(UserError):
        load(text)


def test_L2_length_is_bounded():
    with pytest.raises(UserError, match="are accepted"):
        load(" " * (limits.YAML_CHARACTERS + 1))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(alphabet="abc<=1", max_size=4), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(VALUES)
def test_JSON_is_read_as_itself(value):
    assert load(json.dumps({"v": value}, ensure_ascii=False)) == {"v": value}


@settings(deadline=None)
@given(st.text(alphabet=" \n\t:-[]{},&*!|>'\"%@`#?~abc01.<=", max_size=40))
@example("? a\n: b")
@example("<<: 1")
@example("<<: [1]")
@example("!!int a")
@example("!!bool x")
@example("!!float x")
@example("!<x> y")
@example("- !!map [1]")
@example("!!seq {}")
@example("!!str {}")
@example("!!int 0b")
def test_arbitrary_text_is_read_or_refused(text):
    try:
        data = load_yaml_documents(text, source="x")
    except UserError:
        return
    json.dumps(data, allow_nan=False)
