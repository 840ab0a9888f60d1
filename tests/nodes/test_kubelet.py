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
    stepper = PodStepper(content())
    step = stepper.step()
    assert (stepper.phase, stepper.state(), step.wake_seconds) == ("Running", "running", None)
    assert stepper.condition("Ready")["status"] == "True"
    assert stepper.pod["status"]["podIPs"] == [{"ip": "10.244.0.1"}]
    assert stepper.pod["status"]["observedGeneration"] == 1
    assert stepper.entry()["image"] == "docker.io/library/app:1"


def test_readiness_can_take_time() -> None:
    stepper = PodStepper(content(), reaction_seconds=5)
    assert stepper.step().wake_seconds == 5
    assert stepper.condition("ContainersReady") == {
        "type": "ContainersReady",
        "status": "False",
        "reason": "ContainersNotReady",
        "message": "containers with unready status: [main]",
        "observedGeneration": 1,
    }
    stepper.wait(5)
    assert stepper.condition("Ready")["status"] == "True"


# --- init containers and sidecars ----------------------------------------------------------------


def test_init_containers_run_one_after_the_other() -> None:
    pod = content(initContainers=[container("first"), container("second")])
    stepper = PodStepper(pod, reaction_seconds=1)
    stepper.step()
    assert (stepper.state("first"), stepper.state("second")) == ("running", "PodInitializing")
    assert stepper.state() == "PodInitializing"
    message = "containers with incomplete status: [first second]"
    assert stepper.condition("Initialized")["message"] == message
    stepper.wake()
    assert (stepper.state("first"), stepper.state("second")) == ("Completed", "running")
    assert stepper.phase == "Pending"
    stepper.wake()
    assert (stepper.state("second"), stepper.state()) == ("Completed", "running")
    assert stepper.condition("Initialized")["status"] == "True"
    assert stepper.phase == "Running"


def test_an_init_container_that_fails_is_restarted_or_fails_the_pod() -> None:
    init = [container("setup")]
    stepper = PodStepper(content(initContainers=init, annotations={EXIT: "setup=1"}))
    stepper.step()
    stepper.wait(1)
    assert (stepper.state("setup"), stepper.phase) == ("Error", "Pending")
    stepper.wait(2)
    assert (stepper.state("setup"), stepper.phase) == ("Completed", "Running")
    assert stepper.entry("setup")["restartCount"] == 1

    pod = content(initContainers=init, restartPolicy="Never", annotations={EXIT: "setup=1"})
    stepper = PodStepper(pod)
    stepper.step()
    step = stepper.wait(1)
    assert (stepper.phase, step.stopped, step.wake_seconds) == ("Failed", True, None)
    assert stepper.state() == "PodInitializing"


def test_an_unready_init_container_never_ends() -> None:
    pod = content(initContainers=[container("setup")], annotations={UNREADY: "setup"})
    stepper = PodStepper(pod)
    assert stepper.step().wake_seconds is None
    assert (stepper.state("setup"), stepper.phase) == ("running", "Pending")


def test_a_sidecar_starts_first_and_ends_last() -> None:
    pod = content(
        initContainers=[container("proxy", restartPolicy="Always"), container("setup")],
        restartPolicy="Never",
        annotations={EXIT: "main=0"},
    )
    stepper = PodStepper(pod, reaction_seconds=1, stop_seconds=1)
    stepper.step()
    assert (stepper.state("proxy"), stepper.state("setup")) == ("running", "PodInitializing")
    stepper.wake()
    assert (stepper.state("setup"), stepper.state()) == ("running", "PodInitializing")
    stepper.wake()
    assert stepper.state() == "running"
    stepper.wait(1)
    # The main container is done; the phase waits for the sidecar.
    assert (stepper.state(), stepper.state("proxy")) == ("Completed", "running")
    assert stepper.phase == "Running"
    step = stepper.wait(1)
    assert (stepper.entry("proxy")["state"]["terminated"]["exitCode"]) == 143
    assert (stepper.phase, step.stopped) == ("Succeeded", True)
    assert stepper.condition("Ready")["reason"] == "PodCompleted"


