"""Pure decisions about places: nodes, neighbours, slices, owners, namespaces, volumes."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.actors import (
    namespace_plan,
    neighbours,
    node_plan,
    ownership,
    patch,
    placement,
    slice_plan,
    volume_plan,
)
from konstat.actors.namespace_plan import Remains
from konstat.base import clock
from konstat.kinds import ConfigMap, Pod

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def node(name: str = "n", *, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    room = {"cpu": "2", "memory": "4Gi", "pods": "3"}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    return {"metadata": metadata, "spec": spec, "status": {"allocatable": room}}


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    labels = spec.pop("labels", {})
    metadata = {"name": name, "namespace": "demo", "uid": f"uid-{name}", "labels": labels}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def asking(cpu: str) -> list[dict[str, Any]]:
    return [{"resources": {"requests": {"cpu": cpu}}}]


# --- placement --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "k", "value": "v", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"value": "v"}, False),
    ],
)
def test_tolerations(toleration: dict[str, str], tolerated: bool) -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    assert placement.tolerates([toleration], taint) == tolerated


@pytest.mark.parametrize(
    ("operator", "values", "meets"),
    [
        ("In", ["a"], True),
        ("NotIn", ["a"], False),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
        ("Gt", ["1"], False),
    ],
)
def test_required_terms(operator: str, values: list[str], meets: bool) -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": operator, "values": values}]}
    required = {REQUIRED: {"nodeSelectorTerms": [term]}}
    wanted = pod(affinity={"nodeAffinity": required})
    assert placement.fits_affinity(wanted, node(labels={"zone": "a"})) == meets


def test_numbers_are_compared_as_numbers() -> None:
    term = {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["9"]}]}
    wanted = pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}})
    assert placement.fits_affinity(wanted, node(labels={"gen": "10"}))
    assert not placement.fits_affinity(wanted, node(labels={"gen": "9"}))
    assert not placement.fits_affinity(wanted, node(labels={"gen": "x"}))


def test_init_containers_raise_the_request_and_sidecars_add_to_it() -> None:
    found = placement.requests(
        pod(
            containers=asking("300m"),
            initContainers=[
                {"restartPolicy": "Always", **asking("100m")[0]},
                asking("1")[0],
            ],
            overhead={"cpu": "10m"},
        )
    )
    assert found["cpu"] == placement.nanos("1110m")


@given(st.lists(st.integers(1, 1500), max_size=8))
def test_a_node_is_never_overbooked(wishes: list[int]) -> None:
    there: list[dict[str, Any]] = []
    for number, wish in enumerate(wishes):
        wanted = pod(f"p{number}", containers=asking(f"{wish}m"))
        taken = placement.usage(there)
        if placement.refusal(wanted, node(), taken) is None:
            there.append(wanted)
    taken = placement.usage(there)
    room = placement.allocatable(node())
    assert all(taken.amounts.get(name, 0) <= room[name] for name in room)


def test_the_first_filter_that_refuses_speaks() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    closed = node(unschedulable=True, taints=[taint])
    wanted = pod(nodeSelector={"a": "b"})
    refused = placement.refusal(wanted, closed, placement.Usage())
    assert refused is not None
    assert refused.reasons == (placement.UNSCHEDULABLE,)
    refused = placement.refusal(wanted, node(taints=[taint]), placement.Usage())
    assert refused is not None
    assert refused.reasons == (placement.TAINTED,)


# --- neighbours -------------------------------------------------------------------------------


def around(
    nodes: list[dict[str, Any]], on_node: dict[str, list[dict[str, Any]]]
) -> neighbours.Surroundings:
    return neighbours.Surroundings(nodes=nodes, on_node=on_node, namespace_labels={"demo": {}})


TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}


def test_enemies_keep_their_distance_in_both_directions() -> None:
    nodes = [node("a", labels={"zone": "1"}), node("b", labels={"zone": "2"})]
    shy = pod("shy", labels={"app": "web"}, affinity={"podAntiAffinity": {REQUIRED: [TERM]}})
    enemy = pod("enemy", labels={"app": "db"})
    beside = around(nodes, {"a": [enemy]})
    assert neighbours.refusal(shy, nodes[0], beside) is not None
    assert neighbours.refusal(shy, nodes[1], beside) is None
    refused = neighbours.refusal(enemy, nodes[0], around(nodes, {"a": [shy]}))
    assert refused is not None
    assert refused.reasons == (neighbours.UNWANTED,)


def test_the_first_of_a_group_needs_no_friend() -> None:
    nodes = [node("a", labels={"zone": "1"}), node("b", labels={"zone": "2"})]
    social = pod("db", labels={"app": "db"}, affinity={"podAffinity": {REQUIRED: [TERM]}})
    assert neighbours.refusal(social, nodes[0], around(nodes, {})) is None
    beside = around(nodes, {"b": [pod("other", labels={"app": "db"})]})
    assert neighbours.refusal(social, nodes[0], beside) is not None
    assert neighbours.refusal(social, nodes[1], beside) is None


def test_pods_spread_within_the_skew() -> None:
    nodes = [node("a", labels={"zone": "1"}), node("b", labels={"zone": "2"})]
    spread = {**TERM, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    wanted = pod("x", labels={"app": "db"}, topologySpreadConstraints=[spread])
    beside = around(nodes, {"a": [pod("y", labels={"app": "db"})]})
    assert neighbours.refusal(wanted, nodes[0], beside) is not None
    assert neighbours.refusal(wanted, nodes[1], beside) is None
    spread["whenUnsatisfiable"] = "ScheduleAnyway"
    assert neighbours.refusal(wanted, nodes[0], beside) is None


# --- slices -----------------------------------------------------------------------------------


SERVICE = {
    "metadata": {"name": "web", "namespace": "demo", "uid": "s"},
    "spec": {"selector": {"a": "b"}, "ports": [{"port": 80, "targetPort": "http"}]},
}


def serving(number: int, port: int = 8080) -> dict[str, Any]:
    found = pod(
        f"p{number}",
        labels={"a": "b"},
        containers=[{"ports": [{"name": "http", "containerPort": port}]}],
    )
    found["status"]["podIPs"] = [{"ip": f"10.0.{number // 250}.{number % 250}"}]
    return found


UIDS = itertools.count()


def settle(present: list[dict[str, Any]], found: slice_plan.SlicePlan) -> list[dict[str, Any]]:
    """What is there after a plan was carried out."""
    gone = {one["metadata"]["uid"] for one in found.delete}
    kept = [one for one in present if one["metadata"]["uid"] not in gone]
    for one, changed in found.change:
        one.update({k: v for k, v in changed.items() if k != "labels"})
        one["metadata"]["labels"] = changed.get("labels", one["metadata"]["labels"])
    for one in found.create:
        one["metadata"]["uid"] = f"uid-{next(UIDS)}"
        kept.append(one)
    return kept


def keep(present: list[dict[str, Any]], pods_there: list[dict[str, Any]]) -> slice_plan.SlicePlan:
    groups = slice_plan.groups(SERVICE, pods_there, {})
    labels = slice_plan.labels(SERVICE, manager=slice_plan.SLICE_CONTROLLER)
    return slice_plan.plan(
        {"uid": "s"}, SERVICE, groups, present, slice_labels=labels, types=["IPv4"]
    )


@given(st.lists(st.sets(st.integers(0, 260)), min_size=1, max_size=4), st.data())
def test_every_endpoint_is_in_one_slice(turns: list[set[int]], data: Any) -> None:
    ports = data.draw(st.sampled_from([[8080], [8080, 9090]]))
    present: list[dict[str, Any]] = []
    for numbers in turns:
        there = [serving(n, ports[n % len(ports)]) for n in sorted(numbers)]
        present = settle(present, keep(present, there))
        found = [e["targetRef"]["name"] for one in present for e in one["endpoints"]]
        assert sorted(found) == sorted(f"p{n}" for n in numbers)
        assert all(len(one["endpoints"]) <= 100 for one in present)
        assert present
        again = keep(present, there)
        assert not (again.create)
        assert not (again.change)
        assert not (again.delete)


def test_ports_are_looked_up_by_name_in_each_pod() -> None:
    assert slice_plan.ports_of(SERVICE, serving(1)) == [
        {"name": "", "protocol": "TCP", "port": 8080}
    ]
    assert slice_plan.ports_of(SERVICE, pod()) == []
    assert slice_plan.target_port({"port": 80}, pod()) == 80
    assert slice_plan.target_port({"port": 80, "targetPort": 81}, pod()) == 81


def test_unready_pods_are_not_ready_unless_the_service_wants_them() -> None:
    found = slice_plan.endpoint(SERVICE, serving(1), "10.0.0.1", {})
    assert found["conditions"] == {"ready": False, "serving": False, "terminating": False}
    eager = {**SERVICE, "spec": {**SERVICE["spec"], "publishNotReadyAddresses": True}}
    assert slice_plan.endpoint(eager, serving(1), "10.0.0.1", {})["conditions"]["ready"]
    [subset] = slice_plan.endpoints_content(SERVICE, [serving(1)])["subsets"]
    assert "notReadyAddresses" in subset


# --- owners -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("states", "dependents", "held", "verdict"),
    [
        ({}, False, [], ("keep", "Background")),
        ({"a": "solid"}, False, [], ("keep", "Background")),
        ({"a": "solid", "b": "absent"}, False, [], ("drop owners", "Background")),
        ({"a": "solid", "b": "waiting"}, True, [], ("drop owners", "Background")),
        ({"a": "absent"}, True, [], ("delete", "Background")),
        ({"a": "waiting"}, False, [], ("delete", "Background")),
        ({"a": "waiting"}, True, [], ("delete", "Foreground")),
        ({"a": "absent"}, False, ["orphan"], ("delete", "Orphan")),
        ({"a": "absent"}, False, ["foregroundDeletion"], ("delete", "Foreground")),
    ],
)
def test_what_becomes_of_a_dependent(
    states: dict[str, Any], dependents: bool, held: list[str], verdict: tuple[str, str]
) -> None:
    obj = {"metadata": {"finalizers": held}}
    found = ownership.judge(obj, states, has_dependents=dependents)
    assert (found.action, found.policy) == verdict


def test_what_is_being_deleted_is_left_to_its_finalizers() -> None:
    obj = {"metadata": {"deletionTimestamp": "x"}}
    assert ownership.judge(obj, {"a": "absent"}, has_dependents=False).action == "keep"


# --- namespaces -------------------------------------------------------------------------------


def test_conditions_name_what_remains() -> None:
    remains = Remains(
        objects={Pod.kind: 2, ConfigMap.kind: 1},
        finalizers={"example.com/b": 1, "example.com/a": 2},
        failures=["x: forbidden"],
    )
    found = namespace_plan.conditions([], remains, now=NOW)
    said = {c["type"]: (c["status"], c["reason"], c["message"]) for c in found}
    assert said["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 1 resource instances,"
        " pods. has 2 resource instances",
    )
    assert said["NamespaceFinalizersRemaining"][2].endswith(
        "example.com/a in 2 resource instances, example.com/b in 1 resource instances"
    )
    assert said["NamespaceDeletionContentFailure"][0] == "True"
    assert said["NamespaceDeletionDiscoveryFailure"][0] == "False"
    assert not remains.empty
    assert Remains().empty


def test_H4_times_of_namespace_conditions_move_with_the_status() -> None:
    early = namespace_plan.conditions([], Remains(), now=datetime(2026, 1, 1, tzinfo=UTC))
    late = namespace_plan.conditions(early, Remains(failures=["x"]), now=NOW)
    moved = [c["type"] for c in late if c["lastTransitionTime"] == clock.timestamp(NOW)]
    assert moved == ["NamespaceDeletionContentFailure"]


# --- nodes ------------------------------------------------------------------------------------


def ready_node(status: str, **spec: Any) -> dict[str, Any]:
    found = node(**spec)
    found["status"]["conditions"] = [{"type": "Ready", "status": status}]
    return found


def test_taints_follow_conditions_and_keep_others() -> None:
    foreign = {"key": "mine", "effect": "NoSchedule"}
    silent = ready_node("Unknown", taints=[foreign], unschedulable=True)
    marks = {(t["key"], t["effect"]) for t in node_plan.taints(silent, now=NOW)}
    assert marks == {
        ("mine", "NoSchedule"),
        (node_plan.UNREACHABLE, "NoSchedule"),
        (node_plan.UNREACHABLE, "NoExecute"),
        (placement.UNSCHEDULABLE_TAINT, "NoSchedule"),
    }
    well = ready_node("True", taints=node_plan.taints(silent, now=NOW))
    assert node_plan.taints(well, now=NOW) == [foreign]


def test_pods_leave_after_their_toleration() -> None:
    taint = {"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T11:59:50Z"}
    bad = node(taints=[taint])
    assert node_plan.eviction_seconds(pod(), bad, now=NOW) == 0.0
    patient = pod(tolerations=[{"key": "k", "operator": "Exists", "tolerationSeconds": 30}])
    assert node_plan.eviction_seconds(patient, bad, now=NOW) == 20.0
    stoic = pod(tolerations=[{"key": "k", "operator": "Exists"}])
    assert node_plan.eviction_seconds(stoic, bad, now=NOW) is None
    assert node_plan.eviction_seconds(pod(), node(), now=NOW) is None


def test_a_silent_node_is_unknown() -> None:
    found = node_plan.silent_conditions(ready_node("True"), now=NOW)
    assert {c["type"]: (c["status"], c["reason"]) for c in found} == {
        "Ready": ("Unknown", "NodeStatusUnknown"),
        "MemoryPressure": ("Unknown", "NodeStatusNeverUpdated"),
        "DiskPressure": ("Unknown", "NodeStatusNeverUpdated"),
        "PIDPressure": ("Unknown", "NodeStatusNeverUpdated"),
    }


# --- volumes ----------------------------------------------------------------------------------


def volume(name: str, size: str, **spec: Any) -> dict[str, Any]:
    given = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], **spec}
    return {"metadata": {"name": name}, "spec": given}


def test_the_smallest_volume_that_fits() -> None:
    claim = {
        "metadata": {"name": "c", "namespace": "demo", "uid": "u"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "2Gi"}},
        },
    }
    volumes = [
        volume("large", "9Gi"),
        volume("taken", "3Gi", claimRef={"namespace": "x", "name": "y", "uid": "z"}),
        volume("small", "1Gi"),
        volume("fits", "3Gi"),
        volume("other", "2Gi", storageClassName="fast"),
    ]
    found = volume_plan.matching_volume(claim, volumes)
    assert found is not None
    assert found["metadata"]["name"] == "fits"
    reserved = volume("mine", "1Ti", claimRef={"namespace": "demo", "name": "c"})
    found = volume_plan.matching_volume(claim, [*volumes, reserved])
    assert found is not None
    assert found["metadata"]["name"] == "mine"
    assert volume_plan.matching_volume(claim, volumes[1:3]) is None


# --- patches ----------------------------------------------------------------------------------


def test_a_status_that_holds_is_not_written() -> None:
    obj = {"metadata": {"uid": "u", "resourceVersion": "1"}, "status": {"a": 1, "b": None}}
    assert patch.status_patch(obj, {"a": 1}) == []
    assert patch.status_patch(obj, {"a": 2, "c/d": [1]})[2:] == [
        {"op": "add", "path": "/status/a", "value": 2},
        {"op": "add", "path": "/status/c~1d", "value": [1]},
    ]
    assert patch.status_patch(obj, {})[2:] == [{"op": "remove", "path": "/status/a"}]
    assert patch.status_patch({"metadata": {}}, {"a": 1})[2:] == [
        {"op": "add", "path": "/status", "value": {"a": 1}}
    ]


def test_metadata_that_holds_is_not_written() -> None:
    obj = {"metadata": {"uid": "u", "finalizers": ["a"]}}
    assert patch.metadata_patch(obj, finalizers=["a"], labels={}) == []
    assert patch.metadata_patch(obj, finalizers=[])[-1] == {
        "op": "remove",
        "path": "/metadata/finalizers",
    }
