"""Verdicts of probes: thresholds, streaks, first tries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.nodes.podspec import Probe
from konstat.nodes.processes.probing import (
    ProbeKind,
    Verdict,
    at_first,
    first_try_seconds,
    judge,
)

RESULTS = st.lists(st.booleans(), max_size=40)
THRESHOLDS = st.integers(1, 5)


def run(probe: Probe, kind: ProbeKind, results: list[bool]) -> list[Verdict]:
    verdicts = [at_first(kind)]
    for success in results:
        verdicts.append(judge(probe, verdicts[-1], success=success))
    return verdicts


def test_a_container_is_alive_and_not_ready_at_first() -> None:
    assert at_first(ProbeKind.LIVENESS).passed is True
    assert at_first(ProbeKind.READINESS).passed is False
    assert at_first(ProbeKind.STARTUP).passed is None


def test_one_success_makes_ready_and_three_failures_unready() -> None:
    verdicts = run(Probe(), ProbeKind.READINESS, [False, True, False, False, False, True])
    assert [v.passed for v in verdicts] == [False, False, True, True, True, False, True]


def test_a_startup_probe_has_no_result_until_a_threshold_is_reached() -> None:
    verdicts = run(Probe(), ProbeKind.STARTUP, [False, False, True])
    assert [v.passed for v in verdicts] == [None, None, None, True]


@given(st.sampled_from(ProbeKind), RESULTS, THRESHOLDS, THRESHOLDS)
def test_a_verdict_follows_the_last_streak_that_was_long_enough(
    kind: ProbeKind, results: list[bool], successes: int, failures: int
) -> None:
    probe = Probe(success_threshold=successes, failure_threshold=failures)
    expected = at_first(kind).passed
    for end in range(1, len(results) + 1):
        for wanted, length in ((True, successes), (False, failures)):
            if end >= length and all(r is wanted for r in results[end - length : end]):
                expected = wanted
    assert run(probe, kind, results)[-1].passed == expected


@given(RESULTS, THRESHOLDS, THRESHOLDS)
def test_the_verdict_never_changes_against_the_last_result(
    results: list[bool], successes: int, failures: int
) -> None:
    probe = Probe(success_threshold=successes, failure_threshold=failures)
    verdicts = run(probe, ProbeKind.READINESS, results)
    for before, after, success in zip(verdicts, verdicts[1:], results, strict=False):
        assert after.passed in (before.passed, success)


@pytest.mark.parametrize(("age", "seconds"), [(0.0, 5.0), (3.0, 2.0), (9.0, 0.0)])
def test_the_initial_delay_counts_from_the_start_of_the_container(
    age: float, seconds: float
) -> None:
    assert first_try_seconds(Probe(initial_delay_seconds=5), age_seconds=age) == seconds
