"""How fast keys may be tried: a token bucket over all keys, a back-off for each.

Both only compute; `konstat.queue.workqueue` does the waiting.
"""

from __future__ import annotations

from konstat.base import clock, limits
from konstat.base.backoff import Backoff


class TokenBucket:
    """At most ``per_second`` takes in the long run, ``burst`` at once.

    Bounds what one controller can ask of the server when all its objects change together (L2).
    """

    def __init__(
        self,
        *,
        per_second: float = limits.ATTEMPTS_PER_SECOND,
        burst: int = limits.ATTEMPTS_BURST,
    ) -> None:
        if per_second <= 0 or burst < 1:
            raise ValueError(
                f"per_second is {per_second}, burst is {burst}: give a rate above 0 and a burst "
                "of at least 1"
            )
        self._per_second = per_second
        self._burst = float(burst)
        self._tokens = float(burst)
        self._filled_at = clock.monotonic()

    def wait_seconds(self) -> float:
        """Seconds until the next token is there; 0.0 when there is one now."""
        self._fill()
        return max(0.0, (1.0 - self._tokens) / self._per_second)

    def spend(self) -> None:
        """Use the token that `wait_seconds` showed to be there."""
        assert self._tokens > 0.0
        self._tokens -= 1.0

    def give_back(self, tokens: float) -> None:
        """What was spent turned out to cost less by ``tokens``, at most one."""
        assert 0.0 <= tokens <= 1.0
        self._tokens = min(self._burst, self._tokens + tokens)

    def _fill(self) -> None:
        now = clock.monotonic()
        gained = (now - self._filled_at) * self._per_second
        # Sums of many small gains fall short of a whole token by rounding, and a waiter that
        # comes back a hair early would have to wait again for nothing.
        self._tokens = min(self._burst, self._tokens + gained)
        if abs(self._tokens - 1.0) < 1e-6:
            self._tokens = 1.0
        self._filled_at = now


class KeyBackoff:
    """Counts failures in a row of each key and gives the delay that follows from them.

    Holds two numbers for each failing key; `forget` and `drop` of the queue remove it.
    """

    def __init__(
        self,
        *,
        first_seconds: float = limits.RETRY_FIRST_SECONDS,
        maximum_seconds: float = limits.RETRY_MAXIMUM_SECONDS,
    ) -> None:
        self._backoff = Backoff(first_seconds=first_seconds, maximum_seconds=maximum_seconds)
        self._failures: dict[str, int] = {}
        self._due: dict[str, float] = {}

    def failed(self, key: str) -> float:
        """Note a failure of ``key``; the seconds to wait before its next attempt.

        A failure before the wait of the last one is over came of something else, such as a burst
        of events: it does not count, and the wait goes on as it was.
        """
        present = clock.monotonic()
        if self._due.get(key, present) > present:
            return self._due[key] - present
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        seconds = self._backoff.delay_seconds(failures)
        self._due[key] = present + seconds
        return seconds

    def failures(self, key: str) -> int:
        """Failures of ``key`` in a row."""
        return self._failures.get(key, 0)

    def forget(self, key: str) -> None:
        """The next failure of ``key`` is its first again."""
        self._failures.pop(key, None)
        self._due.pop(key, None)

    def __len__(self) -> int:
        return len(self._failures)
