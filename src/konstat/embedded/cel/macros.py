"""Macros of the server that the parser does not know: loops with two variables, and sortBy.

``list.all(index, value, …)`` and its siblings (cel-go's TwoVarComprehensions) and
``list.sortBy(entry, key)`` arrive as plain calls and become loops here. Before: `tree`. After:
`parsing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from konstat.embedded.cel.tree import (
    Call,
    Comprehension,
    Entry,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Parsed,
    Select,
    walk,
)

ACCU: Final = "@result"
UNUSED: Final = "#unused"
SORT_INPUT: Final = "@__sortBy_input__"
_QUANTIFIERS: Final = ("all", "exists", "existsOne", "exists_one")
_TRANSFORMS: Final = ("transformList", "transformMap", "transformMapEntry")


def expand(parsed: Parsed) -> Parsed:
    """The rule with the macros expanded that the parser left as calls."""
    if not any(isinstance(node, Call) and _is_macro(node) for node in walk(parsed.root)):
        return parsed
    builder = _Builder(parsed)
    root = builder.rebuilt(parsed.root)
    return replace(parsed, root=root, positions=builder.positions)


def _is_macro(call: Call) -> bool:
    if call.target is None:
        return False
    if call.function in _QUANTIFIERS:
        return len(call.args) == 3
    if call.function in _TRANSFORMS:
        return len(call.args) in (3, 4)
    return call.function == "sortBy" and len(call.args) == 2


class _Builder:
    """Makes nodes with new numbers, at the place of the macro that they come from."""

    def __init__(self, parsed: Parsed) -> None:
        self.positions = dict(parsed.positions)
        self._next = max((node.id for node in walk(parsed.root)), default=0) + 1
        self._offset = 0

    def rebuilt(self, node: Node) -> Node:
        """The node with every macro below it expanded."""
        if isinstance(node, Call):
            target = None if node.target is None else self.rebuilt(node.target)
            call = replace(node, target=target, args=tuple(map(self.rebuilt, node.args)))
            return self._expanded(call) if _is_macro(call) else call
        if isinstance(node, Select):
            return replace(node, operand=self.rebuilt(node.operand))
        if isinstance(node, ListNode):
            return replace(node, elements=tuple(map(self.rebuilt, node.elements)))
        if isinstance(node, MapNode):
            return replace(node, entries=tuple(map(self._entry, node.entries)))
        if isinstance(node, Comprehension):
            parts = {
                name: self.rebuilt(getattr(node, name))
                for name in ("range", "init", "condition", "step", "result")
            }
            return replace(node, **parts)
        return node

    def _entry(self, entry: Entry) -> Entry:
        key = entry.key if isinstance(entry.key, str) else self.rebuilt(entry.key)
        return replace(entry, key=key, value=self.rebuilt(entry.value))

    def _expanded(self, call: Call) -> Node:
        assert call.target is not None
        names = [arg.name if isinstance(arg, Ident) else "" for arg in call.args[:2]]
        self._offset = self.positions.get(call.id, 0)
        if call.function == "sortBy":
            return self._sorted(call, call.target, names[0]) if names[0] else call
        if not all(names) or names[0] == names[1]:
            return call
        if call.function in _QUANTIFIERS:
            return self._quantified(call, call.target, names)
        return self._transformed(call, call.target, names)

    def _id(self) -> int:
        self._next += 1
        self.positions[self._next] = self._offset
        return self._next

    def _literal(self, value: bool | int) -> Literal:
        return Literal(self._id(), value)

    def _name(self, name: str) -> Ident:
        return Ident(self._id(), name)

    def _call(self, function: str, *args: Node) -> Call:
        return Call(self._id(), function, None, args)

    def _loop(
        self, target: Node, names: list[str], init: Node, condition: Node, step: Node, result: Node
    ) -> Comprehension:
        var2 = names[1] if len(names) > 1 else ""
        return Comprehension(
            self._id(), names[0], var2, target, ACCU, init, condition, step, result
        )

    def _quantified(self, call: Call, target: Node, names: list[str]) -> Node:
        predicate, accu = call.args[2], self._name(ACCU)
        if call.function in ("all", "exists"):
            every = call.function == "all"
            going: Node = self._name(ACCU)
            if not every:
                going = self._call("!_", going)
            condition = self._call("@not_strictly_false", going)
            step = self._call("_&&_" if every else "_||_", accu, predicate)
            init, result = self._literal(every), self._name(ACCU)
            return self._loop(target, names, init, condition, step, result)
        more = self._call("_+_", accu, self._literal(1))
        step = self._call("_?_:_", predicate, more, self._name(ACCU))
        once = self._call("_==_", self._name(ACCU), self._literal(1))
        init, condition = self._literal(0), self._literal(True)
        return self._loop(target, names, init, condition, step, once)

    def _transformed(self, call: Call, target: Node, names: list[str]) -> Node:
        transform = call.args[-1]
        init: Node
        if call.function == "transformList":
            init = ListNode(self._id(), (), frozenset())
            one = ListNode(self._id(), (transform,), frozenset())
            step = self._call("_+_", self._name(ACCU), one)
        else:
            init = MapNode(self._id(), (), "")
            key = [self._name(names[0])] if call.function == "transformMap" else []
            step = self._call("cel.@mapInsert", self._name(ACCU), *key, transform)
        if len(call.args) == 4:
            step = self._call("_?_:_", call.args[2], step, self._name(ACCU))
        return self._loop(target, names, init, self._literal(True), step, self._name(ACCU))

    def _sorted(self, call: Call, target: Node, name: str) -> Node:
        one = ListNode(self._id(), (call.args[1],), frozenset())
        step = self._call("_+_", self._name(ACCU), one)
        empty = ListNode(self._id(), (), frozenset())
        keys = self._loop(
            self._name(SORT_INPUT), [name], empty, self._literal(True), step, self._name(ACCU)
        )
        result = Call(self._id(), "@sortByAssociatedKeys", self._name(SORT_INPUT), (keys,))
        nothing = ListNode(self._id(), (), frozenset())
        return Comprehension(
            self._id(),
            UNUSED,
            "",
            nothing,
            SORT_INPUT,
            target,
            self._literal(False),
            self._name(SORT_INPUT),
            result,
        )


def variables(node: Comprehension) -> Iterator[str]:
    """The names that a loop gives to an entry."""
    yield node.var
    if node.var2:
        yield node.var2
