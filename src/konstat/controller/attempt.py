"""One attempt: run the author's function on one resource and say how it ended.

Whatever the function does — return, raise, hang, cancel itself, call SystemExit — ends as an
`Outcome`, so that a status can be derived from it on every path.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from konstat.base import limits
from konstat.base.tasks import end_apart, start_apart
from konstat.controller.logs import bounded
from konstat.controller.secrecy import Secrets
from konstat.errors import SpecInvalid
from konstat.objects.resource import Resource
from konstat.readiness import Turn
from konstat.status import Ending, Outcome, RequeueAfter, Waiting
from konstat.status.condition import usable_message
from konstat.status.outcome import Signal, innermost, text_of

log = logging.getLogger("konstat.controller")

AttemptFunction = Callable[[Any, Any], Awaitable[Any]]


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt ended: the outcome, the error behind it (for the log), and when to return.

    ``lingering`` is the author's task when it ignores its cancellation and still runs; ``trace``
    is what the log gets instead of the error's own traceback.
    """

    outcome: Outcome
    error: BaseException | None = None
    requeue_seconds: float | None = None
    wait_timeout_seconds: float | None = None
    lingering: asyncio.Task[Any] | None = None
    trace: str = ""


class _Raised(msgspec.Struct, frozen=True):
    error: BaseException


async def run_attempt(
    function: AttemptFunction, resource: Resource[Any, Any], context: Any, *, timeout_seconds: float
) -> Ended:
    """Call ``function(resource, context)`` and turn every way of ending into `Ended`.

    The function runs in a task of its own, so that one that cancels itself, or that ignores its
    cancellation, does not take its worker along (F69). Only a cancellation from outside (the
    manager stops) leaves as CancelledError; then too the function has been cancelled.
    """
    task = start_apart(_answer(function, resource, context), name=f"attempt {resource.ref}")
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout_seconds)
    finally:
        ended = await end_apart(
            task, tries=limits.ATTEMPT_CANCELLATIONS, seconds=limits.ATTEMPT_END_SECONDS
        )
        if not ended:
            log.error("%s: the attempt ignores its cancellation and runs on", resource.ref)
    if done:
        return _ending_of(task.result(), getattr(function, "__name__", "reconcile"))
    text = f"the attempt did not end within {timeout_seconds:g} s"
    if ended:
        return _failed(None, "AttemptTimeout", text)
    text += " and ignores its cancellation: do not catch CancelledError without raising it again"
    return msgspec.structs.replace(_failed(None, "AttemptTimeout", text), lingering=task)


def without_secrets(ended: Ended, secrets: Secrets) -> Ended:
    """``ended`` without the values of Secrets that the attempt has read, nor a boundless trace."""
    error = ended.error
    if error is None:
        return ended
    said = error.message if isinstance(error, Signal) else text_of(innermost(error))
    if not secrets and len(said) <= limits.LOG_TRACEBACK_CHARACTERS:
        return ended
    # A traceback quotes every error of the chain, not only the one that the status tells of.
    trace = secrets.without("".join(traceback.format_exception(error)))
    hidden = secrets.without(said)
    outcome = ended.outcome
    if hidden != said:
        outcome = msgspec.structs.replace(outcome, message=usable_message(hidden))
    return msgspec.structs.replace(ended, outcome=outcome, trace=bounded(trace))


def not_awaited(calls: Sequence[str]) -> Ended:
    """The ending of an attempt that called its context without await: nothing was done."""
    shown = ", ".join(calls[: limits.MESSAGE_NAMES])
    rest = len(calls) - limits.MESSAGE_NAMES
    more = f" and {rest} more" if rest > 0 else ""
    text = f"{shown}{more} was called without await, so nothing was done: write await before it"
    return _failed(None, "NotAwaited", text)


def still_running(task: asyncio.Task[Any]) -> Ended:
    """The ending instead of a second attempt beside one that runs on."""
    text = "an earlier attempt ignores its cancellation and still runs: nothing new is attempted"
    return msgspec.structs.replace(_failed(None, "AttemptTimeout", text), lingering=task)


async def _answer(function: AttemptFunction, resource: Resource[Any, Any], context: Any) -> Any:
    try:
        return await function(resource, context)
    except KeyboardInterrupt:  # the process is to end
        raise
    except BaseException as error:  # noqa: BLE001 - becomes the outcome, and is logged
        # A GeneratorExit of the author's would otherwise end all other attempts; when it is the
        # loop that closes this coroutine, an answer is as good as the exception.
        return _Raised(error)


def _ending_of(answer: Any, name: str) -> Ended:
    match answer:
        case None:
            return Ended(outcome=Outcome.observed())
        case RequeueAfter(seconds=seconds):
            return Ended(outcome=Outcome.observed(), requeue_seconds=seconds)
        case _Raised(error=asyncio.CancelledError() as error):
            return _failed(error, "Cancelled", "the attempt cancelled itself")
        case _Raised(error=Waiting() as error):
            outcome, limit = Outcome.of(error), error.timeout_seconds
            return Ended(outcome=outcome, error=error, wait_timeout_seconds=limit)
        case _Raised(error=error):
            return Ended(outcome=Outcome.of(error), error=error)
        case _:
            return _failed(None, "BadReturn", _nonsense(answer, name))


def _nonsense(answer: Any, name: str) -> str:
    """What is wrong with a returned value, and what to return instead."""
    if inspect.iscoroutine(answer):
        answer.close()  # or Python warns of it a second time, from nowhere
        called = f"{answer.__qualname__}(…)"
        return f"{name} returned {called} without awaiting it: write await before it"
    shown = f"the class {answer.__name__}" if isinstance(answer, type) else type(answer).__name__
    return f"{name} returned {shown}: return None or RequeueAfter(seconds=…)"


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
