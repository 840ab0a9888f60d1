"""Kubernetes' libraries for rules: quantities, semantic versions and named formats.

Before: `operators`. After: `functions`. URLs and addresses stand in `functions_network`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from konstat.embedded import metadata
from konstat.embedded.builtin import names, quantities
from konstat.embedded.cel.operators import is_int, no_overload
from konstat.embedded.cel.semver import SemverValue, is_semver, parse_semver
from konstat.embedded.cel.values import CelError, ListValue, Optional, Value
from konstat.embedded.status_errors import quoted
from konstat.embedded.structural import formats
from konstat.embedded.structural.golang_url import URLError, parse_request_uri
from konstat.embedded.structural.object_meta import dns_1035_problems
from konstat.objects.quantity import Quantity

_NANO: Final = 10**9
_INT64: Final = 2**63


class QuantityValue:
    """``quantity('1Gi')``: an amount in nanounits."""

    type_name = "kubernetes.Quantity"

    def __init__(self, nanos: int) -> None:
        self.nanos = nanos

    def same(self, other: Value) -> bool:
        """Whether another quantity is the same amount."""
        return isinstance(other, QuantityValue) and self.nanos == other.nanos


def _parse_quantity(text: Value) -> int | None:
    if not isinstance(text, str):
        raise no_overload(text)
    try:
        return Quantity(text).nanos
    except ValueError:
        return None


def _quantity(text: Value) -> QuantityValue:
    nanos = _parse_quantity(text)
    if nanos is None:
        raise CelError(quantities.PROBLEM)
    return QuantityValue(nanos)


def _amount(value: Value) -> int:
    if isinstance(value, QuantityValue):
        return value.nanos
    if is_int(value):
        return value * _NANO
    raise no_overload(value)


def _whole(value: Value) -> int | None:
    """The amount as an int of CEL, if it is one."""
    units, rest = divmod(_amount(value), _NANO)
    return units if rest == 0 and -_INT64 <= units < _INT64 else None


def _as_integer(value: Value) -> int:
    units = _whole(value)
    if units is None:
        raise CelError("cannot convert value to integer")
    return units


def _sign(value: Value) -> int:
    amount = _amount(value)
    return (amount > 0) - (amount < 0)


def _version_part(position: int, value: Value) -> int:
    if not isinstance(value, SemverValue):
        raise no_overload(value)
    return value.numbers[position]


# --- comparison of quantities and of versions -------------------------------------------------


def _compare(left: Value, right: Value) -> int:
    if isinstance(left, QuantityValue) and isinstance(right, QuantityValue):
        return (left.nanos > right.nanos) - (left.nanos < right.nanos)
    if isinstance(left, SemverValue) and isinstance(right, SemverValue):
        one, other = left.order(), right.order()
        return (one > other) - (one < other)
    raise no_overload(left, right)


def _combined(sign: int, left: Value, right: Value) -> QuantityValue:
    if not isinstance(left, QuantityValue):
        raise no_overload(left, right)
    return QuantityValue(left.nanos + sign * _amount(right))


# --- named formats ----------------------------------------------------------------------------


class FormatValue:
    """``format.dns1123Label()``: a check that lists what is wrong with a text."""

    type_name = "kubernetes.NamedFormat"

    def __init__(self, name: str) -> None:
        self.name = name

    def same(self, other: Value) -> bool:
        """Whether another format is this one."""
        return isinstance(other, FormatValue) and self.name == other.name

    def problems(self, text: str) -> list[str]:
        """What is wrong with a text, in the server's words."""
        return _FORMATS[self.name](text)


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The check of the beginning of a name: it may end with a dash."""

    def checked(text: str) -> list[str]:
        return check(f"{text[:-1]}a" if len(text) > 1 and text.endswith("-") else text)

    return checked


def _formatted(name: str, problem: str) -> Callable[[str], list[str]]:
    return lambda text: [] if formats.holds(name, text) else [problem]


def _uri_problems(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except URLError as error:
        return [f"parse {quoted(text)}: {error}"]
    return []


_FORMATS: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "dns1123Label": names.label_problems,
    "dns1123Subdomain": metadata.subdomain_problems,
    "dns1035Label": dns_1035_problems,
    "qualifiedName": metadata.label_key_problems,
    "dns1123LabelPrefix": _prefix(names.label_problems),
    "dns1123SubdomainPrefix": _prefix(metadata.subdomain_problems),
    "dns1035LabelPrefix": _prefix(dns_1035_problems),
    "labelValue": metadata.label_value_problems,
    "uri": _uri_problems,
    "uuid": _formatted("uuid", "does not match the UUID format"),
    "byte": _formatted("byte", "invalid base64"),
    "date": _formatted("date", "invalid date"),
    "datetime": _formatted("datetime", "invalid datetime"),
}


def _named(name: Value) -> Optional:
    if not isinstance(name, str):
        raise no_overload(name)
    return Optional(FormatValue(name)) if name in _FORMATS else Optional()


def _validate(value: Value, text: Value) -> Optional:
    if not isinstance(value, FormatValue) or not isinstance(text, str):
        raise no_overload(value, text)
    problems = value.problems(text)
    return Optional(ListValue(problems)) if problems else Optional()


_UNARY: Final[Mapping[str, Callable[[Value], Value]]] = {
    "isQuantity": lambda text: _parse_quantity(text) is not None,
    "asApproximateFloat": lambda value: _amount(value) / _NANO,
    "isInteger": lambda value: _whole(value) is not None,
}
_BINARY: Final[Mapping[str, Callable[[Value, Value], Value]]] = {
    "isGreaterThan": lambda left, right: _compare(left, right) > 0,
    "isLessThan": lambda left, right: _compare(left, right) < 0,
}
FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    **_UNARY,
    **_BINARY,
    "quantity": _quantity,
    "sign": _sign,
    "asInteger": _as_integer,
    "compareTo": _compare,
    "add": partial(_combined, 1),
    "sub": partial(_combined, -1),
    "semver": parse_semver,
    "isSemver": is_semver,
    "major": partial(_version_part, 0),
    "minor": partial(_version_part, 1),
    "patch": partial(_version_part, 2),
    "format.named": _named,
    "validate": _validate,
    **{f"format.{name}": partial(FormatValue, name) for name in _FORMATS},
}
