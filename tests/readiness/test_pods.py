"""Root causes of single pods: status-semantics §2 (Pod), §2b."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from konstat.readiness import Reason, State, Turn


def seen(readiness: Any) -> tuple[State, Reason]:
    return readiness.state, readiness.reason


def test_R7_pod_running_and_ready_is_ready(build: Any) -> None:
    assert seen(build.judge(build.pod())) == (State.READY, Reason.AVAILABLE)


def test_R7_pod_succeeded_is_completed(build: Any) -> None:
    assert seen(build.judge(build.pod(phase="Succeeded"))) == (State.READY, Reason.COMPLETED)


def test_D2_pod_failed_is_failed(build: Any) -> None:
    ended = {"name": "web", "ready": False, "state": build.ending(3, "no disk")}
    verdict = build.judge(build.pod("p", "x", ended, phase="Failed"))
    assert seen(verdict) == (State.FAILED, Reason.POD_FAILED)
    assert verdict.message == "the pod has failed: container web ended: exit code 3: no disk"
    evicted = build.pod(phase="Failed", reason="Evicted", message="low on memory")
    assert "Evicted: low on memory" in build.judge(evicted).message


def test_pod_without_status_is_unknown(build: Any) -> None:
    pod = build.pod()
    del pod["status"]
    assert seen(build.judge(pod)) == (State.UNKNOWN, Reason.STATUS_NOT_REPORTED)


# --- image -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cause", ["", "NOT_FOUND"])
@pytest.mark.parametrize("age", ["tracked", "unknown", "old"])
def test_B5_image_both_phases_of_a_pull_back_off_read_the_same(
    build: Any, cause: str, age: str
) -> None:
    error = build.not_found if cause else ""
    repeated = f": ErrImagePull: {error}" if age != "old" and error else ""
    back_off = f'Back-off pulling image "web:1"{repeated}'
    status = {"observedGeneration": 1} if age == "tracked" else {}
    node = build.node(version="v1.30.1" if age == "old" else "v1.33.0")
    verdicts: list[Any] = []
    for reason, message in (("ErrImagePull", error), ("ImagePullBackOff", back_off)):
        pod = build.pod("p", "x", build.waiting(reason, message), **status)
        pod["spec"]["nodeName"] = "n1"
        verdicts.append(build.judge(pod, *([] if age == "unknown" else [node])))
    assert verdicts[0].message == verdicts[1].message
    assert {seen(v) for v in verdicts} == {(State.FAILED, Reason.IMAGE_PULL_FAILED)}
    assert verdicts[0].message.startswith("image web:1 of container web cannot be pulled")
    assert ("the registry has no such image" in verdicts[0].message) is bool(repeated)
    assert any(e.value == error for e in verdicts[0].evidence)


@pytest.mark.parametrize(
    "reason",
    [
        "ErrImageNeverPull",
        "ImageInspectError",
        "InvalidImageName",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    ],
)
def test_B5_image_all_reasons(build: Any, reason: str) -> None:
    assert build.judge(build.pod("p", "x", build.waiting(reason))).reason is (
        Reason.IMAGE_PULL_FAILED
    )


def test_B5_image_of_init_containers_and_sidecars(build: Any) -> None:
    pod = build.pod("p", "x", build.waiting("PodInitializing"))
    pod["spec"]["initContainers"] = [{"name": "setup", "image": "setup:1"}]
    pod["status"]["initContainerStatuses"] = [
        {**build.waiting("ImagePullBackOff"), "name": "setup"}
    ]
    assert "image setup:1 of init container setup" in build.judge(pod).message
    pod["spec"]["initContainers"][0]["restartPolicy"] = "Always"
    assert "image setup:1 of sidecar setup" in build.judge(pod).message


# --- configuration and start -----------------------------------------------------------------


def test_B6_config_error_names_what_is_missing(build: Any) -> None:
    waiting = build.waiting("CreateContainerConfigError", 'secret "db" not found')
    verdict = build.judge(build.pod("p", "x", waiting))
    assert seen(verdict) == (State.FAILED, Reason.CONTAINER_CONFIG_INVALID)
    assert 'secret "db" not found' in verdict.message
    assert verdict.turn is Turn.USER


@pytest.mark.parametrize("reason", ["RunContainerError", "PostStartHookError", "NovelError"])
def test_B6_start_errors(build: Any, reason: str) -> None:
    verdict = build.judge(build.pod("p", "x", build.waiting(reason, "exec format error")))
    assert seen(verdict) == (State.FAILED, Reason.CONTAINER_START_FAILED)


def test_B6_start_error_reads_the_same_when_it_counts_as_a_crash(build: Any) -> None:
    text = 'exec: "serve": executable file not found in $PATH'
    ending = {"exit_code": 128, "message": text, "reason": "StartError"}
    messages = {
        build.judge(build.pod("p", "x", container)).message
        for container in (
            build.waiting("RunContainerError", text),
            build.crashing("waiting", **ending),
            build.crashing("terminated", **ending),
        )
    }
    assert len(messages) == 1


# --- crash -----------------------------------------------------------------------------------


def test_B7_crash_loop_reads_the_same_in_all_its_phases(build: Any) -> None:
    verdicts = [
        build.judge(build.pod("p", "x", build.crashing(phase, exit_code=1, message="boom")))
        for phase in ("waiting", "running", "terminated")
    ]
    assert {seen(v) for v in verdicts} == {(State.FAILED, Reason.CRASH_LOOPING)}
    assert {v.message for v in verdicts} == {
        "container web keeps crashing: exit code 1: boom;"
        " read the container's log (kubectl logs --previous)"
    }


def test_B7_crash_text_is_the_same_after_each_crash(build: Any) -> None:
    messages = {
        build.judge(
            build.pod("p", "x", {**build.crashing(message=text), "restartCount": restarts})
        ).message
        for restarts, text in (
            (3, "starting\n2026-03-01T11:59:58.123Z pid 1234567: cannot open 0xdeadbeef\n"),
            (9, "starting\n2026-03-01T12:03:11.456Z pid 7654321: cannot open 0xfeedface\n"),
        )
    }
    assert len(messages) == 1
    assert "cannot open" in messages.pop()


def test_B7_crash_counts_restarts_in_steps(build: Any) -> None:
    def message(restarts: int) -> str:
        crashing = {**build.crashing(), "restartCount": restarts}
        return build.judge(build.pod("p", "x", crashing)).message

    assert message(2) == message(9)
    assert message(10) == message(99)
    assert ", restarted at least 10 times" in message(10)
    assert ", restarted at least 100 times" in message(100)


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ({"exit_code": 137, "reason": "OOMKilled"}, "out of memory (OOMKilled, exit code 137)"),
        ({"exit_code": 139, "signal": 11}, "signal 11 (exit code 139)"),
        ({"exit_code": 0, "reason": "Completed"}, "exit code 0, but it must go on running"),
    ],
)
def test_B7_crash_tells_how(build: Any, ending: dict[str, Any], words: str) -> None:
    assert words in build.judge(build.pod("p", "x", build.crashing(**ending))).message


def test_a_container_that_runs_again_is_held_to_be_crashing_for_a_while(build: Any) -> None:
    pod = build.pod("p", "x", build.crashing("running", ago=5))
    held = build.judge(pod)
    assert held.recheck_at == build.now + timedelta(seconds=595)
    after = build.judge(pod, now=held.recheck_at)
    assert seen(after) == (State.PROGRESSING, Reason.PODS_NOT_READY)
    assert after.recheck_at is None


def test_a_probe_that_fails_a_week_after_a_restart_is_no_crash(build: Any) -> None:
    running = build.running(ready=False, restartCount=1, lastState=build.ending(ago=7 * 86400))
    verdict = build.judge(build.pod("p", "x", running))
    assert seen(verdict) == (State.PROGRESSING, Reason.PODS_NOT_READY)


def test_ready_between_two_crashes_is_not_ready(build: Any) -> None:
    """Bug 13: without a probe a crashing container is ready for a moment."""
    last = build.ending(ago=12)
    running = build.running(restartCount=3, lastState=last)
    running["state"]["running"]["startedAt"] = build.ago(2)
    pod = build.pod("p", "x", running)
    held = build.judge(pod)
    assert seen(held) == (State.FAILED, Reason.CRASH_LOOPING)
    assert held.recheck_at == build.now + timedelta(seconds=28)
    assert build.judge(pod, now=held.recheck_at).ready
    deployment = build.deployment(1)
    assert build.judge(deployment, build.replica_set(), build.pod("p", "rs2", running)).reason is (
        Reason.CRASH_LOOPING
    )


@pytest.mark.parametrize(
    ("restarts", "lived_seconds"),
    [(1, 3), (5, 86400)],
    ids=["one restart", "a restart a day"],
)
def test_restarts_alone_are_no_failure(build: Any, restarts: int, lived_seconds: int) -> None:
    last = build.ending(ago=12, startedAt=build.ago(12 + lived_seconds))
    running = build.running(restartCount=restarts, lastState=last)
    running["state"]["running"]["startedAt"] = build.ago(2)
    assert build.judge(build.pod("p", "x", running)).ready


def test_without_a_clock_a_ready_container_is_believed(build: Any) -> None:
    running = build.running(restartCount=9, lastState=build.ending())
    assert build.judge(build.pod("p", "x", running), now=None).ready
    not_ready = {**running, "ready": False}
    assert build.judge(build.pod("p", "x", not_ready), now=None).reason is Reason.CRASH_LOOPING


def test_a_finished_init_container_is_no_crash(build: Any) -> None:
    pod = build.pod()
    pod["spec"]["initContainers"] = [{"name": "setup"}]
    pod["status"]["initContainerStatuses"] = [
        {"name": "setup", "ready": True, "state": build.ending(0, reason="Completed")}
    ]
    assert build.judge(pod).ready


def test_a_crashing_init_container_is_failed(build: Any) -> None:
    pod = build.pod("p", "x", build.waiting("PodInitializing"))
    pod["status"]["initContainerStatuses"] = [{**build.crashing(), "name": "setup"}]
    assert build.judge(pod).message.startswith("init container setup keeps crashing")


def test_a_container_that_is_not_restarted_ends_the_pod(build: Any) -> None:
    pod = build.pod("p", "x", {"name": "web", "ready": False, "state": build.ending(2)})
    pod["spec"]["restartPolicy"] = "Never"
    assert seen(build.judge(pod)) == (State.FAILED, Reason.POD_FAILED)
    pod["spec"]["restartPolicy"] = "OnFailure"
    assert seen(build.judge(pod)) == (State.FAILED, Reason.CRASH_LOOPING)


# --- scheduling, probes, gates, starting -----------------------------------------------------


def pending(build: Any, reason: str, message: str = "") -> Any:
    pod = build.pod("p", "x", phase="Pending", containerStatuses=None)
    pod["status"]["conditions"] = [build.condition("PodScheduled", "False", reason, message)]
    return pod


def test_B2_unschedulable_is_progressing_on_the_users_turn(build: Any) -> None:
    why = (
        "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available:"
        " 3 No preemption victims found for incoming pod."
    )
    verdict = build.judge(pending(build, "Unschedulable", why))
    assert seen(verdict) == (State.PROGRESSING, Reason.UNSCHEDULABLE)
    assert verdict.turn is Turn.USER
    assert verdict.message == (
        "no node takes the pod: 0/3 nodes are available: 3 Insufficient cpu;"
        " ask for less, relax the placement, or add nodes"
    )


def test_B2_unschedulable_past_the_deadline_is_failed(build: Any) -> None:
    late = build.condition("Progressing", "False", "ProgressDeadlineExceeded")
    pod = pending(build, "Unschedulable", "0/1 nodes are available: 1 Insufficient memory.")
    pod["metadata"]["ownerReferences"] = build.owned("rs2")
    verdict = build.judge(build.rolling(1, conditions=[late]), build.replica_set(), pod)
    assert seen(verdict) == (State.FAILED, Reason.UNSCHEDULABLE)
    assert "Insufficient memory" in verdict.message
    assert "progressDeadlineSeconds" in verdict.message


def test_B2_scheduling_gates_are_a_wait(build: Any) -> None:
    pod = pending(build, "SchedulingGated")
    pod["spec"]["schedulingGates"] = [{"name": "b.example.com/x"}, {"name": "a.example.com/y"}]
    verdict = build.judge(pod)
    assert seen(verdict) == (State.PROGRESSING, Reason.SCHEDULING_GATED)
    assert verdict.turn is Turn.NOBODY
    assert verdict.message.endswith("a.example.com/y, b.example.com/x")


def test_B8_probe(build: Any) -> None:
    verdict = build.judge(build.pod("p", "x", build.running(ready=False)))
    assert verdict.message == "container web runs, but is not reported ready"


def test_B9_readiness_gate_names_the_condition(build: Any) -> None:
    pod = build.pod()
    pod["spec"]["readinessGates"] = [{"conditionType": "lb.example.com/registered"}]
    pod["status"]["conditions"][-1]["status"] = "False"
    verdict = build.judge(pod)
    assert seen(verdict) == (State.PROGRESSING, Reason.READINESS_GATE_NOT_MET)
    assert "lb.example.com/registered" in verdict.message


def test_B4_starting_and_the_sandbox(build: Any) -> None:
    pod = build.pod("p", "x", build.waiting("ContainerCreating"), phase="Pending")
    assert build.judge(pod).message == "containers are being set up"
    pod["status"]["containerStatuses"] = []
    pod["status"]["conditions"] = [
        build.condition("PodScheduled"),
        build.condition("PodReadyToStartContainers", "False"),
    ]
    verdict = build.judge(pod)
    assert seen(verdict) == (State.PROGRESSING, Reason.PODS_STARTING)
    assert verdict.message == "the pod waits for its network and volumes"
