"""The state machine of one pod: images that fail, containers that crash."""

from __future__ import annotations

import pytest
from pod_stepper import BAD_IMAGE, PodStepper, container, content

from konstat.nodes.pretended import PretendedRuntime
from konstat.nodes.script import CRASH, EXIT

# --- images --------------------------------------------------------------------------------------


def test_pull_errors_alternate_and_their_back_off_grows() -> None:
    stepper = PodStepper(content(container(image=BAD_IMAGE)))
    seen: list[tuple[str, float]] = []
    step = stepper.step()
    for _ in range(14):
        assert step.wake_seconds is not None
        seen.append((stepper.state(), step.wake_seconds))
        step = stepper.wait(step.wake_seconds)
    reasons = [reason for reason, _ in seen]
    assert reasons == ["ErrImagePull", "ImagePullBackOff"] * 7
    rounds = [seen[i][1] + seen[i + 1][1] for i in range(0, len(seen), 2)]
    assert rounds == [10, 20, 40, 80, 160, 300, 300]
    assert stepper.phase == "Pending"
    assert stepper.entry()["imageID"] == ""


def test_the_back_off_repeats_the_error() -> None:
    stepper = PodStepper(content(container(image=BAD_IMAGE)))
    first = stepper.step()
    error = stepper.entry()["state"]["waiting"]["message"]
    stepper.wake()
    message = stepper.entry()["state"]["waiting"]["message"]
    assert message == f'Back-off pulling image "{BAD_IMAGE}": ErrImagePull: {error}'
    assert [w.reason for w in first.warnings] == ["Failed"]


def test_each_warning_is_told_once() -> None:
    stepper = PodStepper(content(container(image=BAD_IMAGE)))
    told = [warning.message for _ in range(8) for warning in stepper.wake().warnings]
    assert told == [f'Back-off pulling image "{BAD_IMAGE}"']


def test_the_back_off_is_of_one_image() -> None:
    stepper = PodStepper(content(container(image=BAD_IMAGE)))
    for _ in range(4):
        stepper.wake()
    stepper.pod["spec"]["containers"][0]["image"] = "other.invalid/app:1"
    assert stepper.step().wake_seconds == 2  # it is tried at once, and its first back-off is 10 s
    assert "other.invalid" in stepper.entry()["state"]["waiting"]["message"]
    assert [stepper.wake().wake_seconds for _ in range(3)] == [8, 2, 18]


def test_another_image_is_pulled_at_once() -> None:
    stepper = PodStepper(content(container(image=BAD_IMAGE)))
    stepper.wake()
    stepper.pod["spec"]["containers"][0]["image"] = "app:2"
    stepper.step()
    assert (stepper.state(), stepper.phase) == ("running", "Running")


@pytest.mark.parametrize(
    ("image", "policy", "reason"),
    [("Not Valid", "Always", "InvalidImageName"), (BAD_IMAGE, "Never", "ErrImageNeverPull")],
)
def test_some_images_are_not_even_tried(image: str, policy: str, reason: str) -> None:
    stepper = PodStepper(content(container(image=image, imagePullPolicy=policy)))
    step = stepper.step()
    assert (stepper.state(), step.wake_seconds) == (reason, None)


def test_one_bad_image_does_not_hold_the_others_up() -> None:
    stepper = PodStepper(content(container("good"), container("bad", image=BAD_IMAGE)))
    stepper.step()
    assert (stepper.state("good"), stepper.state("bad")) == ("running", "ErrImagePull")
    assert stepper.phase == "Pending"
    assert [e["name"] for e in stepper.pod["status"]["containerStatuses"]] == ["bad", "good"]


# --- crashes -------------------------------------------------------------------------------------


def test_a_crash_loop_shows_its_end_then_its_back_off() -> None:
    stepper = PodStepper(content(annotations={CRASH: "main=137:OOMKilled"}))
    stepper.step()
    stepper.wait(1)
    assert (stepper.state(), stepper.entry()["restartCount"]) == ("OOMKilled", 0)
    assert stepper.phase == "Running"
    stepper.wait(2)  # the first restart waits for nothing
    assert (stepper.state(), stepper.entry()["restartCount"]) == ("running", 1)
    assert stepper.entry()["lastState"]["terminated"]["reason"] == "OOMKilled"
    stepper.wait(1)
    stepper.wait(2)
    assert (stepper.state(), stepper.entry()["restartCount"]) == ("CrashLoopBackOff", 1)
    assert stepper.entry()["state"]["waiting"]["message"] == (
        "back-off 10s restarting failed container=main pod=web_demo(u1)"
    )
    assert stepper.entry()["lastState"]["terminated"]["exitCode"] == 137
    stepper.wait(8)
    assert (stepper.state(), stepper.entry()["restartCount"]) == ("running", 2)


def test_crash_back_offs_double_up_to_their_maximum() -> None:
    stepper = PodStepper(content(annotations={CRASH: "main=1"}))
    stepper.step()
    pauses: list[float] = []
    for _ in range(8):
        stepper.wait(1)
        ended = stepper.now
        while stepper.state() != "running":
            stepper.wake()
        pauses.append((stepper.now - ended).total_seconds())
    assert pauses == [2, 10, 20, 40, 80, 160, 300, 300]


def test_a_long_good_run_ends_the_crash_back_off() -> None:
    stepper = PodStepper(content(annotations={CRASH: "main=1"}))
    stepper.step()
    for _ in range(4):
        stepper.wake()
    stepper.runtime = PretendedRuntime(run_seconds=601)
    while stepper.state() != "running":
        stepper.wake()
    restarts = stepper.entry()["restartCount"]
    stepper.wait(601)
    stepper.wait(2)
    assert (stepper.state(), stepper.entry()["restartCount"]) == ("running", restarts + 1)


def test_a_crashing_container_is_ready_only_without_a_probe() -> None:
    for probe, ready in ((None, True), ({"httpGet": {"port": 80}}, False)):
        pod = content(container(readinessProbe=probe), annotations={CRASH: "main=1"})
        stepper = PodStepper(pod)
        stepper.step()
        assert stepper.entry()["ready"] is ready


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
    stepper = PodStepper(content(restartPolicy=policy, annotations={EXIT: f"main={code}"}))
    stepper.step()
    stepper.wait(1)
    stepper.wait(30)
    assert (stepper.phase, stepper.entry()["restartCount"]) == (phase, int(restarts))
    # Only the first run ends by this script.
    assert stepper.wait(1000).wake_seconds is None


def test_a_pod_ends_when_its_last_container_does() -> None:
    pod = content(container("a"), container("b"), restartPolicy="Never", annotations={EXIT: "a=0"})
    stepper = PodStepper(pod)
    stepper.step()
    stepper.wait(1)
    assert (stepper.state("a"), stepper.state("b"), stepper.phase) == (
        "Completed",
        "running",
        "Running",
    )


def test_a_deadline_fails_the_pod() -> None:
    stepper = PodStepper(content(activeDeadlineSeconds=60))
    assert stepper.step().wake_seconds == 60
    step = stepper.wait(60)
    assert (stepper.phase, stepper.pod["status"]["reason"]) == ("Failed", "DeadlineExceeded")
    assert step.stopped
    assert stepper.condition("Ready")["reason"] == "PodFailed"
