"""A rule as a tree of expressions, as cel-expr-python parses it, macros expanded.

Every node has the number by which types and positions are kept, as in CEL's own format. Before:
nothing. After: `wire`, `macros`, `checker`, `cost`, `evaluator`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, Union

Scalar: TypeAlias = bool | int | float | str | bytes | None


@dataclass(frozen=True, slots=True)
class Uint:
    """An unsigned integer, which CEL tells from a signed one."""

    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant."""

    id: int
    value: Scalar | Uint


@dataclass(frozen=True, slots=True, eq=False)
class Ident:
    """A name."""

    id: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    """``operand.field``, or with ``test`` the macro ``has(operand.field)``."""

    id: int
    operand: Node
    field: str
    test: bool


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A function or operator; ``target`` is what stands before the point."""

    id: int
    function: str
    target: Node | None
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ListNode:
    """A list; ``optional`` are the positions marked with a question mark."""

    id: int
    elements: tuple[Node, ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One member of a map, or one field of a message."""

    id: int
    key: Node | str
    value: Node
    optional: bool


@dataclass(frozen=True, slots=True, eq=False)
class MapNode:
    """A map, or with ``message`` the construction of a message."""

    id: int
    entries: tuple[Entry, ...]
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Comprehension:
    """A loop over a list or map, which macros become; ``var2`` is empty in most."""

    id: int
    var: str
    var2: str
    range: Node
    accu: str
    init: Node
    condition: Node
    step: Node
    result: Node


Node: TypeAlias = Union[Literal, Ident, Select, Call, ListNode, MapNode, Comprehension]  # noqa: UP007


@dataclass(frozen=True, slots=True)
class Parsed:
    """A whole rule: its text, its tree and where each node begins (in characters)."""

    text: str
    root: Node
    positions: dict[int, int]

    def place(self, node_id: int) -> tuple[int, int]:
        """Line and column of a node, both from 1; (0, 0) when it has none."""
        offset = self.positions.get(node_id)
        if offset is None:
            return 0, 0
        before = self.text[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below one."""
    if isinstance(node, Select):
        yield node.operand
    elif isinstance(node, Call):
        if node.target is not None:
            yield node.target
        yield from node.args
    elif isinstance(node, ListNode):
        yield from node.elements
    elif isinstance(node, MapNode):
        for entry in node.entries:
            if not isinstance(entry.key, str):
                yield entry.key
            yield entry.value
    elif isinstance(node, Comprehension):
        yield from (node.range, node.init, node.condition, node.step, node.result)


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it."""
    yield node
    for inner in children(node):
        yield from walk(inner)


def qualified_name(node: Node) -> str:
    """``a.b.c`` for selections of names, else an empty text."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test:
        outer = qualified_name(node.operand)
        return f"{outer}.{node.field}" if outer else ""
    return ""
