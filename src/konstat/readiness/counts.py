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

_HAVE: Final = word_set("ready available updated healthy running current online up uptodate actual")
_ASKED: Final = word_set("desired expected wanted target")
_WANTED: Final = word_set("desired total expected wanted target size all matched")
_NOISE: Final = word_set("number count of num scheduled")
# Of those that are there, the ones that do what they are there for.
_GOOD: Final = word_set("ready available healthy running online up")
_PLAIN: Final = word_set(
    """
    replicas replica drives disks osds nodes node instances instance members member pods pod brokers
    servers workers copies machines machine shards tablets masters proxies routers volumes
    resources clusters scale
    """
)
_SCALES: Final = (
    "replicas", "size", "members", "count", "nodes", "instances", "clusterSize", "nodeCount",
)  # fmt: skip
_MEASURES: Final = word_set(
    "bytes byte memory cpu disk space capacity percent percentage seconds minutes ms time usage gb"
)
_LACKING: Final = word_set("unavailable unready unhealthy failed offline missing lost crashed")


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
    if len(words) > 1 and words[0] in _ASKED and words[1] in _GOOD:
        del words[1]  # "desiredReadyClusters"
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


class _Have(NamedTuple):
    """A number of parts that are there, and where the number that is wanted may stand.

    ``good`` tells that these parts do what they are there for, ``whole`` that they are the object.
    """

    key: str
    good: bool
    whole: bool
    spec_keys: tuple[str, ...]
    beside: str
    beside_named: bool


class _Plan(NamedTuple):
    """What the numbers of one mapping mean, by their names alone."""

    have: tuple[_Have, ...]
    lacking: tuple[str, ...]
    there: tuple[tuple[str, tuple[str, ...]], ...]  # what exists, and what the spec may call it


def _plan(keys: tuple[str, ...]) -> _Plan:
    wanted: dict[str, tuple[str, bool]] = {}
    named = [(key, *_named(key)) for key in keys]
    for key, sort, noun in named:
        if sort == "wanted" or (sort == "plain" and noun not in wanted):
            wanted[noun] = key, sort == "wanted"
    have: list[_Have] = []
    for key, sort, noun in named:
        if sort == "have" or (sort == "plain" and wanted[noun][1]):
            beside, beside_named = _beside(wanted, noun)
            good = not _GOOD.isdisjoint(split(key))
            whole = not noun or noun in _WHOLES
            spec_keys = _spec_keys(noun, other=noun in wanted)
            have.append(_Have(key, good, whole, spec_keys, beside, beside_named))
    there = [(wanted[n][0], _spec_keys(n)) for n in _WHOLES if n in wanted and not wanted[n][1]]
    lacking = tuple(key for key, sort, _ in named if sort == "lacking")
    return _Plan(tuple(have), lacking, tuple(there))


_remembered = lru_cache(maxsize=limits.READINESS_CACHED_WORDS)(_plan)


def _beside(wanted: Mapping[str, tuple[str, bool]], noun: str) -> tuple[str, bool]:
    """The number in the same mapping that belongs to a noun; to none, that of the whole."""
    found = wanted.get(noun)
    if found is None and not noun:
        found = next((wanted[name] for name in _WHOLES if name in wanted), None)
        if found is None and len(wanted) == 1:
            found = next(iter(wanted.values()))
    if found is None and noun in _WHOLES:
        found = wanted.get("")
    return found or ("", False)


_WHOLES: Final = ("replicas", "instances", "nodes", "members", "pods")


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _spec_keys(noun: str, *, other: bool = False) -> tuple[str, ...]:
    """Where the spec asks for a number of things: under their name, else as that of the whole.

    With ``other`` only under the same name: the status itself says what is wanted.
    """
    if not noun:
        return _SCALES
    head, *tail = noun.split()
    own = head + "".join(word.capitalize() for word in tail)
    return (own,) if other or noun.split()[-1] not in _PLAIN else (own, *_SCALES)


def signals(
    numbers: Mapping[str, int],
    content: Mapping[str, Any],
    place: str,
    *,
    nested: bool,
    bounded: bool,
) -> list[Signal]:
    """The signals of the numbers in one mapping; ``content`` is the object at the root only."""
    keys = tuple(numbers)
    plan = _remembered(keys) if len(keys) <= limits.READINESS_CACHED_KEYS else _plan(keys)
    spec = reading.mapping(content.get("spec"))
    found = [
        _short(joined(place, key), numbers[key], "", nested)
        for key in plan.lacking
        if numbers[key] > 0 and not bounded
    ]
    for have in plan.have:
        signal = _compared(have, numbers, spec, place, nested)
        if signal is not None:
            found.append(signal)
    if not nested:
        for key, spec_keys in plan.there:
            name, number = _asked(spec, spec_keys)
            if numbers[key] < number:
                path = joined(place, key)
                text = f"{_shown(path)} is {numbers[key]} of {number} (spec.{name})"
                found.append(_short(path, numbers[key], text, nested=False))
    return found


def _compared(
    have: _Have, numbers: Mapping[str, int], spec: Mapping[str, Any], place: str, nested: bool
) -> Signal | None:
    value = numbers[have.key]
    name, number = _asked(spec, have.spec_keys)
    where = f"spec.{name}"
    if have.beside and (not name or numbers[have.beside] > number):
        # More exist than the spec asks for: some are still to go, or it asks for each of several.
        where, number = joined(place, have.beside), numbers[have.beside]
    elif not name:
        return None
    allocated = numbers.get(f"allocated{have.key[5:]}", 0) if have.key[:5] == "ready" else 0
    if allocated and value + allocated == number:
        value = number  # Agones: a server that is played on is no longer counted as ready
    if value < number:
        path = joined(place, have.key)
        return _short(path, value, f"{_shown(path)} is {value} of {number} ({where})", nested)
    if number <= 0 or not have.good:
        return None
    worth = accomplishments.NEUTRAL
    if not nested and (name or have.beside_named):
        worth = accomplishments.WHOLE if have.whole else accomplishments.PART
    decides = bool(name) and not nested and "eady" in have.key
    evidence = Evidence(joined(place, have.key), value)
    return Signal(State.READY, Reason.CONDITIONS_MET, "", evidence, decides, nested, 7, worth=worth)


def parents(content: Mapping[str, Any]) -> Signal | None:
    """Of a route: a parent that it refers to and that has not told of it yet."""
    asked = reading.mapping(content.get("spec")).get("parentRefs")
    told = reading.mapping(content.get("status")).get("parents")
    if not isinstance(asked, list | tuple) or not isinstance(told, list | tuple):
        return None
    if len(told) >= len(asked):
        return None
    text = f"{len(told)} of {len(asked)} parents have told of it (spec.parentRefs)"
    return _short("status.parents", len(told), text, nested=False)


def _asked(spec: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, int]:
    """The first number under one of the keys, and that key; empty where there is none."""
    for key in keys:
        if key in spec:
            value = spec[key]
            if type(value) is int:
                return key, value
    return "", 0


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
