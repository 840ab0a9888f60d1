"""What the server checks of the constants in a rule: they are read when the CRD is created.

Durations, timestamps and patterns that are written down must be such; the entries of a list or
map are of one type; the clauses of a format suit their arguments. Before: `checker`,
`formatting`. After: `compiling`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

from konstat.embedded.cel.checker import Checked
from konstat.embedded.cel.dispatch import invoke
from konstat.embedded.cel.formatting import interpolated, wrong_type
from konstat.embedded.cel.parsing import located
from konstat.embedded.cel.tree import Call, ListNode, Literal, MapNode, Node, children
from konstat.embedded.cel.types import Type, unwrap_optional
from konstat.embedded.cel.values import CelError, Value
from konstat.embedded.structural.patterns import PatternError, compiled

_ALLOWED: Final = {
    "s": "list map int uint double bool string timestamp bytes duration type null",
    "d": "int uint",
    "f": "double string",
    "e": "double string",
    "b": "int uint bool",
    "x": "int uint string bytes",
    "X": "int uint string bytes",
    "o": "int uint",
}
_TYPE_NAMES: Final = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "null": "null_type",
}


class _Problem(NamedTuple):
    node_id: int
    text: str


def literal_problems(checked: Checked) -> str:
    """Everything that is wrong with the constants of a rule, as the server shows it, or ``""``."""
    parsed = checked.parsed
    found = [
        *_arguments(parsed.root),
        *_mixed(checked, parsed.root),
        *_formats(checked, parsed.root),
    ]
    placed = [(parsed.positions.get(problem.node_id, 0), problem.text) for problem in found]
    ordered = sorted(placed, key=lambda problem: problem[0])
    return "\n".join(located(parsed.text, offset, text) for offset, text in ordered)


def _arguments(node: Node) -> Iterator[_Problem]:
    if isinstance(node, Call) and node.function in _CHECKS and node.args:
        argument = node.args[-1] if node.function == "matches" else node.args[0]
        if isinstance(argument, Literal) and not _CHECKS[node.function](argument.value):
            yield _Problem(argument.id, f"invalid {node.function} argument")
    for inner in children(node):
        yield from _arguments(inner)


def _is_pattern(text: Value) -> bool:
    try:
        compiled(text if isinstance(text, str) else "")
    except PatternError as error:
        return not error.known_bad
    return True


def _converts(name: str, value: Value) -> bool:
    try:
        invoke(name, [value])
    except CelError:
        return False
    return True


_CHECKS: Final[Mapping[str, Callable[[Value], bool]]] = {
    "matches": _is_pattern,
    "duration": partial(_converts, "duration"),
    "timestamp": partial(_converts, "timestamp"),
}


# --- lists and maps of one type ---------------------------------------------------------------


def _mixed(checked: Checked, node: Node) -> Iterator[_Problem]:
    if isinstance(node, Call) and node.function == "format":
        return  # whatever is formatted may be of any type
    if isinstance(node, ListNode):
        entries = [(e, i in node.optional) for i, e in enumerate(node.elements)]
        yield from list(_differing(checked, entries))[:1]
    elif isinstance(node, MapNode):
        keys = [(e.key, False) for e in node.entries if not isinstance(e.key, str)]
        yield from _differing(checked, keys)
        yield from _differing(checked, [(e.value, e.optional) for e in node.entries])
    for inner in children(node):
        yield from _mixed(checked, inner)


def _differing(checked: Checked, entries: list[tuple[Node, bool]]) -> Iterator[_Problem]:
    first: Type | None = None
    for node, optional in entries:
        found = checked.types[node.id]
        if optional:
            found = unwrap_optional(found)[0]
        if first is None:
            first = found
        elif found != first:
            yield _Problem(node.id, f"expected type '{first}' but found '{found}'")


# --- formats ----------------------------------------------------------------------------------


class _Misformatted(CelError):
    """A clause that does not suit its argument, at the argument."""

    def __init__(self, text: str, node_id: int) -> None:
        super().__init__(text)
        self.node_id = node_id


def _formats(checked: Checked, node: Node) -> Iterator[_Problem]:
    if isinstance(node, Call) and node.function == "format" and len(node.args) == 1:
        target, arguments = node.target, node.args[0]
        text = target.value if isinstance(target, Literal) else None
        if isinstance(text, str) and isinstance(arguments, ListNode):
            yield from _format(checked, node, text, arguments)
    for inner in children(node):
        yield from _formats(checked, inner)


def _format(checked: Checked, call: Call, text: str, arguments: ListNode) -> Iterator[_Problem]:
    seen: list[int] = []

    def write(index: int, letter: str, precision: str) -> str:
        seen.append(index)
        _suits(checked, letter, arguments.elements[index])
        return ""

    count = len(arguments.elements)
    try:
        interpolated(text, count, write)
    except _Misformatted as error:
        yield _Problem(error.node_id, str(error))
    except CelError as error:
        yield _Problem(call.id, str(error))
    else:
        if count > len(seen):
            problem = (
                f"too many arguments supplied to string.format (expected {len(seen)}, got {count})"
            )
            yield _Problem(call.id, problem)


def _suits(checked: Checked, letter: str, node: Node) -> None:
    """Raise for an argument, or an entry written down in it, that a clause cannot write."""
    given = checked.types[node.id]
    if given.kind != "dyn" and given.kind not in _ALLOWED[letter].split():
        shown = _TYPE_NAMES.get(given.kind) or given.name or given.kind
        raise _Misformatted(wrong_type(letter, shown), node.id)
    if letter == "s" and isinstance(node, ListNode | MapNode):
        for inner in children(node):
            _suits(checked, letter, inner)
