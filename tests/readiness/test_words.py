"""What words mean: reasons, phases and messages of other people's controllers."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.readiness import words
from konstat.readiness.vocabulary import word_set
from konstat.readiness.words import Sense


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("InstallFailed", ("install", "failed")),
        ("waiting-for_dns now", ("waiting", "for", "dns", "now")),
        ("HTTPRouteNotFound", ("http", "route", "not", "found")),
        ("CrashLoopBackOff", ("crash", "loop", "backoff")),
        ("ConnectionTimedOut", ("connection", "timeout")),
        ("IN_PROGRESS", ("inprogress",)),
        ("OutOfSync", ("outofsync",)),
        ("Ünïcode 3/3", ("n", "code", "3", "3")),
        ("", ()),
    ],
)
def test_texts_are_split_into_words(text: str, expected: tuple[str, ...]) -> None:
    assert words.split(text) == expected


FAILED = sorted(
    word_set(
        """
        InstallFailed ReconcileError ErrImagePull SecretNotFound InvalidSpec AccessDenied
        QuotaExceeded ConnectionTimedOut CrashLoopBackOff InstallFailedRetrying RetryAfterError
        ProvisioningFailed NoMatchingParent RefNotPermitted UnsupportedProtocol Degraded
        MissingSecret NameConflict BackendNotFound NotAllowed DomainAlreadyClaimed CannotConnect
        FailedToFetch UnableToResolve NotSupported ValidationError Misconfigured Rejected Unhealthy
        DeadlineExceeded NotEnoughNodes
        """
    )
)
PROGRESS = sorted(
    word_set(
        """
        Pending Provisioning WaitingForFailedPod AwaitingApproval Creating InProgress NotReady
        PodsNotReady NotYetReconciled UpdateInProgress ScalingUp DependencyNotReady NoReadyReplicas
        Reconciling NewObservedGenerationPending Initializing QueuedForRetry RollingOut
        NotReconciled WaitingForErrorToClear SecretDeleted Uninitialized Unschedulable
        """
    )
)


@pytest.mark.parametrize("reason", FAILED)
def test_reasons_of_failure(reason: str) -> None:
    assert words.of_reason(reason) is Sense.FAILED


@pytest.mark.parametrize("reason", PROGRESS)
def test_reasons_of_progress(reason: str) -> None:
    assert words.of_reason(reason) is Sense.PROGRESS


@pytest.mark.parametrize(
    ("reason", "sense"),
    [
        ("ReconcilePaused", Sense.SUSPENDED),
        ("Suspended", Sense.SUSPENDED),
        ("Deleting", Sense.TERMINATING),
        ("NodeStatusUnknown", Sense.UNKNOWN),
        ("NoErrors", Sense.GOOD),
        ("NotDegraded", Sense.GOOD),
        ("NotScalingDown", Sense.GOOD),
        ("AllComponentsReady", Sense.GOOD),
        ("AsExpected", Sense.NOTHING),
        ("MinimumReplicasUnavailable", Sense.NOTHING),
        ("FailoverComplete", Sense.PROGRESS),
        ("ProcessingCompleted", Sense.GOOD),
        ("ProcessingNotCompleted", Sense.PROGRESS),
        ("WaitingForJobCompleted", Sense.PROGRESS),
        ("", Sense.NOTHING),
    ],
)
def test_other_reasons(reason: str, sense: Sense) -> None:
    assert words.of_reason(reason) is sense


@pytest.mark.parametrize(
    ("sense", "phases"),
    [
        (Sense.READY, "Ready Healthy Bound green HEALTH_OK Available Deployed Normal valid"),
        (Sense.RUNNING, "Running Active UP Online"),
        (Sense.COMPLETED, "Succeeded Completed SUCCESS finished"),
        (
            Sense.PROGRESS,
            "Pending Creating ImportInProgress yellow OutOfSync Sharding",
        ),
        (Sense.FAILED, "Failed error CreateFailed PartiallyFailed red HEALTH_ERR Unavailable Lost"),
        (Sense.SUSPENDED, "Paused Suspended Stopped Hibernated"),
        (Sense.TERMINATING, "Terminating Deleting"),
        (Sense.UNKNOWN, "Unknown"),
        (Sense.EARLY, "New Created Accepted Scheduled"),
        (Sense.NOTHING, "Foo v1 Blue"),
    ],
)
def test_phases(sense: Sense, phases: str) -> None:
    assert {phase: words.of_phase(phase) for phase in phases.split()} == dict.fromkeys(
        phases.split(), sense
    )


@pytest.mark.parametrize(
    ("phase", "sense"),
    [
        ("Cluster in healthy state", Sense.READY),
        ("Running (healthy)", Sense.READY),
        ("Upgrading to 1.2", Sense.PROGRESS),
        ("Waiting for the instances to become active", Sense.PROGRESS),
        ("ready-with-warnings", Sense.FAILED),
        ("Completed with errors", Sense.FAILED),
        ("Not ready", Sense.PROGRESS),
        ("Not enough disk space", Sense.FAILED),
        ("Ready to be sold", Sense.GOOD),  # a word that nobody knows stands beside it
        ("No errors", Sense.NOTHING),
        ("x" * 500 + " Ready", Sense.NOTHING),
    ],
)
def test_phases_of_several_words(phase: str, sense: Sense) -> None:
    assert words.of_phase(phase) in (sense, Sense.GOOD if sense is Sense.NOTHING else sense)


@pytest.mark.parametrize(
    ("message", "sense"),
    [
        ("failed to pull", Sense.FAILED),
        ("secret x not found", Sense.FAILED),
        ("waiting for secret x: not found", Sense.PROGRESS),
        ("creating the bucket", Sense.PROGRESS),
        ("3 pods, 0 errors", Sense.NOTHING),
        ("2 of 3", Sense.NOTHING),
        ("", Sense.NOTHING),
    ],
)
def test_messages(message: str, sense: Sense) -> None:
    assert words.of_message(message) is sense


@given(st.text(max_size=300))
def test_any_text_has_a_sense(text: str) -> None:
    assert isinstance(words.of_reason(text), Sense)
    assert isinstance(words.of_message(text), Sense)
    assert isinstance(words.of_phase(text), Sense)


@given(st.text(alphabet="qxzwvk -_", max_size=30), st.sampled_from(("Ready", "Running", "done")))
def test_a_good_word_among_unknown_ones_decides_nothing(noise: str, good: str) -> None:
    deciding = (Sense.READY, Sense.RUNNING, Sense.COMPLETED)
    if words.split(noise):
        assert words.of_phase(f"{noise} {good}") not in deciding


@given(st.sampled_from(FAILED), st.sampled_from(("Ready", "Running", "Succeeded", "OK")))
def test_a_failure_is_not_talked_away(failed: str, good: str) -> None:
    if not words.is_progress(words.split(failed)[0]):
        assert words.of_phase(f"{good} {failed}") is Sense.FAILED


def test_long_texts_are_not_kept():
    """What is remembered is what was looked at, not the log that it stands in."""
    text = f"could not reach {'x' * 100_000}"
    before = sys.getrefcount(text)
    for mean in (words.split, words.of_reason, words.of_phase, words.of_message, words.is_users):
        mean(text)
    words.blames_user(text)
    assert sys.getrefcount(text) == before
