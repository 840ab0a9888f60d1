"""Volumes, sandboxes, probes and gates: classes B3, B4, B8 and B9 of the root causes."""

from __future__ import annotations

from typing import Any

import pytest

from konstat.readiness import Reason, State, Turn, compute

MOUNT = 'MountVolume.SetUp failed for volume "keys" : secret "db" not found'
SANDBOX = (
    "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to set up the network"
    ' of sandbox "6f8a0e9c2f1b4d7e8a9b": no address is left'
)


def seen(readiness: Any) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


def starting(build: Any) -> Any:
    return build.pod("p", "rs2", build.waiting("ContainerCreating"), phase="Pending")


# --- B3, B4: what only events tell -----------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "message", "reason", "turn", "words"),
    [
        ("FailedMount", MOUNT, Reason.VOLUME_NOT_MOUNTED, Turn.USER, 'secret "db" not found'),
        ("FailedAttachVolume", "Multi-Attach error for volume", Reason.VOLUME_NOT_ATTACHED,
         Turn.OWNER, "Multi-Attach error"),
        ("FailedCreatePodSandBox", SANDBOX, Reason.SANDBOX_FAILED, Turn.OWNER,
         "failed to set up the network"),
    ],
)  # fmt: skip
def test_B3_B4_events_tell_why_a_pod_does_not_start(
    build: Any, event: str, message: str, reason: Reason, turn: Turn, words: str
) -> None:
    young = build.judge(starting(build), build.event("p", event, message))
    assert (*seen(young), young.turn) == (State.PROGRESSING, reason, turn)
    assert words in young.message
    lasting = build.judge(starting(build), build.event("p", event, message, since=71))
    assert seen(lasting) == (State.FAILED, reason)
    assert lasting.message == young.message
    assert lasting.recheck_at is not None
    assert build.judge(starting(build)).reason is Reason.PODS_STARTING


def test_B4_the_random_parts_of_an_event_are_left_out(build: Any) -> None:
    texts = {
        build.judge(starting(build), build.event("p", "FailedCreatePodSandBox", text)).message
        for text in (SANDBOX, SANDBOX.replace("6f8a0e9c2f1b4d7e8a9b", "0123456789abcdef0123"))
    }
    assert len(texts) == 1


def test_events_expire_and_the_verdict_says_when(build: Any) -> None:
    told = build.event("p", "FailedMount", MOUNT, since=900, ago=600)
    verdict = build.judge(starting(build), told)
    assert seen(verdict) == (State.FAILED, Reason.VOLUME_NOT_MOUNTED)
    after = build.judge(starting(build), told, now=verdict.recheck_at)
    assert seen(after) == (State.PROGRESSING, Reason.PODS_STARTING)


def test_an_event_before_later_progress_is_past(build: Any) -> None:
    told = build.event("p", "FailedMount", MOUNT, since=300, ago=100)
    pulling = build.event("p", "Pulling", "pulling", since=50, ago=50)
    assert build.judge(starting(build), told, pulling).reason is Reason.PODS_STARTING
    ready = starting(build)
    ready["status"]["conditions"].append(build.condition("PodReadyToStartContainers"))
    assert build.judge(ready, told).reason is Reason.PODS_STARTING


def test_the_same_event_is_cited_whatever_came_last(build: Any) -> None:
    summary = "Unable to attach or mount volumes: unmounted volumes=[keys]: timed out"
    texts = {
        build.judge(
            starting(build),
            build.event("p", "FailedMount", MOUNT, ago=first, since=first),
            build.event("p", "FailedMount", summary, ago=second, since=second),
        ).message
        for first, second in ((5, 50), (50, 5))
    }
    assert len(texts) == 1
    assert 'secret "db" not found' in texts.pop()


def test_without_a_clock_an_event_stands(build: Any) -> None:
    told = build.event("p", "FailedMount", MOUNT, since=90000, ago=80000)
    assert build.judge(starting(build), told, now=None).reason is Reason.VOLUME_NOT_MOUNTED


def test_events_that_cannot_be_read_say_nothing(build: Any) -> None:
    world = build.world(unsynced=["Event"])
    verdict = compute(starting(build), related=world, now=build.now)
    assert seen(verdict) == (State.PROGRESSING, Reason.PODS_STARTING)


def test_events_make_nothing_better(build: Any) -> None:
    failing = build.pod("p", "rs2", build.waiting("CreateContainerConfigError", "no key"))
    for reason in ("Pulled", "Started", "FailedMount", "Unhealthy"):
        told = build.event("p", reason, "all is well")
        assert build.judge(failing, told).reason is Reason.CONTAINER_CONFIG_INVALID


# --- B8: probes ------------------------------------------------------------------------------


def probed(build: Any, *, started: bool = True, **probes: Any) -> Any:
    pod = build.pod("p", "rs2", build.running(ready=False, started=started))
    pod["spec"]["containers"][0].update(probes)
    return pod


