"""Randomness: one source, which a seed makes repeatable."""

from __future__ import annotations

import asyncio
import re

from hypothesis import given
from hypothesis import strategies as st

from konstat.base import chance


def drawn() -> list[object]:
    return [chance.uniform(0.0, 1.0), chance.suffix(), chance.suffix(10)]


@given(st.integers())
def test_a_seed_repeats_itself(seed: int) -> None:
    with chance.use_seed(seed):
        first = drawn()
        second = drawn()
    with chance.use_seed(seed):
        assert drawn() == first
        assert drawn() == second
    assert first != second


def test_without_a_seed_nothing_is_repeated() -> None:
    with chance.use_seed(7):
        seeded = drawn()
    with chance.use_seed(7):
        pass
    assert drawn() != seeded
    assert chance.suffix(20) != chance.suffix(20)


def test_a_seed_within_a_seed_does_not_disturb_it() -> None:
    with chance.use_seed(1):
        alone = drawn(), drawn()
    with chance.use_seed(1):
        first = drawn()
        with chance.use_seed(2):
            drawn()
        assert (first, drawn()) == alone


async def test_tasks_draw_from_the_seed_they_were_started_under() -> None:
    async def one() -> list[object]:
        return drawn()

    with chance.use_seed(3):
        task = asyncio.ensure_future(one())
    with chance.use_seed(3):
        assert await task == drawn()


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_uniform_stays_between(low: float, length: float) -> None:
    assert low <= chance.uniform(low, low + length) <= low + length


@given(st.integers(0, 40))
def test_a_suffix_fits_into_a_name(length: int) -> None:
    text = chance.suffix(length)
    assert len(text) == length
    assert re.fullmatch("[b-df-hj-np-tv-z2-9]*", text)
