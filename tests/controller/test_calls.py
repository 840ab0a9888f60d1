"""Which calls without await are found, however many there are."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from typing import Any

import pytest

from konstat.base import limits
from konstat.controller import calls as module
from konstat.controller.calls import Calls


async def apply() -> None: ...


def _made(calls: Calls, number: int) -> list[Coroutine[Any, Any, None]]:
    made = [apply() for _ in range(number)]
    for one in made:
        calls.note(one)
    return made


async def test_calls_that_were_awaited_are_forgotten_before_there_are_many() -> None:
    calls = Calls()
    for _ in range(3 * limits.CALLS_NOTED):
        await _made(calls, 1)[0]
    assert len(calls._noted) <= limits.CALLS_NOTED
    (forgotten,) = _made(calls, 1)
    assert calls.end() == ["context.apply(…)"]
    assert inspect.getcoroutinestate(forgotten) == inspect.CORO_CLOSED


async def test_thousands_of_calls_that_are_awaited_together_cost_a_few_looks_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[int] = []

    def counted(calls: list[Any]) -> list[Any]:
        looks.append(len(calls))
        return unbegun(calls)

    unbegun = module._unbegun
    monkeypatch.setattr(module, "_unbegun", counted)
    calls, number = Calls(), 20 * limits.CALLS_NOTED
    made = _made(calls, number)
    assert sum(looks) <= 2 * number
    await asyncio.gather(*made)
    assert calls.end() == []