def test_B8_which_probe_and_what_it_said(build: Any) -> None:
    pod = probed(build, readinessProbe={})
    assert build.judge(pod).message == (
        "container web runs, but its readiness probe has not succeeded"
    )
    text = "Readiness probe failed: HTTP probe failed with statuscode: 503"
    told = build.event("p", "Unhealthy", text, fieldPath="spec.containers{web}")
    verdict = build.judge(pod, told)
    assert seen(verdict) == (State.PROGRESSING, Reason.PODS_NOT_READY)
    assert verdict.message == (
        "container web runs, but its readiness probe fails: HTTP probe failed with statuscode: 503"
    )
    other = build.event("p", "Unhealthy", text, fieldPath="spec.containers{proxy}")
    assert "has not succeeded" in build.judge(pod, other).message
    whole = build.event("p", "Unhealthy", text)
    assert build.judge(pod, whole).message == verdict.message
    pod["spec"]["containers"].append({"name": "proxy"})
    assert "has not succeeded" in build.judge(pod, whole).message


def test_B8_a_startup_probe_comes_before_the_readiness_probe(build: Any) -> None:
    pod = probed(build, started=False, readinessProbe={}, startupProbe={})
    assert "startup probe has not succeeded" in build.judge(pod).message
    pod = probed(build, started=True, readinessProbe={}, startupProbe={})
    assert "readiness probe has not succeeded" in build.judge(pod).message


def test_B8_probes_of_several_pods_read_alike(build: Any) -> None:
    pods: list[Any] = []
    for name, address in (("a", "10.0.0.1"), ("b", "10.0.0.2")):
        pod = probed(build, readinessProbe={})
        pod["metadata"].update(name=name, uid=name)
        pod["status"]["podIP"] = address
        text = f"Readiness probe failed: dial tcp {address}:8080: connect: connection refused"
        told = build.event(name, "Unhealthy", text, fieldPath="spec.containers{web}")
        pods += [pod, told]
    verdict = build.judge(build.rolling(2, updatedReplicas=2), build.replica_set(), *pods)
    assert verdict.message.count("connection refused") == 1
    assert "10.0.0" not in verdict.message


def test_B8_a_container_killed_by_its_liveness_probe_says_so(build: Any) -> None:
    text = "Liveness probe failed: command timed out"
    told = build.event("p", "Unhealthy", text, fieldPath="spec.containers{web}")
    killed = build.pod("p", "rs2", build.crashing(exit_code=137))
    assert "after its liveness probe failed: command timed out" in build.judge(killed, told).message
    crashed = build.pod("p", "rs2", build.crashing(exit_code=1))
    assert "liveness" not in build.judge(crashed, told).message


# --- B5: images of old kubelets --------------------------------------------------------------


def test_B5_of_an_old_kubelet_events_tell_the_fault_in_both_phases(build: Any) -> None:
    text = 'Failed to pull image "web:1": code = NotFound desc = web:1: not found'
    world = [build.node(version="v1.29.0"), build.event("p", "Failed", text)]
    texts: set[str] = set()
    for reason in ("ErrImagePull", "ImagePullBackOff"):
        pod = build.pod("p", "rs2", build.waiting(reason, "Back-off"))
        pod["spec"]["nodeName"] = "n1"
        texts.add(build.judge(pod, *world).message)
    assert len(texts) == 1
    assert "the registry has no such image" in texts.pop()


# --- B9: readiness gates ---------------------------------------------------------------------


def gated(build: Any, *conditions: Any, name: str = "lb.example.com/registered") -> Any:
    pod = build.pod("p", "rs2")
    pod["spec"]["readinessGates"] = [{"conditionType": name}]
    pod["status"]["conditions"][-1]["status"] = "False"
    pod["status"]["conditions"] += conditions
    return pod


def test_B9_a_gate_names_who_must_set_it(build: Any) -> None:
    verdict = build.judge(gated(build))
    assert seen(verdict) == (State.PROGRESSING, Reason.READINESS_GATE_NOT_MET)
    assert verdict.message == (
        "waits for readiness gate lb.example.com/registered, which the controller of"
        " lb.example.com must set"
    )
    assert "another controller must set" in build.judge(gated(build, name="Warm")).message


def test_B9_a_gate_tells_the_words_and_the_name_of_its_writer(build: Any) -> None:
    name = "lb.example.com/registered"
    pod = gated(build, build.condition(name, "False", "Registering", "target is new"))
    fields = {"f:status": {"f:conditions": {f'k:{{"type":"{name}"}}': {}}}}
    pod["metadata"]["managedFields"] = [
        {"manager": "kubelet", "fieldsV1": {}},
        {"manager": "balancer", "fieldsV1": fields},
    ]
    assert build.judge(pod).message == (
        f"waits for readiness gate {name}, which balancer sets: Registering: target is new"
    )


def test_B9_ready_is_checked_against_the_gates(build: Any) -> None:
    """k8s #86485: a kubelet that was restarted once said Ready without looking at gates."""
    pod = gated(build)
    for condition in pod["status"]["conditions"]:
        condition["status"] = "True"
    assert build.judge(pod).reason is Reason.READINESS_GATE_NOT_MET
    pod["status"]["conditions"].append(build.condition("lb.example.com/registered"))
    assert build.judge(pod).ready
