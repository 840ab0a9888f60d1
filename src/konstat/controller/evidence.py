"""What applying a child leaves behind: its verdict, or the blame of an error.

Shared by `live_context` and the FakeContext of `konstat.testing`, so that a unit test sees what a
cluster would show. Pure.
"""

from __future__ import annotations

import inspect
from typing import Any

from konstat.controller.secrecy import Secrets
from konstat.errors import KonstatError
from konstat.objects.snapshot import Snapshot
from konstat.readiness import Readiness, State
from konstat.status.condition import usable_message, usable_reason
from konstat.status.outcome import is_refusal, reason_of, text_of, turn_of


def blame(error: KonstatError, secrets: Secrets | None = None) -> Readiness:
    """What an error while applying a child says of it: refused is bad, unanswered is unknown.

    A server quotes what it refuses, so values of ``secrets`` are hidden.
    """
    text = text_of(error)
    return Readiness(
        state=State.FAILED if is_refusal(error) else State.UNKNOWN,
        reason=usable_reason(reason_of(error)),
        message=usable_message(text if secrets is None else secrets.without(text)),
        turn=turn_of(error),
        evidence=(),
        generation=0,
    )


def require_readiness(verdict: Any, child: Snapshot) -> Readiness:
    """The answer of an author's ``judge=``; raises TypeError for anything but a Readiness."""
    if isinstance(verdict, Readiness):
        return verdict
    if inspect.iscoroutine(verdict):
        verdict.close()
    raise TypeError(
        f"judge= of {child.ref} returned {verdict!r}: return a konstat.readiness.Readiness, from a"
        " function that is not async"
    )
