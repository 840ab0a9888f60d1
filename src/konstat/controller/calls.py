"""Which async calls of a context were never awaited, so that nothing was done.

Before: `live_context`, and the FakeContext of `konstat.testing`, mark their async methods as
`awaitable`. After: `konstat.controller.attempt.not_awaited` makes an ending of what was forgotten.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from konstat.base import limits

F = TypeVar("F", bound=Callable[..., Any])


class Calls:
    """The calls of one attempt."""

    def __init__(self) -> None:
        self._noted: list[Coroutine[Any, Any, Any]] = []
        self._most = limits.CALLS_NOTED

    def note(self, call: Coroutine[Any, Any, Any]) -> None:
        """Remember a call until it is awaited."""
        if len(self._noted) >= self._most:
            self._noted = _unbegun(self._noted)
            # Thousands that are made first and awaited together are looked through seldom.
            self._most = max(limits.CALLS_NOTED, 2 * len(self._noted))
        self._noted.append(call)

    def end(self) -> list[str]:
        """The calls that were never awaited, such as ``context.apply(…)``; all are forgotten."""
        forgotten = _unbegun(self._noted)
        for call in forgotten:
            call.close()
        self._noted.clear()
        return [f"context.{call.__name__}(…)" for call in forgotten]


class Caller(Protocol):
    """An object whose async calls are noted."""

    @property
    def calls(self) -> Calls: ...


def awaitable(method: F) -> F:
    """Notes each call of an async method, so that one without await is told of, not lost."""

    @wraps(method)
    def call(self: Caller, *args: Any, **options: Any) -> Any:
        begun = method(self, *args, **options)
        self.calls.note(begun)
        return begun

    return cast("F", call)


def _unbegun(calls: Iterable[Coroutine[Any, Any, Any]]) -> list[Coroutine[Any, Any, Any]]:
    return [call for call in calls if inspect.getcoroutinestate(call) == inspect.CORO_CREATED]
