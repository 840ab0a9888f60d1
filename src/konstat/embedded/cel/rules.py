"""`Rules`: the rules of a schema, ready to check objects and their updates (C51 to C54).

A rule sees the value of its own node as ``self``, and the stored one as ``oldSelf`` where there
is one: members by name, entries of list maps by their keys. Rules without ``oldSelf`` do not
block what is unchanged. Before: `compiling`, `evaluator`. After: `konstat.embedded.structural`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from konstat.base import limits
from konstat.embedded.cel.compiling import CompileError, compile_message, compile_rule
from konstat.embedded.cel.declared import declared_type, with_meta
from konstat.embedded.cel.evaluator import CostExceeded, Program
from konstat.embedded.cel.types import Type
from konstat.embedded.cel.values import NO_OVERLOAD, CelError, Optional, Value, from_json
from konstat.embedded.status_errors import FieldError
from konstat.embedded.structural import texts
from konstat.embedded.structural.correlation import Correlated, ListMap, Schema
from konstat.embedded.structural.field_paths import FieldPathError, resolve_field_path

_RULES: Final = "x-kubernetes-validations"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_MESSAGE_BYTES: Final = 5 * 1024
_SPENT: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)


class _OutOfBudget(Exception):
    """No further rule is run for this object."""


@dataclass(frozen=True)
class _Rule:
    """One rule, compiled; ``problem`` is why it cannot run."""

    text: str
    message: str
    reason: str | None
    field_path: str
    optional_old: bool
    program: Program | None = None
    message_program: Program | None = None
    uses_old: bool = False
    problem: str = ""

    @property
    def shown(self) -> str:
        """The rule in messages: its own message, or its text."""
        return self.message.strip() or self.text.strip()

    @property
    def default_message(self) -> str:
        """What is said when the rule does not hold and has no message of its own."""
        return self.message.strip() or f"failed rule: {self.text.strip()}"


@dataclass(frozen=True)
class _Node:
    """The rules of one schema node and of those below it that have any."""

    schema: Schema
    kind: str
    rules: tuple[_Rule, ...] = ()
    properties: Mapping[str, _Node] = field(default_factory=dict)
    others: _Node | None = None
    items: _Node | None = None


class _Trail(NamedTuple):
    """Old values for ratcheting: of this place, and of the nearest place above that has one."""

    here: Correlated | None = None
    above: Correlated | None = None

    def member(self, name: str) -> _Trail:
        if self.here is None:
            return self
        if self.above is None and name in ("apiVersion", "kind"):
            return _Trail()
        return _Trail(self.here.member(name), self.here)

    def entry(self, position: int) -> _Trail:
        return self if self.here is None else _Trail(self.here.entry(position), self.here)

    def unchanged(self) -> bool:
        nearest = self.here or self.above
        return nearest is not None and nearest.unchanged()


class Rules:
    """The compiled rules of a schema; made with `compile`."""

    def __init__(self, root: _Node) -> None:
        self._root = root

    @staticmethod
    def compile(schema: Schema, *, at_root: bool = True) -> Rules | None:
        """The rules of a schema, or None when it has none.

        ``at_root``: the schema is that of a whole object. The rules of a CRD that was accepted
        compile; others become errors of every object that they meet.
        """
        root = _node(schema, at_root=at_root)
        return None if root is None else Rules(root)

    def check(
        self,
        obj: Any,
        old: Any = None,
        *,
        path: str = "",
        correlated: Correlated | None = None,
    ) -> list[FieldError]:
        """The errors of an object, or of its update from ``old``.

        ``correlated`` lets unchanged values break rules (an update); None for a creation.
        """
        run = _Run()
        try:
            run.node(self._root, obj, old, path, _Trail(correlated))
        except _OutOfBudget:
            return run.errors
        return run.errors


def _node(schema: Schema, *, at_root: bool) -> _Node | None:
    if not _has_rules(schema):
        return None
    self_type = declared_type(schema, at_root=at_root)
    if self_type is None:
        return None
    rules = tuple(_rule(rule, schema, self_type) for rule in schema.get(_RULES) or ())
    properties: dict[str, _Node] = {}
    for name, inner in (schema.get("properties") or {}).items():
        made = _node(inner, at_root=bool(inner.get(_EMBEDDED)))
        if made is not None:
            properties[name] = made
    inner_nodes = [
        _node(inner, at_root=bool(inner.get(_EMBEDDED))) if isinstance(inner, Mapping) else None
        for inner in (schema.get("additionalProperties"), schema.get("items"))
    ]
    shown = with_meta(schema) if at_root else schema
    kind = schema.get("type") or ""
    return _Node(shown, kind, rules, properties, inner_nodes[0], inner_nodes[1])


def _has_rules(schema: Schema) -> bool:
    if schema.get(_RULES):
        return True
    inner = [schema.get("items"), schema.get("additionalProperties")]
    inner += (schema.get("properties") or {}).values()
    return any(isinstance(one, Mapping) and _has_rules(one) for one in inner)


def _rule(rule: Mapping[str, Any], schema: Schema, self_type: Type) -> _Rule:
    text = rule.get("rule") or ""
    optional_old = bool(rule.get("optionalOldSelf"))
    made = _Rule(
        text=text,
        message=rule.get("message") or "",
        reason=rule.get("reason"),
        field_path=_normalized(rule.get("fieldPath") or "", schema),
        optional_old=optional_old,
    )
    if not text.strip():
        return made
    try:
        expression = compile_rule(text, self_type, optional_old=optional_old)
    except CompileError as error:
        return replace(made, problem=str(error))
    made = replace(made, program=expression.program, uses_old=expression.uses_old)
    if message := rule.get("messageExpression"):
        try:
            compiled = compile_message(message, self_type, optional_old=optional_old)
        except CompileError:
            return made  # the server falls back to the plain message too
        return replace(made, message_program=compiled.program)
    return made


def _normalized(path: str, schema: Schema) -> str:
    if not path:
        return ""
    try:
        return resolve_field_path(path, schema).path
    except FieldPathError:
        return ""


class _Run:
    """One check of one object: what is left of its budget, and the errors so far."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self._left = limits.EMBEDDED_RULES_COST

    def node(self, node: _Node, value: Any, old: Any, path: str, trail: _Trail) -> None:
        """The rules at and below one place; null is judged by the place above only."""
        if value is None:
            return
        self._rules(node, value, old, path, trail)
        if isinstance(value, list) and node.items is not None:
            known = ListMap(node.schema, old)
            for position, entry in enumerate(value):
                place = texts.index(path, position)
                self.node(node.items, entry, known.get(entry), place, trail.entry(position))
        elif isinstance(value, dict):
            self._members(node, value, old if isinstance(old, dict) else {}, path, trail)

    def _members(
        self, node: _Node, value: dict[str, Any], old: dict[str, Any], path: str, trail: _Trail
    ) -> None:
        for name in sorted(value):
            inner = trail.member(name)
            if node.others is not None:
                place = texts.key(path, name)
                self.node(node.others, value[name], old.get(name), place, inner)
            if name in node.properties:
                place = texts.child(path, name)
                self.node(node.properties[name], value[name], old.get(name), place, inner)

    def _rules(self, node: _Node, value: Any, old: Any, path: str, trail: _Trail) -> None:
        if not node.rules:
            return
        if self._left <= 0:
            self.errors.append(texts.invalid(path, node.kind, _SPENT))
            raise _OutOfBudget
        variables = {"self": _seen(value, node.schema)}
        if old is not None:
            variables["oldSelf"] = _seen(old, node.schema)
        for rule in node.rules:
            if rule.problem:
                detail = f"rule compile error: {rule.problem}"
                self.errors.append(texts.invalid(path, node.kind, detail))
            elif rule.program is not None and not (
                rule.uses_old and old is None and not rule.optional_old
            ):
                self._one(rule, node, value, variables, path, trail)

    def _one(
        self,
        rule: _Rule,
        node: _Node,
        value: Any,
        variables: Mapping[str, Value],
        path: str,
        trail: _Trail,
    ) -> None:
        assert rule.program is not None
        given = dict(variables)
        if rule.optional_old:
            given["oldSelf"] = Optional(given["oldSelf"]) if "oldSelf" in given else Optional()
        try:
            holds = self._evaluate(rule.program, given)
        except CelError as error:
            self.errors.append(texts.invalid(path, node.kind, _runtime_problem(error, rule)))
            return
        except CostExceeded as error:
            detail = (
                "'operation cancelled: actual cost limit exceeded': no further validation rules"
                f" will be run due to call cost exceeds limit for rule: {rule.shown}"
            )
            self.errors.append(texts.invalid(path, node.kind, detail))
            raise _OutOfBudget from error
        if holds is True:
            return
        place = texts.child(path, rule.field_path) if rule.field_path else path
        message = self._message(rule, variables) or rule.default_message
        if rule.uses_old or not trail.unchanged():
            self.errors.append(_failure(rule, node.kind, value, place, message))

    def _evaluate(self, program: Program, variables: Mapping[str, Value]) -> Value:
        limit = min(limits.EMBEDDED_RULE_COST, self._left)
        result, cost = program.evaluate(variables, limit=limit)
        self._left -= cost
        return result

    def _message(self, rule: _Rule, variables: Mapping[str, Value]) -> str:
        """What the message expression says, if that is usable: one line of a fair length."""
        if rule.message_program is None:
            return ""
        try:
            found = self._evaluate(rule.message_program, variables)
        except (CelError, CostExceeded):
            return ""
        text = found.strip() if isinstance(found, str) else ""
        usable = len(text.encode()) <= _MESSAGE_BYTES and not re.search(r"\n", text)
        return text if usable else ""


def _seen(value: Any, schema: Schema) -> Value:
    """The value as rules see it; data that does not fit is an error when a rule looks at it."""
    try:
        return from_json(value, schema)
    except CelError as error:
        return error


def _runtime_problem(error: CelError, rule: _Rule) -> str:
    if str(error).startswith(NO_OVERLOAD):
        return (
            f"'{error}': call arguments did not match a supported operator, function or macro"
            f" signature for rule: {rule.shown}"
        )
    return f"{error} evaluating rule: {rule.shown}"


def _failure(rule: _Rule, kind: str, value: Any, path: str, message: str) -> FieldError:
    compound = kind in ("object", "array")
    if rule.reason == texts.FORBIDDEN:
        return texts.forbidden(path, message)
    if rule.reason == texts.REQUIRED:
        return texts.required(path, message)
    if rule.reason == texts.DUPLICATE:
        return texts.duplicate_unshown(path) if compound else texts.duplicate(path, value)
    if compound:
        return texts.invalid_unshown(path, message)
    return texts.invalid(path, value, message)
