"""References in commands and variables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.nodes.processes.expansion import expand


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(B)", "x1y2"),
        ("$(NONE)", "$(NONE)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$", "$"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
        ("$()", "$()"),
        ("$(mount:data)/x", "/m/x"),
    ],
)
def test_references_are_replaced_as_kubernetes_does(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "B": "2"}, {"A": "other", "mount:data": "/m"}) == expected


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    assert "$(" in text or expand(text.replace("$", ""), {}) == text.replace("$", "")
    expand(text, {"A": text})


@given(st.text())
def test_a_value_is_not_expanded_again(value: str) -> None:
    assert expand("$(A)", {"A": value, "B": "2"}) == value
