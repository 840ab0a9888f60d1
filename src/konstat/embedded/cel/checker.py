"""Types of every part of a rule, or the errors for which the server refuses it.

A port of what CEL's type checker does, in its words: undefined fields, undeclared references,
functions without a matching overload, mixed lists. Before: `parsing`, `declared`, `signatures`.
After: `cost`, `judging`, `rules`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from konstat.embedded.cel import types
from konstat.embedded.cel.declared import RESERVED
from konstat.embedded.cel.parsing import located
from konstat.embedded.cel.signatures import IDENTIFIERS, LACKING, Overload, functions
from konstat.embedded.cel.tree import (
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Parsed,
    Select,
    Uint,
    qualified_name,
)
from konstat.embedded.cel.types import Type

_LITERALS: Final[Mapping[type, Type]] = {
    bool: types.BOOL,
    int: types.INT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    Uint: types.UINT,
    type(None): types.NULL,
}
_TYPE_NAMES: Final = {
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "google.protobuf.Duration": types.DURATION,
    "null_type": types.NULL,
    "list": types.list_of(types.DYN),
    "map": types.map_of(types.DYN, types.DYN),
    "optional_type": types.optional_of(types.DYN),
}


class CheckError(ValueError):
    """A rule that does not type-check; the message holds all errors, as the server shows them."""


class Checked:
    """A rule with the types of its nodes and the overloads of its calls."""

    def __init__(
        self,
        parsed: Parsed,
        result: Type,
        node_types: Mapping[int, Type],
        overloads: Mapping[int, tuple[str, ...]],
        names: frozenset[str],
        calls: Mapping[int, str],
    ) -> None:
        self.parsed = parsed
        self.result = result
        self.types = node_types
        self.overloads = overloads
        self.names = names
        self.calls = calls


def check(parsed: Parsed, variables: Mapping[str, Type]) -> Checked:
    """The types of a rule; raises CheckError with every error in it.

    ``names`` of the result are the variables that the rule refers to; ``calls`` the full names of
    functions with a namespace (``sets.contains``), whose target is part of the name.
    """
    checker = _Checker(parsed, variables)
    result = checker.node(parsed.root)
    if errors := checker.errors():
        raise CheckError("\n".join(errors))
    node_types = {
        node_id: types.substitute(checker.mapped, one, rest_dyn=True)
        for node_id, one in checker.types.items()
    }
    result = types.substitute(checker.mapped, result, rest_dyn=True)
    names = frozenset(checker.names)
    return Checked(parsed, result, node_types, checker.overloads, names, checker.calls)


class _Checker:
    def __init__(self, parsed: Parsed, variables: Mapping[str, Type]) -> None:
        self._parsed = parsed
        self._variables = variables
        self._scopes: list[dict[str, Type]] = []
        self._fresh = 0
        self.mapped: types.Mapped = {}
        self.types: dict[int, Type] = {}
        self.overloads: dict[int, tuple[str, ...]] = {}
        self.names: set[str] = set()
        self.calls: dict[int, str] = {}
        self._problems: list[tuple[int, str]] = []

    def errors(self) -> list[str]:
        """The errors in the order of their places, as the server shows them."""
        ordered = sorted(self._problems, key=lambda problem: problem[0])
        return [located(self._parsed.text, offset, problem) for offset, problem in ordered]

    def _report(self, node_id: int, problem: str) -> None:
        self._problems.append((self._parsed.positions.get(node_id, 0), problem))

    def node(self, node: Node) -> Type:
        """The type of a node, kept under its number."""
        found = self._node(node)
        self.types[node.id] = found
        return found

    def _node(self, node: Node) -> Type:
        if isinstance(node, Literal):
            return _LITERALS[type(node.value)]
        if isinstance(node, Ident):
            return self._ident(node)
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListNode):
            return self._list(node)
        if isinstance(node, MapNode):
            return self._map(node)
        return self._comprehension(node)

    # --- names and fields ---------------------------------------------------------------------

    def _lookup(self, name: str) -> Type | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        if name in self._variables:
            self.names.add(name)
            return self._variables[name]
        if name in IDENTIFIERS:
            return types.type_of(_TYPE_NAMES.get(name) or types.parse_type(name))
        return None

    def _ident(self, node: Ident) -> Type:
        found = self._lookup(node.name)
        if found is None:
            self._undeclared(node.id, node.name)
            return types.ERROR
        return found

    def _undeclared(self, node_id: int, name: str) -> None:
        self._report(node_id, f"undeclared reference to '{name}' (in container '')")

    def _select(self, node: Select) -> Type:
        if not node.test and (name := qualified_name(node)):
            found = self._lookup(name)
            if found is not None:
                return found
        result = self._field(node.id, node.operand, node.field, optional=False)
        return types.BOOL if node.test else types.substitute(self.mapped, result)

    def _field(self, node_id: int, operand: Node, field: str, *, optional: bool) -> Type:
        given = types.substitute(self.mapped, self.node(operand))
        target, was_optional = types.unwrap_optional(given)
        result = self._field_of(node_id, target, field)
        return types.optional_of(result) if optional or was_optional else result

    def _field_of(self, node_id: int, target: Type, field: str) -> Type:
        if target.kind == "map":
            return target.params[1]
        if target.kind == "object":
            found = target.fields.get(field)
            if found is None and field in RESERVED:
                found = target.fields.get(f"__{field}__")
            if found is None:
                self._report(node_id, f"undefined field '{field}'")
                return types.ERROR
            return found
        if target.kind == "parameter":
            self._agree(types.DYN, target)
        elif target.kind not in ("dyn", "!error!"):
            self._report(node_id, f"type '{target}' does not support field selection")
        return types.DYN

    # --- calls --------------------------------------------------------------------------------

    def _call(self, node: Call) -> Type:
        if node.function == "_?._":
            return self._optional_select(node)
        for arg in node.args:
            self.node(arg)
        if node.target is None:
            return self._resolved(node, node.function, None)
        if prefix := qualified_name(node.target):
            name = f"{prefix}.{node.function}"
            if name in functions():
                self.calls[node.id] = name
                return self._resolved(node, name, None)
        self.node(node.target)
        return self._resolved(node, node.function, node.target)

    def _optional_select(self, node: Call) -> Type:
        field = node.args[1] if len(node.args) == 2 else None
        if not isinstance(field, Literal) or not isinstance(field.value, str):
            self._report(node.id, "unsupported optional field selection")
            return types.ERROR
        self.types[field.id] = types.STRING
        self.overloads[node.id] = ("select_optional_field",)
        result = self._field(node.id, node.args[0], field.value, optional=True)
        return types.substitute(self.mapped, result)

    def _resolved(self, node: Call, name: str, target: Node | None) -> Type:
        overloads = functions().get(name)
        if overloads is None:
            given = [self.types[one.id] for one in ([target] if target else []) + list(node.args)]
            if name in LACKING and types.ERROR in given:
                return types.ERROR
            if name in LACKING:
                problem = f"the embedded Kubernetes API does not have the function '{name}'"
                self._report(node.id, problem)
            else:
                self._undeclared(node.id, name)
            return types.ERROR
        if name in ("_&&_", "_||_"):
            return self._logical(node, overloads[0])
        given = [self.types[one.id] for one in ([target] if target else []) + list(node.args)]
        result: Type | None = None
        matching: list[str] = []
        for overload in overloads:
            if overload.member is not (target is not None):
                continue
            found = self._match(overload, given)
            if found is None:
                continue
            matching.append(overload.id)
            if result is None:
                result = found
            elif result.kind != "dyn" and result != found:
                result = types.DYN
        if result is None:
            self._no_overload(node, name, given, member=target is not None)
            return types.ERROR
        self.overloads[node.id] = tuple(matching)
        return result

    def _no_overload(self, node: Call, name: str, given: Sequence[Type], *, member: bool) -> None:
        shown = [str(types.substitute(self.mapped, one, rest_dyn=True)) for one in given]
        prefix = f"{shown.pop(0)}." if member else ""
        applied = f"{prefix}({', '.join(shown)})"
        problem = f"found no matching overload for '{name}' applied to '{applied}'"
        self._report(node.id, problem)

    def _logical(self, node: Call, overload: Overload) -> Type:
        bad = False
        for arg in node.args:
            if not self._agree(self.types[arg.id], types.BOOL):
                self._mismatch(arg, types.BOOL, self.types[arg.id])
                bad = True
        self.overloads[node.id] = (overload.id,)
        return types.ERROR if bad else types.BOOL

    def _match(self, overload: Overload, given: Sequence[Type]) -> Type | None:
        """The result of an overload for arguments of these types, or None."""
        fresh: types.Mapped = {}
        params = [self._instance(one, fresh) for one in overload.params]
        mapped = types.assignable_all(self.mapped, given, params)
        if mapped is None:
            return None
        self.mapped = mapped
        return types.substitute(mapped, self._instance(overload.result, fresh))

    def _instance(self, given: Type, fresh: types.Mapped) -> Type:
        """A type of a signature with its parameters made new."""
        if given.kind == "parameter":
            if given not in fresh:
                fresh[given] = self._variable()
            return fresh[given]
        if not given.params:
            return given
        params = tuple(self._instance(one, fresh) for one in given.params)
        return Type(given.kind, params, given.name)

    def _variable(self) -> Type:
        self._fresh += 1
        return types.parameter(f"_var{self._fresh - 1}")

    def _agree(self, left: Type, right: Type) -> bool:
        mapped = types.assignable(self.mapped, left, right)
        if mapped is None:
            return False
        self.mapped = mapped
        return True

    def _mismatch(self, node: Node, expected: Type, actual: Type) -> None:
        self._report(node.id, f"expected type '{expected}' but found '{actual}'")

    # --- lists, maps and loops ----------------------------------------------------------------

    def _list(self, node: ListNode) -> Type:
        joined: Type | None = None
        for position, element in enumerate(node.elements):
            found = self._element(element, optional=position in node.optional)
            joined = self._joined(joined, found)
        return types.list_of(joined or self._variable())

    def _element(self, element: Node, *, optional: bool) -> Type:
        found = self.node(element)
        if not optional:
            return found
        inner, was_optional = types.unwrap_optional(found)
        if not was_optional and inner.kind != "dyn":
            self._mismatch(element, types.optional_of(inner), inner)
        return inner

    def _map(self, node: MapNode) -> Type:
        if node.message:
            self._undeclared(node.id, node.message)
            return types.ERROR
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            if isinstance(entry.key, str):
                continue
            keys = self._joined(keys, self.node(entry.key))
            found = self._element(entry.value, optional=entry.optional)
            values = self._joined(values, found)
        if keys is None or values is None:
            return types.map_of(self._variable(), self._variable())
        return types.map_of(keys, values)

    def _joined(self, previous: Type | None, current: Type) -> Type:
        """The common type of the entries so far."""
        if previous is None:
            return current
        if self._agree(previous, current):
            return types.most_general(previous, current)
        return types.DYN  # `literal_checks` says whether the types may be mixed

    def _comprehension(self, node: Comprehension) -> Type:
        self.node(node.range)
        accu = self.node(node.init)
        over = types.substitute(self.mapped, self.types[node.range.id])
        first, second = self._entry_types(node, over)
        self._scopes.append({node.accu: accu})
        self._scopes.append({node.var: first} | ({node.var2: second} if node.var2 else {}))
        self._assert_type(node.condition, types.BOOL)
        self._assert_type(node.step, accu)
        self._scopes.pop()
        result = self.node(node.result)
        self._scopes.pop()
        return types.substitute(self.mapped, result)

    def _assert_type(self, node: Node, expected: Type) -> None:
        found = self.node(node)
        if not self._agree(expected, found):
            self._mismatch(node, expected, found)

    def _entry_types(self, node: Comprehension, over: Type) -> tuple[Type, Type]:
        """The types of the one or two variables of a loop."""
        if over.kind == "list":
            entry = over.params[0]
            return (types.INT, entry) if node.var2 else (entry, entry)
        if over.kind == "map":
            return over.params[0], over.params[1]
        if over.kind in ("dyn", "!error!", "parameter"):
            self._agree(types.DYN, over)
            return types.DYN, types.DYN
        problem = (
            f"expression of type '{over}' cannot be range of a comprehension (must be list, map,"
            " or dynamic)"
        )
        self._report(node.range.id, problem)
        return types.ERROR, types.ERROR
