"""A clock that moves only when a test says so."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from stepped_clock import SteppedClock

from konstat.base import clock as base_clock


@pytest.fixture(scope="session")
def clock_type() -> type[SteppedClock]:
    return SteppedClock


@pytest.fixture
async def clock() -> AsyncIterator[SteppedClock]:
    stepped = SteppedClock()
    with base_clock.use_clock(stepped):
        yield stepped
