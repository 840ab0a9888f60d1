"""Regular expressions of schemas and rules, with the meaning that they have on the server (RE2).

`konstat.objects.pattern` translates what Python and RE2 read alike; this module adds the named
classes and groups that only RE2 knows, gives RE2's own errors for the common mistakes, and
refuses by name what is left. Before: `konstat.objects.pattern`. After: `validation`, `crd_schema`,
`konstat.embedded.cel`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from konstat.base import limits
from konstat.objects.pattern import python_pattern

_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_NAMED_CLASS: Final = re.compile(r"\[:([a-z]+):\]")
_NAMED_GROUP: Final = re.compile(r"\(\?<([A-Za-z_][A-Za-z0-9_]*)>")
_LOOK: Final = re.compile(r"\(\?(?:[=!>#]|<[=!])")
_NESTED_REPEAT: Final = re.compile(r"[*+?](?:\?[*+?]|[*+])")
_BACK_REFERENCE: Final = re.compile(r"\\[1-9]")


class PatternError(ValueError):
    """An expression that cannot be used; ``known_bad`` when the server refuses it as well."""

    def __init__(self, message: str, *, known_bad: bool) -> None:
        super().__init__(message)
        self.known_bad = known_bad


@lru_cache(maxsize=limits.EMBEDDED_PATTERNS)
def compiled(expression: str) -> re.Pattern[str]:
    """The expression, ready to ``search`` with; raises PatternError."""
    if problem := _syntax_problem(expression):
        raise PatternError(f"error parsing regexp: {problem}", known_bad=True)
    rewritten = _NAMED_GROUP.sub(r"(?P<\1>", _NAMED_CLASS.sub(_class_text, expression))
    try:
        return re.compile(python_pattern(rewritten))
    except ValueError as error:
        raise PatternError(
            f"the embedded Kubernetes API cannot use this regular expression: {error}",
            known_bad=False,
        ) from error


def _class_text(match: re.Match[str]) -> str:
    return _CLASSES.get(match[1], match[0])


def _syntax_problem(expression: str) -> str:
    """RE2's complaint about an expression that it refuses, for the mistakes that people make."""
    depth, position, may_repeat = 0, 0, False
    while position < len(expression):
        character = expression[position]
        if character == "\\":
            if position + 1 == len(expression):
                return "trailing backslash at end of expression: ``"
            if _BACK_REFERENCE.match(expression, position):
                return f"invalid escape sequence: `{expression[position : position + 2]}`"
            position += 2
            may_repeat = True
            continue
        if character == "[":
            end = _class_end(expression, position)
            if end < 0:
                return f"missing closing ]: `{expression[position:]}`"
            position, may_repeat = end, True
            continue
        if look := _LOOK.match(expression, position):
            return f"invalid or unsupported Perl syntax: `{look[0]}`"
        if character == "(":
            depth += 1
        elif character == ")":
            if depth == 0:
                return f"unexpected ): `{expression}`"
            depth -= 1
        elif character in "*+?":
            if not may_repeat:
                return f"missing argument to repetition operator: `{character}`"
            if nested := _NESTED_REPEAT.match(expression, position):
                return f"invalid nested repetition operator: `{nested[0]}`"
        may_repeat = character not in "(|"
        if character == "(" and expression.startswith("?", position + 1):
            position += 1
        position += 1
    return f"missing closing ): `{expression}`" if depth else ""


def _class_end(expression: str, start: int) -> int:
    """The position behind a bracket expression, or -1."""
    position = start + 1
    if expression.startswith("^", position):
        position += 1
    first = True
    while position < len(expression):
        if expression[position] == "\\":
            position += 2
        elif named := _NAMED_CLASS.match(expression, position):
            position = named.end()
        elif expression[position] == "]" and not first:
            return position + 1
        else:
            position += 1
        first = False
    return -1
