"""Where a rule file is wrong, and what was expected there, in the words of its author.

Before: `kindrule` converted the file's content to its types, and msgspec refused; it names the keys
of mappings only as ``[...]``, and of a closed set of words only the one that is not in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, get_args

import msgspec

_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_ANY_KEY: Final = "..."
_TYPES: Final = re.compile(r"`([a-z]+(?: \| [a-z]+)*)`")
_TYPE_NAMES: Final = {
    "object": "a mapping",
    "array": "a list",
    "str": "text",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}

Convert = Callable[[Any], object]
NamesAt = Callable[[Sequence[str]], Sequence[str]]


def described(
    error: msgspec.ValidationError,
    content: Any,
    *,
    convert: Convert,
    words: NamesAt,
    fields: NamesAt,
) -> str:
    """``kinds.Widget.status: …``: the place, then what is wrong, then what may stand there.

    ``convert`` is what raised ``error`` for ``content``; ``words`` and ``fields`` give what may
    stand at a place (its steps), where one of a closed set of words, or of fields, is expected.
    """
    problem, _, place = str(error).partition(" - at `")
    steps = _named([a or b for a, b in _STEP.findall(place.rstrip("`"))], content, convert)
    problem = problem[:1].lower() + problem[1:]
    if problem.startswith("expected"):
        problem = _TYPES.sub(_in_plain_words, problem)
    if "unknown field" in problem:
        problem = problem.replace("object contains unknown field", "there is no field")
        problem += f": choose from {', '.join(fields(steps))}"
    elif "invalid enum" in problem:
        problem = problem.replace("invalid enum value", "it cannot be")
        problem += f": choose from {', '.join(words(steps))}"
    problem = problem.replace("object missing required field", "it lacks the field")
    problem = problem.replace("of length >= 1", "that is not empty")
    return f"{_shown(steps)}: {problem}" if steps else problem


def _in_plain_words(types: re.Match[str]) -> str:
    """``text or a mapping`` for msgspec's names of types, each name once."""
    names = (_TYPE_NAMES.get(name, name) for name in types[1].split(" | "))
    return " or ".join(dict.fromkeys(names))


def words_of(literal: Any) -> tuple[str, ...]:
    """The words of a Literal."""
    return tuple(str(value) for value in get_args(literal))


def _named(steps: Sequence[str], content: Any, convert: Convert) -> list[str]:
    """``steps`` with the key of each mapping that msgspec left out, found by trying one by one."""
    found: list[str] = []
    for step in steps:
        here = _at(content, found)
        if step == _ANY_KEY and isinstance(here, Mapping):
            step = next((k for k in here if _fails(_only(content, found, k), convert)), step)
        found.append(step)
    return found


def _fails(content: Any, convert: Convert) -> bool:
    try:
        convert(content)
    except msgspec.ValidationError:
        return True
    return False


def _only(content: Any, steps: Sequence[str], key: str) -> Any:
    """``content`` in which the mapping at ``steps`` has ``key`` alone."""
    if not steps:
        return {key: content[key]}
    first, rest = steps[0], steps[1:]
    if isinstance(content, list):
        return [
            _only(value, rest, key) if index == int(first) else value
            for index, value in enumerate(content)
        ]
    return {**content, first: _only(content[first], rest, key)}


def _at(content: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        content = content[int(step)] if isinstance(content, list) else content[step]
    return content


def _shown(steps: Sequence[str]) -> str:
    text = ""
    for step in steps:
        plain = "." not in step and not step.isdecimal()
        text += f".{step}" if plain or step == _ANY_KEY else f"[{step}]"
    return text.removeprefix(".")
