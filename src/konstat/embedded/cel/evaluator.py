"""Runs a checked rule over values, with CEL's treatment of errors and a limit on its cost.

A rule becomes nested Python functions once and is then called for each object. `&&`, `||` and the
loops that macros make can swallow errors, as CEL says; everything else passes them on. Costs are
counted as the server counts them, and a rule that costs too much is stopped. Before: `checker`,
`values`, `dispatch`. After: `rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from konstat.base import limits
from konstat.embedded.cel.checker import Checked
from konstat.embedded.cel.dispatch import find_member, invoke, no_entries
from konstat.embedded.cel.run_costs import call_cost
from konstat.embedded.cel.signatures import IDENTIFIERS
from konstat.embedded.cel.tree import (
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
    qualified_name,
)
from konstat.embedded.cel.values import (
    NO_OVERLOAD,
    CelError,
    ListValue,
    MapValue,
    ObjectValue,
    Optional,
    TypeValue,
    Value,
)

_LIST_BASE: Final = 10
_MAP_BASE: Final = 30


class CostExceeded(Exception):
    """A rule was stopped because it cost more than it may."""


class Scope:
    """The variables of one evaluation and what it has cost so far."""

    __slots__ = ("cost", "limit", "values")

    def __init__(self, values: Mapping[str, Value], limit: int) -> None:
        self.values = dict(values)
        self.cost = 0
        self.limit = limit

    def spend(self, cost: int) -> None:
        """Count a cost; raises CostExceeded above the limit."""
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceeded


Step: TypeAlias = Callable[[Scope], Value]


class Program:
    """A rule that is ready to run.

    Raises CelError for a conversion of a constant that fails (``int('x')``): the server computes
    those when it makes the program.
    """

    def __init__(self, checked: Checked) -> None:
        self._run = _Builder(checked).step(checked.parsed.root)

    def evaluate(self, values: Mapping[str, Value], *, limit: int) -> tuple[Value, int]:
        """The value of the rule and its cost; raises CelError and CostExceeded."""
        scope = Scope(values, limit)
        return self._run(scope), scope.cost


class _Builder:
    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._constants: set[int] = set()

    def step(self, node: Node) -> Step:
        """The function that evaluates a node."""
        if isinstance(node, Literal):
            self._constants.add(node.id)
            value = node.value
            return lambda scope: value
        if isinstance(node, Ident):
            return self._ident(node.name)
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListNode):
            return self._list(node)
        if isinstance(node, MapNode):
            return self._map(node)
        return self._loop(node)

    def _ident(self, name: str) -> Step:
        type_value = TypeValue(_TYPE_VALUES.get(name, name)) if name in IDENTIFIERS else None

        def run(scope: Scope) -> Value:
            scope.spend(1)
            value = scope.values.get(name, type_value)
            if isinstance(value, CelError):
                raise value
            return value

        return run

    def _select(self, node: Select) -> Step:
        if not node.test and (name := qualified_name(node)) in IDENTIFIERS:
            return self._ident(name)
        operand, field = self.step(node.operand), node.field
        if node.test:
            return lambda scope: _present(operand(scope), field)
        counted = self._checked.types[node.operand.id].kind in ("map", "object", "dyn")

        def run(scope: Scope) -> Value:
            value = operand(scope)
            if counted:
                scope.spend(1)
            return _field(value, field)

        return run

    # --- calls --------------------------------------------------------------------------------

    def _call(self, node: Call) -> Step:
        special = _SPECIAL.get(node.function)
        if special is not None:
            return special(self, node)
        name = self._checked.calls.get(node.id, node.function)
        parts = list(node.args)
        if node.target is not None and node.id not in self._checked.calls:
            parts.insert(0, node.target)
        steps = tuple(map(self.step, parts))
        overloads = self._checked.overloads.get(node.id, ())
        if name in _CONVERSIONS and len(parts) == 1 and parts[0].id in self._constants:
            self._constants.add(node.id)
            value = invoke(name, [steps[0](Scope({}, limits.EMBEDDED_RULE_COST))])
            return lambda scope: value

        def run(scope: Scope) -> Value:
            args = [step(scope) for step in steps]
            result = invoke(name, args)
            scope.spend(call_cost(name, overloads, args, result))
            return result

        return run

    def logical(self, node: Call) -> Step:
        """`&&` and `||`: one decisive value is enough, whatever errors the others are."""
        steps = tuple(map(self.step, node.args))
        decisive = node.function == "_||_"

        def run(scope: Scope) -> Value:
            problem: CelError | None = None
            for step in steps:
                try:
                    value = step(scope)
                except CelError as error:
                    problem = problem or error
                    continue
                if value is decisive:
                    return decisive
                if not isinstance(value, bool):
                    problem = problem or CelError(NO_OVERLOAD)
            if problem is not None:
                raise problem
            return not decisive

        return run

    def conditional(self, node: Call) -> Step:
        """`c ? a : b`."""
        condition, yes, no = map(self.step, node.args)

        def run(scope: Scope) -> Value:
            chosen = condition(scope)
            if not isinstance(chosen, bool):
                raise CelError(NO_OVERLOAD)
            return yes(scope) if chosen else no(scope)

        return run

    def not_strictly_false(self, node: Call) -> Step:
        """What loops go on by: anything but false, errors included."""
        (inner,) = map(self.step, node.args)

        def run(scope: Scope) -> Value:
            try:
                return inner(scope) is not False
            except CelError:
                return True

        return run

    def optional_or(self, node: Call) -> Step:
        """`or` and `orValue` of optional values."""
        assert node.target is not None
        target, other = self.step(node.target), self.step(node.args[0])
        unwrap = node.function == "orValue"

        def run(scope: Scope) -> Value:
            value = target(scope)
            if not isinstance(value, Optional):
                return value
            if value.content:
                return value.content[0] if unwrap else value
            return other(scope)

        return run

    def optional_select(self, node: Call) -> Step:
        """`a.?b`."""
        operand, field = self.step(node.args[0]), node.args[1]
        assert isinstance(field, Literal)
        assert isinstance(field.value, str)
        name = field.value

        def run(scope: Scope) -> Value:
            value = operand(scope)
            scope.spend(1)
            return _optional_member(value, name)

        return run

    # --- lists, maps and loops ----------------------------------------------------------------

    def _list(self, node: ListNode) -> Step:
        steps = [(self.step(e), i in node.optional) for i, e in enumerate(node.elements)]
        if not node.optional and all(e.id in self._constants for e in node.elements):
            self._constants.add(node.id)

        def run(scope: Scope) -> Value:
            elements: list[Value] = []
            for step, optional in steps:
                value = step(scope)
                if optional:
                    elements += value.content if isinstance(value, Optional) else [value]
                else:
                    elements.append(value)
            scope.spend(_LIST_BASE)
            return ListValue(elements)

        return run

    def _map(self, node: MapNode) -> Step:
        steps = [
            (self.step(entry.key), self.step(entry.value), entry.optional)
            for entry in node.entries
            if not isinstance(entry.key, str)
        ]
        parts = [part for e in node.entries for part in (e.key, e.value)]
        if all(not isinstance(part, str) and part.id in self._constants for part in parts):
            self._constants.add(node.id)

        def run(scope: Scope) -> Value:
            entries: list[tuple[Value, Value]] = []
            for key, step, optional in steps:
                name, value = key(scope), step(scope)
                if optional and isinstance(value, Optional):
                    entries += [(name, inner) for inner in value.content]
                else:
                    entries.append((name, value))
            scope.spend(_MAP_BASE)
            return MapValue(entries)  # the last of repeated keys wins

        return run

    def _loop(self, node: Comprehension) -> Step:
        over, init, result = self.step(node.range), self.step(node.init), self.step(node.result)
        condition, step = self.step(node.condition), self.step(node.step)
        names = (node.var, node.var2) if node.var2 else (node.var,)

        def run(scope: Scope) -> Value:
            entries = _entries(over(scope), two=len(names) == 2)
            kept = {n: scope.values[n] for n in (*names, node.accu) if n in scope.values}
            scope.values[node.accu] = _or_error(init, scope)
            for entry in entries:
                scope.values.update(zip(names, entry, strict=True))
                if _or_error(condition, scope) is False:
                    break
                scope.values[node.accu] = _or_error(step, scope)
            found = _or_error(result, scope)
            for name in (*names, node.accu):
                scope.values.pop(name, None)
            scope.values.update(kept)
            if isinstance(found, CelError):
                raise found
            return found

        return run


def _or_error(step: Step, scope: Scope) -> Value:
    """The value of a step, or its error as a value: loops carry errors along."""
    try:
        return step(scope)
    except CelError as error:
        return error


def _entries(value: Value, *, two: bool) -> Iterator[tuple[Value, ...]]:
    if isinstance(value, ListValue):
        for index, element in enumerate(_safely(value)):
            yield (index, element) if two else (element,)
    elif isinstance(value, MapValue | ObjectValue):
        for name in value.names():
            yield (name, value.find(name)[0]) if two else (name,)
    else:
        raise no_entries(value, two=two)


def _safely(value: ListValue) -> Iterator[Value]:
    """The entries of a list; one that does not fit its schema is an error when it is used."""
    for index in range(len(value)):
        try:
            yield value.at(index)
        except CelError as error:
            yield error


def _field(value: Value, field: str) -> Value:
    if isinstance(value, Optional):
        return _optional_member(value, field)
    found, present = find_member(value, field)
    if not present:
        raise CelError(f"no such key: {field}")
    return found


def _present(value: Value, field: str) -> bool:
    if isinstance(value, Optional):
        return bool(value.content) and _present(value.content[0], field)
    return find_member(value, field)[1]


def _optional_member(value: Value, field: str) -> Optional:
    if isinstance(value, Optional):
        return _optional_member(value.content[0], field) if value.content else value
    found, present = find_member(value, field)
    return Optional(found) if present else Optional()


_CONVERSIONS: Final = frozenset(
    ("bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "type", "uint")
)
_TYPE_VALUES: Final = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}
_SPECIAL: Final[Mapping[str, Callable[[_Builder, Call], Step]]] = {
    "_&&_": _Builder.logical,
    "_||_": _Builder.logical,
    "_?_:_": _Builder.conditional,
    "@not_strictly_false": _Builder.not_strictly_false,
    "or": _Builder.optional_or,
    "orValue": _Builder.optional_or,
    "_?._": _Builder.optional_select,
}
