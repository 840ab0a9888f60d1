"""`tally`: how many requests a piece of work sends, whoever of it sends them.

`konstat.client.exchange` counts; a controller's worker asks, so that attempts that only look at
what the caches hold do not use up the rate at which attempts may ask something of the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Tally:
    """Requests that were sent, answered or not; each repetition of one counts."""

    def __init__(self) -> None:
        self.requests = 0


_current: ContextVar[Tally | None] = ContextVar("konstat_tally", default=None)


@contextmanager
def tally() -> Iterator[Tally]:
    """Count the requests of a block and of the tasks that it starts; an inner block counts apart.

    Watches are not counted: nothing that is done for one object opens any.
    """
    found = Tally()
    before = _current.set(found)
    try:
        yield found
    finally:
        _current.reset(before)


def count_request() -> None:
    """One request is about to be sent."""
    found = _current.get()
    if found is not None:
        found.requests += 1
