"""The rules that every node of a CRD's schema keeps, apart from being structural.

Which keywords may be used, list and map types and their keys, where defaults may stand, and the
form of ``x-kubernetes-validations``; their expressions are judged by `konstat.embedded.cel.rules`
where the schema itself is sound. Before: `texts`, `field_paths`, `internal_form`. After: `crd`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from konstat.embedded.cel.budget import Budget
from konstat.embedded.cel.judging import rule_errors
from konstat.embedded.status_errors import FieldError
from konstat.embedded.structural import texts
from konstat.embedded.structural.correlation import Schema
from konstat.embedded.structural.crd_structural import unsupported_keyword
from konstat.embedded.structural.field_paths import FieldPathError, resolve_field_path
from konstat.embedded.structural.pruning import META_FIELDS

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_REASONS: Final = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_NEWLINE: Final = re.compile(r"[\n\r]")
_RULES: Final = "x-kubernetes-validations"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_LIST_TYPE: Final = "x-kubernetes-list-type"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_UNSUPPORTED: Final = (
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
)


@dataclass
class Found:
    """Errors of the schema and of rules, apart: the first kind keeps rules from being judged."""

    schema: list[FieldError] = field(default_factory=list)
    rules: list[FieldError] = field(default_factory=list)

    def merge(self, other: Found) -> None:
        """Take over the errors of a node below."""
        self.schema += other.schema
        self.rules += other.rules


@dataclass(frozen=True)
class Setting:
    """What the nodes above mean for one node.

    ``no_defaults``
        Why defaults may not stand here; empty where they may.
    ``inside_meta``
        The node is part of apiVersion, kind or metadata.
    ``uncorrelated``
        The path of the first list above whose entries have no old value; empty for none.
    ``loose``
        Rules that an update of a CRD that already breaks them need not keep.
    """

    at_root: bool = False
    no_defaults: str = ""
    inside_meta: bool = False
    uncorrelated: str = ""
    loose: frozenset[str] = frozenset()


def schema_errors(schema: Schema, path: str, *, setting: Setting, budget: Budget | None) -> Found:
    """All errors of a node and of what is below it.

    ``budget`` counts the cost of rules; None where they are not judged: in a schema that is not
    structural, and inside of allOf, anyOf, oneOf and not.
    """
    found = Found()
    found.schema += _keywords(schema, path, setting)
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        found.schema.append(texts.forbidden(texts.child(path, "uniqueItems"), detail))
    _additional(schema, path, setting, budget, found)
    _properties(schema, path, setting, budget, found)
    _branches(schema, path, setting, found)
    _items(schema, path, setting, budget, found)
    found.schema += _extensions(schema, path, setting)
    rules: Sequence[Schema] = schema.get(_RULES) or ()
    found.schema += _rule_forms(schema, rules, path)
    if rules and not found.schema and budget is not None:
        found.rules += rule_errors(
            schema,
            texts.child(path, _RULES),
            at_root=setting.at_root or bool(schema.get(_EMBEDDED)),
            budget=budget,
            uncorrelated=setting.uncorrelated,
        )
    return found


def _keywords(schema: Schema, path: str, setting: Setting) -> Iterator[FieldError]:
    kind = schema.get("type") or ""
    if kind and kind not in _TYPES and "types" not in setting.loose:
        choices = sorted(_TYPES)
        yield texts.not_supported(texts.child(path, "type"), kind, choices)
    if schema.get("default") is not None and setting.no_defaults:
        detail = f"must not be set {setting.no_defaults}"
        yield texts.forbidden(texts.child(path, "default"), detail)
    if schema.get("id"):
        yield texts.forbidden(texts.child(path, "id"), "id is not supported")
    for name in _UNSUPPORTED:
        value = schema.get(name)
        if value if name in ("patternProperties", "definitions") else value is not None:
            yield texts.forbidden(texts.child(path, name), f"{name} is not supported")
    if kind == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        yield texts.forbidden(texts.child(path, "type"), detail)
    if isinstance(schema.get("items"), list) and schema["items"]:
        detail = "items must be a schema object and not an array"
        yield texts.forbidden(texts.child(path, "items"), detail)
    if setting.inside_meta and schema.get(_EMBEDDED):
        yield texts.forbidden(
            texts.child(path, _EMBEDDED), "must not be used inside of resource meta"
        )


def _additional(
    schema: Schema, path: str, setting: Setting, budget: Budget | None, found: Found
) -> None:
    others = schema.get("additionalProperties")
    if others is None:
        return
    place = texts.child(path, "additionalProperties")
    if schema.get("properties") and others is not True:
        detail = "additionalProperties and properties are mutual exclusive"
        found.schema.append(texts.forbidden(place, detail))
    if isinstance(others, Mapping):
        inner = replace(setting, at_root=False)
        if setting.inside_meta:
            inner = replace(
                inner, no_defaults="inside additionalProperties applying to object metadata"
            )
        found.merge(
            schema_errors(others, place, setting=inner, budget=budget and budget.below(schema))
        )


def _properties(
    schema: Schema, path: str, setting: Setting, budget: Budget | None, found: Found
) -> None:
    properties: Schema = schema.get("properties") or {}
    for name, inner in properties.items():
        below = replace(setting, at_root=False)
        if schema.get(_MAP_TYPE) not in (None, "granular", "atomic") and not below.uncorrelated:
            below = replace(below, uncorrelated=path)
        if (setting.at_root or schema.get(_EMBEDDED)) and name in META_FIELDS:
            below = replace(below, inside_meta=True)
            if setting.at_root:
                below = replace(below, no_defaults=f"in top-level {name}")
        place = texts.key(f"{path}.properties", name)
        inner_budget = budget and budget.below(schema)
        found.merge(schema_errors(inner, place, setting=below, budget=inner_budget))


def _branches(schema: Schema, path: str, setting: Setting, found: Found) -> None:
    inner = replace(setting, at_root=False)
    refused = schema.get("not")
    if refused is not None:
        place = texts.child(path, "not")
        found.merge(schema_errors(refused, place, setting=inner, budget=None))
    for name in ("allOf", "oneOf", "anyOf"):
        for position, option in enumerate(schema.get(name) or ()):
            place = texts.index(texts.child(path, name), position)
            found.merge(schema_errors(option, place, setting=inner, budget=None))


def _items(
    schema: Schema, path: str, setting: Setting, budget: Budget | None, found: Found
) -> None:
    items = schema.get("items")
    if items is None:
        return
    inner = replace(setting, at_root=False)
    if schema.get(_LIST_TYPE) != "map" and not inner.uncorrelated:
        inner = replace(inner, uncorrelated=path)
    place = texts.child(path, "items")
    below = budget and budget.below(schema)
    if isinstance(items, Mapping):
        found.merge(schema_errors(items, place, setting=inner, budget=below))
        return
    for position, one in enumerate(items):
        where = texts.index(place, position)
        found.merge(schema_errors(one, where, setting=inner, budget=below))


# --- extensions -------------------------------------------------------------------------------


def _extensions(schema: Schema, path: str, setting: Setting) -> Iterator[FieldError]:
    if schema.get(_PRESERVE) is False:
        yield texts.invalid(texts.child(path, _PRESERVE), False, "must be true or undefined")
    kind, map_type, list_type = (schema.get(k) for k in ("type", _MAP_TYPE, _LIST_TYPE))
    if map_type is not None:
        if kind != "object":
            yield _wrong_type(path, kind, f"must be object if {_MAP_TYPE} is specified")
        if map_type not in ("atomic", "granular"):
            place = texts.child(path, _MAP_TYPE)
            yield texts.not_supported(place, map_type, ["atomic", "granular"])
    if list_type is not None and kind != "array":
        yield _wrong_type(path, kind, f"must be array if {_LIST_TYPE} is specified")
    elif list_type == "set" and "atomic sets" not in setting.loose:
        yield from _set_items(schema, path)
    if list_type is not None and list_type not in ("atomic", "set", "map"):
        place = texts.child(path, _LIST_TYPE)
        yield texts.not_supported(place, list_type, ["atomic", "set", "map"])
    if schema.get(_LIST_KEYS):
        detail = f"must be map if {_LIST_KEYS} is non-empty"
        if list_type is None:
            yield texts.required(texts.child(path, _LIST_TYPE), detail)
        elif list_type != "map":
            yield texts.invalid(texts.child(path, _LIST_TYPE), list_type, detail)
    if list_type == "map":
        yield from _list_map(schema, path)
    if list_type in ("set", "map") and "list keys" not in setting.loose:
        yield from list_key_errors(schema, path)


def _wrong_type(path: str, kind: Any, detail: str) -> FieldError:
    place = texts.child(path, "type")
    return texts.invalid(place, kind, detail) if kind else texts.required(place, detail)


def _set_items(schema: Schema, path: str) -> Iterator[FieldError]:
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return
    place = texts.child(path, "items")
    detail = f"must be atomic as item of a list with {_LIST_TYPE}=set"
    inner = items.get(_LIST_TYPE)
    if items.get("type") == "array" and inner not in (None, "atomic"):
        yield texts.invalid(texts.child(place, _LIST_TYPE), inner, detail)
    if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        # The server prints the list type of the items here, which an object has not.
        yield texts.invalid(texts.child(place, _MAP_TYPE), inner, detail)


def _list_map(schema: Schema, path: str) -> Iterator[FieldError]:
    keys: Sequence[str] = schema.get(_LIST_KEYS) or ()
    place, items_place = texts.child(path, _LIST_KEYS), texts.child(path, "items")
    if not keys:
        yield texts.required(place, f"must not be empty if {_LIST_TYPE} is map")
    items = schema.get("items")
    if items is None:
        yield texts.required(items_place, f"must have a schema if {_LIST_TYPE} is map")
    if not isinstance(items, Mapping):
        return
    if items.get("type") != "object":
        detail = f"must be object if parent array's {_LIST_TYPE} is map"
        yield texts.invalid(texts.child(items_place, "type"), items.get("type") or "", detail)
        return
    properties: Schema = items.get("properties") or {}
    for position, key in enumerate(keys):
        if key not in properties:
            yield texts.invalid(place, list(keys), "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            where = texts.child(texts.key(f"{items_place}.properties", key), "type")
            detail = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield texts.invalid(where, "object", detail)
        if key in keys[:position]:
            yield texts.invalid(place, list(keys), "must not contain duplicate entries")


def list_key_errors(schema: Schema, path: str) -> Iterator[FieldError]:
    """Keys of list maps are required or have a default, and nothing of them is nullable."""
    items, list_type = schema.get("items"), schema.get(_LIST_TYPE)
    if not isinstance(items, Mapping) or list_type not in ("set", "map"):
        return
    place = texts.child(path, "items")
    if items.get("nullable"):
        detail = f"cannot be nullable when {_LIST_TYPE} is {list_type}"
        yield texts.forbidden(texts.child(place, "nullable"), detail)
    if list_type != "map":
        return
    properties: Schema = items.get("properties") or {}
    reason = f"this property is in {_LIST_KEYS}, so it"
    for key in schema.get(_LIST_KEYS) or ():
        inner = properties.get(key)
        if inner is None:
            continue
        where = texts.key(f"{place}.properties", key)
        if key not in (items.get("required") or ()) and inner.get("default") is None:
            detail = f"{reason} must have a default or be a required property"
            yield texts.required(texts.child(where, "default"), detail)
        if inner.get("nullable"):
            yield texts.forbidden(texts.child(where, "nullable"), f"{reason} cannot be nullable")


# --- the form of rules ------------------------------------------------------------------------


def _rule_forms(schema: Schema, rules: Sequence[Schema], path: str) -> Iterator[FieldError]:
    for position, rule in enumerate(rules):
        yield from _rule_form(schema, rule, texts.index(texts.child(path, _RULES), position))


def _rule_form(schema: Schema, rule: Schema, path: str) -> Iterator[FieldError]:
    text = (rule.get("rule") or "").strip()
    given, expression = rule.get("message") or "", rule.get("messageExpression") or ""
    message = given.strip()
    where = texts.child(path, "message")
    if not text:
        yield texts.required(texts.child(path, "rule"), "rule is not specified")
    elif given and not message:
        yield texts.invalid(where, given, "must be non-empty if specified")
    elif _NEWLINE.search(message):
        yield texts.invalid(where, given, "must not contain line breaks")
    elif _NEWLINE.search(text) and not message:
        yield texts.required(where, "message must be specified if rule contains line breaks")
    if expression and not expression.strip():
        detail = "messageExpression must be non-empty if specified"
        yield texts.required(texts.child(path, "messageExpression"), detail)
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        yield texts.not_supported(texts.child(path, "reason"), rule["reason"], _REASONS)
    yield from _rule_field_path(schema, rule.get("fieldPath") or "", texts.child(path, "fieldPath"))


def _rule_field_path(schema: Schema, given: str, path: str) -> Iterator[FieldError]:
    if given and not given.strip():
        yield texts.invalid(path, given, "must be non-empty if specified")
    if _NEWLINE.search(given):
        yield texts.invalid(path, given, "must not contain line breaks")
    if given and not unsupported_keyword(schema):
        try:
            resolve_field_path(given, schema)
        except FieldPathError:
            yield texts.invalid(path, given, "must be a valid path")
