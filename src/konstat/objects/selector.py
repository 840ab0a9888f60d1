"""Label selectors: read, written and matched as the server does it.

`parse_selector` reads the text form (``app=web,tier in (a,b),!legacy``), `selector_of` the
object form (``matchLabels``, ``matchExpressions``). Caches and the simulator match with them;
the client sends their text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from konstat.base import limits
from konstat.objects import names

Operator = Literal["in", "notin", "exists", "absent"]

_WORD: Final = re.compile(r"[^\s,()=!<>]+")
_SPACE: Final = re.compile(r"\s*")
_OPERATORS: Final[Mapping[str, Operator]] = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "absent",
}


class Requirement(msgspec.Struct, frozen=True):
    """One condition on one label; ``notin`` and ``absent`` hold where the label is missing."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether ``labels`` meet it."""
        if self.operator == "exists":
            return self.key in labels
        if self.operator == "absent":
            return self.key not in labels
        is_in = self.key in labels and labels[self.key] in self.values
        return is_in if self.operator == "in" else not is_in

    def __str__(self) -> str:
        if self.operator == "exists":
            return self.key
        if self.operator == "absent":
            return f"!{self.key}"
        if len(self.values) == 1:
            return f"{self.key}{'=' if self.operator == 'in' else '!='}{self.values[0]}"
        return f"{self.key} {self.operator} ({','.join(self.values)})"


class Selector(msgspec.Struct, frozen=True):
    """Requirements that must all hold; without any it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether an object with ``labels`` (None: no labels) is selected."""
        return all(requirement.matches(labels or {}) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def parse_selector(text: str) -> Selector:
    """Read ``=``, ``==``, ``!=``, ``in``, ``notin``, ``key`` and ``!key``, joined by commas.

    Raises ValueError that says where the text stops making sense, or names a bad key or value.
    """
    if len(text) > limits.SELECTOR_CHARACTERS:
        raise ValueError(
            f"a selector of {len(text)} characters: {limits.SELECTOR_CHARACTERS} at most"
        )
    reader = _Reader(text)
    requirements: list[Requirement] = []
    if not reader.at_end():
        requirements.append(reader.requirement())
        while reader.take(","):
            requirements.append(reader.requirement())
        if not reader.at_end():
            raise reader.error("',' or the end")
    return Selector(tuple(requirements))


def format_selector(labels: Mapping[str, str]) -> str:
    """The text that selects objects with all these labels, in order of the keys.

    Raises ValueError for a bad key or value.
    """
    return str(selector_of({"matchLabels": labels}))


def selector_of(selector: Mapping[str, Any] | None) -> Selector:
    """Read a LabelSelector object; None selects nothing in Kubernetes and is refused.

    Raises ValueError for what the server would refuse.
    """
    if selector is None:
        raise ValueError("no selector: Kubernetes takes an absent one for 'nothing'")
    labels = selector.get("matchLabels") or {}
    found = [_requirement(key, "in", (str(labels[key]),)) for key in sorted(labels)]
    for expression in selector.get("matchExpressions") or ():
        key, word = str(expression.get("key", "")), expression.get("operator")
        values = tuple(map(str, expression.get("values") or ()))
        if word not in _OPERATORS:
            raise ValueError(f"operator {word!r} of {key!r}: use one of {', '.join(_OPERATORS)}")
        needs = word in ("In", "NotIn")
        if needs != bool(values):
            raise ValueError(f"{key!r} {word}: {'give' if needs else 'remove the'} values")
        found.append(_requirement(key, _OPERATORS[word], values))
    return Selector(tuple(found))


def _requirement(key: str, operator: Operator, values: tuple[str, ...]) -> Requirement:
    if problem := names.label_key_problem(key):
        raise ValueError(problem)
    for value in values:
        if problem := names.label_value_problem(value):
            raise ValueError(f"{key}: {problem}")
    return Requirement(key, operator, tuple(sorted(set(values))))


class _Reader:
    """A cursor over the text of a selector."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def skip(self) -> None:
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match else self.position

    def at_end(self) -> bool:
        self.skip()
        return self.position == len(self.text)

    def take(self, token: str) -> bool:
        self.skip()
        if not self.text.startswith(token, self.position):
            return False
        self.position += len(token)
        return True

    def word(self) -> str:
        self.skip()
        match = _WORD.match(self.text, self.position)
        if match is None:
            return ""
        self.position = match.end()
        return match[0]

    def error(self, expected: str) -> ValueError:
        shown = self.text[self.position : self.position + 20] or "the end"
        return ValueError(f"selector at character {self.position}: {shown!r} instead of {expected}")

    def requirement(self) -> Requirement:
        if self.take("!"):
            return _requirement(self.key(), "absent", ())
        key = self.key()
        if self.take("!="):
            return _requirement(key, "notin", (self.word(),))
        if self.take("==") or self.take("="):
            return _requirement(key, "in", (self.word(),))
        self.skip()
        if self.position == len(self.text) or self.text[self.position] == ",":
            return _requirement(key, "exists", ())
        word = self.word()
        if word == "in":
            return _requirement(key, "in", self.values())
        if word == "notin":
            return _requirement(key, "notin", self.values())
        self.position -= len(word)
        raise self.error("=, ==, !=, in or notin")

    def key(self) -> str:
        if key := self.word():
            return key
        raise self.error("a label key")

    def values(self) -> tuple[str, ...]:
        if not self.take("("):
            raise self.error("'('")
        values = [self.word()]
        while self.take(","):
            values.append(self.word())
        if not self.take(")"):
            raise self.error("')'")
        return tuple(values)
