"""The JSON paths of printer columns and selectable fields: ``.spec.size``, ``[0]``, ``[?(…)]``.

A small part of kubectl's JSONPath, as CustomResourceDefinitions use it. `compile_path` refuses by
name what is not in it, when the definition is created. Before: nothing. After: `table`, `crds`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

_NAME: Final = re.compile(r"\.((?:[^.\[\]\\]|\\.)+)")
_INDEX: Final = re.compile(r"\[(-?[0-9]+)\]")
_QUOTED: Final = re.compile(r"""\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]""")
_ALL: Final = re.compile(r"\[\*\]|\.\*")
_FILTER: Final = re.compile(
    r"""\[\?\(\s*@((?:\.(?:[^.\[\]\\\s=!]|\\.)+)+)\s*(==|!=)\s*("[^"]*"|'[^']*'|[-\w.]+)\s*\)\]"""
)

Step = Callable[[list[Any]], list[Any]]


class PathError(ValueError):
    """A path with a part that is not supported; the text says which."""


class Path:
    """A compiled path."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps

    def find(self, value: Any) -> list[Any]:
        """Every value that the path reaches, in order."""
        found = [value]
        for step in self._steps:
            found = step(found)
        return found

    def first(self, value: Any) -> Any:
        """The first value, or None."""
        found = self.find(value)
        return found[0] if found else None


@cache
def compile_path(text: str) -> Path:
    """The path of a text such as ``.status.conditions[?(@.type=="Ready")].status``.

    Raises PathError.
    """
    rest = text.strip()
    if rest.startswith("{") and rest.endswith("}"):
        rest = rest[1:-1].strip()
    rest = rest.removeprefix("$")
    steps: list[Step] = []
    while rest:
        for pattern, make in _MAKERS:
            match = pattern.match(rest)
            if match is not None:
                steps.append(make(match))
                rest = rest[match.end() :]
                break
        else:
            raise PathError(f"{rest!r} in the JSON path {text!r}")
    return Path(steps)


def _member(name: str) -> Step:
    def step(values: list[Any]) -> list[Any]:
        return [v[name] for v in values if isinstance(v, Mapping) and name in v]

    return step


def _entry(index: int) -> Step:
    def step(values: list[Any]) -> list[Any]:
        return [v[index] for v in values if isinstance(v, list) and -len(v) <= index < len(v)]

    return step


def _every(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, list):
            found += value
        elif isinstance(value, Mapping):
            found += value.values()
    return found


def _filter(path: str, operator: str, literal: str) -> Step:
    inner = compile_path(path)
    wanted = _literal(literal)

    def step(values: list[Any]) -> list[Any]:
        entries = [entry for value in values if isinstance(value, list) for entry in value]
        return [e for e in entries if (inner.first(e) == wanted) == (operator == "==")]

    return step


def _literal(text: str) -> Any:
    if text[0] in "\"'":
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        return text


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


_MAKERS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Step]], ...]] = (
    (_ALL, lambda match: _every),
    (_NAME, lambda match: _member(_plain(match[1]))),
    (_INDEX, lambda match: _entry(int(match[1]))),
    (_QUOTED, lambda match: _member(_plain(match[1] if match[1] is not None else match[2]))),
    (_FILTER, lambda match: _filter(match[1], match[2], match[3])),
)
