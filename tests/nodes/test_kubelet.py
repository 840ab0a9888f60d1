"""The state machine of one pod: order, readiness, deletion, memory, properties."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pod_stepper import BAD_IMAGE, PodStepper, container, content

from konstat.nodes.configuration import Configuration
from konstat.nodes.kubelet import go_duration
from konstat.nodes.memory import Pace
from konstat.nodes.script import CRASH, EXIT, UNREADY


def test_a_plain_pod_is_ready_at_once() -> None:
    kubelet = PodStepper(content())
    step = kubelet.step()
    assert (kubelet.phase, kubelet.state(), step.wake_seconds) == ("Running", "running", None)
    assert kubelet.condition("Ready")["status"] == "True"
    assert kubelet.pod["status"]["podIPs"] == [{"ip": "10.244.0.1"}]
    assert kubelet.pod["status"]["observedGeneration"] == 1
    assert kubelet.entry()["image"] == "docker.io/library/app:1"


def test_readiness_can_take_time() -> None:
    kubelet = PodStepper(content(), reaction_seconds=5)
    assert kubelet.step().wake_seconds == 5
    assert kubelet.condition("ContainersReady") == {
        "type": "ContainersReady",
        "status": "False",
        "reason": "ContainersNotReady",
        "message": "containers with unready status: [main]",
        "observedGeneration": 1,
    }
    kubelet.wait(5)
    assert kubelet.condition("Ready")["status"] == "True"


# --- init containers and sidecars ----------------------------------------------------------------


def test_init_containers_run_one_after_the_other() -> None:
    pod = content(initContainers=[container("first"), container("second")])
    kubelet = PodStepper(pod, reaction_seconds=1)
    kubelet.step()
    assert (kubelet.state("first"), kubelet.state("second")) == ("running", "PodInitializing")
    assert kubelet.state() == "PodInitializing"
    message = "containers with incomplete status: [first second]"
    assert kubelet.condition("Initialized")["message"] == message
    kubelet.wake()
    assert (kubelet.state("first"), kubelet.state("second")) == ("Completed", "running")
    assert kubelet.phase == "Pending"
    kubelet.wake()
    assert (kubelet.state("second"), kubelet.state()) == ("Completed", "running")
    assert kubelet.condition("Initialized")["status"] == "True"
    assert kubelet.phase == "Running"


def test_an_init_container_that_fails_is_restarted_or_fails_the_pod() -> None:
    init = [container("setup")]
    kubelet = PodStepper(content(initContainers=init, annotations={EXIT: "setup=1"}))
    kubelet.step()
    kubelet.wait(1)
    assert (kubelet.state("setup"), kubelet.phase) == ("Error", "Pending")
    kubelet.wait(2)
    assert (kubelet.state("setup"), kubelet.phase) == ("Completed", "Running")
    assert kubelet.entry("setup")["restartCount"] == 1

    pod = content(initContainers=init, restartPolicy="Never", annotations={EXIT: "setup=1"})
    kubelet = PodStepper(pod)
    kubelet.step()
    step = kubelet.wait(1)
    assert (kubelet.phase, step.stopped, step.wake_seconds) == ("Failed", True, None)
    assert kubelet.state() == "PodInitializing"


def test_an_unready_init_container_never_ends() -> None:
    pod = content(initContainers=[container("setup")], annotations={UNREADY: "setup"})
    kubelet = PodStepper(pod)
    assert kubelet.step().wake_seconds is None
    assert (kubelet.state("setup"), kubelet.phase) == ("running", "Pending")


def test_a_sidecar_starts_first_and_ends_last() -> None:
    pod = content(
        initContainers=[container("proxy", restartPolicy="Always"), container("setup")],
        restartPolicy="Never",
        annotations={EXIT: "main=0"},
    )
    kubelet = PodStepper(pod, reaction_seconds=1, stop_seconds=1)
    kubelet.step()
    assert (kubelet.state("proxy"), kubelet.state("setup")) == ("running", "PodInitializing")
    kubelet.wake()
    assert (kubelet.state("setup"), kubelet.state()) == ("running", "PodInitializing")
    kubelet.wake()
    assert kubelet.state() == "running"
    kubelet.wait(1)
    # The main container is done; the phase waits for the sidecar.
    assert (kubelet.state(), kubelet.state("proxy")) == ("Completed", "running")
    assert kubelet.phase == "Running"
    step = kubelet.wait(1)
    assert (kubelet.entry("proxy")["state"]["terminated"]["exitCode"]) == 143
    assert (kubelet.phase, step.stopped) == ("Succeeded", True)
    assert kubelet.condition("Ready")["reason"] == "PodCompleted"


def test_a_sidecar_that_crashes_does_not_make_a_running_pod_pending() -> None:
    pod = content(
        initContainers=[container("proxy", restartPolicy="Always")],
        annotations={EXIT: "proxy=1"},
    )
    kubelet = PodStepper(pod)
    kubelet.step()
    kubelet.wait(1)
    assert (kubelet.state("proxy"), kubelet.phase) == ("Error", "Running")
    assert kubelet.condition("Ready")["message"] == "containers with unready status: [proxy]"
    kubelet.wait(2)
    assert (kubelet.state("proxy"), kubelet.condition("Ready")["status"]) == ("running", "True")


# --- readiness -----------------------------------------------------------------------------------


def test_a_readiness_gate_holds_ready_but_not_containers_ready() -> None:
    kubelet = PodStepper(content(readinessGates=[{"conditionType": "example.com/gate"}]))
    kubelet.step()
    assert kubelet.condition("ContainersReady")["status"] == "True"
    assert kubelet.condition("Ready")["message"] == (
        'corresponding condition of pod readiness gate "example.com/gate" does not exist.'
    )
    gate = {"type": "example.com/gate", "status": "False"}
    kubelet.pod["status"]["conditions"].append(gate)
    kubelet.step()
    assert kubelet.condition("Ready")["message"] == (
        'the status of pod readiness gate "example.com/gate" is not "True", but False'
    )
    gate["status"] = "True"
    kubelet.step()
    assert kubelet.condition("Ready")["status"] == "True"


def test_the_unready_script_can_be_taken_away() -> None:
    kubelet = PodStepper(content(annotations={UNREADY: "main"}))
    kubelet.step()
    assert (kubelet.state(), kubelet.entry()["ready"]) == ("running", False)
    kubelet.pod["metadata"]["annotations"] = {}
    kubelet.step()
    assert kubelet.condition("Ready")["status"] == "True"


# --- configuration -------------------------------------------------------------------------------


def test_a_volume_that_lacks_its_source_holds_the_pod_up() -> None:
    kubelet = PodStepper(content())
    kubelet.configuration = Configuration(volume="it is not there")
    step = kubelet.step()
    assert (kubelet.state(), kubelet.phase) == ("ContainerCreating", "Pending")
    assert kubelet.condition("PodReadyToStartContainers")["status"] == "False"
    assert "podIP" not in kubelet.pod["status"]
    assert [(w.reason, w.message) for w in step.warnings] == [("FailedMount", "it is not there")]
    assert step.wake_seconds == Pace().recheck_seconds
    kubelet.configuration = Configuration()
    kubelet.step()
    assert kubelet.phase == "Running"


def test_a_variable_that_lacks_its_source_holds_its_container_up() -> None:
    kubelet = PodStepper(content(container("a"), container("b")))
    kubelet.configuration = Configuration(containers={"a": 'secret "s" not found'})
    kubelet.step()
    assert (kubelet.state("a"), kubelet.state("b")) == ("CreateContainerConfigError", "running")
    assert kubelet.condition("PodReadyToStartContainers")["status"] == "True"


# --- deletion ------------------------------------------------------------------------------------


def test_a_deleted_pod_stops_at_once_by_default() -> None:
    kubelet = PodStepper(content())
    kubelet.step()
    kubelet.delete()
    step = kubelet.step()
    assert (step.stopped, kubelet.phase) == (True, "Failed")
    assert kubelet.entry()["state"]["terminated"]["exitCode"] == 143
    assert kubelet.condition("PodReadyToStartContainers")["status"] == "False"


@pytest.mark.parametrize(("grace_seconds", "code"), [(30, 143), (5, 137)])
def test_a_container_may_take_its_grace_and_no_more(grace_seconds: int, code: int) -> None:
    kubelet = PodStepper(content(), stop_seconds=10)
    kubelet.step()
    kubelet.delete(grace_seconds)
    step = kubelet.step()
    assert not step.stopped
    assert step.wake_seconds == min(10, grace_seconds)
    assert (kubelet.phase, kubelet.condition("Ready")["status"]) == ("Running", "True")
    assert kubelet.wait(step.wake_seconds).stopped
    assert kubelet.entry()["state"]["terminated"]["exitCode"] == code


def test_a_pod_that_never_ran_can_be_deleted() -> None:
    kubelet = PodStepper(content(container(image=BAD_IMAGE)))
    kubelet.step()
    kubelet.delete()
    step = kubelet.step()
    assert (step.stopped, step.wake_seconds, kubelet.phase) == (True, None, "Failed")


def test_nothing_is_restarted_in_a_deleted_pod() -> None:
    kubelet = PodStepper(content(annotations={CRASH: "main=1"}), stop_seconds=20)
    kubelet.step()
    kubelet.delete()
    kubelet.step()
    assert kubelet.wait(1).stopped
    assert (kubelet.state(), kubelet.phase) == ("Error", "Failed")


def test_a_pod_that_another_has_failed_is_stopped() -> None:
    kubelet = PodStepper(content())
    kubelet.step()
    kubelet.pod["status"] |= {"phase": "Failed", "reason": "Evicted"}
    assert kubelet.step().stopped
    assert (kubelet.phase, kubelet.pod["status"]["reason"]) == ("Failed", "Evicted")


# --- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0, 1, 3, 4, 6, 12])
def test_a_new_kubelet_goes_on_from_the_stored_status(seconds: float) -> None:
    kubelet = PodStepper(content(annotations={CRASH: "main=1"}))
    kubelet.step()
    for _ in range(int(seconds)):
        kubelet.wait(1)
    before = {**kubelet.entry()}
    kubelet.memory = None
    kubelet.step()
    after = kubelet.entry()
    # A back-off begins anew; runs, counts and identities do not.
    assert after["restartCount"] >= before["restartCount"]
    if before["state"].keys() == after["state"].keys():
        assert after == before


def test_go_durations() -> None:
    lengths = {0.5: "500ms", 10: "10s", 80: "1m20s", 300: "5m0s", 3600: "1h0m0s", 2.5: "2.5s"}
    assert {s: go_duration(timedelta(seconds=s)) for s in lengths} == lengths


@pytest.mark.parametrize("name", Pace.__struct_fields__)
def test_a_pace_without_time_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is 0: give a number above 0"):
        Pace(**{name: 0})


# --- properties ----------------------------------------------------------------------------------

NAMES = ("a", "b")
SCRIPTS = st.sampled_from(
    ["", "a=0", "a=1", "b=137:OOMKilled", "a=0,b=0", "a=1,b=1", "setup=1", "proxy=1", "nonsense"]
)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    images = st.sampled_from(["app:1", BAD_IMAGE, "Not Valid"])
    weights = st.sampled_from(["app:1", "app:1", "app:1", BAD_IMAGE])
    main = [container(name, draw(weights)) for name in NAMES[: draw(st.integers(1, 2))]]
    init = []
    if draw(st.booleans()):
        init.append(container("proxy", draw(weights), restartPolicy="Always"))
    if draw(st.booleans()):
        init.append(container("setup", draw(images)))
    return content(
        *main,
        initContainers=init,
        restartPolicy=draw(st.sampled_from(["Always", "OnFailure", "Never"])),
        activeDeadlineSeconds=draw(st.sampled_from([None, None, 20])),
        annotations={
            CRASH: draw(SCRIPTS),
            EXIT: draw(SCRIPTS),
            UNREADY: draw(st.sampled_from(["", "a", "setup", "proxy"])),
        },
    )


@given(
    pod=pods(),
    stop_seconds=st.sampled_from([0, 3, 60]),
    reaction_seconds=st.sampled_from([0, 2]),
    steps=st.integers(0, 12),
)
def test_every_pod_rests_or_asks_to_be_woken_and_always_ends_when_deleted(
    pod: dict[str, Any], stop_seconds: float, reaction_seconds: float, steps: int
) -> None:
    kubelet = PodStepper(pod, stop_seconds=stop_seconds, reaction_seconds=reaction_seconds)
    final = ""
    for _ in range(steps):
        step = kubelet.step()
        again = kubelet.step()
        assert again.status == step.status
        assert again.wake_seconds == step.wake_seconds
        assert not again.warnings
        assert not final or kubelet.phase == final
        final = kubelet.phase if kubelet.phase in ("Succeeded", "Failed") else ""
        assert step.stopped or not final
        if step.wake_seconds is None:
            # At rest: time alone changes nothing.
            assert kubelet.wait(100_000).status == step.status
            break
        assert step.wake_seconds > 0
        kubelet.wait(step.wake_seconds)
    kubelet.delete()
    for _ in range(8):
        step = kubelet.step()
        if step.stopped:
            break
        assert step.wake_seconds is not None
        kubelet.wait(step.wake_seconds)
    assert step.stopped
    assert kubelet.phase in ("Succeeded", "Failed")
