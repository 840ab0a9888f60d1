"""For all tests: where nothing may be missing (``CI=true``), a skipped test is a failed one."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

# A deadline would be a timed assertion, and the machine may be busy. Where a change is judged
# (``CI=true``) every run draws the same examples; at home each run looks for new ones.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("the same again", settings.get_profile("unhurried"), derandomize=True)
settings.load_profile("the same again" if os.environ.get("CI") == "true" else "unhurried")

_NOTHING_MAY_BE_MISSING = os.environ.get("CI") == "true"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_skipped(report)
    return report


def _fail_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    # An expected failure is reported as skipped too, but it ran.
    if _NOTHING_MAY_BE_MISSING and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"CI=true and something is missing: {reason}"
