"""Label and field selectors of a request, with the server's texts for what it cannot read.

The requirements are those of `konstat.objects.selector`, which also matches them; here is the
reader that says what kube-apiserver would say (measured), and the field selectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from konstat.base import limits
from konstat.embedded import status_errors as errors
from konstat.embedded.metadata import label_key_problems, label_value_problems
from konstat.embedded.registry import Object, ResourceType
from konstat.objects.selector import Requirement

_TOKEN: Final = re.compile(r"\s*(==|!=|=|!|,|\(|\)|<|>|[^\s=!,()<>]+|$)")
_SYMBOLS: Final = ("==", "!=", "=", "!", ",", "(", ")", "<", ">")
_OPERATORS: Final = "in, notin, =, ==, !=, gt, lt"


class Comparison(NamedTuple):
    """``key > number`` or ``key < number``; holds where the label is an integer."""

    key: str
    operator: str
    number: int

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether ``labels`` meet it."""
        try:
            value = int(labels[self.key])
        except (KeyError, ValueError):
            return False
        return value > self.number if self.operator == ">" else value < self.number


class _Tokens:
    def __init__(self, text: str) -> None:
        self.found = [match[1] for match in _TOKEN.finditer(text)]
        self.position = 0

    def peek(self) -> str:
        return self.found[min(self.position, len(self.found) - 1)]

    def take(self) -> str:
        token = self.peek()
        self.position += 1
        return token


def read_labels(text: str) -> list[Requirement | Comparison]:
    """The requirements of a label selector; raises a 400 with the server's text."""
    if len(text) > limits.SELECTOR_CHARACTERS:
        raise errors.bad_request(f"a selector of {len(text)} characters is too long")
    tokens = _Tokens(text)
    found: list[Requirement | Comparison] = []
    while tokens.peek():
        token = tokens.peek()
        if token in _SYMBOLS and token != "!":
            raise errors.bad_request(
                f"found '{token}', expected: !, identifier, or 'end of string'"
            )
        found.append(_requirement(tokens))
        token = tokens.take()
        if token == "":
            break
        if token != ",":
            raise errors.bad_request(f"found '{token}', expected: ',' or 'end of string'")
        following = tokens.peek()
        if following == "" or (following in _SYMBOLS and following != "!"):
            raise errors.bad_request(f"found '{following}', expected: identifier after ','")
    return found


def _requirement(tokens: _Tokens) -> Requirement | Comparison:
    absent = tokens.peek() == "!"
    if absent:
        tokens.take()
    key = tokens.take()
    if key in _SYMBOLS or key == "":
        raise _unreadable(f"found '{key}', expected: identifier")
    _check_key(key)
    if absent:
        return Requirement(key, "absent")
    if tokens.peek() in ("", ","):
        return Requirement(key, "exists")
    operator = tokens.take()
    if operator in ("in", "notin"):
        values = _values(tokens)
    elif operator in ("=", "==", "!=", ">", "<"):
        values = [_one_value(tokens)]
    else:
        raise _unreadable(f"found '{operator}', expected: {_OPERATORS}")
    for index, value in enumerate(values):
        for problem in label_value_problems(value):
            raise _unreadable(
                f"values[{index}][{key}]: Invalid value: {errors.quoted(value)}: {problem}"
            )
    if operator in ("<", ">"):
        try:
            return Comparison(key, operator, int(values[0]))
        except ValueError as error:
            raise _unreadable(
                f"values[0]: Invalid value: {errors.quoted(values[0])}:"
                " for 'Gt', 'Lt' operators, the value must be an integer"
            ) from error
    inside = operator in ("in", "=", "==")
    return Requirement(key, "in" if inside else "notin", tuple(sorted(set(values))))


def _check_key(key: str) -> None:
    for problem in label_key_problems(key):
        raise _unreadable(f"<nil>: Invalid value: {errors.quoted(key)}: {problem}")


def _one_value(tokens: _Tokens) -> str:
    token = tokens.peek()
    if token in ("", ","):
        return ""
    tokens.take()
    if token in _SYMBOLS:
        raise _unreadable(f"found '{token}', expected: identifier")
    return token


def _values(tokens: _Tokens) -> list[str]:
    token = tokens.take()
    if token != "(":
        raise _unreadable(f"found '{token}' expected: '('")
    values: list[str] = []
    while True:
        token = tokens.take()
        if token == ")":
            return values or [""]
        if token == ",":
            if not values or tokens.peek() in (",", ")"):
                values.append("")
            continue
        if token in _SYMBOLS or token == "":
            raise _unreadable(f"found '{token}', expected: ',', ')' or identifier")
        values.append(token)
        if tokens.peek() not in (",", ")"):
            raise _unreadable(f"found '{tokens.peek()}', expected: ',' or ')'")


def _unreadable(problem: str) -> errors.StatusError:
    return errors.bad_request(f"unable to parse requirement: {problem}")


class FieldTerm(NamedTuple):
    """One condition on one field, compared as text."""

    path: str
    equal: bool
    value: str
    read: Callable[[Object], str]


class Selection(NamedTuple):
    """What a list or watch selects; ``matches`` is asked for every object."""

    labels: tuple[Requirement | Comparison, ...] = ()
    fields: tuple[FieldTerm, ...] = ()

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether an object is selected."""
        if self.labels:
            labels = obj["metadata"].get("labels") or {}
            if not all(one.matches(labels) for one in self.labels):
                return False
        return all((term.read(dict(obj)) == term.value) == term.equal for term in self.fields)

    @property
    def empty(self) -> bool:
        """Whether it selects everything."""
        return not self.labels and not self.fields


def read_selection(label_text: str, field_text: str, kind: ResourceType) -> Selection:
    """Both selectors of a request; raises a 400 with the server's text."""
    return Selection(tuple(read_labels(label_text)), tuple(_fields(field_text, kind)))


def _fields(text: str, kind: ResourceType) -> list[FieldTerm]:
    found: list[FieldTerm] = []
    for part in re.split(r"(?<!\\),", text):
        if part == "":
            continue
        match = re.match(r"(.*?)(!=|==|=)(.*)\Z", part, re.DOTALL)
        if match is None:
            raise errors.bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        path, operator, value = match[1], match[2], re.sub(r"\\([\\,=])", r"\1", match[3])
        found.append(FieldTerm(path, operator != "!=", value, _reader(path, kind)))
    return found


def _reader(path: str, kind: ResourceType) -> Callable[[Object], str]:
    if path == "metadata.name":
        return lambda obj: str(obj["metadata"].get("name", ""))
    if path == "metadata.namespace" and (kind.namespaced or not kind.custom):
        return lambda obj: str(obj["metadata"].get("namespace", ""))
    if path in kind.selectable:
        return kind.selectable[path]
    if kind.custom or kind.selectable:
        raise errors.bad_request(f"field label not supported: {path}")
    raise errors.bad_request(
        f'{errors.quoted(path)} is not a known field selector: only "metadata.name",'
        ' "metadata.namespace"'
    )
