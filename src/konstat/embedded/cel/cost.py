"""How expensive a rule can get at most: the server's static estimate, which bounds every rule.

Sizes come from the schema (maxLength, maxItems, maxProperties; without them, what fits into a
request) and costs from CEL's own table, so that a rule is refused here exactly when the server
refuses it. Before: `checker`, `sizes`, `call_costs`. After: `judging`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from konstat.embedded.cel import call_costs
from konstat.embedded.cel.checker import Checked
from konstat.embedded.cel.declared import member_type
from konstat.embedded.cel.macros import ACCU
from konstat.embedded.cel.sizes import UNKNOWN, ZERO, Span, fixed
from konstat.embedded.cel.tree import (
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
    Uint,
    qualified_name,
)
from konstat.embedded.cel.types import Type

_LIST_BASE: Final = 10
_MAP_BASE: Final = 30
_SCALARS: Final = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})
_MOST: Final = 2**64 - 1
Path = tuple[str, ...]


class EntrySize(NamedTuple):
    """Sizes of the keys and of the values of a list or map that a rule builds."""

    container: str
    key: Span
    value: Span

    def union(self, other: EntrySize | None) -> EntrySize | None:
        """What covers both; unknown if one is."""
        if other is None:
            return None
        key, value = self.key.union(other.key), self.value.union(other.value)
        return EntrySize(self.container, key, value)


class _Local(NamedTuple):
    """A variable of a loop: where its value comes from, and how large it is if known."""

    path: Path
    size: Span | None
    entries: EntrySize | None


def estimate(checked: Checked, root: Type) -> int:
    """The cost of a rule in the worst case, in CEL's units; ``root`` is the type of ``self``."""
    return Coster(checked, root).cost(checked.parsed.root).most


