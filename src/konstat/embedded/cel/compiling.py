"""One expression from its text to something that runs, or the server's words for what is wrong.

Before: `checker`, `cost`, `evaluator`. After: `judging`, `rules`.
"""

from __future__ import annotations

from typing import NamedTuple

from konstat.embedded.cel import types
from konstat.embedded.cel.checker import Checked, CheckError, check
from konstat.embedded.cel.evaluator import Program
from konstat.embedded.cel.literal_checks import literal_problems
from konstat.embedded.cel.parsing import RuleSyntaxError, UnsupportedRule, parse
from konstat.embedded.cel.tree import Call, Literal, walk
from konstat.embedded.cel.types import Type
from konstat.embedded.cel.values import CelError
from konstat.embedded.structural.patterns import PatternError, compiled


class CompileError(ValueError):
    """An expression that may not stand; the message is the server's detail."""


class Expression(NamedTuple):
    """A checked expression, ready to run, and whether it refers to the old value."""

    checked: Checked
    program: Program
    uses_old: bool


def compile_rule(text: str, self_type: Type, *, optional_old: bool) -> Expression:
    """A rule over a value of ``self_type``; raises CompileError."""
    checked = _checked(text, self_type, optional_old, "compilation failed: ")
    if checked.result != types.BOOL:
        raise CompileError("cel expression must evaluate to a bool")
    return _expression(checked, "program instantiation failed: ")


def compile_message(text: str, self_type: Type, *, optional_old: bool) -> Expression:
    """A messageExpression over a value of ``self_type``; raises CompileError."""
    prefix = "messageExpression compilation failed: "
    checked = _checked(text, self_type, optional_old, prefix)
    if checked.result != types.STRING:
        raise CompileError("messageExpression must evaluate to a string")
    return _expression(checked, "messageExpression instantiation failed: ")


def _checked(text: str, self_type: Type, optional_old: bool, prefix: str) -> Checked:
    old = types.optional_of(self_type) if optional_old else self_type
    try:
        checked = check(parse(text), {"self": self_type, "oldSelf": old})
    except (RuleSyntaxError, CheckError) as error:
        raise CompileError(f"{prefix}{error}") from error
    except UnsupportedRule as error:
        raise CompileError(str(error)) from error
    if problem := literal_problems(checked):
        raise CompileError(f"{prefix}{problem}")
    return checked


def _expression(checked: Checked, prefix: str) -> Expression:
    _require_patterns(checked, prefix)
    try:
        program = Program(checked)
    except CelError as error:
        raise CompileError(f"{prefix}{error}") from error
    return Expression(checked, program, "oldSelf" in checked.names)


def _require_patterns(checked: Checked, prefix: str) -> None:
    """Raise for a pattern that find() cannot use, or that the server may know and we do not."""
    for node in walk(checked.parsed.root):
        if not isinstance(node, Call) or node.function not in ("matches", "find", "findAll"):
            continue
        for argument in node.args:
            if isinstance(argument, Literal) and isinstance(argument.value, str):
                try:
                    compiled(argument.value)
                except PatternError as error:
                    known = prefix if error.known_bad else ""
                    raise CompileError(f"{known}{error}") from error
