"""Comparison: does a live object hold what we apply."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.objects.diff import (
    HIDDEN,
    Difference,
    applied_hash,
    apply_merge_patch,
    differences,
    merge_patch,
    same,
)
from konstat.objects.place import pointer, pointer_segments
from konstat.objects.shape import shape_of_schema

names = st.text(alphabet="abc/~.é", min_size=1, max_size=4)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0]), st.text(max_size=3)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)
objects = st.dictionaries(names, values, max_size=4)


def deployment(**container: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "app", "image": "web:1", **container}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"replicas": 2, "template": {"spec": spec}},
    }


def paths(found: list[Difference]) -> list[str]:
    return [difference.path for difference in found]


@given(objects)
def test_an_object_holds_itself(content: dict[str, Any]) -> None:
    assert differences({"spec": content}, {"spec": content}) == []


def _added(value: Any, draw: Any) -> Any:
    """``value`` with members added to every map, as servers and webhooks do."""
    if isinstance(value, dict):
        return {**{k: _added(v, draw) for k, v in value.items()}, "zz-added": draw(values)}
    if isinstance(value, list):
        return [_added(v, draw) for v in value]
    return value


@given(objects, st.data())
def test_added_fields_never_count(content: dict[str, Any], data: Any) -> None:
    live = {"spec": _added(content, data.draw), "status": {"phase": "x"}}
    assert differences({"spec": content}, live) == []


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict) and value:
        return [leaf for k, v in value.items() for leaf in _leaves(v, (*path, k))]
    if isinstance(value, list) and value:
        return [leaf for i, v in enumerate(value) for leaf in _leaves(v, (*path, i))]
    # Nulls and empty values are held by an absent field; they are no leaves to lose.
    return [path] if value not in (None, "", [], {}) or isinstance(value, bool) else []


@given(objects, st.data())
def test_a_removed_or_changed_leaf_is_found(content: dict[str, Any], data: Any) -> None:
    leaves = _leaves(content)
    if not leaves:
        return
    *parents, last = data.draw(st.sampled_from(leaves))
    live = copy.deepcopy(content)
    place: Any = live
    for step in parents:
        place = place[step]
    if data.draw(st.booleans()):
        del place[last]
    else:
        place[last] = "another value"
    assert differences({"spec": content}, {"spec": live}) != []


RICH = deployment(
    env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    ports=[{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "name": "web"}],
    resources={"limits": {"cpu": "1", "memory": "1Gi"}},
    args=["a", "b"],
)


@pytest.mark.parametrize("leaf", _leaves(RICH["spec"]), ids=repr)
@pytest.mark.parametrize("change", ["remove", "alter"])
def test_a_removed_or_changed_leaf_of_a_known_kind_is_found(
    leaf: tuple[Any, ...], change: str
) -> None:
    live = copy.deepcopy(RICH)
    *parents, last = ("spec", *leaf)
    place: Any = live
    for step in parents:
        place = place[step]
    if change == "remove":
        del place[last]
    else:
        place[last] = "another value"
    # The server fills an absent protocol with TCP, never with UDP.
    assert differences(RICH, live) != []
    assert differences(RICH, RICH) == []


@pytest.mark.parametrize("part", ["uid", "resourceVersion", "managedFields", "creationTimestamp"])
def test_identity_and_server_set_metadata_are_ignored(part: str) -> None:
    wanted = deployment()
    wanted["metadata"][part] = "mine"
    wanted["status"] = {"replicas": 5}
    assert differences(wanted, {**deployment(), "apiVersion": "apps/v2"}) == []


def test_list_maps_are_compared_by_key() -> None:
    wanted = deployment(env=[{"name": "A", "value": "1"}, {"name": "B", "value": ""}])
    live = deployment(env=[{"name": "C", "value": "3"}, {"name": "B"}, {"name": "A", "value": "1"}])
    containers = live["spec"]["template"]["spec"]["containers"]
    containers.insert(0, {"name": "sidecar", "image": "proxy:1"})
    assert differences(wanted, live) == []
    containers[1]["env"][2]["value"] = "2"
    place = 'spec.template.spec.containers[name="app"].env[name="A"]'
    assert differences(wanted, live) == [Difference(f"{place}.value", "1", "2")]
    del containers[1]["env"][2]
    assert differences(wanted, live) == [Difference(place, {"name": "A", "value": "1"}, None)]


def test_a_port_without_protocol_is_tcp() -> None:
    live = deployment(ports=[{"containerPort": 80, "protocol": "UDP"},
                             {"containerPort": 80, "protocol": "TCP"}])  # fmt: skip
    assert differences(deployment(ports=[{"containerPort": 80}]), live) == []
    wanted = deployment(ports=[{"containerPort": 80, "protocol": "SCTP"}])
    assert len(differences(wanted, live)) == 1


def test_quantities_are_compared_by_value_where_they_are_quantities() -> None:
    wanted = deployment(resources={"limits": {"cpu": 0.5, "memory": "1024Mi"}})
    live = deployment(resources={"limits": {"cpu": "500m", "memory": "1Gi"}})
    assert differences(wanted, live) == []
    live = deployment(resources={"limits": {"cpu": "500m", "memory": "1G"}})
    assert paths(differences(wanted, live)) == [
        'spec.template.spec.containers[name="app"].resources.limits.memory'
    ]
    assert differences(deployment(args=["1Gi"]), deployment(args=["1024Mi"])) != []


def test_sets_hold_by_membership() -> None:
    wanted = {"metadata": {"finalizers": ["a/b"]}}
    assert differences(wanted, {"metadata": {"finalizers": ["x/y", "a/b"]}}) == []
    assert paths(differences(wanted, {"metadata": {}})) == ['metadata.finalizers[="a/b"]']


def test_owner_references_are_compared_by_uid() -> None:
    mine, other = {"uid": "1", "name": "a"}, {"uid": "2", "name": "a"}
    wanted = {"metadata": {"ownerReferences": [mine]}}
    assert differences(wanted, {"metadata": {"ownerReferences": [other, mine]}}) == []
    assert differences(wanted, {"metadata": {"ownerReferences": [other]}}) != []


def test_unknown_lists_are_atomic() -> None:
    assert differences({"spec": {"a": [1]}}, {"spec": {"a": [1, 2]}}) != []
    assert differences({"spec": {"a": [1, 2]}}, {"spec": {"a": [2, 1]}}) != []
    assert differences({"spec": {"a": [{"b": 1}]}}, {"spec": {"a": [{"b": 1, "c": 2}]}}) == []
    assert differences({"spec": {"a": [None]}}, {"spec": {"a": [0]}}) != []
    assert differences({"spec": {"a": [[]]}}, {"spec": {"a": [[1]]}}) != []


@pytest.mark.parametrize("empty", [None, "", {}, [], {"b": ""}, {"b": {}}])
def test_an_empty_wish_holds_where_the_field_is_absent(empty: Any) -> None:
    assert differences({"spec": {"a": empty}}, {"spec": {}}) == []
    assert differences({"spec": {"a": empty}}, {}) == []


@pytest.mark.parametrize(
    ("wanted", "live"), [(80, "80"), (1, True), (0, False), ("", "x"), ([], [1]), (False, None)]
)
def test_values_of_different_types_differ(wanted: Any, live: Any) -> None:
    assert paths(differences({"spec": {"a": wanted}}, {"spec": {"a": live}})) == ["spec.a"]
    assert differences({"spec": {"a": 1}}, {"spec": {"a": 1.0}}) == []


def test_a_false_that_go_leaves_out_holds_when_absent() -> None:
    wanted = deployment(tty=False, volumeMounts=[{"mountPath": "/a", "readOnly": False}])
    live = deployment(volumeMounts=[{"mountPath": "/a"}])
    assert differences(wanted, live) == []
    assert differences(deployment(automountServiceAccountToken=False), deployment()) != []


def secret(**parts: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **parts}


def test_string_data_of_a_secret_is_looked_up_in_data_and_never_shown() -> None:
    encoded = base64.b64encode(b"geheim").decode()
    wanted = secret(data={"b": "YQ=="}, stringData={"a": "geheim"})
    assert differences(wanted, secret(data={"a": encoded, "b": "YQ=="})) == []
    found = differences(wanted, secret(data={"a": "WA==", "b": "YQ=="}))
    assert found == [Difference("data.a", HIDDEN, HIDDEN)]
    assert differences(wanted, secret(data={"b": "YQ=="})) == [Difference("data.a", HIDDEN, None)]
    assert differences(secret(data={"a": "Z2Vo\nZWlt"}), secret(data={"a": encoded})) == []
    assert differences(secret(data={"a": "%%"}), secret(data={"a": encoded})) != []


def test_names_that_are_no_words_are_quoted_in_paths() -> None:
    wanted = {"metadata": {"labels": {"app.kubernetes.io/name": "a"}}}
    assert paths(differences(wanted, {})) == ['metadata.labels["app.kubernetes.io/name"]']


def test_the_shape_of_our_own_kinds_follows_from_the_schema() -> None:
    port = {"properties": {"port": {}, "protocol": {"default": "TCP"}}}
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]}
    spec = {
        "properties": {
            "ports": {"items": port, **keyed},
            "tags": {"x-kubernetes-list-type": "set"},
        }
    }
    shape = shape_of_schema({"properties": {"spec": spec}})
    wanted = {"spec": {"ports": [{"port": 80}], "tags": ["b"]}}
    live = {"spec": {"ports": [{"port": 81}, {"port": 80, "protocol": "TCP"}], "tags": ["a", "b"]}}
    assert differences(wanted, live, shape=shape) == []
    assert len(differences(wanted, live)) == 2


# --- patches and names ------------------------------------------------------------------------


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_null(v) for k, v in value.items() if v is not None}
    return value


@given(objects, objects)
def test_a_merge_patch_leads_from_one_object_to_the_other(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    before = _without_null(before)
    patch = merge_patch(before, after)
    assert same(apply_merge_patch(before, patch), _without_null(after))
    assert merge_patch(after, after) == {k: None for k, v in after.items() if v is None}


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [  # a selection of the test cases of RFC 7386, appendix A, by their ideas
        ({"a": "b"}, {"a": None}, {}),
        ({"a": [1]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": 1}}, {"a": {"b": None, "c": 2}}, {"a": {"c": 2}}),
        ({"a": 1}, ["c"], ["c"]),
        ({}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
        ([1], {"a": 1, "b": None}, {"a": 1}),
    ],
)
def test_apply_merge_patch(target: Any, patch: Any, result: Any) -> None:
    assert apply_merge_patch(target, patch) == result


@given(st.lists(st.text()))
def test_pointers_round_trip(segments: list[str]) -> None:
    assert pointer_segments(pointer(*segments)) == segments


def test_pointer_escapes() -> None:
    assert pointer("metadata", "annotations", "a/b~c", 0) == "/metadata/annotations/a~1b~0c/0"
    for bad in ("a", "/~2", "/~"):
        with pytest.raises(ValueError):
            pointer_segments(bad)


def test_applied_hash_follows_content_and_not_member_order() -> None:
    one = applied_hash({"a": 1, "b": {"c": [1, 2], "d": None}})
    assert one == applied_hash({"b": {"c": [1, 2]}, "a": 1})
    assert one != applied_hash({"b": {"c": [2, 1]}, "a": 1})
    assert one == "".join(c for c in one if c in "0123456789abcdef")
    assert len(one) == 16
