"""Paths of rule files: ``status.parents[].conditions``, ``metadata.annotations[a.example/b]``.

Names are joined by dots; ``[]`` stands for every element of a list or every value of a mapping,
``[0]`` for one element of a list, ``[any text]`` for a key that contains dots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from konstat.base import limits

EACH: Final = ""
Path = tuple[str, ...]


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def parse_path(text: str) -> Path:
    """The steps of a path, `EACH` for ``[]``; raises ValueError that says what is wrong with it."""
    steps: list[str] = []
    rest = text
    while rest:
        if rest[0] == "[":
            inside, closed, rest = rest[1:].partition("]")
            if not closed:
                raise ValueError("has an opening bracket that is not closed")
            steps.append(inside)
        else:
            end = min((i for i in (rest.find("."), rest.find("[")) if i >= 0), default=len(rest))
            if end == 0:
                raise ValueError("has an empty step: write names joined by single dots")
            steps.append(rest[:end])
            rest = rest[end:]
        if rest.startswith("."):
            rest = rest[1:]
            if not rest:
                raise ValueError("ends with a dot")
    if not steps:
        raise ValueError("is empty")
    return tuple(steps)


def found_at(value: Any, path: Path) -> Iterator[tuple[str, Any]]:
    """Each place that ``path`` leads to, as text, and what stands there; nothing where it ends."""
    places: list[tuple[str, Any]] = [("", value)]
    for step in path:
        places = [place for before in places for place in _below(*before, step)]
        del places[limits.READINESS_NODES :]
    yield from places


def _below(place: str, value: Any, step: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        if step == EACH:
            for key, inner in value.items():
                yield joined(place, str(key)), inner
        elif step in value:
            yield joined(place, step), value[step]
    elif isinstance(value, list | tuple):
        if step == EACH:
            for index, inner in enumerate(value):
                yield f"{place}[{index}]", inner
        elif step.isascii() and step.isdigit() and len(step) < 6 and int(step) < len(value):
            yield f"{place}[{step}]", value[int(step)]


def first_at(value: Any, path: Path) -> Any:
    """What stands at the first place that ``path`` leads to; None when it leads nowhere."""
    return next((inner for _, inner in found_at(value, path)), None)


def joined(place: str, key: str) -> str:
    """``place.key``, or ``place[key]`` where the key has dots."""
    if "." in key:
        return f"{place}[{key}]"
    return f"{place}.{key}" if place else key
