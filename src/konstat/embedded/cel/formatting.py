"""``'%s has %d'.format([…])``: CEL's formatting of values.

Before: `operators`. After: `functions_text`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from konstat.embedded.cel.operators import is_int, to_text
from konstat.embedded.cel.tree import Uint
from konstat.embedded.cel.values import (
    CelError,
    Duration,
    ListValue,
    MapValue,
    ObjectValue,
    Timestamp,
    TypeValue,
    Value,
    type_name,
)
from konstat.embedded.status_errors import quoted

_CLAUSE: Final = re.compile(r"%(?:%|(?:\.([0-9]*))?(.))", re.DOTALL)
_PRECISION: Final = 6
_PRECISION_MAXIMUM: Final = 1000


def formatted(text: str, arguments: Sequence[Value]) -> str:
    """The text with its clauses filled in; raises CelError."""
    out: list[str] = []
    position = used = 0
    while (start := text.find("%", position)) >= 0:
        out.append(text[position:start])
        match = _CLAUSE.match(text, start)
        if match is None:
            raise CelError("unexpected end of string")
        position = match.end()
        if match[0] == "%%":
            out.append("%")
            continue
        if used >= len(arguments):
            raise CelError(f"index {used} out of range")
        out.append(_clause(match[2], match[1], arguments[used]))
        used += 1
    if used < len(arguments):
        raise CelError(
            f"too many arguments supplied to string.format (expected {used}, got {len(arguments)})"
        )
    return "".join([*out, text[position:]])


def _clause(letter: str, precision: str | None, value: Value) -> str:
    digits = int(precision[:5]) if precision else _PRECISION
    if digits > _PRECISION_MAXIMUM:
        raise CelError(f"precision {precision} of string.format is too large")
    if letter in ("f", "e"):
        return _floating(letter, digits, value)
    clause = _CLAUSES.get(letter)
    if clause is None:
        raise CelError(
            f'could not parse formatting clause: unrecognized formatting clause "{letter}"'
        )
    return clause(value)


def _wrong(value: Value, clause: str, allowed: str) -> CelError:
    return CelError(
        f"error during formatting: {clause} clause can only be used on {allowed}, was given"
        f" {type_name(value)}"
    )


def _floating(letter: str, digits: int, value: Value) -> str:
    amount = float(value) if value in ("NaN", "Infinity", "-Infinity") else value
    if not isinstance(amount, float):
        word = "fixed-point" if letter == "f" else "scientific"
        raise _wrong(value, word, "doubles")
    if math.isnan(amount):
        return "NaN"
    if math.isinf(amount):
        return "∞" if amount > 0 else "-∞"
    if letter == "f":
        return f"{amount:,.{digits}f}"
    mantissa, _, exponent = f"{amount:.{digits}e}".partition("e")
    return f"{mantissa}\u202f×\u202f10{_superscript(int(exponent))}"


def _superscript(exponent: int) -> str:
    digits = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    return (
        f"{exponent:03d}".translate(digits) if exponent < 0 else f"{exponent:02d}".translate(digits)
    )


def _decimal(value: Value) -> str:
    if is_int(value):
        return str(value)
    if isinstance(value, Uint):
        return str(value.value)
    raise _wrong(value, "decimal", "integers")


def _based(base: str, clause: str, allowed: str) -> Callable[[Value], str]:
    def written(value: Value) -> str:
        if isinstance(value, bool) and base == "b":
            return "1" if value else "0"
        amount = value.value if isinstance(value, Uint) else value
        if not is_int(amount):
            raise _wrong(value, clause, allowed)
        return format(amount, base)

    return written


def _hex(base: str) -> Callable[[Value], str]:
    def written(value: Value) -> str:
        if isinstance(value, str | bytes):
            digits = (value.encode() if isinstance(value, str) else value).hex()
            return digits.upper() if base == "X" else digits
        return _based(base, "hex", "integers, byte buffers, and strings")(value)

    return written


def _text(value: Value) -> str:
    if isinstance(value, ListValue):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, MapValue | ObjectValue):
        members = [(_literal(name), _literal(value.find(name)[0])) for name in value.names()]
        return "{" + ", ".join(f"{name}:{inner}" for name, inner in sorted(members)) + "}"
    if value is None:
        return "null"
    if isinstance(
        value, bool | int | float | Uint | str | bytes | Timestamp | Duration | TypeValue
    ):
        return to_text(value)
    allowed = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
    raise _wrong(value, "string", allowed)


def _literal(value: Value) -> str:
    """A value inside a list or map: as CEL would write it."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bytes):
        return f"b{quoted(to_text(value))}"
    if isinstance(value, float):
        return f"{value:.{_PRECISION}f}"
    if isinstance(value, Timestamp):
        return f"timestamp({quoted(to_text(value))})"
    if isinstance(value, Duration):
        return f"duration({quoted(to_text(value))})"
    return _text(value)


_CLAUSES: Final[Mapping[str, Callable[[Value], str]]] = {
    "s": _text,
    "d": _decimal,
    "b": _based("b", "binary", "integers and bools"),
    "o": _based("o", "octal", "integers"),
    "x": _hex("x"),
    "X": _hex("X"),
}
