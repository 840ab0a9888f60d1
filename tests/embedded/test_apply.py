"""Server-side apply and field ownership without a server: rules, and what leaves the functions."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from apply_rig import API_VERSION, KIND, SCHEMA, Object
from hypothesis import given
from hypothesis import strategies as st

from konstat.embedded.apply import ApplyConflict, ApplyRefused, apply
from konstat.embedded.managed import entries_of, keep_times, manager_of, track_update
from konstat.embedded.managed_resets import reset_fields

NOW = "2026-11-30T10:00:00Z"
LATER = "2026-11-30T11:00:00Z"
BUILTIN: Object = {
    "type": "object",
    "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Thing"}],
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        "spec": {
            "type": "object",
            "default": {},
            "required": ["rows"],
            "properties": {
                "rows": {
                    "type": "array",
                    "x-kubernetes-patch-strategy": "merge",
                    "x-kubernetes-patch-merge-key": "id",
                    "items": {"type": "object", "properties": {"id": {"type": "integer"}}},
                }
            },
        },
    },
}


def config(spec: Any = None, **further: Any) -> Object:
    made = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "x"}, **further}
    return made if spec is None else {**made, "spec": spec}


def applied(
    live: Object | None, content: Object, by: str = "m1", *, force: bool = False, **options: Any
) -> Object:
    given: dict[str, Any] = {"now": NOW, "schema": SCHEMA, "api_version": API_VERSION, **options}
    return apply(live, content, manager=by, force=force, **given)


def updated(old: Object | None, new: Object, by: str = "u1", **options: Any) -> Object:
    given: dict[str, Any] = {"now": NOW, "schema": SCHEMA, "api_version": API_VERSION, **options}
    return track_update(old, new, manager=by, **given)


def owned(obj: Object, by: str) -> Any:
    (entry,) = [e for e in entries_of(obj) or [] if e["manager"] == by] or [{}]
    return entry.get("fieldsV1")


def test_C37_a_conflict_names_fields_and_managers() -> None:
    live = applied(None, config({"text": "1", "texts": {"x": "1"}}))
    with pytest.raises(ApplyConflict) as caught:
        applied(live, config({"text": "2", "texts": {"x": "2"}}), "m2")
    assert [conflict.path for conflict in caught.value.conflicts] == [".spec.text", ".spec.texts.x"]
    assert caught.value.code == 409
    assert caught.value.causes()[0] == {
        "reason": "FieldManagerConflict",
        "message": 'conflict with "m1"',
        "field": ".spec.text",
    }


def test_C37_force_takes_ownership() -> None:
    live = applied(None, config({"text": "1", "number": 1}))
    live = applied(live, config({"text": "2"}), "m2", force=True)
    assert live["spec"] == {"text": "2", "number": 1}
    assert owned(live, "m1") == {"f:spec": {"f:number": {}}}
    assert owned(live, "m2") == {"f:spec": {"f:text": {}}}


def test_C38_the_same_value_is_owned_together() -> None:
    live = applied(None, config({"text": "1"}))
    live = applied(live, config({"text": "1"}), "m2")
    assert owned(live, "m1") == owned(live, "m2") == {"f:spec": {"f:text": {}}}


def test_C39_an_omitted_field_goes_with_its_last_owner() -> None:
    live = applied(None, config({"text": "1", "number": 1}))
    live = applied(live, config({"text": "1"}), "m2")
    live = applied(live, config({"list": []}))
    assert live["spec"] == {"text": "1", "list": []}
    live = applied(live, config({"list": []}), "m2")
    assert live["spec"] == {"list": []}


def test_C39_what_loses_its_last_member_is_null() -> None:
    # The server answers 422 to it for custom resources, where null is no object.
    live = applied(None, config({"text": "1"}))
    assert applied(live, config({}))["spec"] is None


def test_C40_lists_merge_by_key_as_sets_and_as_a_whole() -> None:
    first = {"ports": [{"name": "a"}, {"name": "b"}], "set": ["x", "y"], "list": ["p"]}
    live = applied(None, config(first))
    second = {"ports": [{"name": "c"}, {"name": "a", "weight": 1}], "set": ["z", "x"]}
    live = applied(live, config(second), "m2")
    assert live["spec"]["ports"] == [
        {"name": "c"},
        {"name": "a", "weight": 1},
        {"name": "b"},
    ]
    assert sorted(live["spec"]["set"]) == ["x", "y", "z"]
    live = applied(live, config({"list": ["q", "r"]}), "m2", force=True)
    assert live["spec"]["list"] == ["q", "r"]


def test_C42_managed_fields_in_a_configuration_are_refused() -> None:
    content = config({})
    content["metadata"]["managedFields"] = [{}]
    with pytest.raises(ApplyRefused, match="must be nil") as caught:
        applied(None, content)
    assert caught.value.code == 400


@pytest.mark.parametrize("entries", [[{}], []])
def test_C42_a_reset_ends_tracking(entries: list[Any]) -> None:
    live = applied(None, config({"text": "1"}))
    new = copy.deepcopy(live)
    new["metadata"]["managedFields"] = entries
    reset = updated(live, new)
    assert entries_of(reset) is None
    assert entries_of(updated(reset, {**reset, "spec": {"text": "2"}})) is None
    with pytest.raises(ApplyConflict, match="before-first-apply"):
        applied(reset, config({"text": "2"}))


def test_C42_unreadable_entries_of_a_client_do_not_replace_the_stored_ones() -> None:
    live = applied(None, config({"text": "1"}))
    new = copy.deepcopy(live)
    new["metadata"]["managedFields"] = [{"manager": "x", "operation": "Steal"}]
    assert entries_of(updated(live, new)) == entries_of(live)


def test_C43_a_status_apply_owns_the_status_only() -> None:
    live = applied(None, config({"text": "1"}))
    content = config({"text": "2"}, status={"phase": "p"})
    content["metadata"]["labels"] = {"a": "b"}
    reset = reset_fields("", KIND, "status", custom=True)
    live = applied(live, content, "m2", subresource="status", reset=reset)
    assert owned(live, "m2") == {"f:status": {"f:phase": {}}}


def test_C44_repeating_an_apply_changes_nothing() -> None:
    live = applied(None, config({"text": "1", "ports": [{"name": "a"}]}))
    assert applied(live, config({"text": "1", "ports": [{"name": "a"}]}), now=LATER) == live


def test_C15_times_alone_are_no_change() -> None:
    live = applied(None, config({"text": "1"}))
    content = config({"text": "1"}, status={"phase": "dropped by the resource"})
    made = applied(live, content, now=LATER, reset=reset_fields("", KIND, custom=True))
    assert entries_of(made)[0]["time"] == LATER
    del made["status"]
    assert keep_times(live, made) == live


def test_C41_updates_own_what_they_change() -> None:
    live = updated(None, config({"text": "1", "texts": {"x": "1"}}))
    assert owned(live, "u1") == {"f:spec": {".": {}, "f:text": {}, "f:texts": {".": {}, "f:x": {}}}}
    live = updated(live, {**live, "spec": {"text": "2", "texts": {"x": "1"}}}, "u2", now=LATER)
    assert owned(live, "u2") == {"f:spec": {"f:text": {}}}
    live = updated(live, {**live, "spec": {"texts": {"x": "1"}}}, "u3")
    assert owned(live, "u2") is None
    assert owned(live, "u3") is None


def test_C41_an_update_of_a_builtin_does_not_own_what_go_always_writes() -> None:
    made = {"apiVersion": "v1", "kind": "Thing", "metadata": {}, "spec": {"rows": [{"id": 1}]}}
    live = updated(None, made, schema=BUILTIN, api_version="v1")
    assert owned(live, "u1") == {
        "f:spec": {"f:rows": {'k:{"id":1}': {".": {}, "f:id": {}}}},
    }


def test_C41_entries_of_versions_that_are_gone_are_dropped() -> None:
    live = applied(None, config({"text": "1"}))
    old_entry = {**entries_of(live)[0], "manager": "m0", "apiVersion": "apply.example.com/v0"}
    live["metadata"]["managedFields"].append(old_entry)
    served = {API_VERSION: SCHEMA}
    made = updated(live, {**live, "spec": {"text": "2"}}, served=served)
    assert {entry["manager"] for entry in entries_of(made)} == {"u1"}
    kept = updated(live, {**live, "spec": {"text": "1", "number": 1}})
    assert {entry["manager"] for entry in entries_of(kept)} == {"m0", "m1", "u1"}


def test_C41_ownership_follows_a_list_that_became_atomic() -> None:
    live = applied(None, config({"set": ["a", "b"]}))
    atomic = copy.deepcopy(SCHEMA)
    del atomic["properties"]["spec"]["properties"]["set"]["x-kubernetes-list-type"]
    made = updated(live, {**live, "spec": {"set": ["a", "b"], "text": "1"}}, schema=atomic)
    assert owned(made, "m1") == {"f:spec": {"f:set": {}}}


def test_an_object_that_does_not_fit_its_schema_is_tracked_no_more() -> None:
    live = applied(None, config({"text": "1"}))
    assert entries_of(updated(live, {**live, "spec": {"text": 1}})) is None


LAST = "kubectl.kubernetes.io/last-applied-configuration"


def test_kubectl_takes_over_what_it_applied_on_the_client_side() -> None:
    text = json.dumps(config({"text": "1", "number": 1}))
    live = config({"text": "1", "number": 2})
    live["metadata"]["annotations"] = {LAST: text}
    live = updated(None, live, "kubectl-client-side-apply")
    made = applied(live, config({"text": "2"}), "kubectl")
    assert made["spec"]["text"] == "2"
    assert made["metadata"]["annotations"][LAST] == (
        '{"apiVersion":"apply.example.com/v1","kind":"Mixture","metadata":{"name":"x"},'
        '"spec":{"text":"2"}}\n'
    )
    with pytest.raises(ApplyConflict, match=r"1 conflict: .*\.spec\.number"):
        applied(live, config({"text": "2", "number": 3}), "kubectl")
    with pytest.raises(ApplyConflict, match=r"\.spec\.text"):
        applied(live, config({"text": "2"}), "another")


def test_the_name_of_a_manager() -> None:
    assert manager_of("me", "curl/8") == "me"
    assert manager_of("", "kubectl/v1.36 (linux)") == "kubectl"
    assert manager_of("", "a\x07b/1") == "ab"
    assert len(manager_of("", "é" * 200).encode()) == 128


def test_an_apply_without_a_name_is_by_unknown() -> None:
    assert entries_of(updated(None, config({"text": "1"}), ""))[0]["manager"] == "unknown"


SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["a", "TCP", 1.5])
NAMES = st.sampled_from([*SCHEMA["properties"]["spec"]["properties"], "name", "proto", "x"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=15,
)
ENTRY = st.fixed_dictionaries(
    {},
    optional={
        "manager": st.text(max_size=3) | JSON,
        "operation": st.sampled_from(["Apply", "Update"]) | JSON,
        "apiVersion": st.just(API_VERSION) | JSON,
        "fieldsType": st.just("FieldsV1") | JSON,
        "fieldsV1": st.sampled_from(
            [{"f:spec": {".": {}, "f:text": {}}}, {"f:spec": {"f:set": {'v:"a"': {}}}}]
        )
        | JSON,
        "time": st.sampled_from([NOW, LATER, "never"]) | JSON,
    },
)
OBJECTS = st.fixed_dictionaries(
    {"apiVersion": st.just(API_VERSION), "kind": st.just(KIND)},
    optional={
        "metadata": JSON
        | st.fixed_dictionaries(
            {"name": st.just("x")}, optional={"managedFields": st.lists(ENTRY, max_size=2) | JSON}
        ),
        "spec": JSON,
        "status": JSON,
    },
)


@given(st.none() | OBJECTS, OBJECTS, st.booleans(), st.sampled_from(["m1", "kubectl"]))
def test_apply_raises_nothing_else(
    live: Object | None, content: Object, force: bool, by: str
) -> None:
    before = copy.deepcopy((live, content))
    try:
        made = applied(live, content, by, force=force)
    except (ApplyConflict, ApplyRefused):
        made = None
    assert (live, content) == before
    if made is not None and live is not None:
        keep_times(live, made)


@given(st.none() | OBJECTS, OBJECTS, st.sampled_from(["", "status"]))
def test_updates_raise_nothing(old: Object | None, new: Object, subresource: str) -> None:
    before = copy.deepcopy((old, new))
    updated(old, new, subresource=subresource)
    assert (old, new) == before


@given(JSON)
def test_any_configuration_is_applied_or_refused(content: Any) -> None:
    with pytest.raises(ApplyRefused):
        applied(None, content)
