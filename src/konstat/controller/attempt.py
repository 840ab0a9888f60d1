"""One attempt: run the author's function on one resource and say how it ended.

Whatever the function does — return, raise, hang, cancel itself, call SystemExit — ends as an
`Outcome`, so that a status can be derived from it on every path.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from konstat.errors import SpecInvalid
from konstat.objects.resource import Resource
from konstat.readiness import Turn
from konstat.status import Ending, Outcome, RequeueAfter, Waiting
from konstat.status.condition import usable_message

AttemptFunction = Callable[[Any, Any], Awaitable[Any]]


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt ended: the outcome, the error behind it (for the log), and when to return."""

    outcome: Outcome
    error: BaseException | None = None
    requeue_seconds: float | None = None
    wait_timeout_seconds: float | None = None


async def run_attempt(
    function: AttemptFunction, resource: Resource[Any, Any], context: Any, *, timeout_seconds: float
) -> Ended:
    """Call ``function(resource, context)`` and turn every way of ending into `Ended`.

    Only a cancellation from outside (the manager stops) leaves as CancelledError.
    """
    limit = asyncio.timeout(timeout_seconds)
    try:
        async with limit:
            answer = await function(resource, context)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return _failed(error, "Cancelled", "the attempt cancelled itself")
    except TimeoutError as error:
        if not limit.expired():  # the author's own time-out
            return Ended(outcome=Outcome.of(error), error=error)
        text = f"the attempt did not end within {timeout_seconds:.0f} s"
        return _failed(error, "AttemptTimeout", text)
    except Waiting as error:
        return Ended(
            outcome=Outcome.of(error), error=error, wait_timeout_seconds=error.timeout_seconds
        )
    except (SystemExit, Exception) as error:  # noqa: BLE001 - becomes the outcome, and is logged
        return Ended(outcome=Outcome.of(error), error=error)
    if answer is None:
        return Ended(outcome=Outcome.observed())
    if isinstance(answer, RequeueAfter):
        return Ended(outcome=Outcome.observed(), requeue_seconds=answer.seconds)
    text = f"{getattr(function, '__name__', 'reconcile')} returned {type(answer).__name__}"
    return _failed(None, "BadReturn", f"{text}: return None or RequeueAfter(seconds=…)")


def refused_spec(error: SpecInvalid) -> Ended:
    """The ending for a spec that our types refuse although the server let it through."""
    message = f"{error.path}: {error.problem}; correct the spec, or install the current CRD"
    outcome = Outcome(
        ending=Ending.STALLED,
        reason="SpecInvalid",
        message=usable_message(message),
        turn=Turn.USER,
    )
    return Ended(outcome=outcome, error=error)


def _failed(error: BaseException | None, reason: str, message: str) -> Ended:
    outcome = Outcome(
        ending=Ending.ERROR, reason=reason, message=usable_message(message), turn=Turn.OWNER
    )
    return Ended(outcome=outcome, error=error)
