"""Operators and conversions of CEL: arithmetic within 64 bits, comparison, membership, types.

Before: `values`, `gotime`. After: `functions`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from konstat.embedded import gotext
from konstat.embedded.cel.tree import Uint
from konstat.embedded.cel.values import (
    NO_OVERLOAD,
    CelError,
    Duration,
    ListValue,
    MapValue,
    ObjectValue,
    Optional,
    Timestamp,
    TypeValue,
    Value,
    contains,
    equal,
    is_number,
    number,
    size_of,
    type_name,
)
from konstat.embedded.structural import gotime

_INT64: Final = 2**63
_DIGITS: Final = 1000  # of a number, leading zeros included
_UINT64: Final = 2**64
# Moments from the year 1 to the year 9999.
_FIRST_NANOS: Final = -62_135_596_800 * gotime.NANOSECONDS
_LAST_NANOS: Final = 253_402_300_800 * gotime.NANOSECONDS - 1
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_UNSIGNED: Final = re.compile(r"[0-9]+")
_FLOAT: Final = re.compile(
    r"[+-]?(inf|infinity|nan|([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?)", re.IGNORECASE
)
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def no_overload(*_: Value) -> CelError:
    """The error for arguments that no overload takes."""
    return CelError(NO_OVERLOAD)


def integer(value: int) -> int:
    """An int of CEL; raises CelError when it needs more than 64 bits."""
    if not -_INT64 <= value < _INT64:
        raise CelError("integer overflow")
    return value


def unsigned(value: int) -> Uint:
    """A uint of CEL."""
    if not 0 <= value < _UINT64:
        raise CelError("unsigned integer overflow")
    return Uint(value)


def duration(nanos: int) -> Duration:
    """A duration of CEL."""
    if not -_INT64 <= nanos < _INT64:
        raise CelError("duration overflow")
    return Duration(nanos)


def timestamp(nanos: int) -> Timestamp:
    """A timestamp of CEL."""
    if not _FIRST_NANOS <= nanos <= _LAST_NANOS:
        raise CelError("timestamp overflow")
    return Timestamp(nanos)


def is_int(value: Value) -> bool:
    """Whether a value is an int, not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


# --- arithmetic -------------------------------------------------------------------------------


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) is (right < 0) else -quotient


def _modulo(left: int, right: int) -> int:
    if right == 0:
        raise CelError("modulus by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _float_divide(left: float, right: float) -> float:
    if right == 0:
        if left == 0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


def _float_multiply(left: float, right: float) -> float:
    return left * right


_WHOLE: Final[Mapping[str, Callable[[int, int], int]]] = {
    "_+_": lambda left, right: left + right,
    "_-_": lambda left, right: left - right,
    "_*_": lambda left, right: left * right,
    "_/_": _divide,
    "_%_": _modulo,
}
_FLOATING: Final[Mapping[str, Callable[[float, float], float]]] = {
    "_+_": lambda left, right: left + right,
    "_-_": lambda left, right: left - right,
    "_*_": _float_multiply,
    "_/_": _float_divide,
}


def _arithmetic(name: str, left: Value, right: Value) -> Value:
    if is_int(left) and is_int(right):
        return integer(_WHOLE[name](left, right))
    if isinstance(left, Uint) and isinstance(right, Uint):
        return unsigned(_WHOLE[name](left.value, right.value))
    if isinstance(left, float) and isinstance(right, float) and name in _FLOATING:
        return _FLOATING[name](left, right)
    if name == "_+_":
        return _add(left, right)
    if name == "_-_":
        return _subtract(left, right)
    raise no_overload(left, right)


def _add(left: Value, right: Value) -> Value:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, bytes) and isinstance(right, bytes):
        return left + right
    if isinstance(left, ListValue) and isinstance(right, ListValue):
        return left.plus(right)
    if isinstance(left, Duration) and isinstance(right, Duration):
        return duration(left.nanos + right.nanos)
    if isinstance(left, Timestamp) and isinstance(right, Duration):
        return timestamp(left.nanos + right.nanos)
    if isinstance(left, Duration) and isinstance(right, Timestamp):
        return timestamp(left.nanos + right.nanos)
    raise no_overload(left, right)


def _subtract(left: Value, right: Value) -> Value:
    if isinstance(left, Duration) and isinstance(right, Duration):
        return duration(left.nanos - right.nanos)
    if isinstance(left, Timestamp) and isinstance(right, Duration):
        return timestamp(left.nanos - right.nanos)
    if isinstance(left, Timestamp) and isinstance(right, Timestamp):
        return duration(left.nanos - right.nanos)
    raise no_overload(left, right)


def _negate(value: Value) -> Value:
    if is_int(value):
        return integer(-value)
    if isinstance(value, float):
        return -value
    raise no_overload(value)


def _not(value: Value) -> Value:
    if isinstance(value, bool):
        return not value
    raise no_overload(value)


# --- comparison -------------------------------------------------------------------------------


def compare(left: Value, right: Value) -> int:
    """-1, 0 or 1; raises CelError for values without an order."""
    one: Any
    other: Any
    if is_number(left) and is_number(right):
        one, other = number(left), number(right)
        if math.isnan(one) or math.isnan(other):
            raise CelError("NaN values cannot be ordered")
    elif type(left) is type(right) and isinstance(left, str | bytes | bool):
        one, other = (left.encode(), right.encode()) if isinstance(left, str) else (left, right)
    elif type(left) is type(right) and isinstance(left, Timestamp | Duration):
        one, other = left.nanos, right.nanos
    else:
        raise no_overload(left, right)
    return (one > other) - (one < other)


def _ordered(accept: tuple[int, ...], left: Value, right: Value) -> bool:
    return compare(left, right) in accept


