"""Types to structural OpenAPI v3 schemas, as a CustomResourceDefinition wants them.

`value_schema` turns one type hint into a schema, with what its ``Annotated`` marks say
(`konstat.objects.marks`), and `struct_schema` a Model with all its fields. Everything that a
structural schema cannot say is refused with a ModelError that names the class and the field.
Equal types give equal schemas, in the order of declaration. `konstat.objects.crd` comes after.
"""

from __future__ import annotations

import collections.abc
import datetime
import decimal
import enum
import types
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, NewType, TypeVar, Union, get_args, get_origin

import msgspec

from konstat.errors import ModelError
from konstat.objects import codec
from konstat.objects.constraint import IntOrStringMark, ListSet
from konstat.objects.docs import class_description, field_descriptions
from konstat.objects.marks import apply_marks, description_mark, validations
from konstat.objects.model import hints_of, rules_of, to_plain
from konstat.objects.quantity import QUANTITY_PATTERN, Quantity

Schema = dict[str, Any]

PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_LISTS: Final = (list, collections.abc.Sequence, collections.abc.MutableSequence)
_SETS: Final = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
_MAPS: Final = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_SCALARS: Final[Mapping[Any, Schema]] = {
    str: {"type": "string"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "format": "byte"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    Quantity: {INT_OR_STRING: True, "pattern": QUANTITY_PATTERN},
}
_INSTEAD: Final[Mapping[Any, str]] = {
    datetime.timedelta: "use konstat's Duration, which is written 1h30m",
    datetime.time: "use str with a Pattern",
    decimal.Decimal: "use konstat's Quantity, float or str",
    complex: "use two floats",
    tuple: "use list[…]",
    types.NoneType: "a field that is always null says nothing: remove it",
}


class Place(NamedTuple):
    """Where in the declarations we are: for messages, and against endless recursion."""

    owner: str
    field: str = ""
    stack: tuple[type, ...] = ()

    def refuse(self, problem: str) -> ModelError:
        """The error that names this place."""
        where = f"{self.owner}.{self.field}" if self.field else self.owner
        return ModelError(f"{where}: {problem}")


def struct_schema(cls: type[msgspec.Struct], *, place: Place | None = None) -> Schema:
    """The schema of a Model with its fields, defaults, rules and descriptions.

    Raises ModelError for what a structural schema cannot say, or msgspec cannot decode.
    """
    stack = place.stack if place else ()
    if cls in stack:
        raise (place or Place(cls.__name__)).refuse(
            f"{cls.__name__} contains itself, which a structural schema cannot say:"
            " type the inner field dict[str, Any]"
        )
    config = cls.__struct_config__
    here = Place(cls.__name__, stack=(*stack, cls))
    if config.array_like:
        raise here.refuse("array_like structs have no names for a schema: remove array_like")
    properties, required = _members(cls, here)
    if config.tag is not None and config.tag_field is not None:
        properties = {config.tag_field: _tag_schema(config.tag), **properties}
    schema: Schema = {"type": "object"}
    if description := class_description(cls):
        schema["description"] = description
    if properties:
        schema["properties"] = properties
    if required:
        schema["required"] = required
    if rules := rules_of(cls):
        schema["x-kubernetes-validations"] = validations(rules)
    return schema


def decodable(cls: type) -> None:
    """Let msgspec say what it cannot decode; raises ModelError."""
    try:
        codec.typed({}, cls)
    except msgspec.ValidationError:
        return
    except (TypeError, ValueError, NameError) as error:
        raise ModelError(f"{cls.__name__}: {error}") from error


def _members(cls: type[msgspec.Struct], here: Place) -> tuple[dict[str, Schema], list[str]]:
    hints = hints_of(cls)
    texts = field_descriptions(cls)
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for field in msgspec.structs.fields(cls):
        place = here._replace(field=field.name)
        hint = hints[field.name]
        schema = field_schema(hint, place, text=texts.get(field.name, ""))
        default = default_of(field, hint, place)
        if default not in (None, [], {}):
            schema["default"] = default
        properties[field.encode_name] = schema
        if field.required:
            required.append(field.encode_name)
    return properties, required


def field_schema(hint: Any, place: Place, *, text: str = "") -> Schema:
    """The schema of one field; ``text`` describes it unless a `Description` does."""
    schema = value_schema(hint, place)
    if text and not description_mark(hint):
        schema["description"] = text
    return schema


def default_of(field: msgspec.structs.FieldInfo, hint: Any, place: Place) -> Any:
    """The default of a field as plain data; None for none. Raises ModelError if it cannot be."""
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    elif field.default is msgspec.NODEFAULT or field.default is msgspec.UNSET:
        return None
    else:
        default = field.default
    if default is None:
        return None
    try:
        plain = to_plain(default)
        codec.typed(plain, hint)
    except (TypeError, ValueError) as error:
        raise place.refuse(
            f"the default {default!r} does not fit the type: {error}; change one of them"
        ) from error
    return plain


# --- one value --------------------------------------------------------------------------------


def value_schema(hint: Any, place: Place) -> Schema:
    """The schema of one type hint; raises ModelError naming ``place``."""
    base, marks = unwrap(hint)
    if any(isinstance(mark, IntOrStringMark) for mark in marks) and _bases(base) != {int, str}:
        raise place.refuse("IntOrString marks int | str only")
    schema = _unmarked(base, place)
    apply_marks(schema, marks, refuse=place.refuse)
    return schema


def unwrap(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type under ``Annotated``, NewType and type aliases, and the marks on the way."""
    marks: tuple[Any, ...] = ()
    while True:
        if hasattr(hint, "__metadata__"):
            marks = (*hint.__metadata__, *marks)
            hint = get_args(hint)[0]
        elif isinstance(hint, NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":  # typing's own name only from 3.12 on
            hint = hint.__value__
        else:
            return hint, marks


def _unmarked(base: Any, place: Place) -> Schema:
    if base in (Any, object):
        return {PRESERVE: True, "nullable": True}
    if isinstance(base, TypeVar):
        raise place.refuse("a type variable has no schema: declare a class for each type")
    if isinstance(base, type) and base in _SCALARS:
        return dict(_SCALARS[base])
    if base in _INSTEAD:
        raise place.refuse(f"{_name(base)} has no schema: {_INSTEAD[base]}")
    origin = get_origin(base) or base
    if origin in (Union, types.UnionType):
        return _union(base, place)
    if origin is Literal:
        return _choice(get_args(base), place)
    for kinds, build in _CONTAINERS:
        if origin in kinds:
            return build(get_args(base), place)
    if isinstance(base, type) and issubclass(base, enum.Enum):
        return _choice(tuple(member.value for member in base), place)
    if isinstance(base, type) and issubclass(base, msgspec.Struct):
        return struct_schema(base, place=place)
    raise place.refuse(
        f"{_name(base)} has no schema: use scalars, Model classes, list, dict[str, …] or Any"
    )


def _list(arguments: tuple[Any, ...], place: Place) -> Schema:
    return {"type": "array", "items": value_schema(arguments[0] if arguments else Any, place)}


def _set(arguments: tuple[Any, ...], place: Place) -> Schema:
    schema = _list(arguments, place)
    apply_marks(schema, (ListSet(),), refuse=place.refuse)
    return schema


def _tuple(arguments: tuple[Any, ...], place: Place) -> Schema:
    if arguments[-1:] == (...,):
        return _list(arguments[:1], place)
    items = [value_schema(argument, place) for argument in arguments]
    if not items or any(item != items[0] for item in items):
        raise place.refuse("the entries of a list have one type: use a Model with a field for each")
    return {"type": "array", "items": items[0], "minItems": len(items), "maxItems": len(items)}


def _dict(arguments: tuple[Any, ...], place: Place) -> Schema:
    key, value = arguments or (str, Any)
    if unwrap(key) != (str, ()):
        raise place.refuse(
            f"the keys of a map are plain str, not {_name(key)}: a schema cannot constrain them"
            " (a Rule over the map can)"
        )
    if unwrap(value)[0] in (Any, object):
        return {"type": "object", PRESERVE: True}
    return {"type": "object", "additionalProperties": value_schema(value, place)}


def _choice(values: tuple[Any, ...], place: Place) -> Schema:
    """An enumeration of texts or of whole numbers, possibly with null."""
    words = [value for value in values if value is not None]
    kinds = {type(word) for word in words}
    if kinds == {str}:
        schema: Schema = {"type": "string", "enum": words}
    elif kinds == {int}:
        schema = {"type": "integer", "format": "int64", "enum": words}
    else:
        raise place.refuse(
            f"the choices {', '.join(map(repr, values))} are not all texts or all whole numbers"
        )
    return _nullable(schema) if None in values else schema


def _nullable(schema: Schema) -> Schema:
    """``schema`` with null as a value.

    The server refuses null in an enumeration, listed there or not; where null is no value it
    drops it, which for us reads the same.
    """
    if "enum" not in schema:
        schema["nullable"] = True
    return schema


# --- unions -----------------------------------------------------------------------------------


def _bases(hint: Any) -> set[Any]:
    """The types of a union without None."""
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return {unwrap(option)[0] for option in options} - {types.NoneType, msgspec.UnsetType}


def _union(base: Any, place: Place) -> Schema:
    options = [o for o in get_args(base) if o not in (types.NoneType, msgspec.UnsetType)]
    schema = _options(options, place)
    return _nullable(schema) if types.NoneType in get_args(base) else schema


def _options(options: list[Any], place: Place) -> Schema:
    if len(options) == 1:
        return value_schema(options[0], place)
    bases = {unwrap(option)[0] for option in options}
    if bases == {int, str}:
        merged: Schema = {INT_OR_STRING: True}
        for option in options:
            schema = value_schema(option, place)
            merged |= {k: v for k, v in schema.items() if k not in ("type", "format")}
        return merged
    if bases == {int, float}:
        return value_schema(next(o for o in options if unwrap(o)[0] is float), place)
    if all(isinstance(b, type) and issubclass(b, msgspec.Struct) for b in bases):
        return _tagged([unwrap(option)[0] for option in options], place)
    raise place.refuse(
        f"a union of {', '.join(_name(o) for o in options)} has no structural schema:"
        " use int | str, X | None, or Models with tag="
    )


def _tagged(variants: list[type[msgspec.Struct]], place: Place) -> Schema:
    """Tagged Models as one object: all their properties, and which go with which tag.

    Defaults of single variants stay in the decoder, since in a shared schema they would fill in
    the fields of all variants.
    """
    tag_fields = {v.__struct_config__.tag_field for v in variants}
    tags = [v.__struct_config__.tag for v in variants]
    if len(tag_fields) != 1 or None in tags or len(set(tags)) != len(tags):
        raise place.refuse("Models in a union need tag= with one tag_field and different tags")
    tag_field = str(tag_fields.pop())
    schemas = [struct_schema(v, place=place) for v in variants]
    properties: dict[str, Schema] = {tag_field: _tag_schema(*tags)}
    for variant, schema in zip(variants, schemas, strict=True):
        for name, member in schema.get("properties", {}).items():
            if name == tag_field:
                continue
            member.pop("default", None)
            if properties.setdefault(name, member) != member:
                raise place.refuse(
                    f"field {name} of {variant.__name__} has another schema in another variant:"
                    " a structural schema has one"
                )
        if "x-kubernetes-validations" in schema:
            raise place.refuse(f"rules of {variant.__name__} would hold for all variants")
    common = set.intersection(*(set(s.get("required", ())) for s in schemas))
    one_of: list[Schema] = []
    for tag, schema in zip(tags, schemas, strict=True):
        own = [name for name in schema.get("required", ()) if name not in common]
        branch: Schema = {"properties": {tag_field: {"enum": [tag]}}}
        one_of.append({**branch, "required": own} if own else branch)
    required = [tag_field, *(name for name in properties if name in common)]
    return {"type": "object", "properties": properties, "required": required, "oneOf": one_of}


def _tag_schema(*tags: Any) -> Schema:
    kind = "integer" if isinstance(tags[0], int) else "string"
    return {"type": kind, "enum": list(tags)}


def _name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")


_CONTAINERS: Final[
    tuple[tuple[tuple[Any, ...], Callable[[tuple[Any, ...], Place], Schema]], ...]
] = ((_LISTS, _list), (_SETS, _set), (_MAPS, _dict), ((tuple,), _tuple))
