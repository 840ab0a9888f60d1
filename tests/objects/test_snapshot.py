"""Cached objects: compact, frozen, and ordered by version."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.objects import codec
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot, newer

KIND = Kind(group="apps", version="v1", kind="Deployment", plural="deployments")


def stored(**metadata: Any) -> dict[str, Any]:
    base = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {**base, **metadata},
        "spec": {"x": 1},
    }


def test_a_snapshot_has_identity_and_content_without_managed_fields() -> None:
    owners = [
        {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1"},
        {"apiVersion": "v1", "kind": "B", "name": "b", "uid": "2", "controller": True},
    ]
    content = stored(ownerReferences=owners, labels={"a": "b"}, managedFields=[{"manager": "m"}])
    snapshot = Snapshot.from_json(KIND, json.dumps(content).encode())
    assert (snapshot.name, snapshot.uid, snapshot.resource_version) == ("a", "u", "7")
    assert (snapshot.owner_uids, snapshot.controller_uid) == (("1", "2"), "2")
    del content["metadata"]["managedFields"]
    assert snapshot.content == content
    assert snapshot.content is not snapshot.content
    assert Snapshot.from_content(KIND, content).content == content
    assert str(snapshot.ref) == "Deployment n/a"


def test_an_object_without_name_or_uid_is_refused() -> None:
    for missing in ("name", "uid"):
        with pytest.raises(ValueError):
            Snapshot.from_content(KIND, stored(**{missing: ""}))


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        Snapshot.from_json(KIND, data)


def test_F74_versions_are_ordered_only_when_decimal() -> None:
    assert newer("10", "9") is True
    assert newer("9", "10") is False
    assert newer("9", "9") is False
    assert newer("x9", "9") is None
    assert newer("٣", "2") is None


def test_paths() -> None:
    assert KIND.path("n", "a/b", "status") == "/apis/apps/v1/namespaces/n/deployments/a%2Fb/status"
    assert KIND.path() == "/apis/apps/v1/deployments"
    node = Kind(group="", version="v1", kind="Node", plural="nodes", namespaced=False)
    assert node.path("n", "a") == "/api/v1/nodes/a"
    assert (node.resource, KIND.resource) == ("nodes", "deployments.apps")
    assert (node.api_version, KIND.api_version) == ("v1", "apps/v1")
    assert str(KIND) == "Deployment (apps/v1)"


def test_split_leaves_parts_undecoded() -> None:
    metadata, parts = codec.split(json.dumps(stored()).encode())
    assert metadata.name == "a"
    assert codec.decode(parts["spec"]) == {"x": 1}


def test_the_compressed_form_is_smaller_and_reads_the_same() -> None:
    small = Snapshot.from_content(KIND, stored())
    assert small.compressed() is small
    large = Snapshot.from_content(KIND, {**stored(), "spec": {f"key{n}": "x" for n in range(999)}})
    packed = large.compressed()
    assert len(packed.packed) < len(large.packed) / 2
    assert packed.data == large.data
    assert packed.content == large.content
    assert packed.compressed() is packed


def test_an_item_of_a_list_gets_the_kind_that_the_list_left_out() -> None:
    content = stored()
    item = {key: value for key, value in content.items() if key not in ("apiVersion", "kind")}
    assert Snapshot.from_content(KIND, item).content == content
    assert Snapshot.from_content(KIND, item).data == Snapshot.from_content(KIND, content).data


def test_labels_are_fresh_and_absent_when_empty() -> None:
    snapshot = Snapshot.from_content(KIND, stored(labels={"app": "a", "tier": "b"}))
    assert snapshot.labels == {"app": "a", "tier": "b"}
    assert snapshot.labels is not snapshot.labels
    assert Snapshot.from_content(KIND, stored()).labels is None
    assert Snapshot.from_content(KIND, stored(labels={})).labels is None


@pytest.mark.parametrize("status", [None, "odd", ["odd"], 5])
def test_a_status_that_is_no_object_is_none(status: Any) -> None:
    snapshot = Snapshot.from_json(KIND, json.dumps({**stored(), "status": status}).encode())
    assert snapshot.status is None


def test_a_status_is_fresh_on_every_call() -> None:
    data = json.dumps({**stored(), "status": {"ready": 1}}).encode()
    snapshot = Snapshot.from_json(KIND, data)
    assert snapshot.status == {"ready": 1}
    assert snapshot.status is not snapshot.status
