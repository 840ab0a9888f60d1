"""The typed views of built-in kinds."""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import konstat.kinds as kinds
from konstat.errors import SpecInvalid
from konstat.kinds.apps import DeploymentSpec
from konstat.kinds.view import without_nulls
from konstat.objects.resource import Resource

ALL = sorted(kinds.BY_KIND.values(), key=lambda cls: cls.__name__)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


def test_the_export_list_is_sorted_and_complete() -> None:
    assert kinds.__all__ == sorted(kinds.__all__)
    assert {cls.__name__ for cls in ALL} <= set(kinds.__all__)


def test_every_class_is_found_by_group_and_kind() -> None:
    for cls in ALL:
        assert kinds.kind_named(cls.kind.kind, group=cls.kind.group) is cls
    assert kinds.kind_named("Event") is kinds.CoreEvent
    assert kinds.kind_named("Event", group="events.k8s.io") is kinds.Event
    assert kinds.kind_named("WebApp", group="demo.example.com") is None


@pytest.mark.parametrize(
    ("cls", "path"),
    [
        (kinds.Pod, "/api/v1/namespaces/n/pods"),
        (kinds.Ingress, "/apis/networking.k8s.io/v1/namespaces/n/ingresses"),
        (kinds.NetworkPolicy, "/apis/networking.k8s.io/v1/namespaces/n/networkpolicies"),
        (kinds.EndpointSlice, "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices"),
        (kinds.StorageClass, "/apis/storage.k8s.io/v1/storageclasses"),
        (kinds.ClusterRole, "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
        (
            kinds.HorizontalPodAutoscaler,
            "/apis/autoscaling/v2/namespaces/n/horizontalpodautoscalers",
        ),
        (kinds.Node, "/api/v1/nodes"),
    ],
)
def test_paths_are_those_of_the_server(cls: type[Resource[Any, Any]], path: str) -> None:
    assert cls.kind.path("n") == path


def test_absent_fields_have_the_defaults_of_kubernetes() -> None:
    deployment = kinds.Deployment.from_content({"metadata": {"name": "web"}})
    assert deployment.spec.replicas == 1
    assert deployment.spec.progress_deadline_seconds == 600
    assert deployment.status.ready_replicas == 0
    assert kinds.Job.from_content({"metadata": {"name": "j"}}).spec.backoff_limit == 6
    assert kinds.Service.from_content({"metadata": {"name": "s"}}).spec.type == "ClusterIP"


@pytest.mark.parametrize("form", ["content", "json"])
def test_null_reads_as_absent_at_every_depth(form: str) -> None:
    content = {
        "metadata": {"name": "web", "labels": None, "finalizers": None},
        "spec": {"replicas": None, "template": {"spec": {"containers": [None, {"name": "a"}]}}},
        "status": {"conditions": None, "readyReplicas": None, "availableReplicas": 2},
    }
    if form == "json":
        deployment = kinds.Deployment.from_json(msgspec.json.encode(content))
    else:
        deployment = kinds.Deployment.from_content(content)
    assert deployment.spec.replicas == 1
    assert [c.name for c in deployment.spec.template.spec.containers] == ["a"]
    assert deployment.status.conditions == ()
    assert deployment.status.ready_replicas == 0
    assert deployment.status.available_replicas == 2


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_null_parts_and_null_fields_never_raise(cls: type[Resource[Any, Any]]) -> None:
    for part, part_type in (("spec", cls.spec_type), ("status", cls.status_type)):
        fields = msgspec.structs.fields(part_type)
        empty = cls.from_content({"metadata": {"name": "x"}, part: None})
        nulls = cls.from_content(
            {"metadata": {"name": "x"}, part: {f.encode_name: None for f in fields}}
        )
        assert getattr(nulls, part) == getattr(empty, part)


def test_a_wrong_type_is_told_with_its_path() -> None:
    deployment = kinds.Deployment.from_content(
        {"metadata": {"name": "web"}, "spec": {"replicas": "three", "paused": None}}
    )
    with pytest.raises(SpecInvalid) as caught:
        _ = deployment.spec
    assert caught.value.path == "spec.replicas"


def test_a_view_leaves_out_what_equals_its_default() -> None:
    web = kinds.Deployment(metadata={"name": "web"}, spec=DeploymentSpec(replicas=3))
    assert web.content["spec"] == {"replicas": 3}


def test_unknown_fields_are_kept() -> None:
    content = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "novel": {"a": 1}}}
    assert kinds.Service.from_content(content).content["spec"]["novel"] == {"a": 1}


