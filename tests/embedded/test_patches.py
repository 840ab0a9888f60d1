"""Merge, JSON and strategic patches without a server: what they keep, and what leaves them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from konstat.base import limits
from konstat.embedded.builtin import definitions
from konstat.embedded.patches import PatchError, json_patch, json_patch_problems, merge_patch
from konstat.embedded.strategic import strategic_merge_patch
from konstat.objects.diff import apply_merge_patch

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "<", "é", ""])
NAMES = st.sampled_from(["a", "b", "-", "0", "~1", "spec"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(NAMES, JSON, max_size=3)
POINTERS = st.lists(NAMES | st.sampled_from(["1", "-1", "+0", "x"]), max_size=3).map(
    lambda parts: "".join(f"/{part}" for part in parts)
)
OPERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"]) | JSON,
        "path": POINTERS | JSON,
        "from": POINTERS | JSON,
        "value": JSON,
    },
)


def refusal(patch: Callable[..., Any], *given: Any) -> int:
    """The code of the PatchError that a patch raises; 0 when it applies."""
    try:
        patch(*given)
    except PatchError as error:
        return error.code
    return 0


@given(DOCUMENTS, st.lists(OPERATIONS, max_size=5) | JSON)
def test_C32_a_json_patch_raises_nothing_else(document: Any, operations: Any) -> None:
    before = copy.deepcopy(document)
    body = json.dumps(operations).encode()
    assert refusal(json_patch, document, body) in (0, 400, 422, 500)
    assert document == before


@given(DOCUMENTS, st.binary(max_size=40))
def test_C32_no_bytes_break_patches(document: Any, data: bytes) -> None:
    for patch in (json_patch, merge_patch):
        assert refusal(patch, document, data) in (0, 400)


MAPS = st.recursive(
    SCALARS, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=12
).filter(lambda value: isinstance(value, dict))


@given(DOCUMENTS, MAPS)
def test_C31_a_merge_patch_without_lists_is_that_of_the_RFC(document: Any, patch: Any) -> None:
    before = copy.deepcopy(document)
    assert merge_patch(document, patch) == apply_merge_patch(document, patch)
    assert document == before


def test_C31_null_deletes_and_lists_are_replaced() -> None:
    document = {"a": 1, "b": {"c": [1, 2], "d": 3}}
    assert merge_patch(document, {"a": None, "b": {"c": [3]}}) == {"b": {"c": [3], "d": 3}}


def test_C32_all_operations_or_none() -> None:
    document = {"a": [1, 2], "b": {"c": 1}}
    operations = [
        {"op": "add", "path": "/a/-", "value": 3},
        {"op": "remove", "path": "/b/c"},
        {"op": "test", "path": "/b", "value": {"x": 1}},
    ]
    with pytest.raises(PatchError, match="rejected our request"):
        json_patch(document, operations)
    assert document == {"a": [1, 2], "b": {"c": 1}}
    assert json_patch(document, operations[:2]) == {"a": [1, 2, 3], "b": {}}


def test_C32_a_copy_does_not_follow_its_source() -> None:
    operations = [
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/a/x", "value": 1},
    ]
    assert json_patch({"a": {}}, operations) == {"a": {"x": 1}, "b": {}}


def test_C32_copies_are_bounded() -> None:
    document = {"a": "x" * (limits.EMBEDDED_PATCH_COPY_BYTES // 2)}
    operations = [{"op": "copy", "from": "/a", "path": f"/{name}"} for name in "bcd"]
    with pytest.raises(PatchError):
        json_patch(document, operations)


def test_C32_patches_do_not_deepen_without_end() -> None:
    operations = [
        {"op": "copy", "from": "", "path": "/a"},
        *[{"op": "copy", "from": "/a", "path": f"/a{'/a' * depth}"} for depth in range(200)],
    ]
    with pytest.raises(PatchError):
        json_patch({"a": {}}, operations)


def test_C46_problems_of_null_operations_are_none() -> None:
    assert json_patch_problems(b"null") == []
    assert json_patch_problems(b'[null, {"op":"add","extra":1}]') == [
        'json patch unknown field "[1].extra"'
    ]


# --- strategic merge ----------------------------------------------------------------------------

DEPLOYMENT = definitions.schema("io.k8s.api.apps.v1.Deployment")
CONTAINER = definitions.schema("io.k8s.api.core.v1.PodSpec")
ENTRY = st.dictionaries(
    st.sampled_from(["name", "image", "$patch", "env", "$retainKeys", "ports"]),
    SCALARS
    | st.sampled_from(["delete", "replace", "merge"])
    | st.lists(st.dictionaries(st.sampled_from(["name", "containerPort"]), SCALARS), max_size=2),
    max_size=3,
)
POD = st.dictionaries(
    st.sampled_from(
        [
            "containers",
            "nodeSelector",
            "$patch",
            "$retainKeys",
            "$setElementOrder/containers",
            "$deleteFromPrimitiveList/containers",
            "$setElementOrder",
            "unknown",
            "imagePullSecrets",
        ]
    ),
    JSON | st.lists(ENTRY | SCALARS, max_size=3) | ENTRY,
    max_size=4,
)


@given(POD, POD)
@example({"containers": [{"name": {}}]}, {"containers": [{"name": []}]})
@example({"containers": [None]}, {"containers": [None]})
@example({}, {"$retainKeys": [[]]})
def test_C34_a_strategic_patch_raises_nothing_else(document: Any, patch: Any) -> None:
    before = copy.deepcopy((document, patch))
    assert refusal(strategic_merge_patch, document, patch, CONTAINER) in (0, 400, 422, 500)
    assert (document, patch) == before


def test_C34_lists_merge_by_key() -> None:
    document = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}
    patch = {"containers": [{"name": "b", "image": "2"}, {"name": "c"}]}
    assert strategic_merge_patch(document, patch, CONTAINER) == {
        "containers": [
            {"name": "a", "image": "1"},
            {"name": "b", "image": "2"},
            {"name": "c"},
        ]
    }


def test_C34_a_kind_is_named_where_a_field_is_unknown() -> None:
    patch = {"$setElementOrder/nope": ["x"]}
    with pytest.raises(PatchError, match='in struct Deployment for the json field "nope"'):
        strategic_merge_patch({}, patch, DEPLOYMENT)
