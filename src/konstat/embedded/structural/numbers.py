"""Limits of numbers as the server checks them: ranges of formats, multiples, maximum, minimum.

Go's rules show through: integers are compared as int64 with the limit cut to an integer, and a
value that does not fit its type is reported once more, at the root. Before: `gotext`. After:
`konstat.embedded.structural.validation`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from konstat.embedded import gotext

_SAFE_INTEGER: Final = 2.0**53 - 1
_EPSILON: Final = 1e-9
_INT64: Final = 2**63
_FLOAT32_MAXIMUM: Final = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
_FLOAT32_OVERFLOW: Final = _FLOAT32_MAXIMUM * (1 + 2.0**-25)


class NumberProblem(NamedTuple):
    """One limit that does not hold; a ``composite`` one has no place of its own."""

    text: str
    value: Any = ""
    composite: bool = False


def is_integer_number(value: float) -> bool:
    """Whether Go's library takes a float for an integer: within 2^53, to one part in 10^9."""
    if not -_SAFE_INTEGER <= value <= _SAFE_INTEGER:
        return False
    if value == int(value):
        return True
    whole = float(int(value)) if value > -1 else float(2 * _INT64 + int(value))
    if whole == 0:
        return False
    return abs(value - whole) / (abs(value) + abs(whole)) < _EPSILON


def number_problems(
    value: float, schema: Mapping[str, Any], kind: str, name: str, path: str
) -> Iterator[NumberProblem]:
    """What keeps ``value`` from being a number of the schema.

    ``kind`` is the type where there is exactly one, ``name`` its format if it is checked.
    """
    yield from _range(value, kind, name, "Checked", path)
    factor = schema.get("multipleOf")
    if factor is not None:
        wrong = list(_range(float(factor), kind, name, "MultipleOf", path))
        yield from wrong
        yield from _multiple(value, float(factor), path, as_float=bool(wrong))
    for keyword, prefix, sign in (("minimum", "Minimum", -1), ("maximum", "Maximum", 1)):
        limit = schema.get(keyword)
        if limit is None:
            continue
        wrong = list(_range(float(limit), kind, name, f"{prefix} boundary", path))
        yield from wrong
        exclusive = bool(schema.get(f"exclusive{prefix}"))
        yield from _limit(value, float(limit), sign, exclusive, path, as_float=bool(wrong))


def _range(value: float, kind: str, name: str, prefix: str, path: str) -> Iterator[NumberProblem]:
    """Whether the type can hold a value, or a limit."""
    if kind == "integer":
        bound = 2**31 if name == "int32" else _INT64
        fits = value == math.trunc(value) if math.isfinite(value) else False
        fits = fits and -bound <= value < bound
    else:
        fits = name != "float" or abs(value) < _FLOAT32_OVERFLOW
    if not fits:
        what = f"with format {name}" if name else "(default format)"
        text = f"{prefix} value must be of type {kind} {what} in {path}"
        yield NumberProblem(text, composite=True)


def _multiple(value: float, factor: float, path: str, *, as_float: bool) -> Iterator[NumberProblem]:
    if isinstance(value, int) and not as_float:
        whole = _int64(factor)
        if whole <= 0:
            text = f"factor MultipleOf declared for {path} must be positive: {whole}"
            yield NumberProblem(text, whole)
        elif value % whole:
            yield NumberProblem(f"{path} in body should be a multiple of {whole}", value)
        return
    amount, shown = float(value), gotext.show(factor)
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {shown}"
        yield NumberProblem(text, factor)
        return
    quotient = 1 / factor * amount if factor < 1 else amount / factor
    if not is_integer_number(quotient):
        yield NumberProblem(f"{path} in body should be a multiple of {shown}", amount)


def _limit(
    value: float, limit: float, sign: int, exclusive: bool, path: str, *, as_float: bool
) -> Iterator[NumberProblem]:
    """One boundary; ``sign`` is 1 for a maximum, -1 for a minimum."""
    if isinstance(value, int) and not as_float:
        amount: float = value
        bound: float = _int64(limit)
    else:
        amount, bound = float(value), limit
    if sign * amount > sign * bound or (exclusive and amount == bound):
        word = "less than" if sign > 0 else "greater than"
        relation = word if exclusive else f"{word} or equal to"
        yield NumberProblem(f"{path} in body should be {relation} {gotext.show(bound)}", amount)


def _int64(value: float) -> int:
    """Go's conversion on 64-bit x86: cut, and the smallest integer for what does not fit."""
    if math.isfinite(value) and -_INT64 <= value < _INT64:
        return math.trunc(value)
    return -_INT64
