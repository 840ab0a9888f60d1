"""How an attempt ends: what an author returns or raises, and the form that is settled.

Turn and trigger are separate. The declared reason and turn say who must act; the kind of outcome
says what wakes the resource again: `Stalled` has no timed retry, `Waiting`, `Failed` and any other
exception back off, and a return waits for a change. Every trigger wakes every outcome.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any

import msgspec

from konstat.errors import (
    APIError,
    AttemptOver,
    Forbidden,
    FormerChild,
    KindUnavailable,
    KonstatError,
    NamesakeError,
    TransportError,
)
from konstat.readiness import Turn
from konstat.status.condition import require_words, usable_message, usable_reason

# The server's word, in the causes of a 403.
NAMESPACE_GOING = "NamespaceTerminating"


class RequeueAfter(msgspec.Struct, frozen=True):
    """Returned by a reconcile: observed, and come back after ``seconds`` at the latest."""

    seconds: float

    def __post_init__(self) -> None:
        _require_seconds("RequeueAfter(seconds=…)", self.seconds)


def _require_seconds(where: str, seconds: Any) -> None:
    """Raise ValueError unless this is a finite number above 0."""
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not 0 < seconds < math.inf:
        raise ValueError(f"{where} is {seconds!r}: give a number above 0")


def usable_turn(turn: Turn | str) -> Turn:
    """``turn`` as a Turn; raises ValueError, naming the choices, for anything else."""
    try:
        return Turn(turn)
    except ValueError:
        choices = ", ".join(f"Turn.{known.name}" for known in Turn)
        raise ValueError(f"turn is {turn!r}: give one of {choices}") from None


class Signal(Exception):
    """Base of the exceptions by which an author ends an attempt on purpose.

    Raises TypeError or ValueError, instead of being raised itself, for what cannot be said.
    """

    default_turn: Turn

    def __init__(self, reason: str, message: str, *, turn: Turn | None = None) -> None:
        super().__init__(reason, message)
        require_words(type(self).__name__, reason, message)
        self.reason = reason
        self.message = message
        self.turn = self.default_turn if turn is None else usable_turn(turn)

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class Stalled(Signal):
    """Nothing will change without a change of input: no timed retry, any trigger wakes it."""

    default_turn = Turn.USER


class Waiting(Signal):
    """Something else must happen first: triggers and back-off wake it.

    Past ``timeout_seconds`` since the wait for this reason began, the status says
    Ready=False and Stalled=True with reason DeadlineExceeded while slow retries go on.
    """

    default_turn = Turn.NOBODY

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        timeout_seconds: float | None = None,
        turn: Turn | None = None,
    ) -> None:
        super().__init__(reason, message, turn=turn)
        if timeout_seconds is not None:
            _require_seconds("Waiting(timeout_seconds=…)", timeout_seconds)
        self.timeout_seconds = timeout_seconds


class Failed(Signal):
    """The operator could not do its work: back-off, and its owner must act."""

    default_turn = Turn.OWNER


class Ending(StrEnum):
    """The ways in which an attempt can end, as they are settled."""

    OBSERVED = "observed"
    STALLED = "stalled"
    WAITING = "waiting"
    OVERDUE = "overdue"  # waiting past its deadline
    FAILED = "failed"
    ERROR = "error"  # any exception that is not a Signal
    DELETING = "deleting"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The settled form of an ending; reason and message are fit for a condition."""

    ending: Ending
    reason: str = ""
    message: str = ""
    turn: Turn = Turn.NOBODY

    @classmethod
    def observed(cls) -> Outcome:
        return cls(ending=Ending.OBSERVED)

    @classmethod
    def of(cls, error: BaseException) -> Outcome:
        """The outcome that an exception from an attempt means."""
        if isinstance(error, Signal):
            return cls(
                ending=_ending_of(error),
                reason=usable_reason(error.reason),
                message=usable_message(error.message),
                turn=error.turn,
            )
        cause = innermost(error)
        if isinstance(cause, AttemptOver):
            return cls(
                ending=Ending.DELETING, reason="Terminating", message=usable_message(text_of(cause))
            )
        return cls(
            ending=Ending.WAITING if _passes(cause) else Ending.ERROR,
            reason=usable_reason(reason_of(cause)),
            message=usable_message(text_of(cause)),
            turn=turn_of(cause),
        )


_SIGNALS = {Stalled: Ending.STALLED, Waiting: Ending.WAITING, Failed: Ending.FAILED}


def _ending_of(error: Signal) -> Ending:
    return next(ending for base, ending in _SIGNALS.items() if isinstance(error, base))


def innermost(error: BaseException) -> BaseException:
    """The first cause of an exception: through groups and explicit causes, but not below our own.

    Below an error of konstat lies only the HTTP library's, which says less.
    """
    seen: set[int] = set()
    while id(error) not in seen and not isinstance(error, KonstatError):
        seen.add(id(error))
        if isinstance(error, BaseExceptionGroup) and error.exceptions:
            error = error.exceptions[0]
        elif error.__cause__ is not None:
            error = error.__cause__
    return error


def reason_of(error: BaseException) -> str:
    """A machine word for an exception: the server's own reason where it gave one."""
    if is_namespace_going(error):
        return NAMESPACE_GOING
    if isinstance(error, APIError) and error.reason:
        return error.reason
    return type(error).__name__


def text_of(error: BaseException) -> str:
    """An exception as a sentence; never empty."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - an exception class of the author's that cannot say itself
        text = "(its text cannot be read)"
    if isinstance(error, KonstatError):
        return text or type(error).__name__
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def turn_of(error: BaseException) -> Turn:
    """Who must act on an error: the user on names and quotas, nobody while something may pass.

    Everything else is for the operator's owner: RBAC, refused manifests, mistakes in the code.
    """
    if _passes(error):
        return Turn.NOBODY
    if isinstance(error, NamesakeError):
        return Turn.USER
    if isinstance(error, Forbidden) and "exceeded quota" in error.message:
        return Turn.USER
    if isinstance(error, TransportError) or (isinstance(error, APIError) and error.retryable):
        return Turn.NOBODY
    return Turn.OWNER


def is_refusal(error: BaseException) -> bool:
    """Whether an error means no (it would come again), rather than no answer."""
    if _passes(error):
        return False
    if isinstance(error, APIError):
        return not error.retryable
    return not isinstance(error, TransportError | KindUnavailable | AttemptOver)


def is_namespace_going(error: BaseException) -> bool:
    """Whether the server refuses new objects because their namespace is being deleted (F60)."""
    return isinstance(error, Forbidden) and any(c.reason == NAMESPACE_GOING for c in error.causes)


def _passes(error: BaseException) -> bool:
    """Whether an error is no mistake but a deletion that is under way: it passes by itself."""
    return isinstance(error, FormerChild) or is_namespace_going(error)