class Coster:
    """Walks a rule once; sizes of what it met are kept by the number of the node."""

    def __init__(self, checked: Checked, root: Type) -> None:
        self._checked = checked
        self._root = root
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Span] = {}
        self._entries: dict[int, EntrySize] = {}
        self._locals: dict[str, list[_Local]] = {}

    def cost(self, node: Node) -> Span:
        """The cost of evaluating a node, from the least to the most."""
        if isinstance(node, Literal):
            return ZERO
        if isinstance(node, Ident):
            local = self._local(node.name)
            self._paths[node.id] = local.path if local else (node.name,)
            return fixed(1)
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListNode):
            return self._list(node)
        if isinstance(node, MapNode):
            return self._map(node)
        if self._is_binding(node):
            return self._binding(node)
        return self._loop(node)

    # --- what is known of a node --------------------------------------------------------------

    def type_of(self, node: Node) -> Type:
        """The type of a node."""
        return self._checked.types[node.id]

    def path(self, node: Node) -> Path:
        """Where in the object the value of a node stands; empty when it does not."""
        if isinstance(node, Ident) and (local := self._local(node.name)):
            return local.path
        return self._paths.get(node.id, ())

    def declared(self, path: Path) -> Span | None:
        """The size that the schema allows at a path."""
        if not path or path[0] == ACCU:
            return None
        here: Type | None = self._root
        for name in path[1:]:
            here = member_type(here, name)
            if here is None:
                return None
        return Span(0, here.max_elements)

    def size(self, node: Node) -> Span | None:
        """The size of a value: characters, bytes, entries; 1 for scalars; None if unknown."""
        if node.id in self._sizes:
            return self._sizes[node.id]
        written = _written_size(node)
        if written is not None:
            return written
        declared = self.declared(self.path(node))
        if declared is not None:
            self._sizes[node.id] = declared
            return declared
        if _is_scalar(self.type_of(node)):
            return fixed(1)
        if isinstance(node, Ident) and (local := self._local(node.name)):
            return local.size
        return None

    def size_or_unknown(self, node: Node) -> Span:
        """The same, with the widest span for what is not known."""
        return self.size(node) or UNKNOWN

    def entries(self, node: Node) -> EntrySize | None:
        """Sizes of the entries of a list or map that a rule builds."""
        if node.id in self._entries:
            return self._entries[node.id]
        if isinstance(node, Ident) and (local := self._local(node.name)):
            return local.entries
        return None

    def element_size(self, target: Node) -> tuple[Type, Span] | None:
        """Type and size of the entries of a list; None for what is no list."""
        params = self.type_of(target).params
        if not params:
            return None
        path = self.path(target)
        declared = self.declared((*path, "@items")) if path else None
        return params[0], declared or UNKNOWN

    def _local(self, name: str) -> _Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _push(self, name: str, local: _Local) -> None:
        self._locals.setdefault(name, []).append(local)

    # --- nodes --------------------------------------------------------------------------------

    def _select(self, node: Select) -> Span:
        if node.operand.id not in self._checked.types:
            self._paths[node.id] = (qualified_name(node),)  # a type such as google.protobuf.…
            return fixed(1)
        total = self.cost(node.operand)
        if node.test:
            return total
        self._paths[node.id] = (*self.path(node.operand), node.field)
        counted = self.type_of(node.operand).kind in ("map", "object", "parameter")
        return total.plus(fixed(1)) if counted else total

    def _list(self, node: ListNode) -> Span:
        total, inner = ZERO, Span(_MOST if node.elements else 0, 0)
        for element in node.elements:
            total = total.plus(self.cost(element))
            inner = inner.union(self.size_or_unknown(element))
        self._entries[node.id] = EntrySize("list", fixed(1), inner)
        return total.plus(fixed(_LIST_BASE))

    def _map(self, node: MapNode) -> Span:
        total = ZERO
        keys = values = Span(_MOST if node.entries else 0, 0)
        for entry in node.entries:
            if isinstance(entry.key, str):
                continue
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            keys = keys.union(self.size_or_unknown(entry.key))
            values = values.union(self.size_or_unknown(entry.value))
        self._entries[node.id] = EntrySize("map", keys, values)
        return total.plus(fixed(_MAP_BASE))

    def _is_binding(self, node: Comprehension) -> bool:
        return (
            isinstance(node.range, ListNode)
            and not node.range.elements
            and isinstance(node.condition, Literal)
            and node.condition.value is False
            and node.accu != ACCU
        )

    def _binding(self, node: Comprehension) -> Span:
        total = self.cost(node.range).plus(self.cost(node.init))
        local = _Local(self.path(node.init), self.size(node.init), self.entries(node.init))
        self._push(node.accu, local)
        total = total.plus(self.cost(node.result))
        self._keep_sizes(node, node.result)
        self._locals[node.accu].pop()
        return total

    def _keep_sizes(self, node: Node, source: Node) -> None:
        if (size := self.size(source)) is not None:
            self._sizes[node.id] = size
        if (entries := self.entries(source)) is not None:
            self._entries[node.id] = entries

    def _loop(self, node: Comprehension) -> Span:
        total = self.cost(node.range).plus(self.cost(node.init))
        accu = _Local(self.path(node.init), self.size(node.init), self.entries(node.init))
        self._push(node.accu, accu)
        self._push_variables(node)
        each = self.cost(node.condition).plus(self.cost(node.step))
        self._locals[node.var].pop()
        if node.var2:
            self._locals[node.var2].pop()
        total = total.plus(self.cost(node.result))
        self._locals[node.accu].pop()
        count = self.size_or_unknown(node.range)
        total = total.plus(count.times(each))
        if isinstance(node.init, Literal):
            if (size := self.size(node.init)) is not None:
                self._sizes[node.id] = size
        elif isinstance(node.init, ListNode | MapNode):
            self._sizes[node.id] = count
            if (step := self.entries(node.step)) is not None:
                self._entries[node.id] = step
        return total

    def _push_variables(self, node: Comprehension) -> None:
        entries, path = self.entries(node.range), self.path(node.range)
        container = entries.container if entries else self.type_of(node.range).kind
        key_size = entries.key if entries else None
        value_size = entries.value if entries else None
        is_list = container == "list"
        value = _Local((*path, "@items" if is_list else "@values"), value_size, None)
        if node.var2:
            key = _Local((*path, "@indices" if is_list else "@keys"), key_size, None)
            self._push(node.var, key)
            self._push(node.var2, value)
        elif is_list:
            self._push(node.var, value)
        else:
            self._push(node.var, _Local((*path, "@keys"), key_size, None))

    # --- calls --------------------------------------------------------------------------------

    def _call(self, node: Call) -> Span:
        if node.function == "dyn":
            total = fixed(1).plus(self.cost(node.args[0]))
            self._keep_sizes(node, node.args[0])
            return total
        arg_costs = [self.cost(arg) for arg in node.args]
        total = ZERO
        target = None if node.id in self._checked.calls else node.target
        if target is not None:
            total = self.cost(target)
        name = self._checked.calls.get(node.id, node.function)
        spread, result = Span(_MOST, 0), None
        for overload in self._checked.overloads.get(node.id, ()):
            found = call_costs.estimate(self, node, name, overload, target, arg_costs)
            spread = spread.union(found.cost)
            if found.size is not None:
                result = found.size if result is None else result.union(found.size)
            if overload in ("index_list", "index_map"):
                entries, path = self.entries(node.args[0]), self.path(node.args[0])
                result = entries.value if entries else None
                step = "@items" if overload == "index_list" else "@values"
                self._paths[node.id] = (*path, step)
            if result is None:
                result = self.size(node)
        if result is not None:
            self._sizes[node.id] = result
        return total.plus(spread)

    def set_entries(self, node: Node, entries: EntrySize | None) -> None:
        """Keep what a call says of the entries of its result."""
        if entries is not None:
            self._entries[node.id] = entries


def _written_size(node: Node) -> Span | None:
    """The size of what stands in the rule itself."""
    if isinstance(node, Literal):
        value = node.value
        counted = isinstance(value, str | bytes) and not isinstance(value, Uint)
        return fixed(len(value) if counted and isinstance(value, str | bytes) else 1)
    if isinstance(node, ListNode):
        return fixed(len(node.elements))
    if isinstance(node, MapNode):
        return fixed(len(node.entries))
    return None


def _is_scalar(given: Type) -> bool:
    if given.kind == "opaque" and given.name == "optional_type":
        return _is_scalar(given.params[0])
    return given.kind in _SCALARS
