"""`Model`, `Spec` and `Status`: the bases of what authors declare, on msgspec Structs.

`Model` is frozen, keyword-only and camelCase on the wire. `Status` is the same but may be
assigned to, because it is a draft that an attempt fills in.
The metaclass only supplies default options; `dataclass_transform` stands on the classes
themselves, which is what type checkers follow exactly (measured for ty, basedpyright and mypy).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import Any, ClassVar, dataclass_transform, get_args, get_type_hints

import msgspec

from konstat.errors import ModelError
from konstat.objects import codec
from konstat.objects.constraint import Rule


def _create(
    meta: type[Any],
    name: str,
    bases: tuple[type, ...],
    namespace: dict[str, Any],
    options: dict[str, Any],
) -> Any:
    """A Struct class; its ``rules`` keyword is ours and becomes an attribute."""
    rules: tuple[Rule, ...] | None = None
    if "rules" in options:
        rules = tuple(options.pop("rules"))
        if not all(isinstance(rule, Rule) for rule in rules):
            raise ModelError(f"{name}: rules takes Rule(…) objects, not {rules!r}")
    options.setdefault("kw_only", True)
    options.setdefault("rename", "camel")
    try:
        created = msgspec.StructMeta.__new__(meta, name, bases, namespace, **options)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name}: {error}") from error
    if rules is not None:
        created._own_rules = rules
    return created


class _ModelMeta(msgspec.StructMeta):
    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        options.setdefault("frozen", True)
        # JSON data has no cycles, and a full collection over 20,000 tracked objects stops the
        # event loop for 130–380 ms.
        options.setdefault("gc", False)
        return _create(mcls, name, bases, namespace, options)


class _StatusMeta(msgspec.StructMeta):
    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        options.setdefault("frozen", False)
        return _create(mcls, name, bases, namespace, options)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Model(msgspec.Struct, metaclass=_ModelMeta):
    """A nested structure in a spec or status: frozen, keyword-only, camelCase on the wire.

    ``class Ports(Model, rules=[Rule("self.low <= self.high")])`` adds CEL rules over the whole
    structure; a subclass has those of its bases too. Raises ModelError for a bad declaration.
    """

    _own_rules: ClassVar[tuple[Rule, ...]] = ()


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Spec(Model):
    """What a user asks for; the base of a resource's ``spec``."""


class StatusPart(ABC):
    """Base of status field types that are published as conditions, not as fields."""

    @classmethod
    @abstractmethod
    def begin(cls, field: StatusField) -> StatusPart:
        """A part without evidence yet, as ``field`` declares it."""


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Status(msgspec.Struct, metaclass=_StatusMeta):
    """What the operator answers; the base of a resource's ``status``.

    Plain fields are published under their camelCase names and need a default, because a status
    starts empty. Fields whose type is a `StatusPart` (components) become conditions. Takes
    ``rules=`` like a `Model`.
    """

    _own_rules: ClassVar[tuple[Rule, ...]] = ()


field = msgspec.field
"""A field with more than a default: ``field(default_factory=…)``, ``field(name="wireName")``."""


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
    hints = hints_of(cls)
    fields: list[StatusField] = []
    for field in msgspec.structs.fields(cls):
        hint = hints[field.name]
        part, optional = _part_of(hint)
        if field.encode_name in ("conditions", "observedGeneration"):
            raise ModelError(
                f"{cls.__name__}.{field.name}: konstat writes status.{field.encode_name} itself;"
                " remove the field"
            )
        if field.name.startswith("_"):
            raise ModelError(
                f"{cls.__name__}.{field.name}: a status is public, so its fields have no leading"
                " underscore"
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


def hints_of(cls: type) -> dict[str, Any]:
    """The resolved type hints of a class, with what stands in ``Annotated``.

    Raises ModelError for a hint that names nothing.
    """
    try:
        return get_type_hints(cls, include_extras=True)
    except (NameError, TypeError, SyntaxError, AttributeError) as error:
        raise ModelError(
            f"{cls.__name__}: a type hint cannot be resolved: {error}; import its names at the"
            " top of the module and declare the class there too"
        ) from error


def rules_of(cls: type) -> tuple[Rule, ...]:
    """The CEL rules over the whole structure, those of its bases first."""
    found: list[Rule] = []
    for base in reversed(cls.__mro__):
        own = base.__dict__.get("_own_rules", ())
        found += [rule for rule in own if rule not in found]
    return tuple(found)


def to_plain(value: Any) -> Any:
    """``value`` as plain JSON data, sets in order; members that are None are left out.

    Raises TypeError or ValueError for what JSON cannot say.
    """
    return without_none(codec.plain(value))


def without_none(value: Any) -> Any:
    """A copy of plain data without members that are None."""
    if isinstance(value, dict):
        return {k: without_none(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [without_none(v) for v in value]
    return value
