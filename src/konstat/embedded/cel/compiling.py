"""One expression from its text to something that runs, or the server's words for what is wrong.

Before: `checker`, `cost`, `evaluator`. After: `judging`, `rules`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from konstat.embedded.cel import types
from konstat.embedded.cel.checker import Checked, CheckError, check
from konstat.embedded.cel.parsing import RuleSyntaxError, UnsupportedRule, located, parse
from konstat.embedded.cel.tree import Call, Literal, walk
from konstat.embedded.cel.types import Type
from konstat.embedded.structural import gotime
from konstat.embedded.structural.patterns import PatternError, compiled


class CompileError(ValueError):
    """An expression that may not stand; the message is the server's detail."""


class Expression(NamedTuple):
    """A checked expression and whether it refers to the old value."""

    checked: Checked
    uses_old: bool


def compile_rule(text: str, self_type: Type, *, optional_old: bool) -> Expression:
    """A rule over a value of ``self_type``; raises CompileError."""
    expression = _compiled(text, self_type, optional_old, "compilation failed: ")
    if expression.checked.result != types.BOOL:
        raise CompileError("cel expression must evaluate to a bool")
    return expression


def compile_message(text: str, self_type: Type, *, optional_old: bool) -> Expression:
    """A messageExpression over a value of ``self_type``; raises CompileError."""
    prefix = "messageExpression compilation failed: "
    expression = _compiled(text, self_type, optional_old, prefix)
    if expression.checked.result != types.STRING:
        raise CompileError("messageExpression must evaluate to a string")
    return expression


def _compiled(text: str, self_type: Type, optional_old: bool, prefix: str) -> Expression:
    old = types.optional_of(self_type) if optional_old else self_type
    try:
        parsed = parse(text)
        checked = check(parsed, {"self": self_type, "oldSelf": old})
    except (RuleSyntaxError, CheckError) as error:
        raise CompileError(f"{prefix}{error}") from error
    except UnsupportedRule as error:
        raise CompileError(str(error)) from error
    if problem := _literal_problems(checked):
        raise CompileError(f"{prefix}{problem}")
    if problem := _unusable_pattern(checked):
        raise CompileError(problem)
    return Expression(checked, "oldSelf" in checked.names)


def _literal_problems(checked: Checked) -> str:
    """Durations, timestamps and patterns that are written down are read at once."""
    parsed = checked.parsed
    problems: list[str] = []
    for node in walk(parsed.root):
        if not isinstance(node, Call) or node.function not in _LITERAL_CHECKS or not node.args:
            continue
        argument = node.args[-1] if node.function == "matches" else node.args[0]
        if not isinstance(argument, Literal) or not isinstance(argument.value, str):
            continue
        if not _LITERAL_CHECKS[node.function](argument.value):
            offset = parsed.positions.get(argument.id, 0)
            problems.append(located(parsed.text, offset, f"invalid {node.function} argument"))
    return "\n".join(problems)


def _unusable_pattern(checked: Checked) -> str:
    """A pattern that the server may know and we do not, or that find() cannot use."""
    for node in walk(checked.parsed.root):
        if not isinstance(node, Call) or node.function not in ("matches", "find", "findAll"):
            continue
        for argument in node.args:
            if isinstance(argument, Literal) and isinstance(argument.value, str):
                try:
                    compiled(argument.value)
                except PatternError as error:
                    known = "program instantiation failed: " if error.known_bad else ""
                    return f"{known}{error}"
    return ""


def _is_pattern(text: str) -> bool:
    try:
        compiled(text)
    except PatternError as error:
        return not error.known_bad
    return True


def _is_duration(text: str) -> bool:
    return gotime.parse_go_duration(text) is not None


_LITERAL_CHECKS: Final = {
    "matches": _is_pattern,
    "duration": _is_duration,
    "timestamp": gotime.has_zone,
}
