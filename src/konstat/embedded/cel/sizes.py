"""Spans of sizes and costs, from the least to the most, in unsigned 64-bit arithmetic.

What does not fit becomes the largest number, as in CEL. Before: nothing. After: `cost`,
`call_costs`.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

MOST: Final = 2**64 - 1


class Span(NamedTuple):
    """The least and the most of a size or cost."""

    least: int
    most: int

    def plus(self, other: Span) -> Span:
        """The sum."""
        return Span(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def times(self, other: Span) -> Span:
        """The product."""
        return Span(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def scaled(self, factor: float) -> Span:
        """The product with a factor, rounded up."""
        return Span(_scaled(self.least, factor), _scaled(self.most, factor))

    def union(self, other: Span) -> Span:
        """What covers both."""
        return Span(min(self.least, other.least), max(self.most, other.most))


def _scaled(amount: int, factor: float) -> int:
    product = float(amount) * factor
    if not math.isfinite(product):
        return MOST
    return min(math.ceil(product), MOST)


def fixed(amount: int) -> Span:
    """A span of one value."""
    return Span(amount, amount)


ZERO: Final = fixed(0)
UNKNOWN: Final = Span(0, MOST)
