"""The order of judgement, and what holds for every object."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.kinds import BY_KIND, ConfigMap, Deployment
from konstat.objects.kind import Kind
from konstat.objects.resource import Unstructured
from konstat.readiness import RULES, Readiness, Reason, State, Turn, compute


def custom(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "demo.example.com/v1",
        "kind": "WebApp",
        "metadata": {"name": "web", "uid": "w", "generation": 3, **metadata},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "observedGeneration": 3},
    }


def test_S2_what_does_not_exist_is_missing() -> None:
    verdict = compute(None)
    assert (verdict.state, verdict.reason) == (State.MISSING, Reason.NOT_FOUND)


def test_S2_deletion_comes_before_all_else() -> None:
    leaving = custom(
        deletionTimestamp="2026-03-01T12:00:00Z", finalizers=["e", "d", "c", "b", "a"], generation=4
    )
    verdict = compute(leaving)
    assert (verdict.state, verdict.reason) == (State.TERMINATING, Reason.DELETING)
    assert verdict.message == "is being deleted; waits for finalizers: a, b, c and 2 more"
    assert compute(custom(deletionTimestamp="x", finalizers=None)).message == "is being deleted"


@pytest.mark.parametrize("observed", [1, -1, 0, 9, "2", "x", [], 2.5])
def test_S2_another_generation_comes_before_the_kinds_rule(observed: Any) -> None:
    other = custom()
    other["status"]["observedGeneration"] = observed
    verdict = compute(other)
    assert (verdict.state, verdict.reason) == (State.PROGRESSING, Reason.GENERATION_NOT_OBSERVED)
    assert verdict.generation == 3


def test_an_observed_generation_written_as_text_counts() -> None:
    """Bug 9."""
    text = custom()
    text["status"]["observedGeneration"] = "3"
    assert compute(text).ready


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
def test_S2_a_workload_that_nobody_has_looked_at_is_progressing(kind: str) -> None:
    for status in (None, {}, {"replicas": 1}):
        fresh = {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": "x", "generation": 1},
            "spec": {"replicas": 1},
            "status": status,
        }
        verdict = compute(fresh)
        assert (verdict.state, verdict.reason) == (
            State.PROGRESSING,
            Reason.GENERATION_NOT_OBSERVED,
        )


def test_typed_objects_are_judged_as_their_content(build: Any) -> None:
    content = build.deployment()
    typed = Deployment.from_content(content)
    assert compute(typed) == compute(content)
    kind = Kind(group="demo.example.com", version="v1", kind="WebApp", plural="webapps")
    assert compute(Unstructured.of(kind, custom())).ready
    assert compute(ConfigMap(metadata={"name": "c"}, data={"a": "1"})).ready


def test_items_of_a_list_are_judged_by_the_given_kind(build: Any) -> None:
    item = build.deployment(readyReplicas=1)
    whole = compute(item)
    del item["apiVersion"], item["kind"]
    assert compute(item, kind=Deployment.kind) == whole


def test_the_version_does_not_choose_the_rule(build: Any) -> None:
    newer = {**build.deployment(), "apiVersion": "apps/v9"}
    assert compute(newer).reason is Reason.AVAILABLE
    foreign = {**build.deployment(), "apiVersion": "apps.example.com/v1"}
    assert compute(foreign).reason is not Reason.AVAILABLE


def test_every_typed_kind_has_a_rule() -> None:
    assert set(BY_KIND) <= set(RULES)


# --- whatever comes --------------------------------------------------------------------------

WORDS = st.sampled_from(
    (
        "True", "False", "Unknown", "Ready", "Available", "Progressing", "ReplicaFailure", "Failed",
        "Complete", "NewReplicaSetAvailable", "ProgressDeadlineExceeded", "CrashLoopBackOff",
        "ErrImagePull", "Running", "Pending", "Bound", "OnDelete", "LoadBalancer", "Always", "web",
        "2026-03-01T11:59:00Z", "9999-12-31T23:59:59Z", "3", "d",
    )
)  # fmt: skip
KEYS = st.sampled_from(
    (
        "type", "status", "reason", "message", "observedGeneration", "conditions", "phase", "state",
        "replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "waiting", "running",
        "terminated", "lastState", "exitCode", "restartCount", "ready", "containerStatuses",
        "initContainerStatuses", "name", "uid", "generation", "annotations", "labels", "finalizers",
        "paused", "suspend", "selector", "updateStrategy", "loadBalancer", "ingress", "image",
        "startedAt", "finishedAt", "readinessGates", "endpoints", "containers", "restartPolicy",
        "desiredNumberScheduled", "deletionTimestamp", "storageClassName", "volumeBindingMode",
    )
)  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 5)
    | st.integers()
    | st.floats(allow_nan=False)
    | WORDS
    | st.text(max_size=6)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)
PARTS = st.dictionaries(st.sampled_from(("metadata", "spec", "status", "endpoints")), JSON)


class Anything:
    """A `Related` that answers every question with the same objects."""

    def __init__(self, objects: list[Any]) -> None:
        self.objects = [o for o in objects if isinstance(o, dict)]

    def owned_by(self, uid: str, group: str, kind: str) -> list[Any]:
        return self.objects

    def find(self, group: str, kind: str, namespace: str, name: str) -> Any:
        return self.objects[0] if self.objects else None


def check(verdict: Readiness) -> None:
    assert isinstance(verdict, Readiness)
    assert isinstance(verdict.state, State)
    assert isinstance(verdict.reason, Reason)
    assert isinstance(verdict.turn, Turn)
    assert verdict.message
    assert len(verdict.message) <= 1024
    assert len(verdict.evidence) <= 8


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_arbitrary_json_gives_a_verdict(content: dict[str, Any]) -> None:
    check(compute(content))


@given(st.sampled_from(sorted(RULES)), PARTS, st.lists(PARTS, max_size=3), st.booleans())
def test_arbitrary_parts_of_each_kind_give_a_verdict(
    build: Any, key: tuple[str, str], parts: dict[str, Any], others: list[Any], dated: bool
) -> None:
    group, kind = key
    content = {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, **parts}
    before = copy.deepcopy((content, others))
    verdict = compute(content, related=Anything(others), now=build.now if dated else None)
    check(verdict)
    assert (content, others) == before


@given(st.data())
def test_unknown_fields_change_nothing(build: Any, data: st.DataObject) -> None:
    obj = build.rolling()
    world = [build.replica_set(), build.pod("p", "rs2", build.crashing())]
    before = build.judge(obj, *world)
    target = data.draw(st.sampled_from((obj, obj["spec"], obj["status"], *world)))
    target["novel"] = data.draw(JSON)
    assert build.judge(obj, *world) == before


CONTAINERS = st.sampled_from(("good", "starting", "probe", "pull", "config", "crash"))


def container(build: Any, word: str) -> Any:
    return {
        "good": lambda: build.running(),
        "starting": lambda: build.waiting("ContainerCreating"),
        "probe": lambda: build.running(ready=False),
        "pull": lambda: build.waiting("ImagePullBackOff"),
        "config": lambda: build.waiting("CreateContainerConfigError", "no key"),
        "crash": lambda: build.crashing(),
    }[word]()


@given(st.lists(CONTAINERS, min_size=1, max_size=4), st.integers(0, 3), st.data())
def test_a_worse_pod_or_number_never_improves_a_deployment(
    build: Any, words: list[str], place: int, data: st.DataObject
) -> None:
    scale = ("good", "starting", "probe", "pull", "config", "crash")
    place %= len(words)
    worse = list(words)
    worse[place] = data.draw(st.sampled_from(scale[scale.index(words[place]) :]))

    def verdict(now: list[str], lost: int) -> Readiness:
        ready = sum(word == "good" for word in now)
        obj = build.deployment(
            len(now), readyReplicas=max(0, ready - lost), availableReplicas=max(0, ready - lost)
        )
        pods = [build.pod(f"p{i}", "rs2", container(build, w)) for i, w in enumerate(now)]
        return build.judge(obj, build.replica_set(), *data.draw(st.permutations(pods)))

    before = verdict(words, 0)
    assert verdict(worse, data.draw(st.integers(0, 2))).state.severity >= before.state.severity
    assert before.ready is all(word == "good" for word in words)
    assert verdict(words, 0) == before