def test_sidecars_end_one_after_the_other_backwards() -> None:
    sidecars = [container(name, restartPolicy="Always") for name in ("first", "second")]
    stepper = PodStepper(content(initContainers=sidecars), stop_seconds=1)
    stepper.step()
    stepper.delete()
    stepper.step()
    ended: list[str] = []
    for _ in range(3):
        stepper.wait(1)
        ended += [
            name
            for name in ("main", "first", "second")
            if stepper.state(name) != "running" and name not in ended
        ]
    assert ended == ["main", "second", "first"]


def test_a_failed_pod_is_failed_only_when_its_sidecars_have_ended() -> None:
    pod = content(
        initContainers=[container("proxy", restartPolicy="Always"), container("setup")],
        restartPolicy="Never",
        annotations={EXIT: "setup=1"},
    )
    stepper = PodStepper(pod, stop_seconds=1)
    stepper.step()
    stepper.wait(1)
    assert (stepper.state("setup"), stepper.state("proxy")) == ("Error", "running")
    assert stepper.phase == "Pending"
    stepper.wait(1)
    assert stepper.phase == "Failed"


def test_a_sidecar_that_crashes_does_not_make_a_running_pod_pending() -> None:
    pod = content(
        initContainers=[container("proxy", restartPolicy="Always")],
        annotations={EXIT: "proxy=1"},
    )
    stepper = PodStepper(pod)
    stepper.step()
    stepper.wait(1)
    assert (stepper.state("proxy"), stepper.phase) == ("Error", "Running")
    assert stepper.condition("Initialized")["status"] == "True"
    assert stepper.condition("Ready")["message"] == "containers with unready status: [proxy]"
    stepper.wait(2)
    assert (stepper.state("proxy"), stepper.condition("Ready")["status"]) == ("running", "True")


# --- readiness -----------------------------------------------------------------------------------


def test_a_readiness_gate_holds_ready_but_not_containers_ready() -> None:
    stepper = PodStepper(content(readinessGates=[{"conditionType": "example.com/gate"}]))
    stepper.step()
    assert stepper.condition("ContainersReady")["status"] == "True"
    assert stepper.condition("Ready")["message"] == (
        'corresponding condition of pod readiness gate "example.com/gate" does not exist.'
    )
    gate = {"type": "example.com/gate", "status": "False"}
    stepper.pod["status"]["conditions"].append(gate)
    stepper.step()
    assert stepper.condition("Ready")["message"] == (
        'the status of pod readiness gate "example.com/gate" is not "True", but False'
    )
    gate["status"] = "True"
    stepper.step()
    assert stepper.condition("Ready")["status"] == "True"


def test_the_unready_script_can_be_taken_away() -> None:
    stepper = PodStepper(content(annotations={UNREADY: "main"}))
    stepper.step()
    assert (stepper.state(), stepper.entry()["ready"]) == ("running", False)
    stepper.pod["metadata"]["annotations"] = {}
    stepper.step()
    assert stepper.condition("Ready")["status"] == "True"


# --- configuration -------------------------------------------------------------------------------


def test_a_volume_that_lacks_its_source_holds_the_pod_up() -> None:
    stepper = PodStepper(content())
    stepper.configuration = Configuration(volume="it is not there")
    step = stepper.step()
    assert (stepper.state(), stepper.phase) == ("ContainerCreating", "Pending")
    assert stepper.condition("PodReadyToStartContainers")["status"] == "False"
    assert "podIP" not in stepper.pod["status"]
    assert [(w.reason, w.message) for w in step.warnings] == [("FailedMount", "it is not there")]
    assert step.wake_seconds == Pace().recheck_seconds
    stepper.configuration = Configuration()
    stepper.step()
    assert stepper.phase == "Running"


