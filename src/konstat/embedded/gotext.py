"""JSON values as Go prints them: in JSON, in error texts, and in the decoder's complaints.

The API server is a Go program, and parts of its contract are how Go writes a value: a JSON Patch
``test`` compares encoded text, keys of list entries are JSON inside of ``fieldsV1``, and messages
print values. Pure. Before: nothing but `konstat.embedded.status_errors`. After:
`konstat.embedded.gojson`, `fieldset`, `typed`, `patches` and `strategic`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from konstat.base import limits
from konstat.embedded.status_errors import quoted

# encoding/json writes these so that JSON is safe inside of HTML and JavaScript.
_SAFE: Final = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_UNSAFE: Final = re.compile("[<>&\u2028\u2029]")
_LONE: Final = re.compile("[\ud800-\udfff]")


def encode(value: Any) -> str:
    """Compact JSON as encoding/json writes it: members sorted, HTML characters escaped."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _json_float(value)
    if isinstance(value, Mapping):
        members = (f"{_string(str(key))}:{encode(value[key])}" for key in sorted(value))
        return "{" + ",".join(members) + "}"
    return "[" + ",".join(encode(entry) for entry in value) + "]"


def mended(text: str) -> str:
    """``text`` with U+FFFD in the place of halves of surrogate pairs."""
    return _LONE.sub("\ufffd", text)


def _string(text: str) -> str:
    plain = json.dumps(mended(text), ensure_ascii=False)
    return _UNSAFE.sub(lambda found: _SAFE[found[0]], plain)


def _json_float(value: float) -> str:
    """Go's choice in JSON: plain digits from 1e-6 up to 1e21."""
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    return _float(value, smallest=-6, largest=21).replace("e-0", "e-")


def _float(value: float, *, smallest: int, largest: int) -> str:
    """The shortest digits; with an exponent of two digits below 10^smallest, from 10^largest on."""
    shortest = Decimal(repr(value)).normalize()
    sign, digits, exponent = shortest.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    power = exponent + len(text) - 1
    if smallest <= power < largest:
        return format(shortest, "f")
    mantissa = text[0] + (f".{text[1:]}" if len(text) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def show(value: Any) -> str:
    """Go's ``%v``: ``map[a:1 b:[x y]]``, ``<nil>``, texts without quotes."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value, smallest=-4, largest=6) if value else "0"
    if isinstance(value, Mapping):
        return f"map[{' '.join(f'{key}:{show(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list | tuple):
        return f"[{' '.join(show(entry) for entry in value)}]"
    return str(value)


def debug(value: Any) -> str:
    """Go's ``%#v`` of a decoded value, as the typed merge prints what it did not expect."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        members = (f"{quoted(str(key))}:{debug(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(members)}}}"
    if isinstance(value, list | tuple):
        return f"[]interface {{}}{{{', '.join(debug(entry) for entry in value)}}}"
    if value is None:
        return "interface {}(nil)"
    return show(value)


def go_type(value: Any) -> str:
    """Go's type of a decoded value (``%T``)."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float64"
    if isinstance(value, Mapping):
        return "map[string]interface {}"
    return "<nil>" if value is None else "[]interface {}"


def json_type(value: Any) -> str:
    """The decoder's word for the type of a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, Mapping):
        return "object"
    return "null" if value is None else "array"


def too_deep(value: Any) -> bool:
    """Whether maps and lists are nested deeper than `limits.EMBEDDED_JSON_DEPTH`."""
    level: list[Any] = [value]
    for _ in range(limits.EMBEDDED_JSON_DEPTH):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return False
    return True


def _containers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return []
    return [entry for entry in value if isinstance(entry, dict | list)]
