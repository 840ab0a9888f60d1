"""The texts of verdicts: bounded, and the same at every look while nothing has changed.

Texts of kubelets, schedulers and foreign controllers carry times, addresses and random names.
`steady` takes those out, because a message that changes at rest costs a write each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from konstat.base import limits

_CUT = " … (cut)"

_VOLATILE = re.compile(
    "|".join(
        (
            # dates with times, as RFC 3339, log4j and Go's log write them; then bare times
            r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?",
            r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b",
            # both ends of a connection: the local port is another one each time; bounded, because
            # a search without a bound takes the square of a text without spaces
            r"\S{1,64}:\d{1,5}->\S{1,64}:\d{1,5}",
            r"\b0x[0-9a-fA-F]+\b",
            r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
            # container ids and digests
            r"\b(?:sha256:)?(?=[0-9a-f]*\d)[0-9a-f]{12,64}\b",
            # measured durations; a plain "30s" is somebody's setting and stays
            r"\b\d+\.\d+(?:ns|µs|us|ms|s|m|h)\b|\b\d+(?:ns|µs|us)\b",
            # counters, epochs
            r"\b\d{6,}\b",
        )
    )
)


def steady(text: str, *, characters: int = limits.READINESS_DETAIL_CHARACTERS) -> str:
    """``text`` on one line, what changes by itself replaced by "…", at most ``characters`` long."""
    if len(text) > limits.MESSAGE_CHARACTERS:
        return _steady(text, characters)
    return _remembered(text, characters)


def _steady(text: str, characters: int) -> str:
    # Cut generously first, so that a megabyte of log is not searched.
    line = " ".join(text[: 8 * limits.MESSAGE_CHARACTERS].split())
    return capped(_VOLATILE.sub("…", line).rstrip(" .;,:"), characters=characters)


# The same few texts are told again at every look.
_remembered = lru_cache(maxsize=limits.READINESS_CACHED_WORDS)(_steady)


def capped(text: str, *, characters: int = limits.MESSAGE_CHARACTERS) -> str:
    """``text``, cut with a mark that says so when it is longer than ``characters``."""
    if len(text) <= characters:
        return text
    return text[: characters - len(_CUT)].rstrip() + _CUT


def listed(names: Iterable[str], *, limit: int = limits.MESSAGE_NAMES) -> str:
    """The distinct names, sorted: ``a, b, c and 2 more``."""
    distinct = sorted(set(names))
    shown, hidden = distinct[:limit], len(distinct) - limit
    return ", ".join(shown) + (f" and {hidden} more" if hidden > 0 else "")


def with_detail(statement: str, detail: str) -> str:
    """``statement: detail``, or the statement alone when there is no detail."""
    return f"{statement}: {detail}" if detail else statement


def sentence(*clauses: str) -> str:
    """The non-empty clauses joined by "; " and capped."""
    return capped("; ".join(clause for clause in clauses if clause))
