from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.base import clock, limits
from konstat.cli.status.document import as_json, document
from konstat.cli.status.tree import Gathered, TreeNode, build
from konstat.objects.kind import Kind
from konstat.objects.model import Status
from konstat.readiness import State, Turn
from konstat.status import Outcome, Stalled, settle
from konstat.status.outcome import Failed, Waiting

PODS = Kind(group="", version="v1", kind="Pod", plural="pods")


def walk(node: TreeNode) -> list[TreeNode]:
    return [node, *(found for child in node.children for found in walk(child))]


def test_children_are_found_by_owner_at_every_depth(broken_shop: Gathered, now) -> None:
    (shop,) = build(broken_shop, now=now)
    assert [f"{node.kind}/{node.name}" for node in walk(shop)] == [
        "WebApp/shop",
        "Deployment/shop",
        "ReplicaSet/shop-new",
        "Pod/shop-new-a",
        "Pod/shop-new-b",
        "ReplicaSet/shop-old",
        "Service/shop-web",
    ]


def test_each_node_carries_its_own_verdict_and_cause(broken_shop: Gathered, now) -> None:
    (shop,) = build(broken_shop, now=now)
    pod = next(node for node in walk(shop) if node.kind == "Pod")
    assert (pod.state, pod.reason, pod.turn) == (State.FAILED, "ImagePullFailed", Turn.USER)
    assert "nginx:nope" in pod.message
    deployment = shop.children[0]
    assert (deployment.state, deployment.reason) == (State.FAILED, "ImagePullFailed")
    assert (shop.state, shop.reported_reason) == (State.FAILED, "ImagePullFailed")


def test_a_stale_status_is_said_to_be_stale(make, condition, now) -> None:
    ready = condition("Ready", "True", "Ready", generation=2)
    status = {"observedGeneration": 2, "conditions": [ready]}
    resource = make("demo.example.com/v1", "WebApp", "shop", generation=3, status=status)
    (shop,) = build(Gathered(resources=(resource,)), now=now)
    assert shop.state is State.PROGRESSING
    assert shop.notes == ("not current: generation 3, observed 2",)
    assert [entry.current for entry in shop.conditions] == [False]


def test_a_status_that_is_not_there_is_said_to_be_absent(make, now) -> None:
    resource = make("demo.example.com/v1", "WebApp", "shop", spec={})
    (shop,) = build(Gathered(resources=(resource,)), now=now)
    assert shop.notes == ("no status yet: is its operator running?",)
    world = Gathered(resources=(resource,), statusless=frozenset({("demo.example.com", "WebApp")}))
    (shop,) = build(world, now=now)
    assert shop.notes == ("this kind has no status: nothing is reported on it",)


@pytest.mark.parametrize(
    ("error", "turn"),
    [
        (Stalled("Untagged", "write a tag"), Turn.USER),
        (Stalled("NoLicence", "buy one", turn=Turn.OWNER), Turn.OWNER),
        (Waiting("Import", "is running"), Turn.NOBODY),
        (Waiting("Approval", "is asked for", turn=Turn.USER), Turn.USER),
        (Failed("Broken", "cannot"), Turn.OWNER),
    ],
)
def test_the_turn_that_an_operator_published_is_shown(
    make, now, error: Exception, turn: Turn
) -> None:
    settled = settle(Status(), Outcome.of(error), generation=1)
    conditions = [c.merged(None, now=now) for c in settled.conditions]
    status = {"observedGeneration": 1, "conditions": conditions}
    resource = make("demo.example.com/v1", "WebApp", "shop", status=status)
    (shop,) = build(Gathered(resources=(resource,)), now=now)
    assert shop.turn is turn


def test_what_was_not_read_is_not_taken_for_absent(broken_shop: Gathered, now) -> None:
    objects = {kind: found for kind, found in broken_shop.objects.items() if kind != ("", "Pod")}
    blind = msgspec.structs.replace(broken_shop, objects=objects, unread={PODS: "forbidden"})
    (shop,) = build(blind, now=now)
    deployment = shop.children[0]
    assert deployment.state is not State.READY
    assert "forbidden" in deployment.message


def test_ownership_in_a_circle_ends(make, now) -> None:
    one = make("v1", "ConfigMap", "one", owner="two")
    two = make("v1", "ConfigMap", "two", owner="one")
    world = Gathered(resources=(one,), objects={("", "ConfigMap"): [one, two]})
    (node,) = build(world, now=now)
    assert [found.name for found in walk(node)] == ["one", "two"]


def test_a_tree_that_is_too_deep_is_cut_and_says_so(make, now) -> None:
    chain = [make("v1", "ConfigMap", f"n{i}", owner=f"n{i - 1}" if i else "") for i in range(30)]
    world = Gathered(resources=(chain[0],), objects={("", "ConfigMap"): chain})
    (node,) = build(world, now=now)
    nodes = walk(node)
    assert len(nodes) == limits.TREE_DEPTH
    assert [found.cut for found in nodes] == [False] * (limits.TREE_DEPTH - 1) + [True]


def test_the_document_is_complete_and_stable(broken_shop: Gathered, now) -> None:
    world = msgspec.structs.replace(broken_shop, unread={PODS: "forbidden"})
    text = as_json(document(build(world, now=now), world, server="https://x", now=now))
    content: dict[str, Any] = msgspec.json.decode(text)
    assert content["format"] == 1
    assert content["time"] == clock.timestamp(now)
    assert content["outdated"] == []
    assert content["unread"] == [{"resource": "pods", "problem": "forbidden"}]
    (shop,) = content["resources"]
    assert set(shop) == {
        "apiVersion",
        "kind",
        "namespace",
        "name",
        "uid",
        "createdAt",
        "state",
        "reason",
        "reportedReason",
        "message",
        "turn",
        "generation",
        "observedGeneration",
        "notes",
        "evidence",
        "conditions",
        "children",
        "cut",
    }
    assert set(shop["conditions"][0]) == {
        "type",
        "status",
        "reason",
        "message",
        "lastTransitionTime",
        "observedGeneration",
        "current",
    }
    assert "\n" not in as_json(
        document(build(world, now=now), world, server="", now=now), one_line=True
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "metadata",
                    "status",
                    "conditions",
                    "type",
                    "name",
                    "uid",
                    "ownerReferences",
                    "kind",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.sampled_from(["metadata", "status", "spec", "kind"]), JSON)))
def test_any_content_makes_a_tree(contents: list[dict[str, Any]]) -> None:
    world = Gathered(resources=tuple(contents), objects={("", "ConfigMap"): contents})
    now = clock.parse_timestamp("2026-01-01T12:00:00Z")
    assert len(build(world, now=now)) == len(contents)
