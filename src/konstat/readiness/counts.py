"""Pairs of numbers: how many parts are wanted, and how many are there.

Names tell which belong together: ``replicas`` and ``readyReplicas``, ``desiredNodes`` and
``nodesReady``, ``total`` and ``available``. What is wanted may stand in the spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from konstat.base import limits
from konstat.readiness import accomplishments, reading, wording
from konstat.readiness.keys import VERSIONED
from konstat.readiness.kindrule import Count
from konstat.readiness.paths import first_at, joined, parse_path
from konstat.readiness.signals import Signal
from konstat.readiness.verdict import Evidence, Reason, State
from konstat.readiness.vocabulary import word_set
from konstat.readiness.words import split

_HAVE: Final = word_set("ready available updated healthy running current online up")
_WANTED: Final = word_set("desired total expected wanted target size all")
_NOISE: Final = word_set("number count of num scheduled")
# Of those that are there, the ones that do what they are there for.
_GOOD: Final = word_set("ready available healthy running online up")
_PLAIN: Final = word_set(
    """
    replicas replica nodes node instances instance members member pods pod brokers
    servers workers copies machines machine shards tablets masters proxies routers volumes
    """
)
_SCALES: Final = (
    "replicas", "size", "members", "count", "nodes", "instances", "clusterSize", "nodeCount",
)  # fmt: skip
_MEASURES: Final = word_set(
    "bytes byte memory cpu disk space capacity percent percentage seconds minutes ms time usage gb"
)
_LACKING: Final = word_set("unavailable unready unhealthy failed")


_SORTS: Final = {
    **dict.fromkeys(_HAVE, "have"),
    **dict.fromkeys(_WANTED, "wanted"),
    **dict.fromkeys(_LACKING, "lacking"),
}


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _named(key: str) -> tuple[str, str]:
    """What a number counts: ("have", "replicas"), ("wanted", ""), or ("", "") for anything else.

    A plain count of things is "plain"; nouns are plural.
    """
    words = [word for word in split(key) if word not in _NOISE]
    if len(words) > 1 and words[-1] == "size":
        words[-1] = "sizes"  # how large, of which there is a wanted and a present one
    rest = [word for word in words if word not in _SORTS and word != "not"]
    sorts = {_SORTS[word] for word in words if word in _SORTS}
    if len(rest) > 3 or len(sorts) > 1 or not _MEASURES.isdisjoint(rest):
        return "", ""
    noun = _plural(rest)
    if sorts:
        sort = "lacking" if "not" in words else sorts.pop()
        return (sort, noun) if sort != "lacking" or not rest or rest[-1] in _PLAIN else ("", "")
    return ("plain", noun) if rest and rest[-1] in _PLAIN else ("", "")


def _plural(words: Sequence[str]) -> str:
    noun = " ".join(words)
    return f"{noun}s" if noun and not noun.endswith("s") and noun in _PLAIN else noun


def signals(
    numbers: Mapping[str, int],
    content: Mapping[str, Any],
    place: str,
    *,
    nested: bool,
    bounded: bool,
) -> Iterator[Signal]:
    """The signals of the numbers in one mapping; ``content`` is the object at the root only."""
    wanted: dict[str, _Wanted] = {}
    have: list[tuple[str, str, int]] = []
    for key, value in numbers.items():
        sort, noun = _named(key)
        if sort == "wanted" or (sort == "plain" and noun not in wanted):
            wanted[noun] = _Wanted(joined(place, key), value, sort == "wanted")
        elif sort == "have":
            have.append((joined(place, key), noun, value))
        elif sort == "lacking" and value > 0 and not bounded:
            yield _short(joined(place, key), value, "", nested)
    spec = reading.mapping(content.get("spec"))
    for path, noun, value in have:
        asked = _asked(spec, noun, other=noun in wanted) or _beside(wanted, noun)
        if asked is None:
            continue
        if value < asked.number:
            text = f"{_shown(path)} is {value} of {asked.number} ({asked.path})"
            yield _short(path, value, text, nested)
        elif asked.number > 0 and not _GOOD.isdisjoint(split(path.rpartition(".")[2])):
            decides = not nested and asked.by_spec and "ready" in path.lower()
            worth = _worth(asked, noun, nested=nested)
            evidence = Evidence(path, value)
            yield Signal(
                State.READY, Reason.CONDITIONS_MET, "", evidence, decides, nested, 7, worth=worth
            )
    if not nested:
        yield from _scaling(spec, wanted)


class _Wanted(NamedTuple):
    """How many are wanted; ``named`` tells that the field says so, and not only how many exist."""

    path: str
    number: int
    named: bool = True
    by_spec: bool = False


def _beside(wanted: Mapping[str, _Wanted], noun: str) -> _Wanted | None:
    """The number in the same mapping that belongs to a noun; to none, that of the whole."""
    found = wanted.get(noun)
    if found is None and not noun:
        found = next((wanted[name] for name in _WHOLES if name in wanted), None)
        if found is None and len(wanted) == 1:
            found = next(iter(wanted.values()))
    return found or (None if noun not in _WHOLES else wanted.get(""))


_WHOLES: Final = ("replicas", "instances", "nodes", "members", "pods")


def _worth(asked: _Wanted, noun: str, *, nested: bool) -> int:
    if nested or not asked.named:
        return accomplishments.NEUTRAL
    return accomplishments.WHOLE if not noun or noun in _WHOLES else accomplishments.PART


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _camel(noun: str) -> str:
    head, *tail = noun.split()
    return head + "".join(word.capitalize() for word in tail)


def _asked(spec: Mapping[str, Any], noun: str, *, other: bool = False) -> _Wanted | None:
    """The number that the spec asks for: under the same name, else that of the whole.

    With ``other`` only under the same name: the status itself says what is wanted.
    """
    keys = (_camel(noun), *_SCALES) if noun else _SCALES
    whole = not noun or (not other and noun.split()[-1] in _PLAIN)
    for key in keys if whole else keys[:1]:
        value = spec.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return _Wanted(f"spec.{key}", value, by_spec=True)
    return None


def _scaling(spec: Mapping[str, Any], wanted: Mapping[str, _Wanted]) -> Iterator[Signal]:
    """Fewer replicas exist than the spec asks for."""
    for noun in _WHOLES:
        there = wanted.get(noun)
        asked = None if there is None or there.named else _asked(spec, noun)
        if there is not None and asked is not None and there.number < asked.number:
            text = f"{_shown(there.path)} is {there.number} of {asked.number} ({asked.path})"
            yield _short(there.path, there.number, text, nested=False)


def _short(path: str, value: int, text: str, nested: bool) -> Signal:
    evidence = Evidence(path, value)
    return Signal(State.PROGRESSING, Reason.COUNTS_NOT_MET, text, evidence, False, nested, 6)


def _shown(path: str) -> str:
    return path.removeprefix("status.")


def of_rule(count: Count, content: Mapping[str, Any]) -> Signal | None:
    """The signal of a pair that a kind's rule names."""
    wanted = _number(first_at(content, parse_path(count.wanted)), count.default)
    have = _number(first_at(content, parse_path(count.have)), count.absent)
    if wanted is None or have is None:
        return None
    text = f"{_shown(count.have)} is {have} of {wanted} ({count.wanted})"
    if have < wanted:
        return _short(count.have, have, text, False)
    return Signal(State.READY, Reason.CONDITIONS_MET, text, Evidence(count.have, have), rank=7)


