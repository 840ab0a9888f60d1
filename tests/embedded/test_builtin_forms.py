"""Objects of built-in kinds are read as Go would read them, and written as Go would write them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from builtin_bench import TYPES, manifests
from hypothesis import given, settings
from hypothesis import strategies as st

from konstat.embedded.builtin import definitions, quantities, times
from konstat.embedded.builtin.encoding import DecodeError, decode
from konstat.objects.quantity import Quantity

DEPLOYMENT = definitions.name_of("apps", "v1", "Deployment")
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["spec", "name", "a", "metadata"]) | st.text(max_size=4), inner
        )
    ),
    max_leaves=12,
)


def decoded(content: dict[str, Any], name: str = DEPLOYMENT) -> dict[str, Any]:
    made = copy.deepcopy(content)
    decode(made, name)
    return made


def deployment(path: str, value: Any) -> dict[str, Any]:
    content: dict[str, Any] = {"apiVersion": "apps/v1", "kind": "Deployment"}
    place = content
    *parents, last = path.split(".")
    for key in parents:
        place = place.setdefault(key, {})
    place[last] = value
    return content


FIELD = "json: cannot unmarshal {} into Go struct field {} of type {}"


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("spec.replicas", "three",
         FIELD.format("string", "DeploymentSpec.spec.replicas", "int32")),
        ("spec.replicas", 1.5,
         FIELD.format("number 1.5", "DeploymentSpec.spec.replicas", "int32")),
        ("spec.replicas", 2**40,
         FIELD.format("number 1099511627776", "DeploymentSpec.spec.replicas", "int32")),
        ("spec.template.spec.containers", {},
         FIELD.format("object", "PodSpec.spec.template.spec.containers", "[]v1.Container")),
        ("spec.template.spec.containers", [{"image": 3}],
         FIELD.format("number", "Container.spec.template.spec.containers.image", "string")),
        ("metadata.labels", "x",
         FIELD.format("string", "ObjectMeta.metadata.labels", "map[string]string")),
        ("spec", [], FIELD.format("array", "Deployment.spec", "v1.DeploymentSpec")),
        ("metadata.creationTimestamp", "yesterday",
         'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as'
         ' "2006"'),
        ("spec.template.spec.overhead", {"cpu": True}, quantities.PROBLEM),
    ],
)  # fmt: skip
def test_C103_a_value_of_the_wrong_type_is_refused_in_the_decoders_words(
    path: str, value: Any, problem: str
) -> None:
    with pytest.raises(DecodeError) as raised:
        decoded(deployment(path, value))
    assert str(raised.value) == problem


def test_empty_members_are_written_as_go_writes_them() -> None:
    template = decoded(deployment("spec.template.spec", {
        "hostNetwork": False,
        "containers": [{"name": "c", "args": [], "env": [{"name": "A", "value": ""}],
                        "securityContext": {"privileged": False}, "unknown": 1}],
    }))["spec"]["template"]  # fmt: skip
    # Left out: false, empty lists and texts that may be. Kept: pointers to them, and structs.
    assert template == {
        "metadata": {},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "env": [{"name": "A"}],
                    "resources": {},
                    "securityContext": {"privileged": False},
                }
            ]
        },
    }


def test_lists_that_are_always_written_are_null_when_empty() -> None:
    role = definitions.name_of("rbac.authorization.k8s.io", "v1", "Role")
    assert decoded({"kind": "Role", "rules": []}, role)["rules"] is None
    assert decoded({"kind": "Role"}, role)["rules"] is None


def test_null_is_absent_and_in_a_map_the_zero_value() -> None:
    config = definitions.name_of("", "v1", "ConfigMap")
    assert decoded({"data": {"a": None}, "immutable": None}, config) == {
        "data": {"a": ""},
        "metadata": {},
    }


@given(ANY_JSON)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_any_json_is_decoded_or_refused(content: Any) -> None:
    for kind in ("Deployment", "Service", "Secret", "Lease", "CustomResourceDefinition"):
        group, version = next(key[0].rpartition("/")[::2] for key in TYPES if key[1] == kind)
        name = definitions.name_of(group, version, kind)
        whole = {"kind": kind, "spec": content, "data": content, "metadata": {"labels": content}}
        try:
            made = decoded(whole, name)
        except DecodeError:
            continue
        # What is written is read again as the same.
        assert decoded(made, name) == made


@pytest.mark.parametrize("name", dict(manifests()))
def test_C50_defaults_are_the_same_when_they_are_applied_again(name: str) -> None:
    obj = copy.deepcopy(dict(manifests())[name])
    kind = TYPES[obj["apiVersion"], obj["kind"]]
    kind.decode(obj)
    kind.defaults(obj)
    again = copy.deepcopy(obj)
    kind.decode(again)
    kind.defaults(again)
    assert again == obj


# --- quantities and times ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("0.5", "500m"), ("1024Mi", "1Gi"), ("1.5Gi", "1536Mi"), ("1e3", "1e3"), ("100e1", "1e3"),
        ("0.5Ki", "512"), ("1000m", "1"), ("1500000000", "1500M"), ("0Gi", "0"), ("-3", "-3"),
        ("1000", "1k"), ("1023Ki", "1023Ki"), ("0.1", "100m"), ("1e-3", "1e-3"), ("+1", "1"),
    ],
)  # fmt: skip
def test_a_quantity_has_one_spelling(text: str, spelling: str) -> None:
    assert quantities.canonical(text) == spelling


@given(
    st.decimals(min_value=-(10**6), max_value=10**6, places=3).map(str),
    st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi", "e3", "E-2"]),
)
@settings(derandomize=True, deadline=None)
def test_the_spelling_keeps_the_amount(number: str, suffix: str) -> None:
    text = f"{number}{suffix}"
    spelling = quantities.canonical(text)
    assert quantities.canonical(spelling) == spelling
    given_amount = Quantity(text)
    if not suffix.endswith("i"):
        assert Quantity(spelling) == given_amount
    else:  # a fraction of a byte is rounded up
        assert 0 <= Quantity(spelling).nanos - given_amount.nanos < 10**9


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2024-01-01", 'cannot parse "" as "T"'),
        ("2024-01-01T00:00:00", 'cannot parse "" as "Z07:00"'),
        ("2024-13-01T00:00:00Z", "month out of range"),
        ("2024-01-32T00:00:00Z", "day out of range"),
        ("2024-01-01T24:00:00Z", "hour out of range"),
        ("2024-01-01T00:00:00Zx", 'extra text: "x"'),
    ],
)
def test_a_bad_time_is_refused_as_go_does(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match="parsing time") as raised:
        times.canonical(text)
    assert str(raised.value).endswith(problem)


def test_C101_a_micro_time_has_six_decimals() -> None:
    text = "2024-01-01T02:00:00.123456+02:00"
    assert times.canonical(text, micro=True) == "2024-01-01T00:00:00.123456Z"
    with pytest.raises(ValueError, match=r"as \"\.000000\""):
        times.canonical("2024-01-01T00:00:00Z", micro=True)


@given(st.text(max_size=40) | st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z"))
@settings(derandomize=True, deadline=None)
def test_any_text_is_a_time_or_refused(text: str) -> None:
    for micro in (False, True):
        try:
            spelling = times.canonical(text, micro=micro)
        except ValueError:
            continue
        assert times.canonical(spelling, micro=micro) == spelling


# --- definitions ------------------------------------------------------------------------------


def test_the_data_hold_no_prose() -> None:
    assert '"description":"' not in json.dumps(definitions.definitions(), separators=(",", ":"))


def test_schemas_are_resolved_and_recursive_ones_contain_themselves() -> None:
    name = definitions.name_of("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    version = definitions.schema(name)["properties"]["spec"]["properties"]["versions"]["items"]
    root = version["properties"]["schema"]["properties"]["openAPIV3Schema"]
    inner = root["properties"]["not"]
    assert inner["properties"]["not"] is inner
    assert inner["properties"]["title"] == {"type": "string"}


def test_components_hold_all_that_they_refer_to() -> None:
    found = definitions.components([DEPLOYMENT])
    text = json.dumps(found)
    assert all(f'"{name}"' in text for name in found)
    assert "io.k8s.api.core.v1.PodSpec" in found
    assert "io.k8s.api.core.v1.Node" not in found
