"""Does plain data fit a structural schema: the server's verdict, given before we send.

Covers what structural schemas of `konstat.objects.schema` hold: types, null, required, limits,
patterns, enumerations, the common formats, duplicates in list maps and sets, and the branches of
tagged unions. Unknown fields are pruned by the server and never violate. CEL rules are the
server's alone. Comes after the schema; status writes and tests use it.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from konstat.objects.diff import same
from konstat.objects.pattern import python_pattern
from konstat.objects.place import member_path

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")


class Violation(msgspec.Struct, frozen=True):
    """One place that does not fit: a JSON path and what is wrong there."""

    path: str
    problem: str


def violations(value: Any, schema: Mapping[str, Any], *, path: str = "") -> list[Violation]:
    """Every place of ``value`` that breaks ``schema``; empty when the server would accept it.

    ``path`` is where ``value`` stands in its object, for example ``status``. The values
    themselves are not repeated in the problems when they are long.
    """
    return list(_violations(value, schema, path))


def _violations(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[Violation]:
    problem = _type_problem(value, schema)
    if problem:
        yield Violation(path, problem)
        return
    if "enum" in schema and not any(same(value, choice) for choice in schema["enum"]):
        choices = ", ".join(map(_shown, schema["enum"]))
        yield Violation(path, f"{_shown(value)} is none of {choices}")
    if value is None:
        return
    if isinstance(value, str):
        problems = _text_problems(value, schema)
    elif isinstance(value, int | float):
        problems = _number_problems(value, schema)
    else:
        problems = _size_problems(value, schema)
    yield from (Violation(path, problem) for problem in problems)
    if isinstance(value, Mapping):
        yield from _member_violations(value, schema, path)
    elif isinstance(value, list | tuple):
        yield from _entry_violations(value, schema, path)


def _type_problem(value: Any, schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "")
    if value is None:
        free = not kind and not schema.get("x-kubernetes-int-or-string")
        return "" if free or schema.get("nullable") else "null where a value is needed"
    if schema.get("x-kubernetes-int-or-string"):
        fits = isinstance(value, str) or _is_integer(value)
        return "" if fits else f"{_type_name(value)} instead of an integer or a text"
    fits = {
        "": True,
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "integer": _is_integer(value),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "array": isinstance(value, list | tuple),
        "object": isinstance(value, Mapping),
    }[kind]
    return "" if fits else f"{_type_name(value)} instead of {kind}"


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _type_name(value: Any) -> str:
    names = {str: "string", bool: "boolean", int: "integer", float: "number"}
    return names.get(type(value), "object" if isinstance(value, Mapping) else "array")


def _text_problems(value: str, schema: Mapping[str, Any]) -> Iterator[str]:
    if len(value) > schema.get("maxLength", math.inf):
        yield f"{len(value)} characters: {schema['maxLength']} at most"
    if len(value) < schema.get("minLength", 0):
        yield f"{len(value)} characters: at least {schema['minLength']}"
    if "pattern" in schema and not _pattern(schema["pattern"]).search(value):
        yield f"{_shown(value)} does not match {schema['pattern']}"
    check = _FORMATS.get(schema.get("format", ""))
    if check is not None and not check(value):
        yield f"{_shown(value)} is not of format {schema['format']}"


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(python_pattern(expression))


def _number_problems(value: float, schema: Mapping[str, Any]) -> Iterator[str]:
    if not math.isfinite(value):
        yield f"{value} is not a number that JSON knows"
        return
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if value < low or (schema.get("exclusiveMinimum") and value == low):
        yield f"{value} is too small: the minimum is {low}"
    if value > high or (schema.get("exclusiveMaximum") and value == high):
        yield f"{value} is too large: the maximum is {high}"
    if "multipleOf" in schema and math.remainder(value, schema["multipleOf"]) != 0:
        yield f"{value} is not a multiple of {schema['multipleOf']}"


def _size_problems(value: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    what = "Properties" if isinstance(value, Mapping) else "Items"
    if len(value) > schema.get(f"max{what}", math.inf):
        yield f"{len(value)} entries: {schema[f'max{what}']} at most"
    if len(value) < schema.get(f"min{what}", 0):
        yield f"{len(value)} entries: at least {schema[f'min{what}']}"


def _member_violations(
    value: Mapping[str, Any], schema: Mapping[str, Any], path: str
) -> Iterator[Violation]:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    present = {k for k in value if not _is_pruned_null(value[k], properties.get(k, others))}
    for name in schema.get("required", ()):
        if name not in present and "default" not in properties.get(name, {}):
            yield Violation(member_path(path, name), "required, but not given")
    for name in sorted(present):
        inner = properties.get(name, others)
        if isinstance(inner, Mapping):
            yield from _violations(value[name], inner, member_path(path, name))
    branches = schema.get("oneOf", ())
    if branches and sum(_fits_branch(value, branch) for branch in branches) != 1:
        yield Violation(path, "the fields do not fit exactly one of the variants")


def _is_pruned_null(value: Any, schema: Mapping[str, Any] | None) -> bool:
    """The server takes a null for an absent field where null is not a value (conformance 50)."""
    return value is None and isinstance(schema, Mapping) and not schema.get("nullable")


def _fits_branch(value: Mapping[str, Any], branch: Mapping[str, Any]) -> bool:
    given = all(value.get(name) is not None for name in branch.get("required", ()))
    return given and all(
        any(same(value.get(name), choice) for choice in member.get("enum", ()))
        for name, member in branch.get("properties", {}).items()
    )


def _entry_violations(
    value: Sequence[Any], schema: Mapping[str, Any], path: str
) -> Iterator[Violation]:
    items = schema.get("items", {})
    for index, entry in enumerate(value):
        yield from _violations(entry, items, f"{path}[{index}]")
    list_type = schema.get("x-kubernetes-list-type")
    if list_type not in ("set", "map"):
        return
    seen: set[str] = set()
    for index, entry in enumerate(value):
        if list_type == "map":
            keys = schema.get("x-kubernetes-list-map-keys", ())
            identity = _shown_whole([_key(entry, key, items) for key in keys])
        else:
            identity = _shown_whole(entry)
        if identity in seen:
            yield Violation(f"{path}[{index}]", f"a duplicate of {identity}")
        seen.add(identity)


def _key(entry: Any, key: str, items: Mapping[str, Any]) -> Any:
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return items.get("properties", {}).get(key, {}).get("default") if value is None else value


def _shown(value: Any) -> str:
    text = _shown_whole(value)
    return text if len(text) <= 80 else f"a value of {len(text)} characters"


def _shown_whole(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


# --- formats ----------------------------------------------------------------------------------


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    match = _TIME.fullmatch(text)
    return bool(match and _is_date(match[1]))


def _is_base64(text: str) -> bool:
    try:
        return bool(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return False


# Formats that the server validates and that our types use; it checks others that we leave to it.
_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "byte": _is_base64,
    "date": _is_date,
    "date-time": _is_date_time,
    "uuid": lambda text: bool(_UUID.fullmatch(text)),
}
