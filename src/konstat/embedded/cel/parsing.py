"""The text of a rule to its `tree`, by cel-expr-python; and what to say when it is missing.

The library is optional (``konstat[cel]``): `missing` tells whether and why it cannot be used. It
parses only; types and values are judged by the other modules, against Kubernetes' rules. Before:
`wire`, `macros`. After: `judging`, `rules`.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final

from konstat.base import limits
from konstat.embedded.cel.macros import expand
from konstat.embedded.cel.tree import Parsed
from konstat.embedded.cel.wire import WireError, parsed_expression

MISSING: Final = (
    "the embedded Kubernetes API checks rules with the library cel-expr-python, which is not"
    " installed: install konstat[cel]"
)
_PREFIX: Final = "INVALID_ARGUMENT: "
_SUFFIX: Final = " [INVALID_ARGUMENT]"
_DEPTH: Final = "recursion"


class RuleSyntaxError(ValueError):
    """A text that is no rule; the message is that of the server, ``ERROR: <input>:1:5: …``."""


class UnsupportedRule(ValueError):
    """A rule that the server takes and the embedded API does not; the message says why."""


def missing() -> str:
    """Why rules cannot be read at all, or an empty text."""
    return "" if _environment() is not None else MISSING


@cache
def _environment() -> Any:
    """The library's environment, or None without the library; kept for the process."""
    try:
        cel = import_module("cel_expr_python.cel")
        ext_optional = import_module("cel_expr_python.ext.ext_optional")
    except ImportError:
        return None
    return cel.NewEnv(variables={}, extensions=[ext_optional.ExtOptional()])


@lru_cache(maxsize=limits.EMBEDDED_RULES)
def parse(text: str) -> Parsed:
    """The tree of a rule or message expression.

    Raises RuleSyntaxError, and UnsupportedRule for what only the real server can read.
    """
    if len(text) > limits.EMBEDDED_RULE_CHARACTERS:
        raise UnsupportedRule(
            f"the embedded Kubernetes API reads rules of {limits.EMBEDDED_RULE_CHARACTERS}"
            f" characters at most, and this one has {len(text)}"
        )
    environment = _environment()
    if environment is None:
        raise UnsupportedRule(MISSING)
    if "`" in _outside_of_texts(text):
        position = _outside_of_texts(text).index("`")
        problem = "Syntax error: token recognition error at: '`'"
        if text[:position].endswith("."):
            problem = "unsupported syntax: '`'"
        raise RuleSyntaxError(located(text, position, problem))
    try:
        serialized: bytes = environment.compile(text, True).serialize()
    except (RuntimeError, ValueError) as error:
        raise _refusal(str(error)) from error
    try:
        return expand(parsed_expression(serialized, text))
    except (WireError, RecursionError) as error:
        raise UnsupportedRule(
            f"the embedded Kubernetes API cannot read this rule: {error}"
        ) from error


def _refusal(message: str) -> Exception:
    if _DEPTH in message:
        return UnsupportedRule(
            "the embedded Kubernetes API reads rules that are nested 32 levels deep at most:"
            f" {message.removesuffix(_SUFFIX)}"
        )
    return RuleSyntaxError(message.removeprefix(_PREFIX).removesuffix(_SUFFIX))


def located(text: str, offset: int, problem: str) -> str:
    """An error as CEL shows it: place, problem, the line and a mark under the place."""
    before = text[:offset]
    line = before.count("\n") + 1
    column = offset - (before.rfind("\n") + 1)
    shown = text.split("\n")[line - 1].replace("\t", " ")
    # Characters of several bytes are marked by wide signs.
    marks = "".join("." if c.isascii() else "．" for c in shown[:column])
    end = "^" if shown[column : column + 1].isascii() else "＾"
    return f"ERROR: <input>:{line}:{column + 1}: {problem}\n | {shown}\n | {marks}{end}"


def _outside_of_texts(text: str) -> str:
    """The rule with the inside of its string literals blanked, so that positions stay."""
    out = list(text)
    position, quote, raw = 0, "", False
    while position < len(text):
        if quote:
            if text.startswith(quote, position):
                position += len(quote)
                quote = ""
                continue
            escaped = text[position] == "\\" and not raw
            for inside in range(position, min(position + 1 + escaped, len(text))):
                out[inside] = " "
            position += 1 + escaped
            continue
        if text[position] in "'\"":
            triple = text[position] * 3
            quote = triple if text.startswith(triple, position) else text[position]
            raw = text[max(0, position - 2) : position].lower().strip("b").endswith("r")
            position += len(quote)
            continue
        position += 1
    return "".join(out)
