"""Delays grow to their maximum, whatever the numbers."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstat.base import chance
from konstat.base.backoff import Backoff

BACKOFFS = st.builds(
    Backoff,
    first_seconds=st.floats(0.001, 60),
    maximum_seconds=st.floats(60, 1e6),
    factor=st.floats(1.0, 1e9),
    jitter=st.floats(0, 1),
)


@given(BACKOFFS, st.integers(0, 10**9))
def test_a_delay_is_within_its_bounds(backoff: Backoff, tries: int) -> None:
    delay = backoff.delay_seconds(tries)
    assert backoff.first_seconds <= delay <= backoff.maximum_seconds * (1 + backoff.jitter)


@given(BACKOFFS, st.integers(0, 2000))
def test_without_jitter_a_delay_never_shrinks(backoff: Backoff, tries: int) -> None:
    plain = msgspec.structs.replace(backoff, jitter=0.0)
    assert plain.delay_seconds(tries) <= plain.delay_seconds(tries + 1)


@pytest.mark.parametrize("factor", [1.01, 1.1, 2.0, 1e300])
def test_the_maximum_is_reached(factor: float) -> None:
    backoff = Backoff(first_seconds=0.1, maximum_seconds=300.0, factor=factor, jitter=0.0)
    assert backoff.delay_seconds(0) == 0.1
    assert backoff.delay_seconds(10_000) == 300.0


def test_delays_double() -> None:
    backoff = Backoff(first_seconds=0.5, maximum_seconds=300.0, jitter=0.0)
    assert [backoff.delay_seconds(n) for n in range(4)] == [0.5, 1.0, 2.0, 4.0]


@given(BACKOFFS, st.integers(0, 100), st.integers())
def test_jitter_comes_from_chance_and_is_a_share(backoff: Backoff, tries: int, seed: int) -> None:
    plain = msgspec.structs.replace(backoff, jitter=0.0).delay_seconds(tries)
    with chance.use_seed(seed):
        delay = backoff.delay_seconds(tries)
    with chance.use_seed(seed):
        assert backoff.delay_seconds(tries) == delay
    assert plain <= delay <= plain * (1 + backoff.jitter) * (1 + 1e-12)
