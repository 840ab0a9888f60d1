"""Numbers that tell of failure: codes with which something ended, and tallies of what failed.

`counts` reads the numbers of parts that are wanted and there; `fields` asks both. A tally may be of
all that ever happened, so it counts only where neither a summary nor work under way tells more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Literal

from konstat.base import limits
from konstat.readiness import wording
from konstat.readiness.fieldtexts import text_beside
from konstat.readiness.paths import joined
from konstat.readiness.signals import TALLY, WEAK, Signal, failure, shown
from konstat.readiness.verdict import Evidence, State
from konstat.readiness.vocabulary import word_set
from konstat.readiness.words import split

_EXITS: Final = word_set("exit return error err")
_TALLIED: Final = word_set("failures errors")
# Of which one is no failure of the object's: a bound, or something of the past.
_BOUNDS: Final = word_set(
    """
    max maximum min allowed tolerated tolerate limit threshold budget ignored last previous
    total retry retries recovered handled
    """
)
_HIGHEST_RPC_CODE: Final = 16
_HTTP_FAILURES: Final = range(400, 600)


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _sort(key: str) -> Literal["", "exit", "code", "tally"]:
    words = split(key)
    if words == ("code",):
        return "code"
    if len(words) > 1 and words[-1] == "code" and words[-2] in _EXITS and len(words) == 2:
        return "exit"
    if not _BOUNDS.isdisjoint(words):
        return ""
    counted = words[:-1] if words[-1:] in (("count",), ("number",)) else words
    if not counted:
        return ""
    singular = counted != words and f"{counted[-1]}s" in _TALLIED
    return "tally" if singular or counted[-1] in _TALLIED else ""


def signals(
    numbers: Mapping[str, int],
    node: Mapping[str, Any],
    place: str,
    *,
    depth: int,
    counts_runs: bool,
) -> Iterator[Signal]:
    """The signals of codes at the root of a status, and of tallies no deeper than one level."""
    if depth > 1:
        return
    for key, value in numbers.items():
        sort = _sort(key)
        if value <= 0 and sort != "exit":
            continue
        if sort == "exit" and value != 0 and depth == 0:
            yield _failed(node, joined(place, key), value, 6)
        elif sort == "code" and depth == 0:
            if value in _HTTP_FAILURES:
                yield _failed(node, joined(place, key), value, 6)
            elif value <= _HIGHEST_RPC_CODE:
                yield _failed(node, joined(place, key), value, WEAK)
        elif sort == "tally" and not counts_runs:
            yield _failed(node, joined(place, key), value, TALLY)


def _failed(node: Mapping[str, Any], path: str, value: int, rank: int) -> Signal:
    detail = text_beside(node)
    text = wording.with_detail(shown(path, value), detail)
    return Signal(State.FAILED, failure("", detail), text, Evidence(path, value), rank=rank)
