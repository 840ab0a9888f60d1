"""JSON read and printed as Go does."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from konstat.base import limits
from konstat.embedded import gojson, gotext

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text()
    | st.floats(-1e15, 1e15),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_what_is_encoded_is_read_back(value: Any) -> None:
    assert gojson.decode(gotext.encode(value).encode()) == value


@given(JSON)
def test_texts_of_other_encoders_have_no_syntax_problem(value: Any) -> None:
    assert gojson.syntax_problem(json.dumps(value, indent=1).encode()) == ""


@given(st.binary() | st.text(alphabet='{}[]",:0123456789.eE+-truefalsnl\\u \n').map(str.encode))
@example(b'"\\ud800"')
@example(b'{"\\udc00": 1}')
@example(b"1e999")
@example(b"[" * 5000)
@example(b"99999999999999999999")
def test_decoding_raises_nothing_else(data: bytes) -> None:
    with suppress(gojson.JSONTextError):
        gojson.decode(data)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (-1.5e-10, "-1.5e-10"),
        (1000.0, "1000"),
        (-0.0, "-0"),
        ("<&>\u2028é\b\x01\x7f", '"\\u003c\\u0026\\u003e\\u2028é\\b\\u0001\x7f"'),
        ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
    ],
)
def test_encoding(value: Any, text: str) -> None:
    assert gotext.encode(value) == text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"b": [1, "x"], "a": None}, "map[a:<nil> b:[1 x]]"),
        (1e6, "1e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.5, "1.5"),
        (True, "true"),
        (0.0, "0"),
    ],
)
def test_showing(value: Any, shown: str) -> None:
    assert gotext.show(value) == shown


def test_halves_of_surrogate_pairs_are_mended() -> None:
    assert gojson.decode(b'{"\\ud800a": "\\udc00"}') == {"\ufffda": "\ufffd"}


def test_integers_beyond_64_bits_are_floats() -> None:
    assert isinstance(gojson.decode(b"[1e2, 123456789012345678901234567890]")[1], float)


def test_depth_is_bounded() -> None:
    depth = limits.EMBEDDED_JSON_DEPTH
    gojson.decode(b"[" * depth + b"]" * depth)
    with pytest.raises(gojson.JSONTextError, match="exceeded max depth"):
        gojson.decode(b"[" * (depth + 1) + b"]" * (depth + 1))


def test_repeated_members_are_found() -> None:
    value = gojson.members(b'{"a":1,"a":{"b":1},"l":[{"c":1,"c":2}]}')
    assert gojson.repeated(value) == ["a", "l[0].c"]
