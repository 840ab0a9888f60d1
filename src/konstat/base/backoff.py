"""Delays between tries, as pure numbers; randomness comes from `konstat.base.chance`."""

from __future__ import annotations

import msgspec

from konstat.base import chance


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """An exponential delay: ``first`` · ``factor`` ** tries, at most ``maximum``, with jitter.

    ``jitter`` is the share of a delay that is drawn at random on top of it (0.1 = up to 10 %),
    of the maximum too. ``factor`` is at least 1.
    """

    first_seconds: float
    maximum_seconds: float
    factor: float = 2.0
    jitter: float = 0.1

    def delay_seconds(self, tries: int) -> float:
        """The delay before try number ``tries`` + 1; ``tries`` counts from 0."""
        assert tries >= 0
        try:
            plain = min(self.first_seconds * self.factor**tries, self.maximum_seconds)
        except OverflowError:  # past what a float can say, so past any maximum
            plain = self.maximum_seconds
        return plain * (1.0 + chance.uniform(0.0, self.jitter))
