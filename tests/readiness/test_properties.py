"""What holds for the rules of all built-in kinds: nothing raises, worse is never better."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from konstat.readiness import RULES, Manifests, Readiness, State, compute

GATEWAY = "gateway.networking.k8s.io/v1"


# --- worse is never better -------------------------------------------------------------------

# Of each kind: dimensions, each a scale of values from good to bad, and the object of a point.
Scales = dict[str, tuple[Any, ...]]
CONDITION = ("True", "Unknown", None, "False")  # of a type whose absence is not decided by others
NUMBER = (3, 2, 0)


def conditions(build: Any, **statuses: Any) -> list[Any]:
    return [build.condition(n, s, "X") for n, s in statuses.items() if s is not None]


def stateful_set(build: Any, ready: int, available: int, updated: int, revision: str) -> Any:
    return build.stateful_set(
        readyReplicas=ready,
        availableReplicas=available,
        updatedReplicas=updated,
        updateRevision=revision,
    )


def daemon_set(build: Any, ready: int, available: int, updated: int) -> Any:
    return build.daemon_set(
        3, numberReady=ready, numberAvailable=available, updatedNumberScheduled=updated
    )


def replica_set(build: Any, ready: int, available: int, failure: str) -> Any:
    rs = build.replica_set(conditions=conditions(build, ReplicaFailure=failure))
    rs["status"].update(replicas=3, readyReplicas=ready, availableReplicas=available)
    return rs


def deployment(build: Any, ready: int, available: int, updated: int, progressing: str) -> Any:
    reason = "NewReplicaSetAvailable" if progressing == "True" else "ProgressDeadlineExceeded"
    return build.deployment(
        readyReplicas=ready,
        availableReplicas=available,
        updatedReplicas=updated,
        conditions=[
            build.condition("Available"),
            build.condition("Progressing", progressing, reason),
        ],
    )


def job(build: Any, complete: str, failed: str) -> Any:
    status = {"conditions": conditions(build, Complete=complete, Failed=failed)}
    return build.thing("batch/v1", "Job", status, spec={})


def service(build: Any, address: Any, error: Any) -> Any:
    entry = {"ip": address, "ports": [{"port": 80, "error": error}]}
    status = {"loadBalancer": {"ingress": [entry]}}
    return build.thing("v1", "Service", status, spec={"type": "LoadBalancer"})


def claim(build: Any, phase: str, resizing: str, error: str) -> Any:
    found = conditions(build, Resizing=resizing, NodeResizeError=error)
    return build.thing("v1", "PersistentVolumeClaim", {"phase": phase, "conditions": found})


def node(build: Any, ready: str, disk: str) -> Any:
    status = {"conditions": conditions(build, Ready=ready, DiskPressure=disk)}
    return build.thing("v1", "Node", status)


def definition(build: Any, names: str, established: str, loose: str) -> Any:
    found = conditions(
        build, NamesAccepted=names, Established=established, NonStructuralSchema=loose
    )
    return build.thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", {"conditions": found})


def autoscaler(build: Any, able: str, active: str) -> Any:
    status = {"conditions": conditions(build, AbleToScale=able, ScalingActive=active)}
    return build.thing("autoscaling/v2", "HorizontalPodAutoscaler", status)


def gateway(build: Any, accepted: Any, programmed: Any, listener: Any, conflict: Any) -> Any:
    status = {
        "conditions": conditions(build, Accepted=accepted, Programmed=programmed),
        "listeners": [
            {"name": "a", "conditions": conditions(build, Accepted=listener, Conflicted=conflict)}
        ],
    }
    return build.thing(GATEWAY, "Gateway", status, spec={"listeners": [{"name": "a"}]})


def route(build: Any, accepted: Any, resolved: Any, partial: Any, other: Any) -> Any:
    found = conditions(build, Accepted=accepted, ResolvedRefs=resolved, PartiallyInvalid=partial)
    second = conditions(build, Accepted=other, ResolvedRefs="True")
    refs = [{"name": "a"}, {"name": "b"}]
    status = {
        "parents": [
            {"parentRef": ref, "conditions": entry}
            for ref, entry in zip(refs, (found, second), strict=True)
        ]
    }
    return build.thing(GATEWAY, "HTTPRoute", status, spec={"parentRefs": refs})


def pod(build: Any, container: str, node_ready: str, gate: str) -> Any:
    """The pod alone; its node is in the world of `judge`."""
    made = build.pod("p", "x", CONTAINERS[container](build))
    made["spec"].update(
        nodeName="n1", readinessGates=[{"conditionType": "a/b"}], containers=[{"name": "web"}]
    )
    made["status"]["conditions"] += conditions(build, **{"a/b": gate})
    if gate != "True" or node_ready != "True":
        made["status"]["conditions"][3]["status"] = "False"
    return made


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "good": lambda build: build.running(),
    "probe": lambda build: build.running(ready=False),
    "starting": lambda build: build.waiting("ContainerCreating"),
    "crash": lambda build: build.crashing(),
}

BAD = ("False", "True")
SCALES: dict[Callable[..., Any], Scales] = {
    autoscaler: {"able": ("True", "Unknown", "False"), "active": ("True", "Unknown", "False")},
    claim: {"phase": ("Bound", "Pending", "Lost"), "resizing": BAD, "error": BAD},
    daemon_set: {"ready": NUMBER, "available": NUMBER, "updated": NUMBER},
    definition: {"names": ("True", "False"), "established": ("True", "False"), "loose": BAD},
    deployment: {
        "ready": NUMBER, "available": NUMBER, "updated": NUMBER, "progressing": ("True", "False"),
    },
    gateway: {
        "accepted": CONDITION, "programmed": CONDITION,
        "listener": ("True", "Unknown", "False"), "conflict": BAD,
    },
    job: {"complete": ("True", "False"), "failed": BAD},
    node: {"ready": ("True", "Unknown", "False"), "disk": BAD},
    pod: {
        "container": tuple(CONTAINERS), "node_ready": ("True", "Unknown", "False"),
        "gate": ("True", "False"),
    },
    replica_set: {"ready": NUMBER, "available": NUMBER, "failure": BAD},
    route: {
        "accepted": CONDITION, "resolved": CONDITION, "partial": BAD,
        "other": CONDITION,
    },
    service: {"address": ("192.0.2.1", ""), "error": ("", "PortInUse")},
    stateful_set: {
        "ready": NUMBER, "available": NUMBER, "updated": NUMBER, "revision": ("r1", "r2"),
    },
}  # fmt: skip


def judged(build: Any, make: Callable[..., Any], point: dict[str, Any]) -> Readiness:
    world = [build.node(point["node_ready"])] if "node_ready" in point else []
    return build.judge(make(build, **point), *world)


@pytest.mark.parametrize("make", SCALES, ids=lambda make: make.__name__)
def test_the_best_of_everything_is_ready(build: Any, make: Callable[..., Any]) -> None:
    best = {name: scale[0] for name, scale in SCALES[make].items()}
    assert judged(build, make, best).ready


@given(st.sampled_from(list(SCALES)), st.data())
@settings(max_examples=300)
def test_worsening_one_signal_never_improves_the_verdict(
    build: Any, make: Callable[..., Any], data: st.DataObject
) -> None:
    scales = SCALES[make]
    places = {name: data.draw(st.integers(0, len(s) - 1), name) for name, s in scales.items()}
    name = data.draw(st.sampled_from(sorted(scales)))
    lower = data.draw(st.integers(places[name], len(scales[name]) - 1))
    before = judged(build, make, {n: scales[n][p] for n, p in places.items()})
    after = judged(build, make, {n: scales[n][p] for n, p in {**places, name: lower}.items()})
    assert after.state.severity >= before.state.severity
    best = all(place == 0 for place in places.values())
    assert best or not before.ready


# --- pods and events in any order ------------------------------------------------------------

REASONS = st.sampled_from(
    ("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "Unhealthy", "FailedCreate",
     "Pulled", "Pulling", "Started", "Failed", "ProvisioningFailed", "SyncLoadBalancerFailed",
     "Killing", "SuccessfulCreate")
)  # fmt: skip
TEXTS = st.sampled_from(
    ("", 'secret "x" not found', "Readiness probe failed: no", "Liveness probe failed: no",
     "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1",
     'Failed to pull image "web:1": not found')
)  # fmt: skip
EVENTS = st.lists(st.tuples(REASONS, TEXTS, st.integers(0, 2000), st.integers(0, 2)), max_size=6)
PODS = st.lists(st.sampled_from(sorted(CONTAINERS)), max_size=4)
OWNERS = st.sampled_from(("deployment", "stateful_set", "daemon_set", "job"))


def scene(build: Any, owner: str, words: list[str], events: list[Any]) -> tuple[Any, list[Any]]:
    uid = {"deployment": "rs2", "stateful_set": "s", "daemon_set": "ds", "job": "x"}[owner]
    obj = {
        "deployment": lambda: build.rolling(),
        "stateful_set": lambda: build.stateful_set(readyReplicas=1, replicas=1),
        "daemon_set": lambda: build.daemon_set(3, numberReady=1, currentNumberScheduled=1),
        "job": lambda: build.thing("batch/v1", "Job", {}, spec={}),
    }[owner]()
    pods: list[Any] = []
    for place, word in enumerate(words):
        pod = build.pod(f"p{place}", uid, CONTAINERS[word](build))
        pod["spec"]["containers"] = [{"name": "web", "image": "web:1", "readinessProbe": {}}]
        pods.append(pod)
    subjects = (obj["metadata"]["uid"], "p0", "p1")
    told = [
        build.event(subjects[about], reason, text, ago=ago, since=ago, fieldPath="x{web}")
        for reason, text, ago, about in events
    ]
    return obj, [build.replica_set(), *pods, *told]


@given(OWNERS, PODS, EVENTS, st.data())
def test_the_order_of_pods_and_events_is_irrelevant(
    build: Any, owner: str, words: list[str], events: list[Any], data: st.DataObject
) -> None:
    obj, world = scene(build, owner, words, events)
    shuffled = data.draw(st.permutations(world))
    assert build.judge(obj, *world) == build.judge(obj, *shuffled)


@given(OWNERS, PODS, EVENTS, st.booleans())
def test_events_make_no_verdict_better(
    build: Any, owner: str, words: list[str], events: list[Any], dated: bool
) -> None:
    now = build.now if dated else None
    obj, quiet = scene(build, owner, words, [])
    _, told = scene(build, owner, words, events)
    before, after = build.judge(obj, *quiet, now=now), build.judge(obj, *told, now=now)
    assert after.state.severity >= before.state.severity


@given(OWNERS, PODS, EVENTS)
def test_the_verdict_holds_until_it_says_that_it_may_change(
    build: Any, owner: str, words: list[str], events: list[Any]
) -> None:
    """Whoever looks again at `recheck_at` misses nothing in between."""
    obj, world = scene(build, owner, words, events)
    verdict = build.judge(obj, *world)
    if verdict.recheck_at is not None:
        assert verdict.recheck_at > build.now
        halfway = build.now + (verdict.recheck_at - build.now) / 2
        assert build.judge(obj, *world, now=halfway).state is verdict.state


# --- nothing raises --------------------------------------------------------------------------

JUNK = st.sampled_from(
    (None, True, False, 0, -1, 3, 2.5, "", "x", "True", "False", "9999-12-31T23:59:59Z", [], {},
     [None], ["x"], [[]], [{}], {"x": {}}, {"type": {}, "status": []}, 10**30)
)  # fmt: skip


@functools.cache
def fixtures(build: Any) -> list[tuple[Any, list[Any]]]:
    """One object of each scale and of each other kind with some status, each with its places."""
    made = [
        make(build, **{name: scale[-1] for name, scale in scales.items()})
        for make, scales in SCALES.items()
    ]
    status = {
        "phase": "Pending", "readyToUse": False, "error": {"message": "m"},
        "conditions": conditions(build, Ready="False", Failed="True", Succeeded="True"),
        "hard": {"pods": "1"}, "used": {"pods": "1"}, "ancestors": [{"ancestorRef": {"name": "g"}}],
        "typeChecking": {"expressionWarnings": [{"fieldRef": "f"}]}, "devices": [{"device": "d"}],
        "allocatedResourceStatuses": {"storage": "x"}, "capacity": {"storage": "1Gi"},
        "lastScheduleTime": "2026-03-01T11:00:00Z", "lastSuccessfulTime": "2026-03-01T10:00:00Z",
    }  # fmt: skip
    seen = {(one["apiVersion"].rpartition("/")[0], one["kind"]) for one in made}
    for group, kind in sorted(set(RULES) - seen):
        version = f"{group}/v1" if group else "v1"
        thing = build.thing(version, kind, copy.deepcopy(status), spec={"storageClassName": "x"})
        thing["metadata"]["annotations"] = {"readiness.konstat.dev/required-keys": "a"}
        made.append(thing)
    # Another kind would be judged by another rule.
    return [
        (one, [p for p in places(one) if p and p[0] not in ("apiVersion", "kind")]) for one in made
    ]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(deeper for key, item in inner for deeper in places(item, (*path, key)))]


def mutate(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    """A copy with ``junk`` at ``path``, or where an earlier mutation has cut the way there."""
    if not path:
        return junk
    if not isinstance(value, dict | list) or (isinstance(value, list) and not value):
        return junk
    if isinstance(value, dict) and path[0] not in value:
        return junk
    if isinstance(value, list) and not (isinstance(path[0], int) and path[0] < len(value)):
        return junk
    changed = copy.copy(value)
    changed[path[0]] = mutate(value[path[0]], path[1:], junk)
    return changed


@given(st.data())
@settings(max_examples=500)
def test_a_mutated_object_never_raises(build: Any, data: st.DataObject) -> None:
    obj, paths = data.draw(st.sampled_from(fixtures(build)))
    for path in data.draw(st.lists(st.sampled_from(paths), min_size=1, max_size=3)):
        obj = mutate(obj, path, data.draw(JUNK))
    _, world = scene(build, "stateful_set", ["crash", "starting"], [("FailedMount", "m", 9, 1)])
    world = [*world, build.node("Unknown")]
    place = data.draw(st.integers(0, len(world) - 1))
    path = data.draw(st.sampled_from([p for p in places(world[place]) if p]))
    world[place] = mutate(world[place], path, data.draw(JUNK))
    related = Manifests(world, complete=[("", "Pod"), ("", "Node"), ("", "PersistentVolumeClaim")])
    verdict = compute(obj, related=related, now=data.draw(st.sampled_from((None, build.now))))
    assert isinstance(verdict.state, State)
    assert verdict.message
    assert len(verdict.message) <= 1024
    assert len(verdict.evidence) <= 8
