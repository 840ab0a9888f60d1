"""The one spelling in which the server writes a quantity.

As apimachinery's resource.Quantity documents its canonical form: no fraction, the largest suffix
that loses nothing, the family of suffixes that was given.
"""

from __future__ import annotations

import re
from typing import Final

from konstat.objects.quantity import Quantity

PROBLEM: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_SUFFIX: Final = re.compile(r"([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$")
_DECIMAL: Final = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P",
                   18: "E"}  # fmt: skip
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
NANO: Final = 10**9


def canonical(given: str | int | float) -> str:
    """The server's spelling of an amount; raises ValueError for what it does not read."""
    amount = Quantity(given.strip() if isinstance(given, str) else given)
    suffix = (_SUFFIX.search(amount.text) or [""])[0] or ""
    if suffix.endswith("i") and abs(amount.nanos) >= 1024 * NANO:
        return _binary(amount.nanos)
    exponent = suffix[:1] in ("e", "E") and len(suffix) > 1
    return _decimal(amount.nanos, exponential=exponent)


def milli(given: str) -> str:
    """Rounded up to thousandths, as built-in kinds store resource amounts."""
    amount = Quantity(given)
    if amount.nanos % 10**6 == 0:
        return given
    return _decimal(-(-amount.nanos // 10**6) * 10**6, exponential=False)


def _binary(nanos: int) -> str:
    units = -(-nanos // NANO)
    power = 0
    while units % 1024 == 0 and power < len(_BINARY) - 1:
        units //= 1024
        power += 1
    return f"{units}{_BINARY[power]}"


def _decimal(nanos: int, *, exponential: bool) -> str:
    if nanos == 0:
        return "0"
    mantissa, exponent = nanos, -9
    while mantissa % 1000 == 0 and (exponent < 18 or exponential):
        mantissa //= 1000
        exponent += 3
    if exponential:
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{_DECIMAL[exponent]}"


def spelled(nanos: int, *, binary: bool) -> str:
    """An amount in nanounits, in the family of suffixes that is asked for."""
    if binary and abs(nanos) >= 1024 * NANO:
        return _binary(nanos)
    return _decimal(nanos, exponential=False)
