"""`Model`, `Spec` and `Status`: the bases of what authors declare, on msgspec Structs.

`Model` is frozen, keyword-only and camelCase on the wire. `Status` is the same but may be
assigned to, because it is a draft that an attempt fills in.
The metaclass only supplies default options; `dataclass_transform` stands on the classes
themselves, which is what type checkers follow exactly (measured for ty, basedpyright and mypy).
"""

from __future__ import annotations

from functools import cache
from typing import Any, dataclass_transform, get_args, get_type_hints

import msgspec

from konstat.errors import ModelError


class _ModelMeta(msgspec.StructMeta):
    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        options.setdefault("kw_only", True)
        options.setdefault("rename", "camel")
        options.setdefault("frozen", True)
        # JSON data has no cycles, and a full collection over 20,000 tracked objects stops the
        # event loop for 130–380 ms.
        options.setdefault("gc", False)
        return super().__new__(mcls, name, bases, namespace, **options)


class _StatusMeta(msgspec.StructMeta):
    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        options.setdefault("kw_only", True)
        options.setdefault("rename", "camel")
        options.setdefault("frozen", False)
        return super().__new__(mcls, name, bases, namespace, **options)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Model(msgspec.Struct, metaclass=_ModelMeta):
    """A nested structure in a spec or status: frozen, keyword-only, camelCase on the wire."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Spec(Model):
    """What a user asks for; the base of a resource's ``spec``."""


class StatusPart:
    """Base of status field types that are published as conditions, not as fields."""

    @classmethod
    def begin(cls, field: StatusField) -> StatusPart:
        """A part without evidence yet, as ``field`` declares it."""
        raise NotImplementedError(f"{cls.__name__} must say how an attempt begins it")


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Status(msgspec.Struct, metaclass=_StatusMeta):
    """What the operator answers; the base of a resource's ``status``.

    Plain fields are published under their camelCase names and need a default, because a status
    starts empty. Fields whose type is a `StatusPart` (components) become conditions.
    """


class NoSpec(Spec):
    """For resources without a spec."""


class NoStatus(Status):
    """For resources without a status of their own beyond conditions."""


class StatusField(msgspec.Struct, frozen=True):
    """One declared field of a `Status` class.

    ``part`` is the component class of a part and None for a plain field; ``optional`` says that
    an attempt may leave the part unreported.
    """

    name: str
    encoded_name: str
    hint: Any
    declared: msgspec.structs.FieldInfo
    part: type[StatusPart] | None
    optional: bool
    per_attempt: bool

    def default(self) -> Any:
        """A fresh default value; `msgspec.NODEFAULT` when the class declares none."""
        if self.declared.default_factory is not msgspec.NODEFAULT:
            return self.declared.default_factory()
        return self.declared.default


class PerAttempt:
    """Marker for ``Annotated[int, PerAttempt]``: the field starts each attempt at its default."""


def _part_of(hint: Any) -> tuple[type[StatusPart] | None, bool]:
    """The `StatusPart` class that a type hint names, and whether it may be None."""
    arguments = get_args(hint)
    if isinstance(hint, type):
        return (hint if issubclass(hint, StatusPart) else None), False
    if hasattr(hint, "__metadata__"):
        return _part_of(arguments[0])
    options = [a for a in arguments if isinstance(a, type) and issubclass(a, StatusPart)]
    return (options[0] if options else None), bool(options) and type(None) in arguments


@cache
def status_fields(cls: type[Status]) -> tuple[StatusField, ...]:
    """The declared fields of a status class in order.

    Raises ModelError when a plain field has no default, or a name is reserved.
    """
    hints = get_type_hints(cls, include_extras=True)
    fields: list[StatusField] = []
    for field in msgspec.structs.fields(cls):
        hint = hints[field.name]
        part, optional = _part_of(hint)
        if field.encode_name in ("conditions", "observedGeneration"):
            raise ModelError(
                f"{cls.__name__}.{field.name}: konstat writes status.{field.encode_name} itself;"
                " remove the field"
            )
        if part is None and field.required:
            raise ModelError(
                f"{cls.__name__}.{field.name}: a status starts empty, so the field needs a"
                " default (for example `| None = None`)"
            )
        per_attempt = PerAttempt in getattr(hint, "__metadata__", ())
        fields.append(
            StatusField(field.name, field.encode_name, hint, field, part, optional, per_attempt)
        )
    return tuple(fields)


def to_plain(value: Any) -> Any:
    """``value`` as plain JSON data; members of Models that are None are left out.

    Raises TypeError or ValueError for what JSON cannot say.
    """
    return _without_none(msgspec.to_builtins(value))


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_none(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [_without_none(v) for v in value]
    return value
