"""How much the rules of a CRD may cost: the estimates added up, and how often each rule can run.

Before: `declared`. After: `judging`, `konstat.embedded.structural.crd`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from konstat.base import limits
from konstat.embedded.cel.sizes import MOST

_SHOWN: Final = 4


@dataclass
class Total:
    """The estimates of all rules of one schema, and where the dearest stand."""

    cost: int = 0
    dearest: list[tuple[int, str]] = field(default_factory=list)

    def add(self, path: str, cost: int) -> None:
        """Count one expression."""
        self.cost = min(self.cost + cost, MOST)
        if cost >= limits.EMBEDDED_RULES_ESTIMATE // 100:
            ordered = sorted([*self.dearest, (cost, path)], key=lambda one: -one[0])
            self.dearest = ordered[:_SHOWN]


@dataclass(frozen=True)
class Budget:
    """The total, and how many values of one schema node an object can hold.

    ``count`` is None where a list or map above has no limit.
    """

    total: Total = field(default_factory=Total)
    count: int | None = 1

    def below(self, schema: Mapping[str, Any]) -> Budget:
        """The budget of a node directly below ``schema``."""
        most = _most_elements(schema)
        if self.count is None or most is None:
            return Budget(self.total, None)
        return Budget(self.total, min(self.count * most, MOST))

    def cost_of_all(self, cost: int, most: int) -> int:
        """The cost of a rule for all the values that an object can hold; at most ``most``."""
        return min(cost * (most if self.count is None else self.count), MOST)


def _most_elements(schema: Mapping[str, Any]) -> int | None:
    kind = schema.get("type")
    if kind == "object" and schema.get("additionalProperties") is not None:
        limit = schema.get("maxProperties")
    elif kind == "array":
        limit = schema.get("maxItems")
    else:
        return 1
    return None if limit is None else max(0, int(limit))


def excess(what: str, cost: int, limit: int) -> str:
    """The server's text for a cost above its limit."""
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    elif factor < 1.5:
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return (
        f"{what} exceeds budget by factor of {shown} (try simplifying the rule, or adding"
        " maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
