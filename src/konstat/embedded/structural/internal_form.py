"""Parts of a CustomResourceDefinition as the server prints them in field errors.

The server validates an internal form: a schema, a column or a subresource that is the same in
all versions moves to the top (so paths begin with ``spec.validation``), and values in messages
show the internal Go structs: every field, in their order, under Go's names. `lifted` makes the
move, `schema_text` and its siblings print. Before: `gotext`. After: `crd`, `crd_schema`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from konstat.embedded import gotext
from konstat.embedded.structural.correlation import identical

Object = Mapping[str, Any]
Writer = Callable[[Any], str]


class Lifted(NamedTuple):
    """What is the same in all versions, or None; and the versions without it."""

    schema: Object | None
    subresources: Object | None
    columns: Sequence[Object] | None
    selectable: Sequence[Object] | None
    versions: list[Object]


_PARTS: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def lifted(spec: Object) -> Lifted:
    """The versions of a spec with their common parts at the top."""
    versions: list[dict[str, Any]] = [dict(version) for version in spec.get("versions") or ()]
    common: dict[str, Any] = {}
    for part in _PARTS:
        if versions and all(_same(v.get(part), versions[0].get(part)) for v in versions):
            common[part] = versions[0].get(part)
            for version in versions:
                version.pop(part, None)
    return Lifted(*(common.get(part) for part in _PARTS), versions=list(versions))


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, list) or isinstance(right, list):
        return identical(left or [], right or [])
    return identical(left, right)


# --- printing ---------------------------------------------------------------------------------


def _json(value: Any) -> str:
    return gotext.encode(value)


def _text(value: Any) -> str:
    return gotext.encode(value or "")


def _flag(value: Any) -> str:
    return "true" if value else "false"


def _number(value: Any) -> str:
    return gotext.encode(value or 0)


def _struct(value: Object, fields: Sequence[tuple[str, str, Writer]]) -> str:
    written = (f'"{name}":{write(value.get(key))}' for name, key, write in fields)
    return "{" + ",".join(written) + "}"


def _optional(write: Writer) -> Writer:
    return lambda value: "null" if value is None else write(value)


def _each(write: Writer) -> Writer:
    return lambda value: "null" if not value else "[" + ",".join(map(write, value)) + "]"


def _map(write: Writer) -> Writer:
    def written(value: Any) -> str:
        if not value:
            return "null"
        return "{" + ",".join(f"{_json(k)}:{write(value[k])}" for k in sorted(value)) + "}"

    return written


def schema_text(schema: Any) -> str:
    """A JSONSchemaProps."""
    return _struct(schema, _SCHEMA)


def rule_text(rule: Object) -> str:
    """A ValidationRule."""
    return _struct(rule, _RULE)


def versions_text(versions: Sequence[Object]) -> str:
    """The versions of a CustomResourceDefinition."""
    return _each(lambda version: _struct(version, _VERSION))(versions)


def _or_array(value: Any) -> str:
    if isinstance(value, list):
        return f'{{"Schema":null,"JSONSchemas":{_each(schema_text)(value)}}}'
    return f'{{"Schema":{schema_text(value)},"JSONSchemas":null}}'


def _or_bool(value: Any) -> str:
    if isinstance(value, bool):
        return f'{{"Allows":{_flag(value)},"Schema":null}}'
    return f'{{"Allows":true,"Schema":{schema_text(value)}}}'


def _or_names(value: Any) -> str:
    if isinstance(value, list):
        return f'{{"Schema":null,"Property":{_each(_json)(value)}}}'
    return f'{{"Schema":{schema_text(value)},"Property":null}}'


def _docs(value: Any) -> str:
    return _struct(value, (("Description", "description", _text), ("URL", "url", _text)))


def _validation(value: Any) -> str:
    return _struct(value, (("OpenAPIV3Schema", "openAPIV3Schema", _optional(schema_text)),))


def _scale(value: Any) -> str:
    return _struct(
        value,
        (
            ("SpecReplicasPath", "specReplicasPath", _text),
            ("StatusReplicasPath", "statusReplicasPath", _text),
            ("LabelSelectorPath", "labelSelectorPath", _optional(_json)),
        ),
    )


def _subresources(value: Any) -> str:
    status, scale = _optional(lambda _: "{}"), _optional(_scale)
    return _struct(value, (("Status", "status", status), ("Scale", "scale", scale)))


def _column(value: Any) -> str:
    return _struct(
        value,
        (
            ("Name", "name", _text),
            ("Type", "type", _text),
            ("Format", "format", _text),
            ("Description", "description", _text),
            ("Priority", "priority", _number),
            ("JSONPath", "jsonPath", _text),
        ),
    )


_VALUE: Final = _optional(_json)
_RULE: Final[Sequence[tuple[str, str, Writer]]] = (
    ("Rule", "rule", _text),
    ("Message", "message", _text),
    ("MessageExpression", "messageExpression", _text),
    ("Reason", "reason", _VALUE),
    ("FieldPath", "fieldPath", _text),
    ("OptionalOldSelf", "optionalOldSelf", _VALUE),
)
_SCHEMA: Final[Sequence[tuple[str, str, Writer]]] = (
    ("ID", "id", _text),
    ("Schema", "$schema", _text),
    ("Ref", "$ref", _VALUE),
    ("Description", "description", _text),
    ("Type", "type", _text),
    ("Nullable", "nullable", _flag),
    ("Format", "format", _text),
    ("Title", "title", _text),
    ("Default", "default", _VALUE),
    ("Maximum", "maximum", _VALUE),
    ("ExclusiveMaximum", "exclusiveMaximum", _flag),
    ("Minimum", "minimum", _VALUE),
    ("ExclusiveMinimum", "exclusiveMinimum", _flag),
    ("MaxLength", "maxLength", _VALUE),
    ("MinLength", "minLength", _VALUE),
    ("Pattern", "pattern", _text),
    ("MaxItems", "maxItems", _VALUE),
    ("MinItems", "minItems", _VALUE),
    ("UniqueItems", "uniqueItems", _flag),
    ("MultipleOf", "multipleOf", _VALUE),
    ("Enum", "enum", _each(_json)),
    ("MaxProperties", "maxProperties", _VALUE),
    ("MinProperties", "minProperties", _VALUE),
    ("Required", "required", _each(_json)),
    ("Items", "items", _optional(_or_array)),
    ("AllOf", "allOf", _each(schema_text)),
    ("OneOf", "oneOf", _each(schema_text)),
    ("AnyOf", "anyOf", _each(schema_text)),
    ("Not", "not", _optional(schema_text)),
    ("Properties", "properties", _map(schema_text)),
    ("AdditionalProperties", "additionalProperties", _optional(_or_bool)),
    ("PatternProperties", "patternProperties", _map(schema_text)),
    ("Dependencies", "dependencies", _map(_or_names)),
    ("AdditionalItems", "additionalItems", _optional(_or_bool)),
    ("Definitions", "definitions", _map(schema_text)),
    ("ExternalDocs", "externalDocs", _optional(_docs)),
    ("Example", "example", _VALUE),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", _VALUE),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", _flag),
    ("XIntOrString", "x-kubernetes-int-or-string", _flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", _each(_json)),
    ("XListType", "x-kubernetes-list-type", _VALUE),
    ("XMapType", "x-kubernetes-map-type", _VALUE),
    ("XValidations", "x-kubernetes-validations", _each(rule_text)),
)
_VERSION: Final[Sequence[tuple[str, str, Writer]]] = (
    ("Name", "name", _text),
    ("Served", "served", _flag),
    ("Storage", "storage", _flag),
    ("Deprecated", "deprecated", _flag),
    ("DeprecationWarning", "deprecationWarning", _VALUE),
    ("Schema", "schema", _optional(_validation)),
    ("Subresources", "subresources", _optional(_subresources)),
    ("AdditionalPrinterColumns", "additionalPrinterColumns", _each(_column)),
    (
        "SelectableFields",
        "selectableFields",
        _each(lambda value: _struct(value, (("JSONPath", "jsonPath", _text),))),
    ),
)

GO_NAMES: Final[Mapping[str, str]] = {key: name for name, key, _ in _SCHEMA}
ZEROES: Final = ("", False, None, [], {})
