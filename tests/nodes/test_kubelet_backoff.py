"""The state machine of one pod: images that fail, containers that crash."""

from __future__ import annotations

import pytest
from pod_stepper import BAD_IMAGE, PodStepper, container, content

from konstat.nodes.pretended import PretendedRuntime
from konstat.nodes.script import CRASH, EXIT

# --- images --------------------------------------------------------------------------------------


def test_pull_errors_alternate_and_their_back_off_grows() -> None:
    kubelet = PodStepper(content(container(image=BAD_IMAGE)))
    seen: list[tuple[str, float]] = []
    step = kubelet.step()
    for _ in range(14):
        assert step.wake_seconds is not None
        seen.append((kubelet.state(), step.wake_seconds))
        step = kubelet.wait(step.wake_seconds)
    reasons = [reason for reason, _ in seen]
    assert reasons == ["ErrImagePull", "ImagePullBackOff"] * 7
    rounds = [seen[i][1] + seen[i + 1][1] for i in range(0, len(seen), 2)]
    assert rounds == [10, 20, 40, 80, 160, 300, 300]
    assert kubelet.phase == "Pending"
    assert kubelet.entry()["imageID"] == ""


def test_the_back_off_repeats_the_error() -> None:
    kubelet = PodStepper(content(container(image=BAD_IMAGE)))
    first = kubelet.step()
    error = kubelet.entry()["state"]["waiting"]["message"]
    kubelet.wake()
    message = kubelet.entry()["state"]["waiting"]["message"]
    assert message == f'Back-off pulling image "{BAD_IMAGE}": ErrImagePull: {error}'
    assert [w.reason for w in first.warnings] == ["Failed"]


def test_each_warning_is_told_once() -> None:
    kubelet = PodStepper(content(container(image=BAD_IMAGE)))
    told = [warning.message for _ in range(8) for warning in kubelet.wake().warnings]
    assert told == [f'Back-off pulling image "{BAD_IMAGE}"']


def test_another_image_is_pulled_at_once() -> None:
    kubelet = PodStepper(content(container(image=BAD_IMAGE)))
    kubelet.wake()
    kubelet.pod["spec"]["containers"][0]["image"] = "app:2"
    kubelet.step()
    assert (kubelet.state(), kubelet.phase) == ("running", "Running")


@pytest.mark.parametrize(
    ("image", "policy", "reason"),
    [("Not Valid", "Always", "InvalidImageName"), (BAD_IMAGE, "Never", "ErrImageNeverPull")],
)
def test_some_images_are_not_even_tried(image: str, policy: str, reason: str) -> None:
    kubelet = PodStepper(content(container(image=image, imagePullPolicy=policy)))
    step = kubelet.step()
    assert (kubelet.state(), step.wake_seconds) == (reason, None)


def test_one_bad_image_does_not_hold_the_others_up() -> None:
    kubelet = PodStepper(content(container("good"), container("bad", image=BAD_IMAGE)))
    kubelet.step()
    assert (kubelet.state("good"), kubelet.state("bad")) == ("running", "ErrImagePull")
    assert kubelet.phase == "Pending"
    assert [e["name"] for e in kubelet.pod["status"]["containerStatuses"]] == ["bad", "good"]


# --- crashes -------------------------------------------------------------------------------------


def test_a_crash_loop_shows_its_end_then_its_back_off() -> None:
    kubelet = PodStepper(content(annotations={CRASH: "main=137:OOMKilled"}))
    kubelet.step()
    kubelet.wait(1)
    assert (kubelet.state(), kubelet.entry()["restartCount"]) == ("OOMKilled", 0)
    assert kubelet.phase == "Running"
    kubelet.wait(2)  # the first restart waits for nothing
    assert (kubelet.state(), kubelet.entry()["restartCount"]) == ("running", 1)
    assert kubelet.entry()["lastState"]["terminated"]["reason"] == "OOMKilled"
    kubelet.wait(1)
    kubelet.wait(2)
    assert (kubelet.state(), kubelet.entry()["restartCount"]) == ("CrashLoopBackOff", 1)
    assert kubelet.entry()["state"]["waiting"]["message"] == (
        "back-off 10s restarting failed container=main pod=web_demo(u1)"
    )
    assert kubelet.entry()["lastState"]["terminated"]["exitCode"] == 137
    kubelet.wait(8)
    assert (kubelet.state(), kubelet.entry()["restartCount"]) == ("running", 2)


def test_crash_back_offs_double_up_to_their_maximum() -> None:
    kubelet = PodStepper(content(annotations={CRASH: "main=1"}))
    kubelet.step()
    pauses: list[float] = []
    for _ in range(8):
        kubelet.wait(1)
        ended = kubelet.now
        while kubelet.state() != "running":
            kubelet.wake()
        pauses.append((kubelet.now - ended).total_seconds())
    assert pauses == [2, 10, 20, 40, 80, 160, 300, 300]


def test_a_long_good_run_ends_the_crash_back_off() -> None:
    kubelet = PodStepper(content(annotations={CRASH: "main=1"}))
    kubelet.step()
    for _ in range(4):
        kubelet.wake()
    kubelet.runtime = PretendedRuntime(run_seconds=601)
    while kubelet.state() != "running":
        kubelet.wake()
    restarts = kubelet.entry()["restartCount"]
    kubelet.wait(601)
    kubelet.wait(2)
    assert (kubelet.state(), kubelet.entry()["restartCount"]) == ("running", restarts + 1)


def test_a_crashing_container_is_ready_only_without_a_probe() -> None:
    for probe, ready in ((None, True), ({"httpGet": {"port": 80}}, False)):
        pod = content(container(readinessProbe=probe), annotations={CRASH: "main=1"})
        kubelet = PodStepper(pod)
        kubelet.step()
        assert kubelet.entry()["ready"] is ready


@pytest.mark.parametrize(
    ("policy", "code", "phase", "restarts"),
    [
        ("Never", 0, "Succeeded", False),
        ("Never", 2, "Failed", False),
        ("OnFailure", 0, "Succeeded", False),
        ("OnFailure", 2, "Running", True),
        ("Always", 0, "Running", True),
    ],
)
def test_the_restart_policy_decides(policy: str, code: int, phase: str, restarts: bool) -> None:
    kubelet = PodStepper(content(restartPolicy=policy, annotations={EXIT: f"main={code}"}))
    kubelet.step()
    kubelet.wait(1)
    kubelet.wait(30)
    assert (kubelet.phase, kubelet.entry()["restartCount"]) == (phase, int(restarts))
    # Only the first run ends by this script.
    assert kubelet.wait(1000).wake_seconds is None


def test_a_pod_ends_when_its_last_container_does() -> None:
    pod = content(container("a"), container("b"), restartPolicy="Never", annotations={EXIT: "a=0"})
    kubelet = PodStepper(pod)
    kubelet.step()
    kubelet.wait(1)
    assert (kubelet.state("a"), kubelet.state("b"), kubelet.phase) == (
        "Completed",
        "running",
        "Running",
    )


def test_a_deadline_fails_the_pod() -> None:
    kubelet = PodStepper(content(activeDeadlineSeconds=60))
    assert kubelet.step().wake_seconds == 60
    step = kubelet.wait(60)
    assert (kubelet.phase, kubelet.pod["status"]["reason"]) == ("Failed", "DeadlineExceeded")
    assert step.stopped
    assert kubelet.condition("Ready")["reason"] == "PodFailed"
