"""The types of CEL, with the server's names for them, and the unification of type parameters.

A type is a `Type`: a kind with parameters. Objects carry their fields, and every type that comes
from a schema carries how large its values can be, for `cost`. Before: nothing. After: `declared`,
`signatures`, `checker`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True)
class Type:
    """One type.

    ``kind`` is its name (``list``, ``int``, ``object`` …), ``name`` distinguishes objects, opaque
    types and type parameters. ``fields`` are those of an object. ``min_size`` is the length of
    the shortest JSON of a value, ``max_elements`` the most characters, entries or members that
    one can have; both matter for types of a schema only and do not tell types apart.
    """

    kind: str
    params: tuple[Type, ...] = ()
    name: str = ""
    fields: Mapping[str, Type] = field(default_factory=dict, compare=False, repr=False)
    min_size: int = field(default=0, compare=False)
    max_elements: int = field(default=0, compare=False)

    def __str__(self) -> str:
        shown = self.name or self.kind
        if not self.params:
            return shown
        return f"{shown}({', '.join(map(str, self.params))})"


BOOL: Final = Type("bool")
INT: Final = Type("int")
UINT: Final = Type("uint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
BYTES: Final = Type("bytes")
NULL: Final = Type("null")
DYN: Final = Type("dyn")
ERROR: Final = Type("!error!")
TIMESTAMP: Final = Type("timestamp")
DURATION: Final = Type("duration")
TYPE: Final = Type("type")

_SIMPLE: Final = {
    one.kind: one
    for one in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DYN, TIMESTAMP, DURATION, TYPE)
}
_SIMPLE_KINDS: Final = frozenset({"bool", "bytes", "double", "int", "string", "uint", "duration"})
_NULLABLE: Final = frozenset({"opaque", "object", "duration", "timestamp", "null"})
_TOKEN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*|[(),]")


def list_of(element: Type) -> Type:
    """``list(element)``."""
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """``map(key, value)``."""
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    """``optional_type(value)``."""
    return Type("opaque", (value,), "optional_type")


def opaque(name: str) -> Type:
    """A type of a library, such as ``net.IP``."""
    return Type("opaque", (), name)


def parameter(name: str) -> Type:
    """A type parameter."""
    return Type("parameter", (), name)


def type_of(inner: Type) -> Type:
    """The type of a type."""
    return Type("type", (inner,))


def parse_type(text: str) -> Type:
    """A type from its text; single capital letters are parameters, unknown names are opaque."""
    tokens: Iterator[str] = iter(_TOKEN.findall(text))
    found, rest = _parse(next(tokens), tokens)
    assert rest == "", f"{text!r} is not one type"
    return found


def _parse(name: str, tokens: Iterator[str]) -> tuple[Type, str]:
    following = next(tokens, "")
    params: list[Type] = []
    if following == "(":
        while following in ("(", ","):
            inner, following = _parse(next(tokens), tokens)
            params.append(inner)
        following = next(tokens, "")
    if name in ("list", "map"):
        return Type(name, tuple(params)), following
    if name == "type" and params:
        return type_of(params[0]), following
    if params:
        return Type("opaque", tuple(params), name), following
    if len(name) == 1:
        return parameter(name), following
    return _SIMPLE.get(name) or opaque(name), following


def unwrap_optional(given: Type) -> tuple[Type, bool]:
    """What an optional holds, and whether ``given`` is one."""
    if given.kind == "opaque" and given.name == "optional_type":
        return given.params[0], True
    return given, False


# --- type parameters --------------------------------------------------------------------------

Mapped = dict[Type, Type]


def substitute(mapped: Mapped, given: Type, *, rest_dyn: bool = False) -> Type:
    """``given`` with its type parameters replaced; unknown ones become dyn if asked."""
    if given in mapped:
        return substitute(mapped, mapped[given], rest_dyn=rest_dyn)
    if given.kind == "parameter":
        return DYN if rest_dyn else given
    if not given.params:
        return given
    params = tuple(substitute(mapped, one, rest_dyn=rest_dyn) for one in given.params)
    if params == given.params:
        return given
    return Type(given.kind, params, given.name, given.fields, given.min_size, given.max_elements)


def assignable(mapped: Mapped, left: Type, right: Type) -> Mapped | None:
    """The mapping under which the types agree, or None when they do not."""
    trial = dict(mapped)
    return trial if _assignable(trial, left, right) else None


def assignable_all(mapped: Mapped, left: Sequence[Type], right: Sequence[Type]) -> Mapped | None:
    """The same for two lists of types of one length."""
    trial = dict(mapped)
    return trial if _all(trial, left, right) else None


def _all(mapped: Mapped, left: Sequence[Type], right: Sequence[Type]) -> bool:
    return len(left) == len(right) and all(
        _assignable(mapped, one, other) for one, other in zip(left, right, strict=True)
    )


def _assignable(mapped: Mapped, left: Type, right: Type) -> bool:
    if right.kind == "parameter":
        valid, known = _stands_for(mapped, left, right)
        if valid or known:
            return valid
    if left.kind == "parameter":
        return _stands_for(mapped, right, left)[0]
    if left.kind in ("dyn", "!error!") or right.kind in ("dyn", "!error!"):
        return True
    if left.kind == "null" or right.kind == "null":
        other = right if left.kind == "null" else left
        return other.kind in _NULLABLE
    if left.kind != right.kind:
        return False
    if left.kind == "type":
        return True
    if left.kind in ("opaque", "list", "map"):
        return left.name == right.name and _all(mapped, left.params, right.params)
    return left == right


def _stands_for(mapped: Mapped, given: Type, param: Type) -> tuple[bool, bool]:
    """Whether ``given`` can take the place of a parameter, and whether the place was taken."""
    if given == param:
        return True, True
    known = mapped.get(param)
    if known is None:
        if _refers_to(mapped, param, given):
            return False, False
        mapped[param] = given
        return True, False
    if given == known:
        return True, True
    if _assignable(mapped, given, known):
        general = most_general(given, known)
        if not _refers_to(mapped, param, general):
            mapped[param] = general
        return True, True
    return False, True


def _refers_to(mapped: Mapped, param: Type, within: Type) -> bool:
    if param == within:
        return True
    if within.kind == "parameter":
        known = mapped.get(within)
        return known is not None and _refers_to(mapped, param, known)
    return any(_refers_to(mapped, param, one) for one in within.params)


def most_general(left: Type, right: Type) -> Type:
    """The less specific of two types that agree."""
    return left if _less_specific(left, right) else right


def _less_specific(left: Type, right: Type) -> bool:
    if left.kind in ("dyn", "parameter"):
        return True
    if right.kind in ("dyn", "parameter") or left.kind != right.kind:
        return False
    if left.kind == "type":
        return True
    if left.kind in ("opaque", "list", "map"):
        return (
            left.name == right.name
            and len(left.params) == len(right.params)
            and all(map(_less_specific, left.params, right.params))
        )
    return left == right
