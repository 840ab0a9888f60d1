"""Preparing a manifest: named, placed, owned, and marked."""

from __future__ import annotations

import pytest

from konstat.errors import ManifestError
from konstat.kinds import ClusterRole, ConfigMap
from konstat.objects.kind import Kind
from konstat.objects.meta import OwnerReference
from konstat.writing import Owner, prepare
from konstat.writing.manifest import APPLIED_ANNOTATION, hash_of


def owner(namespace: str = "here") -> Owner:
    reference = OwnerReference(
        api_version="demo.example.com/v1", kind="WebApp", name="shop", uid="u1", controller=True
    )
    kind = Kind(group="demo.example.com", version="v1", kind="WebApp", plural="webapps")
    return Owner(kind=kind, reference=reference, namespace=namespace)


def prepared(metadata: dict[str, object], **content: object) -> dict[str, object]:
    return prepare({"metadata": metadata, **content}, kind=ConfigMap.kind, owner=owner())


def test_the_namespace_defaults_to_the_owners() -> None:
    wanted = prepare({"metadata": {"name": "a"}}, kind=ConfigMap.kind, owner=owner())
    assert wanted["metadata"]["namespace"] == "here"
    assert wanted["apiVersion"] == "v1"
    assert wanted["metadata"]["ownerReferences"][0]["uid"] == "u1"


def test_status_and_server_side_metadata_are_never_applied() -> None:
    metadata = {"name": "a", "uid": "x", "resourceVersion": "1", "managedFields": []}
    wanted = prepare({"metadata": metadata, "status": {"a": 1}}, kind=ConfigMap.kind, owner=owner())
    assert set(wanted["metadata"]) == {"name", "namespace", "ownerReferences", "annotations"}
    assert "status" not in wanted


def test_the_hash_follows_the_wish_and_not_itself() -> None:
    def of(data: dict[str, str], **annotations: str) -> str:
        metadata = {"name": "a", "annotations": annotations}
        return hash_of(
            prepare({"metadata": metadata, "data": data}, kind=ConfigMap.kind, owner=owner())
        )

    assert of({"a": "1", "b": "2"}) == of({"b": "2", "a": "1"})
    assert of({"a": "1"}) != of({"a": "2"})
    assert of({"a": "1"}) != of({"a": "1"}, note="x")
    assert of({"a": "1"}) == of({"a": "1"}, **{APPLIED_ANNOTATION: "stale"})


def test_a_nameless_manifest_is_refused() -> None:
    with pytest.raises(ManifestError, match=r"metadata\.name"):
        prepared({})


def test_a_child_elsewhere_cannot_be_owned() -> None:
    with pytest.raises(ManifestError, match="in namespace 'there' cannot be owned"):
        prepared({"name": "a", "namespace": "there"})
    with pytest.raises(ManifestError, match="at cluster scope cannot be owned"):
        prepare({"metadata": {"name": "a"}}, kind=ClusterRole.kind, owner=owner())


def test_a_cluster_scoped_owner_needs_a_namespace_for_its_children() -> None:
    with pytest.raises(ManifestError, match=r"needs metadata\.namespace"):
        prepare({"metadata": {"name": "a"}}, kind=ConfigMap.kind, owner=owner(namespace=""))
    wanted = prepare(
        {"metadata": {"name": "a", "namespace": "n"}},
        kind=ConfigMap.kind,
        owner=owner(namespace=""),
    )
    assert wanted["metadata"]["namespace"] == "n"
