"""Schemas as CEL types: what ``self`` is, which fields it has and how large it can be.

What has no type in the schema, or a preserved unknown one, has none here: rules cannot see it.
Names that are no CEL identifiers are escaped (``__dash__``). Before: `types`. After: `judging`,
`rules`, `values`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from konstat.embedded.cel.types import Type
from konstat.embedded.structural.correlation import Schema

RESERVED: Final = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_ESCAPES: Final = {
    "__": "__underscores__",
    ".": "__dot__",
    "-": "__dash__",
    "/": "__slash__",
}
_ESCAPED: Final = re.compile(r"__|[-./]")
_UNESCAPED: Final = re.compile(r"__[^_]+__")
_NAMES: Final = {text[2:-2]: original for original, text in _ESCAPES.items()}
_IDENTIFIER: Final = re.compile(r"[A-Za-z_.\-/][A-Za-z0-9_.\-/]*")
_TEXT: Final[Schema] = {"type": "string"}
META: Final[Schema] = {
    "type": "object",
    "properties": {"name": _TEXT, "generateName": _TEXT},
}

# The server's estimates assume requests of three megabytes.
REQUEST_BYTES: Final = 3 * 1024 * 1024
_MIN_TEXT = 2  # ""
_DURATION_MAXIMUM: Final = 32
_DATE_LENGTH: Final = 12
_DATE_TIME_LENGTHS: Final = (21, 32)
_MIN_DURATION = 3


def escape(name: str) -> str | None:
    """The CEL identifier for a field name, or None when there is none."""
    if name in RESERVED:
        return f"__{name}__"
    if not _IDENTIFIER.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


def unescape(name: str) -> str | None:
    """The field name of a CEL identifier, or None for an escape that means nothing."""
    if "__" not in name:
        return name
    if name.startswith("__") and name.endswith("__") and name[2:-2] in RESERVED:
        return name[2:-2]
    unknown = [m[0] for m in _UNESCAPED.finditer(name) if m[0][2:-2] not in _NAMES]
    if unknown:
        return None
    return _UNESCAPED.sub(lambda match: _NAMES[match[0][2:-2]], name)


def with_meta(schema: Schema) -> Schema:
    """The schema of a whole object: apiVersion, kind and the names in metadata are there."""
    properties: Schema = schema.get("properties") or {}
    meta = properties.get("metadata") or {}
    names = meta.get("properties") or {}
    if (
        all((properties.get(n) or {}).get("type") == "string" for n in ("kind", "apiVersion"))
        and meta.get("type") == "object"
        and all((names.get(n) or {}).get("type") == "string" for n in ("name", "generateName"))
    ):
        return schema
    added = {"kind": _TEXT, "apiVersion": _TEXT, "metadata": META}
    return {**schema, "properties": {**properties, **added}}


def declared_type(schema: Schema, *, at_root: bool, name: str = "selfType") -> Type | None:
    """The CEL type of a schema, or None when rules cannot see such values.

    ``at_root``: the schema is that of a whole object. ``name`` is the name of an object type.
    """
    if schema.get("x-kubernetes-int-or-string"):
        maximum = _limit(schema, "maxLength")
        size = REQUEST_BYTES - 2 if maximum is None else maximum * 4
        return Type("dyn", min_size=1, max_elements=size)
    if at_root:
        schema = with_meta(schema)
    kind = schema.get("type")
    if kind == "array":
        return _list(schema, name)
    if kind == "object":
        return _object(schema, name)
    if kind == "string":
        return _text(schema)
    return {"boolean": _BOOL, "number": _DOUBLE, "integer": _INT}.get(str(kind))


_BOOL: Final = Type("bool", min_size=4)
_DOUBLE: Final = Type("double", min_size=1)
_INT: Final = Type("int", min_size=1)


def _limit(schema: Schema, keyword: str) -> int | None:
    value = schema.get(keyword)
    return None if value is None else max(0, int(value))


def _embedded(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource"))


def _list(schema: Schema, name: str) -> Type | None:
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return None
    inner = declared_type(items, at_root=_embedded(items), name=f"{name}.@idx")
    if inner is None:
        return None
    maximum = _limit(schema, "maxItems")
    # Without a limit: as many as fit into a request, with brackets and commas.
    size = (REQUEST_BYTES - 2) // (inner.min_size + 1) if maximum is None else maximum
    return Type("list", (inner,), min_size=2, max_elements=size)


def _object(schema: Schema, name: str) -> Type | None:
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        inner = declared_type(others, at_root=_embedded(others), name=f"{name}.@elem")
        if inner is None:
            return None
        maximum = _limit(schema, "maxProperties")
        size = (REQUEST_BYTES - 2) // (inner.min_size + 6) if maximum is None else maximum
        key = Type("string", min_size=_MIN_TEXT)
        return Type("map", (key, inner), min_size=2, max_elements=size)
    fields: dict[str, Type] = {}
    size = 2
    required = set(schema.get("required") or ())
    for field, inner_schema in (schema.get("properties") or {}).items():
        identifier = escape(field)
        inner_name = f"{name}.{identifier}"
        inner = declared_type(inner_schema, at_root=_embedded(inner_schema), name=inner_name)
        if inner is None:
            continue
        if identifier is not None:
            fields[identifier] = inner
        if field in required and inner_schema.get("default") is None:
            size += len(field.encode()) + inner.min_size + 4
    return Type("object", (), name, fields, size)


def _text(schema: Schema) -> Type:
    maximum, name = _limit(schema, "maxLength"), schema.get("format")
    if name == "byte":
        size = REQUEST_BYTES - 2 if maximum is None else maximum
        return Type("bytes", min_size=_MIN_TEXT, max_elements=size)
    if name == "duration":
        return Type("duration", min_size=_MIN_DURATION, max_elements=_DURATION_MAXIMUM)
    if name == "date":
        return Type("timestamp", min_size=_DATE_LENGTH, max_elements=_DATE_LENGTH)
    if name == "date-time":
        least, most = _DATE_TIME_LENGTHS
        return Type("timestamp", min_size=least, max_elements=most)
    choices: list[Any] = list(schema.get("enum") or ())
    if maximum is not None:
        size = maximum * 4  # code points of up to four bytes
    elif choices:
        size = max((len(c.encode()) for c in choices if isinstance(c, str)), default=0)
    else:
        size = REQUEST_BYTES - 2
    return Type("string", min_size=_MIN_TEXT, max_elements=size)


def member_type(given: Type, name: str) -> Type | None:
    """The type of one member, or of all entries (``@items``) or values (``@values``)."""
    if name in ("@items", "@values"):
        return given.params[-1] if given.kind in ("list", "map") else None
    if name == "@keys":
        return given.params[0] if given.kind == "map" else None
    return given.fields.get(name)
