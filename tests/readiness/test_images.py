"""What is wrong with an image, from the kubelet's words."""

from __future__ import annotations

import pytest

from konstat.readiness.images import fault, repeats_fault


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("code = NotFound desc = docker.io/library/web:1: not found", "has no such image"),
        ("pull access denied, repository does not exist or may require", "or wants credentials"),
        ("failed to authorize: 401 Unauthorized", "refuses our credentials"),
        ("toomanyrequests: You have reached your limit", "limits our pulls"),
        ("no match for platform in manifest: not found", "node's platform"),
        ("dial tcp: lookup registry.example.com: no such host", "cannot be reached"),
        ("x509: certificate signed by unknown authority", "certificate is not trusted"),
        ("write /var/lib/x: no space left on device", "disk is full"),
    ],
)
def test_known_errors_are_told_in_our_words(text: str, words: str) -> None:
    told = fault("ErrImagePull", text)
    assert words in told
    for other in (
        f'Back-off pulling image "web:1": ErrImagePull: {text}',
        f'Failed to pull image "web:1": {text}',
    ):
        assert fault("ImagePullBackOff", other) == told


def test_other_errors_are_told_in_the_runtimes_words() -> None:
    text = "rpc error: code = Unknown desc = the moon is full"
    assert fault("ErrImagePull", text) == "the moon is full"


def test_a_back_off_without_a_fault_tells_none() -> None:
    assert fault("ImagePullBackOff", 'Back-off pulling image "web:1"') == ""
    assert fault("ErrImagePull", "") == ""


@pytest.mark.parametrize(
    ("version", "repeats"),
    [("v1.30.14", False), ("v1.9.1", False), ("v1.31.0", True), ("v2.0.0", True), ("", True)],
)
def test_kubelets_repeat_the_fault_since_1_31(version: str, repeats: bool) -> None:
    assert repeats_fault(version) is repeats


def test_reasons_without_a_second_phase_are_told_always() -> None:
    assert "imagePullPolicy" in fault("ErrImageNeverPull", "")
    assert "not valid" in fault("InvalidImageName", "")