def test_names_with_abbreviations_are_read() -> None:
    service = kinds.Service.from_content(
        {"metadata": {}, "spec": {"clusterIP": "10.0.0.1", "externalIPs": ["192.0.2.1"]}}
    )
    assert (service.spec.cluster_ip, service.spec.external_ips) == ("10.0.0.1", ("192.0.2.1",))
    pod = kinds.Pod.from_content({"metadata": {}, "status": {"podIP": "10.1.0.1"}})
    assert pod.status.pod_ip == "10.1.0.1"


def test_config_map_data_is_a_fresh_dict() -> None:
    config = kinds.ConfigMap.from_content(
        {"metadata": {"name": "c"}, "data": {"a": "1", "b": None}, "binaryData": {"x": "AAE="}}
    )
    config.data["a"] = "changed"
    assert config.data == {"a": "1"}
    assert config.binary_data == {"x": b"\x00\x01"}
    assert not config.immutable


def test_a_secret_is_decoded_and_never_shown() -> None:
    word = base64.b64encode(b"hunter2").decode()
    secret = kinds.Secret.from_content({"metadata": {"name": "s"}, "data": {"password": word}})
    assert secret.data == {"password": b"hunter2"}
    assert secret.type == "Opaque"
    assert "hunter2" not in repr(secret)
    assert word not in repr(secret)


def test_a_broken_secret_is_told_without_its_value() -> None:
    secret = kinds.Secret.from_content(
        {"metadata": {"name": "s"}, "data": {"password": "hu nter2"}}
    )
    with pytest.raises(SpecInvalid, match=r"data\.password") as caught:
        _ = secret.data
    assert "nter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_top_level_fields_are_typed() -> None:
    role = kinds.Role.from_content(
        {
            "metadata": {"name": "r"},
            "rules": [None, {"verbs": ["get"], "nonResourceURLs": ["/healthz"], "apiGroups": None}],
        }
    )
    assert role.rules[0].verbs == ("get",)
    assert role.rules[0].non_resource_urls == ("/healthz",)
    binding = kinds.RoleBinding.from_content(
        {"metadata": {}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": None}
    )
    assert (binding.role_ref.name, binding.subjects) == ("r", ())
    event = kinds.CoreEvent.from_content({"metadata": {}, "reason": "Pulled", "count": None})
    assert (event.reason, event.count) == ("Pulled", 0)
    event = kinds.Event.from_content({"metadata": {}, "note": "pulled", "regarding": {"uid": "u"}})
    assert (event.note, event.regarding.uid) == ("pulled", "u")
    with pytest.raises(SpecInvalid, match="expected a list"):
        _ = kinds.Role.from_content({"metadata": {}, "rules": 3}).rules


def test_a_slice_reads_endpoints() -> None:
    endpoints = kinds.EndpointSlice.from_content(
        {"metadata": {}, "endpoints": [{"addresses": ["10.1.0.1"], "conditions": {"ready": True}}]}
    ).endpoints
    assert endpoints[0].conditions.ready is True


def _has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(v is None or _has_null(v) for v in value.values())
    return isinstance(value, list) and any(v is None or _has_null(v) for v in value)


@given(json_values)
def test_without_nulls_leaves_no_null_and_changes_nothing_else(value: Any) -> None:
    stripped = without_nulls(value)
    assert not _has_null(stripped)
    assert without_nulls(stripped) == stripped
    if not _has_null(value):
        assert stripped == value


@given(st.sampled_from(ALL), json_values, json_values)
def test_any_content_reads_or_raises_spec_invalid(
    cls: type[Resource[Any, Any]], spec: Any, status: Any
) -> None:
    thing = cls.from_content({"metadata": {"name": "x"}, "spec": spec, "status": status})
    for part in ("spec", "status"):
        with suppress(SpecInvalid):
            getattr(thing, part)
