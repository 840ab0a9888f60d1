"""`Quantity`: a Kubernetes amount such as ``500m`` or ``1Gi``, compared by value.

The server normalises what it stores (``0.5`` becomes ``500m``), so text says nothing about
equality. Values are exact: whole numbers of nanounits, as the server keeps them.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import total_ordering
from typing import Final

from konstat.base import limits

# What `Quantity` reads, for the schema (the published pattern of the built-in kinds also lets
# fractional exponents through, which nobody can read).
QUANTITY_PATTERN: Final = (
    r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
)
# Fractions below a nanounit round away from zero and values above this are cut to it: what
# apimachinery's resource.ParseQuantity does.
MAXIMUM_NANOS: Final = (2**63 - 1) * 10**9

_TEXT: Final = re.compile(
    r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))"
    r"(?:([KMGTPE]i)|([numkMGTPE]?)(?![0-9+-])|[eE]([+-]?[0-9]+))"
)
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15,
                   "E": 18}  # fmt: skip


@total_ordering
class Quantity:
    """An amount with Kubernetes' suffixes: ``Quantity("1Gi") == Quantity("1024Mi")``.

    Takes the text, or a number as YAML may hold it. ``text`` is what was given, ``nanos`` the
    value in nanounits (exact) and ``value`` the same as a Decimal. Equality, order and hash go
    by value. Raises ValueError for what the server would refuse.
    """

    __slots__ = ("nanos", "text")

    text: str
    nanos: int

    def __init__(self, amount: str | int | float | Decimal) -> None:
        text = amount if isinstance(amount, str) else _number_text(amount)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "nanos", _nanos(text))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Quantity is frozen: cannot set {name!r}; build a new one")

    @property
    def value(self) -> Decimal:
        """The amount in units, exact."""
        return Decimal((self.nanos < 0, tuple(map(int, str(abs(self.nanos)))), -9))

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self.nanos < other.nanos if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(("Quantity", self.nanos))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Quantity({self.text!r})"


def same_amount(left: object, right: object) -> bool:
    """Whether two values, each a text or a number, are quantities of one value."""
    try:
        return _of(left) == _of(right)
    except ValueError:
        return False


def _of(value: object) -> Quantity:
    if isinstance(value, str | int | float | Decimal):
        return Quantity(value)
    raise ValueError(f"{value!r} is not a quantity")


def _number_text(amount: int | float | Decimal) -> str:
    if isinstance(amount, bool):
        raise ValueError(f"{amount!r} is not a quantity: write a number or a text such as '500m'")
    if isinstance(amount, int) and abs(amount) >= 10**limits.QUANTITY_CHARACTERS:
        raise ValueError("a quantity number is too large")
    return str(amount)


def _nanos(text: str) -> int:
    if len(text) > limits.QUANTITY_CHARACTERS:
        raise ValueError(
            f"a quantity of {len(text)} characters: {limits.QUANTITY_CHARACTERS} at most"
        )
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r} is not a quantity: write a number with a suffix of n u m k M G T P E,"
            " Ki Mi Gi Ti Pi Ei, or an exponent"
        )
    sign, whole, fraction, bare_fraction, binary, decimal, exponent = match.groups()
    fraction = fraction or bare_fraction or ""
    mantissa = int((whole or "") + fraction or "0")
    power = -len(fraction) + (int(exponent) if exponent else _DECIMAL[decimal or ""]) + 9
    if binary:
        mantissa <<= _BINARY[binary]
    # Beyond these powers the result is the cap or the smallest unit whatever the digits.
    power = max(-2 * limits.QUANTITY_CHARACTERS, min(power, 2 * limits.QUANTITY_CHARACTERS))
    nanos = mantissa * 10**power if power >= 0 else -(-mantissa // 10**-power)
    nanos = min(nanos, MAXIMUM_NANOS)
    return -nanos if sign == "-" else nanos
