"""What follows from the results of a probe: verdicts and the next moment. Pure.

The rules are a kubelet's: a verdict changes after as many equal results in a row as the threshold
says. `konstat.nodes.processes.prober` makes the single tries.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from konstat.nodes.podspec import Probe


class ProbeKind(StrEnum):
    """What a probe is for; the text is how a kubelet names it in messages."""

    STARTUP = "Startup"
    LIVENESS = "Liveness"
    READINESS = "Readiness"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe has said so far.

    ``passed`` is None before a startup probe has come to a result; ``streak`` counts the last
    equal results, ``last`` is the last one.
    """

    passed: bool | None
    last: bool | None = None
    streak: int = 0


def at_first(kind: ProbeKind) -> Verdict:
    """Alive and not ready until the contrary is shown."""
    passed = {ProbeKind.STARTUP: None, ProbeKind.LIVENESS: True, ProbeKind.READINESS: False}
    return Verdict(passed=passed[kind])


def judge(probe: Probe, verdict: Verdict, *, success: bool) -> Verdict:
    """The verdict after one more result."""
    streak = verdict.streak + 1 if verdict.last is success else 1
    threshold = probe.success_threshold if success else probe.failure_threshold
    passed = success if streak >= max(1, threshold) else verdict.passed
    return Verdict(passed=passed, last=success, streak=streak)


def first_try_seconds(probe: Probe, *, age_seconds: float) -> float:
    """How long to wait before the first try of a container of this age."""
    return max(0.0, probe.initial_delay_seconds - age_seconds)
