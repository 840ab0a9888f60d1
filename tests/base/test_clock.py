"""Times: one source that a block can replace, and the text in which Kubernetes has them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stepped_clock import SteppedClock

from konstat.base import clock
from konstat.base.clock import SystemClock
from konstat.base.tasks import open_tasks

# A day away from the ends of the calendar, so that every offset can be named.
MOMENTS = st.timedeltas(
    timedelta(days=1), datetime.max.replace(tzinfo=UTC) - datetime(1, 1, 2, tzinfo=UTC)
).map(lambda past: datetime(1, 1, 1, tzinfo=UTC) + past)
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(MOMENTS, OFFSETS)
def test_whole_seconds_come_back(moment: datetime, zone: timezone) -> None:
    text = clock.timestamp(moment.astimezone(zone))
    assert len(text) == len("2026-01-01T00:00:00Z")
    assert clock.parse_timestamp(text) == moment.replace(microsecond=0)
    assert clock.timestamp(clock.parse_timestamp(text)) == text


@given(MOMENTS, OFFSETS)
def test_microseconds_come_back(moment: datetime, zone: timezone) -> None:
    text = clock.micro_timestamp(moment.astimezone(zone))
    assert len(text) == len("2026-01-01T00:00:00.000000Z")
    assert clock.parse_timestamp(text) == moment


@given(MOMENTS, MOMENTS)
def test_texts_sort_as_their_moments_do(one: datetime, other: datetime) -> None:
    # A transition time is compared as text.
    texts, micros = (
        (write(one), write(other)) for write in (clock.timestamp, clock.micro_timestamp)
    )
    assert (micros[0] < micros[1]) == (one < other)
    assert (texts[0] <= texts[1]) or one > other


@given(
    st.text(max_size=40)
    | st.from_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d.{0,12}", fullmatch=True)
)
def test_any_text_is_a_moment_in_utc_or_a_value_error(text: str) -> None:
    try:
        moment = clock.parse_timestamp(text)
    except ValueError:
        return
    assert moment.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-01T00:00:00",  # no zone
        "2026-01-01",
        "yesterday",
        "0001-01-01T00:00:00+14:00",  # before the first year of UTC
        "9999-12-31T23:59:59-14:00",
    ],
)
def test_what_is_no_moment_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        clock.parse_timestamp(text)


def test_decimals_of_go_are_read() -> None:
    moment = clock.parse_timestamp("2026-01-01T02:00:00.123456789+02:00")
    assert clock.micro_timestamp(moment) == "2026-01-01T00:00:00.123456Z"


def test_a_moment_without_a_zone_is_refused() -> None:
    for write in (clock.timestamp, clock.micro_timestamp):
        with pytest.raises(ValueError, match="has no time zone"):
            write(datetime(2026, 1, 1))  # noqa: DTZ001 - that is the mistake


def test_the_system_clock_is_in_utc_and_goes_on() -> None:
    before = clock.monotonic()
    assert clock.now().tzinfo is UTC
    assert clock.monotonic() >= before


async def test_a_clock_reaches_the_tasks_that_are_started_under_it() -> None:
    stepped = SteppedClock()
    told: list[float] = []

    async def sleeper() -> None:
        await clock.sleep(3600)
        told.append(clock.monotonic())

    async with open_tasks() as tasks:
        with clock.use_clock(stepped) as used:
            assert used is stepped
            tasks.start(sleeper(), name="sleeper")
        assert clock.monotonic() != stepped.monotonic()  # ours again
        await stepped.advance(3599)
        assert told == []
        await stepped.advance(1)
        assert told == [stepped.monotonic()]


async def test_two_tasks_have_clocks_of_their_own() -> None:
    clocks = SteppedClock(), SteppedClock()
    clocks[1].seconds += 500

    async def read(own: SteppedClock) -> float:
        with clock.use_clock(own):
            await SystemClock().sleep(0)
            return clock.monotonic()

    assert await asyncio.gather(*(read(own) for own in clocks)) == [1000.0, 1500.0]


def test_a_clock_is_put_back_after_an_error() -> None:
    with pytest.raises(RuntimeError), clock.use_clock(SteppedClock()):
        raise RuntimeError
    assert clock.now().year < 3000
    assert clock.monotonic() != 1000.0
