"""CEL's functions of texts: the strings extension (version 2), regular expressions, format.

Before: `operators`, `patterns`. After: `functions`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from konstat.embedded.cel.formatting import formatted
from konstat.embedded.cel.operators import is_int, no_overload
from konstat.embedded.cel.values import CelError, ListValue, Value
from konstat.embedded.structural.patterns import PatternError, compiled

_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # noqa: E501
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_QUOTED: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def _texts(*values: Value) -> None:
    if not all(isinstance(value, str) for value in values):
        raise no_overload(*values)


def _whole(*values: Value) -> None:
    if not all(is_int(value) for value in values):
        raise no_overload(*values)


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def _char_at(text: Value, index: Value) -> str:
    _texts(text)
    _whole(index)
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def index_of(text: str, wanted: Value, *offset: Value) -> int:
    """``text.indexOf(wanted, offset)``."""
    _texts(text, wanted)
    _whole(*offset)
    start = offset[0] if offset else 0
    if wanted == "":
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(wanted, start)


def last_index_of(text: str, wanted: Value, *offset: Value) -> int:
    """``text.lastIndexOf(wanted, offset)``."""
    _texts(text, wanted)
    _whole(*offset)
    if wanted == "":
        return offset[0] if offset else len(text)
    start = offset[0] if offset else len(text) - 1
    if start < 0 and offset:
        raise _out_of_range(start)
    if start >= len(text):
        return -1
    return text.rfind(wanted, 0, start + len(wanted))


def _lower(text: Value) -> str:
    _texts(text)
    return text.translate(_LOWER)


def _upper(text: Value) -> str:
    _texts(text)
    return text.translate(_UPPER)


def _trim(text: Value) -> str:
    _texts(text)
    return text.strip(_SPACE)


def _replace(text: Value, old: Value, new: Value, *count: Value) -> str:
    _texts(text, old, new)
    _whole(*count)
    limit = count[0] if count else -1
    return text.replace(old, new, limit if limit >= 0 else -1)


def _split(text: Value, separator: Value, *count: Value) -> ListValue:
    _texts(text, separator)
    _whole(*count)
    limit = count[0] if count else -1
    if limit == 0:
        return ListValue([])
    if separator:
        return ListValue(text.split(separator, limit - 1 if limit > 0 else -1))
    parts = list(text)
    if 0 < limit < len(parts):
        parts[limit - 1 :] = ["".join(parts[limit - 1 :])]
    return ListValue(parts)


def _substring(text: Value, start: Value, *end: Value) -> str:
    _texts(text)
    _whole(start, *end)
    stop = end[0] if end else len(text)
    if end and start > stop:
        raise CelError(f"invalid substring range. start: {start}, end: {stop}")
    for index in (start, stop):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:stop]


def _join(values: Value, separator: Value = "") -> str:
    _texts(separator)
    if not isinstance(values, ListValue):
        raise no_overload(values)
    parts: list[str] = []
    for part in values:
        if not isinstance(part, str):
            raise CelError(f"join: invalid input: {part}")
        parts.append(part)
    return separator.join(parts)


def _quote(text: Value) -> str:
    _texts(text)
    return '"' + "".join(_QUOTED.get(character, character) for character in str(text)) + '"'


def _contains(text: Value, part: Value) -> bool:
    _texts(text, part)
    return part in text


def _starts_with(text: Value, part: Value) -> bool:
    _texts(text, part)
    return text.startswith(part)


def _ends_with(text: Value, part: Value) -> bool:
    _texts(text, part)
    return text.endswith(part)


def _pattern(expression: str) -> re.Pattern[str]:
    try:
        return compiled(expression)
    except PatternError as error:
        raise CelError(str(error)) from error


def _matches(text: Value, expression: Value) -> bool:
    _texts(text, expression)
    return _pattern(expression).search(text) is not None


def _find(text: Value, expression: Value) -> str:
    _texts(text, expression)
    found = _pattern(expression).search(text)
    return found[0] if found else ""


def _find_all(text: Value, expression: Value, *count: Value) -> ListValue:
    _texts(text, expression)
    _whole(*count)
    found = [match[0] for match in _pattern(expression).finditer(text)]
    limit = count[0] if count else -1
    return ListValue(found if limit < 0 else found[:limit])


def _format(text: Value, arguments: Value) -> str:
    _texts(text)
    if not isinstance(arguments, ListValue):
        raise no_overload(text, arguments)
    return formatted(text, list(arguments))


FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "charAt": _char_at,
    "lowerAscii": _lower,
    "upperAscii": _upper,
    "trim": _trim,
    "replace": _replace,
    "split": _split,
    "substring": _substring,
    "join": _join,
    "strings.quote": _quote,
    "contains": _contains,
    "startsWith": _starts_with,
    "endsWith": _ends_with,
    "matches": _matches,
    "find": _find,
    "findAll": _find_all,
    "format": _format,
}
