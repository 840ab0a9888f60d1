"""Cron schedules: what they name, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.actors.cronjobs import latest_due, new_job
from konstat.actors.schedule import parse_schedule
from konstat.base import clock

START = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("* * * * *", "2026-01-01T12:01:00Z"),
        ("*/15 * * * *", "2026-01-01T12:15:00Z"),
        ("0 0 * * *", "2026-01-02T00:00:00Z"),
        ("@hourly", "2026-01-01T13:00:00Z"),
        ("@yearly", "2027-01-01T00:00:00Z"),
        ("30 6 29 feb ?", "2028-02-29T06:30:00Z"),
        ("0 9 * * mon-fri", "2026-01-02T09:00:00Z"),
        ("0 9 13 * fri", "2026-01-02T09:00:00Z"),  # either day will do
        ("5/20 12 * * *", "2026-01-01T12:05:00Z"),
        ("10-12,50 * * * *", "2026-01-01T12:10:00Z"),
    ],
)
def test_the_next_time(text: str, following: str) -> None:
    found = parse_schedule(text).following(START)
    assert found is not None
    assert clock.timestamp(found) == following


def test_times_are_local_to_the_zone() -> None:
    schedule = parse_schedule("30 2 * * *", zone="Europe/Berlin")
    found = schedule.following(datetime(2026, 3, 28, 12, tzinfo=UTC))
    assert found is not None
    # 02:30 on 29 March does not exist there.
    assert clock.timestamp(found) == "2026-03-30T00:30:00Z"


def test_a_day_that_never_comes() -> None:
    assert parse_schedule("0 0 30 2 *").following(START) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("* * * *", "has 4 fields"),
        ("60 * * * *", "not within 0 and 59"),
        ("* * 0 * *", "not within 1 and 31"),
        ("*/0 * * * *", "not a number above 0"),
        ("a * * * *", "not a number"),
        ("5-1 * * * *", "not within"),
        ("@often", "write five fields"),
        ("TZ=UTC * * * * *", "spec.timeZone"),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_schedule(text)


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown time zone"):
        parse_schedule("* * * * *", zone="Nowhere/Town")


@given(st.text(alphabet="*/-,?0123456789 @abcTZ=\u0663", max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        schedule = parse_schedule(text)
    except ValueError:
        return
    assert schedule.minutes.numbers


@given(
    minutes=st.sets(st.integers(0, 59), min_size=1, max_size=3),
    hours=st.sets(st.integers(0, 23), min_size=1, max_size=3),
    start=st.integers(0, 3 * 24 * 60),
)
def test_no_time_is_passed_over(minutes: set[int], hours: set[int], start: int) -> None:
    text = f"{','.join(map(str, minutes))} {','.join(map(str, hours))} * * *"
    after = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=start)
    moment = after + timedelta(minutes=1)
    while moment.minute not in minutes or moment.hour not in hours:
        moment += timedelta(minutes=1)
    assert parse_schedule(text).following(after) == moment


def cron(text: str, created: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "tick", "namespace": "demo", "uid": "u", "creationTimestamp": created}
    return {"metadata": metadata, "spec": {"schedule": text, **spec}}


@pytest.mark.parametrize(
    ("created", "spec", "due"),
    [
        ("2026-01-01T12:00:10Z", {}, None),
        ("2026-01-01T11:59:50Z", {}, "2026-01-01T12:00:00Z"),
        ("2026-01-01T10:00:10Z", {}, "2026-01-01T12:00:00Z"),
        ("2020-01-01T10:00:10Z", {}, "2026-01-01T12:00:00Z"),
        ("2026-01-01T10:00:10Z", {"startingDeadlineSeconds": 10}, None),
        ("2026-01-01T10:00:10Z", {"startingDeadlineSeconds": 40}, "2026-01-01T12:00:00Z"),
    ],
)
def test_the_latest_missed_time_counts(created: str, spec: dict[str, Any], due: str | None) -> None:
    found = latest_due(cron("0 * * * *", created, **spec), parse_schedule("0 * * * *"), now=START)
    assert (clock.timestamp(found) if found else None) == due


def test_a_job_is_named_after_its_time() -> None:
    made = new_job(cron("* * * * *", "2026-01-01T00:00:00Z"), datetime(2026, 1, 1, tzinfo=UTC))
    assert made["metadata"]["name"] == "tick-29453760"
