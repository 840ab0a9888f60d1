"""Reads the serialized form of a parsed expression (cel.expr.ParsedExpr) into a `tree`.

cel-expr-python gives a parsed rule as protobuf bytes only. The format is small and fixed, so this
decoder spares a dependency on protobuf. Before: `tree`. After: `parsing`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
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
    Scalar,
    Select,
    Uint,
)

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_INT64: Final = 2**63


class WireError(ValueError):
    """Bytes that are no parsed expression."""


class Message:
    """The fields of one protobuf message, by number."""

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[int | bytes]] = {}
        for number, value in _fields(data):
            self._fields.setdefault(number, []).append(value)

    def __contains__(self, number: int) -> bool:
        return number in self._fields

    def integer(self, number: int) -> int:
        """A varint; zero when absent."""
        value = self._last(number, 0)
        if not isinstance(value, int):
            raise WireError(f"field {number} is no integer")
        return value

    def data(self, number: int) -> bytes:
        """Bytes; empty when absent."""
        value = self._last(number, b"")
        if not isinstance(value, bytes):
            raise WireError(f"field {number} is no bytes")
        return value

    def text(self, number: int) -> str:
        """A string; empty when absent."""
        return self.data(number).decode("utf-8", "replace")

    def messages(self, number: int) -> list[Message]:
        """The messages of a repeated field."""
        return [Message(one) for one in self._fields.get(number, ()) if isinstance(one, bytes)]

    def packed(self, number: int) -> list[int]:
        """The varints of a packed repeated field."""
        found: list[int] = []
        for one in self._fields.get(number, ()):
            found += [one] if isinstance(one, int) else _varints(one)
        return found

    def _last(self, number: int, default: int | bytes) -> int | bytes:
        return self._fields.get(number, [default])[-1]


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        kind = tag & 7
        if kind == _VARINT:
            value, position = _varint(data, position)
            yield tag >> 3, value
            continue
        length = 8
        if kind == _BYTES:
            length, position = _varint(data, position)
        elif kind != _FIXED64:
            raise WireError(f"wire type {kind} is not used by expressions")
        if position + length > len(data):
            raise WireError("the message ends too early")
        yield tag >> 3, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value, shift = 0, 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise WireError("a number ends too early")


def _varints(data: bytes) -> list[int]:
    found: list[int] = []
    position = 0
    while position < len(data):
        value, position = _varint(data, position)
        found.append(value)
    return found


def _signed(value: int) -> int:
    return value - 2 * _INT64 if value >= _INT64 else value


# --- expressions ------------------------------------------------------------------------------


def parsed_expression(data: bytes, text: str) -> Parsed:
    """The tree of a ParsedExpr in a protobuf Any; ``text`` is the rule. Raises WireError."""
    expression = Message(Message(data).data(2))
    positions: dict[int, int] = {}
    for info in expression.messages(3):
        for entry in info.messages(4):
            positions[entry.integer(1)] = entry.integer(2)
    return Parsed(text, _node(_one(expression, 2)), positions)


def _one(message: Message, number: int) -> Message:
    found = message.messages(number)
    if not found:
        raise WireError(f"field {number} is missing")
    return found[-1]


def _node(message: Message) -> Node:
    node_id = message.integer(2)
    if 3 in message:
        return Literal(node_id, _constant(_one(message, 3)))
    if 4 in message:
        return Ident(node_id, _one(message, 4).text(1))
    if 5 in message:
        select = _one(message, 5)
        return Select(node_id, _node(_one(select, 1)), select.text(2), bool(select.integer(3)))
    if 6 in message:
        call = _one(message, 6)
        target = _node(_one(call, 1)) if 1 in call else None
        return Call(node_id, call.text(2), target, tuple(map(_node, call.messages(3))))
    if 7 in message:
        items = _one(message, 7)
        elements = tuple(map(_node, items.messages(1)))
        return ListNode(node_id, elements, frozenset(items.packed(2)))
    if 8 in message:
        built = _one(message, 8)
        return MapNode(node_id, tuple(map(_entry, built.messages(2))), built.text(1))
    if 9 in message:
        return _comprehension(node_id, _one(message, 9))
    raise WireError("an expression of an unknown kind")


def _entry(message: Message) -> Entry:
    key: Node | str = _node(_one(message, 3)) if 3 in message else message.text(2)
    return Entry(message.integer(1), key, _node(_one(message, 4)), bool(message.integer(5)))


def _comprehension(node_id: int, loop: Message) -> Comprehension:
    return Comprehension(
        node_id,
        var=loop.text(1),
        var2=loop.text(8),
        range=_node(_one(loop, 2)),
        accu=loop.text(3),
        init=_node(_one(loop, 4)),
        condition=_node(_one(loop, 5)),
        step=_node(_one(loop, 6)),
        result=_node(_one(loop, 7)),
    )


def _constant(message: Message) -> Scalar | Uint:
    if 2 in message:
        return bool(message.integer(2))
    if 3 in message:
        return _signed(message.integer(3))
    if 4 in message:
        return Uint(message.integer(4))
    if 5 in message:
        return float(struct.unpack("<d", message.data(5))[0])
    if 6 in message:
        return message.text(6)
    if 7 in message:
        return message.data(7)
    return None