def _is_in(wanted: Value, container: Value) -> bool:
    if isinstance(container, ListValue):
        return contains(container, wanted)
    if isinstance(container, MapValue | ObjectValue):
        return container.find(wanted)[1]
    raise no_overload(wanted, container)


def _at(container: Value, index: Value) -> Value:
    if isinstance(container, Optional):
        return _optional_at(container, index)
    if isinstance(container, ListValue):
        return container.at(index)
    if isinstance(container, MapValue | ObjectValue):
        found, present = container.find(index)
        if not present:
            raise _no_such_key(index)
        return found
    raise _no_such_key(index)


def _no_such_key(key: Value) -> CelError:
    return CelError(f"no such key: {gotext.show(shown(key))}")


def _optional_at(container: Value, index: Value) -> Optional:
    if isinstance(container, Optional):
        if not container.content:
            return container
        container = container.content[0]
    if isinstance(container, MapValue | ObjectValue):
        found, present = container.find(index)
        return Optional(found) if present else Optional()
    if isinstance(container, ListValue):
        try:
            return Optional(container.at(index))
        except CelError as error:
            if str(error).startswith("index out of bounds"):
                return Optional()
            raise
    return Optional()


def shown(value: Value) -> Any:
    """A value as messages print it."""
    return value.value if isinstance(value, Uint) else value


# --- conversions ------------------------------------------------------------------------------


def _refuse(value: Value, wanted: str) -> CelError:
    return CelError(f"type conversion error from '{type_name(value)}' to '{wanted}'")


def _to_int(value: Value) -> int:
    if is_int(value):
        return value
    if isinstance(value, Uint):
        return integer(value.value)
    if isinstance(value, float):
        if not math.isfinite(value) or not -_INT64 < value < _INT64:
            raise CelError("integer overflow")
        return int(value)
    if isinstance(value, Duration):
        return value.nanos
    if isinstance(value, Timestamp):
        return value.nanos // gotime.NANOSECONDS
    if isinstance(value, str) and _INTEGER.fullmatch(value) and len(value) < _DIGITS:
        parsed = int(value)
        if -_INT64 <= parsed < _INT64:
            return parsed
    raise _refuse(value, "int")


def _to_uint(value: Value) -> Uint:
    if isinstance(value, Uint):
        return value
    if is_int(value):
        return unsigned(value)
    if isinstance(value, float):
        if not math.isfinite(value) or not -1 < value < _UINT64:
            raise CelError("unsigned integer overflow")
        return unsigned(int(value))
    if isinstance(value, str) and _UNSIGNED.fullmatch(value) and len(value) < _DIGITS:
        parsed = int(value)
        if parsed < _UINT64:
            return Uint(parsed)
    raise _refuse(value, "uint")


def _to_double(value: Value) -> float:
    if is_number(value):
        return float(number(value))
    if isinstance(value, str) and _FLOAT.fullmatch(value):
        parsed = float(value)
        if not math.isinf(parsed) or "i" in value.lower():
            return parsed
    raise _refuse(value, "double")


def _to_bool(value: Value) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _BOOLS:
        return _BOOLS[value]
    raise _refuse(value, "bool")


def _to_bytes(value: Value) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise _refuse(value, "bytes")


def to_text(value: Value) -> str:
    """``string(value)``."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | float):
        return gotext.show(value)
    if is_number(value):
        return str(number(value))
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise CelError("invalid UTF-8 in bytes, cannot convert to string") from error
    if isinstance(value, Duration):
        return f"{gotime.seconds_text(value.nanos)}s"
    if isinstance(value, Timestamp):
        return gotime.timestamp_text(value.nanos)
    if isinstance(value, TypeValue):
        return value.name
    if hasattr(value, "text"):
        return str(value.text())
    raise _refuse(value, "string")


def _to_duration(value: Value) -> Duration:
    if isinstance(value, Duration):
        return value
    nanos = gotime.parse_go_duration(value) if isinstance(value, str) else None
    if nanos is None:
        raise _refuse(value, "google.protobuf.Duration")
    return Duration(nanos)


def _to_timestamp(value: Value) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if is_int(value):
        return timestamp(value * gotime.NANOSECONDS)
    nanos = None
    if isinstance(value, str) and value[-1:] != "" and gotime.has_zone(value):
        nanos = gotime.parse_date_time(value)
    if nanos is None:
        raise _refuse(value, "google.protobuf.Timestamp")
    return timestamp(nanos)


def _size(value: Value) -> int:
    if isinstance(value, str | bytes | ListValue | MapValue | ObjectValue):
        return size_of(value)
    raise no_overload(value)


def _type(value: Value) -> TypeValue:
    return TypeValue(type_name(value))


_UNARY: Final[Mapping[str, Callable[[Value], Value]]] = {
    "dyn": lambda value: value,
}
_BINARY: Final[Mapping[str, Callable[[Value, Value], Value]]] = {
    "_!=_": lambda left, right: not equal(left, right),
}
FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    **_UNARY,
    **_BINARY,
    **{name: partial(_arithmetic, name) for name in _WHOLE},
    "-_": _negate,
    "!_": _not,
    "_==_": equal,
    "_<_": partial(_ordered, (-1,)),
    "_<=_": partial(_ordered, (-1, 0)),
    "_>_": partial(_ordered, (1,)),
    "_>=_": partial(_ordered, (0, 1)),
    "@in": _is_in,
    "_[_]": _at,
    "_[?_]": _optional_at,
    "size": _size,
    "type": _type,
    "int": _to_int,
    "uint": _to_uint,
    "double": _to_double,
    "bool": _to_bool,
    "bytes": _to_bytes,
    "string": to_text,
    "duration": _to_duration,
    "timestamp": _to_timestamp,
}
