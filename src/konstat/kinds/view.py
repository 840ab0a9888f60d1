"""What the typed views of built-in kinds are made of: `View`, `BuiltIn`, `Condition`.

The modules beside this one declare the kinds. Views name only the fields that are read here or
that operators often read; the object keeps all others. Real servers send null where a list, a
number or a map is expected (``conditions: null``); a view reads it as the field's default.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from konstat.errors import SpecInvalid
from konstat.objects.model import Model
from konstat.objects.resource import Resource, S, T, spec_invalid

P = TypeVar("P")


class View(Model, omit_defaults=True):
    """A structure of a built-in kind.

    Defaults are those of Kubernetes, so a value that equals its default is left out when a view is
    written; to set such a field on purpose, describe the object with a mapping.
    """


class Condition(View):
    """One entry of ``status.conditions`` of any built-in kind; ``status`` is kept as sent."""

    type: str = ""
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int = 0


class ObjectReference(View):
    """A pointer to another object; which fields are set depends on who wrote it."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class LabelExpression(View):
    """One entry of ``matchExpressions``."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(View):
    """``metav1.LabelSelector``: all of its terms must hold; an empty one selects everything."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[LabelExpression, ...] = ()


class BuiltIn(Resource[S, T]):
    """Base of the built-in kinds: reads null as absent, at every depth."""

    __slots__ = ()

    def part(self, name: str, as_type: type[P]) -> P:
        """As `Resource.part`, but null members and null list elements read as absent."""
        try:
            return super().part(name, as_type)
        except SpecInvalid:
            # Rare, so the common case pays nothing for it.
            return self._convert(name, without_nulls(self.raw(name)), as_type)

    def scalar(self, name: str, default: P) -> P:
        """A top-level scalar with the type of ``default``, which stands for null too.

        Raises SpecInvalid when it has another type.
        """
        value = without_nulls(self.raw(name))
        if value is None:
            return default
        return self._convert(name, value, type(default))

    def items(self, name: str, as_type: type[P]) -> tuple[P, ...]:
        """A top-level list, each element decoded as ``as_type``; absent and null read as empty.

        Raises SpecInvalid with the JSON path when it does not fit.
        """
        value = without_nulls(self.raw(name))
        if value is None:
            return ()
        if not isinstance(value, list):
            raise SpecInvalid(path=name, problem=f"expected a list, got {type(value).__name__}")
        return tuple(self._convert(f"{name}[{i}]", item, as_type) for i, item in enumerate(value))

    def strings(self, name: str) -> dict[str, str]:
        """A top-level map from string to string; absent and null read as empty."""
        return self._convert(name, without_nulls(self.raw(name)) or {}, dict[str, str])

    def _convert(self, path: str, value: Any, as_type: type[P]) -> P:
        try:
            return msgspec.convert(value, as_type)
        except msgspec.ValidationError as error:
            raise spec_invalid(path, error) from error


def without_nulls(value: Any) -> Any:
    """``value`` without null members of maps and null elements of lists, at every depth."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [without_nulls(v) for v in value if v is not None]
    return value
