"""Sets of field paths, and the format FieldsV1."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.embedded import fieldset
from konstat.embedded.fieldset import FieldSet, FieldsFormatError, Path

SCALARS = st.text(max_size=3) | st.integers(-5, 5) | st.booleans() | st.sampled_from([1.5, 1e21])
ELEMENTS = (
    st.text(max_size=3).map(fieldset.field)
    | SCALARS.map(fieldset.value)
    | st.dictionaries(st.text(min_size=1, max_size=2), SCALARS, min_size=1, max_size=2).map(
        fieldset.key
    )
    | st.integers(0, 9).map(lambda index: (3, index))
)
PATHS: st.SearchStrategy[Path] = st.lists(ELEMENTS, min_size=1, max_size=4).map(tuple)
SETS = st.lists(PATHS, max_size=8).map(lambda paths: FieldSet.of(*paths))
JSON = st.recursive(
    st.none() | SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=10,
)


def paths(fields: FieldSet) -> set[Path]:
    return set(fields.walk())


@given(SETS)
def test_C41_a_set_survives_FieldsV1(fields: FieldSet) -> None:
    assert FieldSet.from_fields(fields.to_fields()) == fields


@given(SETS, SETS)
def test_operations_are_those_of_sets_of_paths(left: FieldSet, right: FieldSet) -> None:
    assert paths(left.union(right)) == paths(left) | paths(right)
    assert paths(left.intersection(right)) == paths(left) & paths(right)
    assert paths(left.difference(right)) == paths(left) - paths(right)
    covered = {p for p in paths(left) if any(p[: len(r)] == r for r in paths(right))}
    assert paths(left.without(right)) == paths(left) - covered


@given(SETS)
def test_operations_leave_their_operands(fields: FieldSet) -> None:
    before = paths(fields)
    more = fields.union(FieldSet.of(fieldset.path("a", "b")))
    more.difference(fields)
    assert paths(fields) == before


@given(SETS)
def test_membership_and_truth(fields: FieldSet) -> None:
    assert all(fields.has(path) for path in paths(fields))
    assert bool(fields) == bool(paths(fields))
    assert not fields.has(())


@given(st.dictionaries(st.text(max_size=8) | st.sampled_from(["f:", "k:", "v:", "i:", "."]), JSON))
def test_reading_raises_nothing_else(fields: dict[str, Any]) -> None:
    try:
        FieldSet.from_fields(fields)
    except FieldsFormatError:
        return


@pytest.mark.parametrize("text", ["", "f", "x", "fx:a", "k:1", "k:{", "v:", "i:x", "i:"])
def test_texts_that_are_no_elements(text: str) -> None:
    with pytest.raises(FieldsFormatError):
        FieldSet.from_fields({text: {}})


def test_unknown_kinds_of_elements_are_left_out() -> None:
    assert FieldSet.from_fields({"q:new": {}, "f:a": {}}) == FieldSet.of(fieldset.path("a"))


def test_deep_fields_are_refused() -> None:
    fields: dict[str, Any] = {}
    for _ in range(10_000):
        fields = {"f:a": fields}
    with pytest.raises(FieldsFormatError, match="too deeply"):
        FieldSet.from_fields(fields)


def test_elements_compare_as_the_server_does() -> None:
    assert fieldset.value(1) == fieldset.value(1.0)
    assert fieldset.value(1) != fieldset.value(True)
    assert fieldset.key({"a": 1, "b": 2}) == fieldset.key({"b": 2, "a": 1})


def test_C37_paths_in_messages() -> None:
    element = fieldset.key({"port": 80, "protocol": 'T"'})
    path = (*fieldset.path("spec", "ports"), element, fieldset.value(True), (3, 4))
    assert fieldset.path_text(path) == '.spec.ports[port=80,protocol="T\\""][=true][4]'


def test_C41_a_member_with_children_has_a_dot() -> None:
    fields = FieldSet.of(fieldset.path("a"), fieldset.path("a", "b"), fieldset.path("c", "d"))
    assert fields.to_fields() == {"f:a": {".": {}, "f:b": {}}, "f:c": {"f:d": {}}}
