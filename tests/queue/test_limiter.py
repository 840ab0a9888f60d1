"""The token bucket and the back-off of a key, on a stepped clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.base import chance, limits
from konstat.base.clock import use_clock
from konstat.queue.limiter import KeyBackoff, TokenBucket


def test_a_burst_is_free_and_then_the_rate_holds(clock_type):
    clock = clock_type()
    with use_clock(clock):
        bucket = TokenBucket(per_second=10, burst=3)
        for _ in range(3):
            assert bucket.wait_seconds() == 0.0
            bucket.spend()
        assert bucket.wait_seconds() == pytest.approx(0.1)
        clock.seconds += 0.05
        assert bucket.wait_seconds() == pytest.approx(0.05)


def test_a_rested_bucket_holds_no_more_than_its_burst(clock_type):
    clock = clock_type()
    with use_clock(clock):
        bucket = TokenBucket(per_second=10, burst=2)
        clock.seconds += 3600
        for _ in range(2):
            assert bucket.wait_seconds() == 0.0
            bucket.spend()
        assert bucket.wait_seconds() > 0.0


@given(
    steps=st.lists(st.floats(min_value=0.0, max_value=0.4), max_size=60),
    per_second=st.floats(min_value=0.5, max_value=50),
    burst=st.integers(min_value=1, max_value=20),
)
def test_L2_no_window_sees_more_takes_than_burst_and_rate_allow(
    clock_type, steps, per_second, burst
):
    clock = clock_type()
    with use_clock(clock):
        bucket = TokenBucket(per_second=per_second, burst=burst)
        start, taken = clock.seconds, 0
        for step in steps:
            clock.seconds += step
            while bucket.wait_seconds() == 0.0:
                bucket.spend()
                taken += 1
            assert taken <= burst + per_second * (clock.seconds - start) + 1e-3


def test_waiting_as_long_as_it_says_is_enough(clock_type):
    clock = clock_type()
    with use_clock(clock):
        bucket = TokenBucket(per_second=3, burst=1)
        bucket.spend()
        for _ in range(100):
            clock.seconds += bucket.wait_seconds()
            assert bucket.wait_seconds() == 0.0
            bucket.spend()


@pytest.mark.parametrize(("per_second", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_bucket_that_never_gives_is_refused(per_second, burst):
    with pytest.raises(ValueError, match="a rate above 0"):
        TokenBucket(per_second=per_second, burst=burst)


def test_delays_of_a_failing_key_grow_to_their_bound_and_are_forgotten(clock_type):
    clock = clock_type()
    with chance.use_seed(1), use_clock(clock):
        backoff = KeyBackoff()
        delays = []
        for _ in range(20):
            delays.append(backoff.failed("a"))
            clock.seconds += delays[-1]
        assert backoff.failures("a") == 20
        assert limits.RETRY_FIRST_SECONDS <= delays[0] <= limits.RETRY_FIRST_SECONDS * 1.1
        assert delays[1] > delays[0]
        assert limits.RETRY_MAXIMUM_SECONDS <= delays[-1] <= limits.RETRY_MAXIMUM_SECONDS * 1.1
        assert backoff.failed("b") < 1.0
        backoff.forget("a")
        assert backoff.failures("a") == 0
        assert backoff.failed("a") < 1.0
        assert len(backoff) == 2


def test_L2_failures_of_one_burst_count_once(clock_type):
    clock = clock_type()
    with chance.use_seed(1), use_clock(clock):
        backoff = KeyBackoff()
        first = backoff.failed("a")
        clock.seconds += first / 2
        for _ in range(10):
            assert backoff.failed("a") == pytest.approx(first / 2)
        assert backoff.failures("a") == 1
        clock.seconds += first
        assert backoff.failed("a") > first
