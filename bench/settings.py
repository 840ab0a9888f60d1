"""What a bench is asked for: how many rounds, and where to say how far it is."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

DEFAULT_ROUNDS: Final = 5


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of one call of ``python -m bench``.

    ``rounds`` is how often each measurement is made; a bench that makes a part of its
    measurements less often says so in its table.
    """

    rounds: int = DEFAULT_ROUNDS

    def say(self, text: str) -> None:
        """One line on standard error about what goes on."""
        print(f"{datetime.now(UTC):%H:%M:%S} {text}", file=sys.stderr, flush=True)

    def at_most(self, rounds: int) -> int:
        """The rounds of a part that is too long to be repeated as often as the others."""
        return min(self.rounds, rounds)
