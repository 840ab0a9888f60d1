"""Is a schema structural: the invariants of KEP 20190425, with the server's texts (C47).

Every field has a type outside of allOf, anyOf, oneOf and not; inside of these stand only limits,
for fields that are declared outside; metadata says nothing but name and generateName; embedded
objects and int-or-string keep to their forms. Before: `texts`, `patterns`. After: `crd_schema`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from konstat.embedded.status_errors import FieldError
from konstat.embedded.structural import texts
from konstat.embedded.structural.correlation import Schema
from konstat.embedded.structural.patterns import PatternError, compiled

_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_INT_OR_STRING_ANY_OF: Final = ({"type": "integer"}, {"type": "string"})
_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
# What may not stand inside of allOf, anyOf, oneOf and not, with the server's words.
_FORBIDDEN_INSIDE: Final = (
    ("type", "must be empty to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (_PRESERVE, "must be false to be structural"),
    (_EMBEDDED, "must be false to be structural"),
    (_INT_OR_STRING, "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_MAY_BE_EMPTY_TEXT: Final = ("x-kubernetes-list-type", "x-kubernetes-map-type", "default")


def unsupported_keyword(schema: Schema) -> str:
    """The error for a keyword that no structural schema may use, at any depth, or ``""``."""
    for name in ("id", "$schema"):
        if schema.get(name):
            return f"OpenAPIV3Schema '{name.removeprefix('$')}' is not supported"
    if schema.get("$ref"):
        return "OpenAPIV3Schema '$ref' is not supported"
    for name in ("patternProperties", "dependencies"):
        if schema.get(name):
            return f"OpenAPIV3Schema '{name}' is not supported"
    if schema.get("additionalItems") is not None:
        return "OpenAPIV3Schema 'additionalItems' is not supported"
    if schema.get("definitions"):
        return "OpenAPIV3Schema 'definitions' is not supported"
    if schema.get(_PRESERVE) is False:
        return f"internal error: '{_PRESERVE}' must be true or undefined"
    if isinstance(schema.get("items"), list) and schema["items"]:
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next(
        (found for inner in inner_schemas(schema) if (found := unsupported_keyword(inner))), ""
    )


def inner_schemas(schema: Schema) -> Iterator[Schema]:
    """The schemas one level below, branches included."""
    refused = schema.get("not")
    if isinstance(refused, Mapping):
        yield refused
    for name in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(name) or ()
    for name in ("items", "additionalProperties"):
        inner = schema.get(name)
        if isinstance(inner, Mapping):
            yield inner
        elif isinstance(inner, list):
            yield from inner
    yield from (schema.get("properties") or {}).values()


def structural_errors(schema: Schema, path: str) -> list[FieldError]:
    """Why a schema is not structural; sorted by their texts, as the server does."""
    found = [*_invariants(schema, _ROOT, path), *_complete(schema, schema, path, path)]
    return sorted(found, key=str)


def _invariants(schema: Schema, level: str, path: str) -> Iterator[FieldError]:
    items = schema.get("items")
    if schema.get("type") == "array" and items is None:
        yield texts.required(texts.child(path, "items"), "must be specified")
    if isinstance(items, Mapping):
        yield from _invariants(items, _ITEM, texts.child(path, "items"))
    properties: Schema = schema.get("properties") or {}
    for name, inner in properties.items():
        yield from _invariants(inner, _FIELD, texts.key(f"{path}.properties", name))
    others = schema.get("additionalProperties")
    if others is not None:
        place = texts.child(path, "additionalProperties")
        if level == _ROOT:
            yield texts.forbidden(place, "must not be used at the root")
        if isinstance(others, Mapping):
            yield from _invariants(others, _FIELD, place)
    yield from _extensions(schema, path)
    any_of, all_of = schema.get("anyOf") or (), schema.get("allOf") or ()
    yield from _values(
        schema,
        path,
        skip_any_of=_is_int_or_string(any_of),
        skip_first_all_of=bool(all_of) and _is_int_or_string(all_of[0].get("anyOf") or ()),
    )
    yield from _types(schema, level, path)
    yield from _meta(schema, level, path)


def _is_int_or_string(options: Any) -> bool:
    cleaned = [
        {k: v for k, v in option.items() if v not in (None, "", [], {})} for option in options
    ]
    return cleaned == list(_INT_OR_STRING_ANY_OF)


def _extensions(schema: Schema, path: str) -> Iterator[FieldError]:
    if schema.get(_INT_OR_STRING):
        for name in (_PRESERVE, _EMBEDDED):
            if schema.get(name):
                detail = f"must be false if {_INT_OR_STRING} is true"
                yield texts.invalid(texts.child(path, name), True, detail)


def _types(schema: Schema, level: str, path: str) -> Iterator[FieldError]:
    kind, place = schema.get("type") or "", texts.child(path, "type")
    if schema.get(_EMBEDDED) and kind != "object":
        detail = f"must be object if {_EMBEDDED} is true"
        yield texts.invalid(place, kind, detail) if kind else texts.required(place, detail)
    elif not kind and not schema.get(_INT_OR_STRING) and not schema.get(_PRESERVE):
        yield texts.required(place, f"must not be empty {level}")
    if schema.get(_EMBEDDED) and schema.get("additionalProperties") is not None:
        where = texts.child(path, "additionalProperties")
        yield texts.forbidden(where, f"must not be used if {_EMBEDDED} is set")
    if level == _ROOT and kind and kind != "object":
        yield texts.invalid(place, kind, "must be object at the root")


def _meta(schema: Schema, level: str, path: str) -> Iterator[FieldError]:
    properties: Schema = schema.get("properties") or {}
    checked = level == _ROOT or bool(schema.get(_EMBEDDED))
    for name in ("kind", "apiVersion"):
        if checked and name in properties and properties[name].get("type") != "string":
            place = texts.child(texts.key(f"{path}.properties", name), "type")
            yield texts.invalid(place, properties[name].get("type") or "", "must be string")
    if "metadata" in properties:
        place = texts.key(f"{path}.properties", "metadata")
        yield from _metadata(properties["metadata"], level, place, checked=checked)
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVE) and not properties:
        detail = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        yield texts.required(texts.child(path, "properties"), detail)


def _metadata(schema: Schema, level: str, path: str, *, checked: bool) -> Iterator[FieldError]:
    if checked and schema.get("type") != "object":
        yield texts.invalid(texts.child(path, "type"), schema.get("type") or "", "must be object")
    if level != _ROOT:
        return
    left = {k: v for k, v in schema.items() if v not in (None, "", False, [], {})}
    names = set(left.get("properties", ()))
    if names and names <= {"name", "generateName"}:
        left.pop("properties")
    left.pop("type", None)
    left.pop("default", None)
    if left:
        detail = (
            "must not specify anything other than name and generateName, but metadata is"
            " implicitly specified"
        )
        yield texts.forbidden(path, detail)


# --- inside of allOf, anyOf, oneOf and not ----------------------------------------------------


def _values(
    schema: Schema, path: str, *, skip_any_of: bool = False, skip_first_all_of: bool = False
) -> Iterator[FieldError]:
    for name in ("anyOf", "allOf", "oneOf"):
        if name == "anyOf" and skip_any_of:
            continue
        for position, option in enumerate(schema.get(name) or ()):
            place = texts.index(texts.child(path, name), position)
            skip = name == "allOf" and position == 0 and skip_first_all_of
            yield from _nested(option, place, skip_any_of=skip)
    refused = schema.get("not")
    if refused is not None:
        yield from _nested(refused, texts.child(path, "not"))
    yield from _pattern(schema, path)


def _pattern(schema: Schema, path: str) -> Iterator[FieldError]:
    pattern = schema.get("pattern")
    if not pattern:
        return
    try:
        compiled(pattern)
    except PatternError as error:
        detail = f"must be a valid regular expression, but isn't: {error}"
        yield texts.invalid(
            texts.child(path, "pattern"), pattern, detail if error.known_bad else str(error)
        )


def _nested(schema: Schema, path: str, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    yield from _values(schema, path, skip_any_of=skip_any_of)
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield from _nested(items, texts.child(path, "items"))
    properties: Schema = schema.get("properties") or {}
    for name, inner in properties.items():
        yield from _nested(inner, texts.key(f"{path}.properties", name))
    others = schema.get("additionalProperties")
    if others is not None and others is not False:
        detail = "must be undefined to be structural"
        yield texts.forbidden(texts.child(path, "additionalProperties"), detail)
    for name, detail in _FORBIDDEN_INSIDE:
        value = schema.get(name)
        if value or (value is not None and name in _MAY_BE_EMPTY_TEXT):
            yield texts.forbidden(texts.child(path, name), detail)
    if "metadata" in properties:
        place = texts.key(f"{path}.properties", "metadata")
        yield texts.forbidden(place, "must not be specified in a nested context")


def _complete(
    values: Schema, schema: Schema | None, schema_path: str, path: str
) -> Iterator[FieldError]:
    """Everything that limits speak of must be declared outside of them too."""
    branches = [("not", values["not"])] if values.get("not") is not None else []
    for name in ("allOf", "anyOf", "oneOf"):
        branches += [(f"{name}[{i}]", one) for i, one in enumerate(values.get(name) or ())]
    for name, branch in branches:
        yield from _nested_complete(branch, schema, schema_path, f"{path}.{name}")


def _nested_complete(
    values: Schema, schema: Schema | None, schema_path: str, path: str
) -> Iterator[FieldError]:
    if schema is None:
        yield texts.required(schema_path, f"because it is defined in {path}")
        return
    yield from _complete(values, schema, schema_path, path)
    items = values.get("items")
    if isinstance(items, Mapping):
        declared = schema.get("items")
        yield from _nested_complete(
            items,
            declared if isinstance(declared, Mapping) else None,
            texts.child(schema_path, "items"),
            texts.child(path, "items"),
        )
    properties: Schema = schema.get("properties") or {}
    for name, inner in (values.get("properties") or {}).items():
        place = texts.key(f"{path}.properties", name)
        declared_place = texts.key(f"{schema_path}.properties", name)
        if name in properties:
            yield from _nested_complete(inner, properties[name], declared_place, place)
        else:
            yield texts.required(declared_place, f"because it is defined in {place}")
