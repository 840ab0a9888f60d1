"""What is wrong with an image, from the kubelet's words."""

from __future__ import annotations

import pytest

from konstat.readiness.images import fault


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
    assert words in fault("ErrImagePull", text, repeated=True)
    back_off = f'Back-off pulling image "web:1": ErrImagePull: {text}'
    assert fault("ImagePullBackOff", back_off, repeated=True) == fault(
        "ErrImagePull", text, repeated=True
    )


def test_other_errors_are_told_in_the_runtimes_words() -> None:
    text = "rpc error: code = Unknown desc = the moon is full"
    assert fault("ErrImagePull", text, repeated=True) == "the moon is full"


def test_nothing_is_told_that_the_other_phase_would_not_repeat() -> None:
    assert fault("ErrImagePull", "not found", repeated=False) == ""
    assert fault("ImagePullBackOff", 'Back-off pulling image "web:1"', repeated=True) == ""


def test_reasons_without_a_second_phase_are_told_always() -> None:
    assert "imagePullPolicy" in fault("ErrImageNeverPull", "", repeated=False)
    assert "not valid" in fault("InvalidImageName", "", repeated=False)
