"""`Manifests`: related objects in a list that was given."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.errors import KindUnavailable
from konstat.kinds import ConfigMap
from konstat.readiness import Manifests, Reason, Related, RelatedEvents, compute


def test_owners_are_recognized_by_uid(build: Any) -> None:
    mine, other = build.pod("a", "rs2"), build.pod("b", "rs1")
    related: Related = Manifests([build.replica_set(), mine, other])
    assert related.owned_by("rs2", "", "Pod") == [mine]
    assert related.owned_by("d", "apps", "ReplicaSet") == [build.replica_set()]
    assert related.owned_by("x", "", "Pod") == []
    with pytest.raises(KindUnavailable, match="no StatefulSet was given"):
        related.owned_by("rs2", "apps", "StatefulSet")


def test_names_are_found_within_their_namespace(build: Any) -> None:
    claim = build.thing("v1", "PersistentVolumeClaim")
    related = Manifests([claim])
    assert related.find("", "PersistentVolumeClaim", "n", "x") == claim
    assert related.find("", "PersistentVolumeClaim", "m", "x") is None
    with pytest.raises(KindUnavailable):
        related.find("storage.k8s.io", "StorageClass", "", "fast")


def test_of_a_complete_kind_what_was_not_given_does_not_exist() -> None:
    related = Manifests([], complete=[("", "Pod")])
    assert related.owned_by("d", "", "Pod") == []
    assert related.find("", "Pod", "n", "x") is None


def test_lists_stand_for_their_items_and_typed_objects_for_their_content(build: Any) -> None:
    item = build.pod("a", "rs2")
    del item["apiVersion"], item["kind"]
    pods = {"apiVersion": "v1", "kind": "PodList", "items": [item, "x", None]}
    mixed = {"apiVersion": "v1", "kind": "List", "items": [build.replica_set()]}
    typed = ConfigMap(metadata={"name": "c", "namespace": "n"}, data={})
    related = Manifests([pods, mixed, typed])
    assert len(related.owned_by("rs2", "", "Pod")) == 1
    assert related.find("apps", "ReplicaSet", "", "web-rs2") is not None
    assert related.find("", "ConfigMap", "n", "c") is not None


def test_events_of_both_groups_are_found_by_their_subject(build: Any) -> None:
    core = build.event("p1", "BackOff", "x")
    newer = {
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"},
        "regarding": {"uid": "p1"}, "reason": "BackOff", "note": "y",
    }  # fmt: skip
    related = Manifests([core, newer])
    assert isinstance(related, RelatedEvents)
    assert related.events_of("p1") == [core, newer]
    assert related.events_of("p2") == []


def test_a_deployment_is_explained_by_the_manifests_around_it(build: Any) -> None:
    pod = build.pod("p", "rs2", build.waiting("ContainerCreating"), phase="Pending")
    text = 'MountVolume.SetUp failed for volume "keys" : secret "db" not found'
    told = build.event("p", "FailedMount", text, since=300)
    around = [build.replica_set(), pod, told]
    verdict = compute(build.rolling(), related=Manifests(around), now=build.now)
    assert verdict.reason is Reason.VOLUME_NOT_MOUNTED
    assert 'secret "db" not found' in verdict.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(("v1", "Pod", "PodList", "Event")),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ("apiVersion", "kind", "metadata", "items", "ownerReferences", "uid", "name",
             "involvedObject")
        ),
        inner,
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@given(st.lists(JSON, max_size=4))
def test_any_json_can_be_given(objects: list[Any]) -> None:
    related = Manifests(objects, complete=[("", "Pod")])
    assert related.find("", "Pod", "", "x") is None
    related.owned_by("x", "", "Pod")
    related.events_of("x")