def test_a_variable_that_lacks_its_source_holds_its_container_up() -> None:
    stepper = PodStepper(content(container("a"), container("b")))
    stepper.configuration = Configuration(containers={"a": 'secret "s" not found'})
    stepper.step()
    assert (stepper.state("a"), stepper.state("b")) == ("CreateContainerConfigError", "running")
    assert stepper.condition("PodReadyToStartContainers")["status"] == "True"


# --- deletion ------------------------------------------------------------------------------------


def test_a_deleted_pod_stops_at_once_by_default() -> None:
    stepper = PodStepper(content())
    stepper.step()
    stepper.delete()
    step = stepper.step()
    assert (step.stopped, stepper.phase) == (True, "Failed")
    assert stepper.entry()["state"]["terminated"]["exitCode"] == 143
    assert stepper.condition("PodReadyToStartContainers")["status"] == "False"


@pytest.mark.parametrize(("grace_seconds", "code"), [(30, 143), (5, 137)])
def test_a_container_may_take_its_grace_and_no_more(grace_seconds: int, code: int) -> None:
    stepper = PodStepper(content(), stop_seconds=10)
    stepper.step()
    stepper.delete(grace_seconds)
    step = stepper.step()
    assert not step.stopped
    assert step.wake_seconds == min(10, grace_seconds)
    assert (stepper.phase, stepper.condition("Ready")["status"]) == ("Running", "True")
    assert stepper.wait(step.wake_seconds).stopped
    assert stepper.entry()["state"]["terminated"]["exitCode"] == code


def test_a_pod_that_never_ran_can_be_deleted() -> None:
    stepper = PodStepper(content(container(image=BAD_IMAGE)))
    stepper.step()
    stepper.delete()
    step = stepper.step()
    assert (step.stopped, step.wake_seconds, stepper.phase) == (True, None, "Failed")


def test_nothing_is_restarted_in_a_deleted_pod() -> None:
    stepper = PodStepper(content(annotations={CRASH: "main=1"}), stop_seconds=20)
    stepper.step()
    stepper.delete()
    stepper.step()
    assert stepper.wait(1).stopped
    assert (stepper.state(), stepper.phase) == ("Error", "Failed")


def test_a_pod_that_another_has_failed_is_stopped() -> None:
    stepper = PodStepper(content())
    stepper.step()
    stepper.pod["status"] |= {"phase": "Failed", "reason": "Evicted"}
    assert stepper.step().stopped
    assert (stepper.phase, stepper.pod["status"]["reason"]) == ("Failed", "Evicted")


# --- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0, 1, 3, 4, 6, 12])
def test_a_new_kubelet_goes_on_from_the_stored_status(seconds: float) -> None:
    stepper = PodStepper(content(annotations={CRASH: "main=1"}))
    stepper.step()
    for _ in range(int(seconds)):
        stepper.wait(1)
    before = {**stepper.entry()}
    stepper.memory = None
    stepper.step()
    after = stepper.entry()
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
    stepper = PodStepper(pod, stop_seconds=stop_seconds, reaction_seconds=reaction_seconds)
    final = ""
    for _ in range(steps):
        step = stepper.step()
        again = stepper.step()
        assert again.status == step.status
        assert again.wake_seconds == step.wake_seconds
        assert not again.warnings
        assert not final or stepper.phase == final
        final = stepper.phase if stepper.phase in ("Succeeded", "Failed") else ""
        assert step.stopped or not final
        if step.wake_seconds is None:
            # At rest: time alone changes nothing.
            assert stepper.wait(100_000).status == step.status
            break
        assert step.wake_seconds > 0
        stepper.wait(step.wake_seconds)
    stepper.delete()
    for _ in range(8):
        step = stepper.step()
        if step.stopped:
            break
        assert step.wake_seconds is not None
        stepper.wait(step.wake_seconds)
    assert step.stopped
    assert stepper.phase in ("Succeeded", "Failed")
