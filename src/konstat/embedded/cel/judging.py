"""May these rules stand in a CRD: compiled, cheap enough, and with an old value where they ask.

Before: `compiling`, `cost`, `budget`. After: `konstat.embedded.structural.crd_schema`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from konstat.base import limits
from konstat.embedded.cel import parsing
from konstat.embedded.cel.budget import Budget, excess
from konstat.embedded.cel.compiling import CompileError, Expression, compile_message, compile_rule
from konstat.embedded.cel.cost import estimate
from konstat.embedded.cel.declared import REQUEST_BYTES, declared_type
from konstat.embedded.cel.types import Type
from konstat.embedded.status_errors import FieldError
from konstat.embedded.structural import texts
from konstat.embedded.structural.internal_form import rule_text

_RULES: Final = "x-kubernetes-validations"
_NO_TYPE: Final = (
    "internal error: failed to construct type information for x-kubernetes-validations rules:"
    " unable to convert structural schema to CEL declarations"
)


def rule_errors(
    schema: Mapping[str, Any], path: str, *, at_root: bool, budget: Budget, uncorrelated: str
) -> list[FieldError]:
    """Errors of the rules at one node; ``path`` is that of its list of rules.

    ``uncorrelated`` is the path of a list above whose entries have no old value; empty for none.
    The costs of the rules are added to the budget.
    """
    rules: Sequence[Mapping[str, Any]] = schema.get(_RULES) or ()
    if problem := parsing.missing():
        return [
            texts.forbidden(texts.child(texts.index(path, i), "rule"), problem)
            for i in range(len(rules))
        ]
    self_type = declared_type(schema, at_root=at_root)
    if self_type is None:
        return [texts.internal(path, _NO_TYPE)]
    found: list[FieldError] = []
    for position, rule in enumerate(rules):
        judge = _Judge(rule, texts.index(path, position), self_type, budget)
        found += judge.errors(uncorrelated)
    return found


class _Judge:
    """The errors of one rule, in the server's order."""

    def __init__(self, rule: Mapping[str, Any], path: str, self_type: Type, budget: Budget) -> None:
        self._rule = rule
        self._path = path
        self._type = self_type
        self._budget = budget
        self._optional = bool(rule.get("optionalOldSelf"))
        self._found: list[FieldError] = []

    def errors(self, uncorrelated: str) -> list[FieldError]:
        """Every error of the rule and of its message."""
        expression, problem = self._compiled_rule()
        place = texts.child(self._path, "rule")
        self._count(expression, place)
        if problem:
            self._found.append(texts.invalid_raw(place, rule_text(self._rule), problem))
        elif expression is not None:
            self._message()
        self._old_value(uncorrelated, uses_old=expression is not None and expression.uses_old)
        return self._found

    def _compiled_rule(self) -> tuple[Expression | None, str]:
        text = self._rule.get("rule") or ""
        if not text.strip():
            return None, ""
        try:
            return compile_rule(text, self._type, optional_old=self._optional), ""
        except CompileError as error:
            return None, str(error)

    def _count(self, expression: Expression | None, place: str) -> None:
        cost = 0 if expression is None else estimate(expression.checked, self._type)
        cost = self._budget.cost_of_all(cost, REQUEST_BYTES // (self._type.min_size + 1))
        limit = limits.EMBEDDED_RULE_ESTIMATE
        if cost > limit:
            detail = excess("estimated rule cost", cost, limit)
            self._found.append(texts.forbidden(place, detail))
        self._budget.total.add(place, cost)

    def _message(self) -> None:
        text = self._rule.get("messageExpression") or ""
        if not text:
            return
        place = texts.child(self._path, "messageExpression")
        try:
            expression = compile_message(text, self._type, optional_old=self._optional)
        except CompileError as error:
            self._found.append(texts.invalid_raw(place, rule_text(self._rule), str(error)))
            return
        cost, limit = estimate(expression.checked, self._type), limits.EMBEDDED_RULE_ESTIMATE
        if cost > limit:
            detail = excess("estimated messageExpression cost", cost, limit)
            self._found.append(texts.forbidden(place, detail))
        self._budget.total.add(place, cost)

    def _old_value(self, uncorrelated: str, *, uses_old: bool) -> None:
        if uses_old and uncorrelated:
            place = texts.child(self._path, "rule")
            detail = (
                "oldSelf cannot be used on the uncorrelatable portion of the schema within"
                f" {uncorrelated}"
            )
            self._found.append(texts.invalid(place, self._rule.get("rule"), detail))
        if not uses_old and self._rule.get("optionalOldSelf") is not None:
            place = texts.child(self._path, "optionalOldSelf")
            detail = "may not be set if oldSelf is not used in rule"
            self._found.append(texts.invalid(place, self._rule["optionalOldSelf"], detail))
