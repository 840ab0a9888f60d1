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

_CLAUSE: Final = re.compile(r"%(?:\.([0-9]*))?(.)?", re.DOTALL)
LETTERS: Final = "sdfebxXo"
_HEX: Final = "only integers, byte buffers, and strings can be formatted as hex"
_PROBLEMS: Final = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists,"
    " types, durations, and timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": _HEX,
    "X": _HEX,
    "o": "octal clause can only be used on integers",
}
_PRECISION: Final = 6
_PRECISION_MAXIMUM: Final = 1000


def formatted(text: str, arguments: Sequence[Value]) -> str:
    """The text with its clauses filled in; raises CelError."""

    def write(index: int, letter: str, precision: str) -> str:
        return _clause(letter, precision, arguments[index])

    return interpolated(text, len(arguments), write)


def interpolated(text: str, count: int, write: Callable[[int, str, str], str]) -> str:
    """The text with each clause replaced by what ``write`` makes of it.

    ``write`` is given the index of the argument (below ``count``), the letter and the precision.
    Raises CelError for a text that is no format, and for what ``write`` raises.
    """
    out: list[str] = []
    position = used = 0
    while (start := text.find("%", position)) >= 0:
        out.append(text[position:start])
        if text.startswith("%%", start):
            out.append("%")
            position = start + 2
            continue
        if used >= count:
            raise CelError(f"index {used} out of range")
        match = _CLAUSE.match(text, start)
        if match is None or (match[2] is None and match[1] is None):
            raise CelError("unexpected end of string")
        problem = _clause_problem(match)
        if problem:
            raise CelError(f"could not parse formatting clause: {problem}")
        out.append(write(used, match[2], match[1] or ""))
        position, used = match.end(), used + 1
    return "".join([*out, text[position:]])


def _clause_problem(match: re.Match[str]) -> str:
    precision, letter = match[1], match[2]
    if letter is None:
        return "error while parsing precision: could not find end of precision specifier"
    if precision == "":
        number = 'strconv.Atoi: parsing "": invalid syntax'
        return (
            f"error while parsing precision: error while converting precision to integer: {number}"
        )
    return "" if letter in LETTERS else f'unrecognized formatting clause "{letter}"'


def _clause(letter: str, precision: str, value: Value) -> str:
    digits = int(precision[:5]) if precision else _PRECISION
    if digits > _PRECISION_MAXIMUM:
        raise CelError(f"precision {precision} of string.format is too large")
    if letter in ("f", "e"):
        return _floating(letter, digits, value)
    return _CLAUSES[letter](value)


def wrong_type(letter: str, given: str) -> str:
    """The error for a value of a type that a clause cannot write."""
    return f"error during formatting: {_PROBLEMS[letter]}, was given {given}"


def _wrong(value: Value, letter: str) -> CelError:
    return CelError(wrong_type(letter, type_name(value)))


def _floating(letter: str, digits: int, value: Value) -> str:
    amount = float(value) if value in ("NaN", "Infinity", "-Infinity") else value
    if not isinstance(amount, float):
        raise _wrong(value, letter)
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
    raise _wrong(value, "d")


def _based(base: str) -> Callable[[Value], str]:
    def written(value: Value) -> str:
        if isinstance(value, bool) and base == "b":
            return "1" if value else "0"
        amount = value.value if isinstance(value, Uint) else value
        if not is_int(amount):
            raise _wrong(value, base)
        return format(amount, base)

    return written


def _hex(base: str) -> Callable[[Value], str]:
    def written(value: Value) -> str:
        if isinstance(value, str | bytes):
            digits = (value.encode() if isinstance(value, str) else value).hex()
            return digits.upper() if base == "X" else digits
        return _based(base)(value)

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
    raise _wrong(value, "s")


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
    "b": _based("b"),
    "o": _based("o"),
    "x": _hex("x"),
    "X": _hex("X"),
}
