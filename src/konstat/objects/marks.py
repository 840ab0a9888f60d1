"""What the marks in ``Annotated`` add to a schema, and where they do not fit.

Given a schema of a bare type and the marks that stand on it, `apply_marks` completes the schema
in place or refuses. Comes after the constraints and before `konstat.objects.schema`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from konstat.objects import constraint
from konstat.objects.constraint import (
    GIVEN_PATTERN,
    Atomic,
    Description,
    Format,
    ListMap,
    ListSet,
    PreserveUnknown,
    Rule,
)
from konstat.objects.model import PerAttempt

Schema = dict[str, Any]
Refuse = Callable[[str], Exception]

_SCALAR_TYPES: Final = ("string", "integer", "number", "boolean")
_UNCALLED: Final = (
    constraint.Range,
    constraint.Length,
    constraint.Pattern,
    constraint.Immutable,
    Rule,
    Description,
    Format,
    ListMap,
)
_BARE: Final = (ListSet, Atomic, PreserveUnknown)
_LENGTHS: Final = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}


def description_mark(hint: Any) -> str:
    """The text of a `Description` (or ``msgspec.Meta``) that stands on a hint, or ``""``."""
    for mark in reversed(getattr(hint, "__metadata__", ())):
        if isinstance(mark, Description):
            return mark.text
        if isinstance(mark, msgspec.Meta) and mark.description:
            return mark.description
    return ""


def validations(rules: Iterable[Rule]) -> list[Schema]:
    """CEL rules in the words of ``x-kubernetes-validations``."""
    return [_validation(rule) for rule in rules]


def _validation(rule: Rule) -> Schema:
    entry: Schema = {"rule": rule.cel}
    for name, value in (
        ("message", rule.message),
        ("messageExpression", rule.message_expression),
        ("reason", rule.reason),
        ("fieldPath", rule.field_path),
        ("optionalOldSelf", rule.optional_old_self),
    ):
        if value:
            entry[name] = value
    return entry


def apply_marks(schema: Schema, marks: Iterable[Any], *, refuse: Refuse) -> None:
    """Complete ``schema`` in place; raises what ``refuse`` makes of a problem."""
    for mark in marks:
        if any(mark is uncalled for uncalled in _UNCALLED):
            raise refuse(f"write {mark.__name__}(…) with its arguments")
        if isinstance(mark, type) and issubclass(mark, _BARE):
            mark = mark()
        if isinstance(mark, msgspec.Meta):
            _apply_meta(schema, mark, refuse)
        elif isinstance(mark, Rule):
            schema.setdefault("x-kubernetes-validations", []).append(_validation(mark))
        elif isinstance(mark, Description):
            schema["description"] = mark.text
        elif isinstance(mark, Format):
            _apply_format(schema, mark, refuse)
        elif isinstance(mark, ListMap):
            _apply_list_map(schema, mark, refuse)
        elif isinstance(mark, ListSet):
            _apply_list_set(schema, refuse)
        elif isinstance(mark, Atomic):
            _apply_atomic(schema, refuse)
        elif isinstance(mark, PreserveUnknown):
            _apply_preserve(schema, refuse)
        elif isinstance(mark, PerAttempt) or mark is PerAttempt:
            continue  # says how a status draft begins, not what it may hold


def _apply_meta(schema: Schema, meta: msgspec.Meta, refuse: Refuse) -> None:
    numeric = (meta.ge, meta.le, meta.gt, meta.lt, meta.multiple_of)
    lengths = (meta.min_length, meta.max_length)
    constrained = any(v is not None for v in (*numeric, *lengths, meta.pattern))
    if constrained and schema.get("nullable"):
        raise refuse("a constraint stands on the type, not on the union: Annotated[X, …] | None")
    if constrained and ("enum" in schema or schema.get("x-kubernetes-int-or-string")):
        raise refuse("a constraint on choices, an int-or-string or a Quantity is not enforced")
    if any(v is not None for v in numeric):
        _apply_range(schema, meta, refuse)
    if any(v is not None for v in lengths):
        _apply_length(schema, lengths, refuse)
    if meta.pattern is not None:
        if schema.get("type") != "string" or "format" in schema:
            raise refuse(f"Pattern fits str only, not {_kind(schema)}")
        schema["pattern"] = (meta.extra or {}).get(GIVEN_PATTERN, meta.pattern)
    if meta.description:
        schema["description"] = meta.description
    schema.update(meta.extra_json_schema or {})


def _apply_range(schema: Schema, meta: msgspec.Meta, refuse: Refuse) -> None:
    kind = schema.get("type")
    if kind not in ("integer", "number"):
        raise refuse(f"Range fits int and float only, not {_kind(schema)}")
    for name, value, exclusive in (
        ("minimum", meta.ge, ""),
        ("minimum", meta.gt, "exclusiveMinimum"),
        ("maximum", meta.le, ""),
        ("maximum", meta.lt, "exclusiveMaximum"),
        ("multipleOf", meta.multiple_of, ""),
    ):
        if value is None:
            continue
        if kind == "integer" and not isinstance(value, int):
            raise refuse(f"the bound {value!r} of an int is not a whole number: write an int")
        schema[name] = value
        if exclusive:
            schema[exclusive] = True


def _apply_length(schema: Schema, bounds: tuple[int | None, int | None], refuse: Refuse) -> None:
    kind = schema.get("type", "")
    if kind not in _LENGTHS or "format" in schema or "properties" in schema:
        raise refuse(f"Length fits str, list, set and dict only, not {_kind(schema)}")
    for name, value in zip(_LENGTHS[kind], bounds, strict=True):
        if value is not None:
            schema[name] = value


def _apply_format(schema: Schema, mark: Format, refuse: Refuse) -> None:
    if schema.get("type") != "string" or "format" in schema:
        raise refuse(f"Format({mark.name!r}) fits str only, not {_kind(schema)}")
    schema["format"] = mark.name


def _apply_list_map(schema: Schema, mark: ListMap, refuse: Refuse) -> None:
    items = schema.get("items", {})
    properties = items.get("properties", {})
    if schema.get("type") != "array" or not properties or items.get("nullable"):
        raise refuse("ListMap fits a list of Models only")
    keys = [key if key in properties else camel(key) for key in mark.keys]
    for key in keys:
        member = properties.get(key)
        if member is None:
            raise refuse(f"ListMap: the entries have no field {key!r}: {', '.join(properties)}")
        scalar = member.get("type") in _SCALAR_TYPES or member.get("x-kubernetes-int-or-string")
        if not scalar or member.get("nullable"):
            raise refuse(f"ListMap: the key {key!r} is not a scalar that is never null")
        if key not in items.get("required", ()) and "default" not in member:
            raise refuse(f"ListMap: the key {key!r} is neither required nor has it a default")
    schema["x-kubernetes-list-type"] = "map"
    schema["x-kubernetes-list-map-keys"] = keys


def _apply_list_set(schema: Schema, refuse: Refuse) -> None:
    items = schema.get("items", {})
    scalar = items.get("type") in _SCALAR_TYPES or items.get("x-kubernetes-int-or-string")
    if schema.get("type") != "array" or not scalar or items.get("nullable"):
        raise refuse("a set holds scalars that are never null: use a list with ListMap for Models")
    schema["x-kubernetes-list-type"] = "set"


def _apply_atomic(schema: Schema, refuse: Refuse) -> None:
    kind = schema.get("type")
    if kind not in ("array", "object"):
        raise refuse(f"Atomic fits lists, maps and Models only, not {_kind(schema)}")
    schema["x-kubernetes-list-type" if kind == "array" else "x-kubernetes-map-type"] = "atomic"


def _apply_preserve(schema: Schema, refuse: Refuse) -> None:
    if schema.get("type") != "object":
        raise refuse(f"PreserveUnknown fits Models only, not {_kind(schema)}")
    schema["x-kubernetes-preserve-unknown-fields"] = True


def camel(name: str) -> str:
    """A Python name as it is on the wire: ``ready_replicas`` is ``readyReplicas``."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def _kind(schema: Schema) -> str:
    """A type in words for messages."""
    if schema.get("x-kubernetes-int-or-string"):
        return "an int-or-string"
    words = [schema.get("format", ""), schema.get("type", "any value")]
    return " ".join(word for word in words if word)