def _number(value: Any, otherwise: int | None) -> int | None:
    return otherwise if value is None else reading.count(value)


# --- texts ----------------------------------------------------------------------------------

_NOW: Final = frozenset(("current",))
_THEN: Final = word_set("desired target update expected")


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _version_side(key: str) -> tuple[str, str]:
    """("now", "revision") of ``currentRevision``, ("then", "revision") of ``updateRevision``."""
    words = split(key)
    if len(words) == 2 and words[1] in VERSIONED:
        if words[0] in _NOW:
            return "now", words[1]
        if words[0] in _THEN:
            return "then", words[1]
    return "", ""


def moving(node: Mapping[str, Any], place: str, *, nested: bool) -> Iterator[Signal]:
    """Something that is still of another version than it is to be, in one mapping."""
    now: dict[str, tuple[str, str]] = {}
    then: dict[str, str] = {}
    for key, value in node.items():
        if not isinstance(key, str) or not isinstance(value, str) or not value:
            continue
        side, noun = _version_side(key)
        if side == "now":
            now[noun] = (key, value)
        elif side == "then":
            then[noun] = value
    for noun, (key, value) in now.items():
        wanted = then.get(noun, value)
        if value != wanted:
            path = joined(place, key)
            text = f"{_shown(path)} is {wording.steady(value)}, not yet {wording.steady(wanted)}"
            evidence = Evidence(path, value)
            yield Signal(State.PROGRESSING, Reason.RECONCILING, text, evidence, False, nested, 7)
