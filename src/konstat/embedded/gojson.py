"""Reads JSON as the server's decoder does, and says in its words what is wrong with a text.

`decode` gives plain values or raises `JSONTextError` with the message of encoding/json.
`repeated` and `json_fields` find what strict decoding complains about.
Before: `konstat.embedded.gotext`. After: `konstat.embedded.patches` and the readers of bodies.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec

from konstat.embedded import gotext
from konstat.embedded.status_errors import quoted

_END: Final = "unexpected end of JSON input"
_SPACE: Final = " \t\r\n"
_WORDS: Final = ("true", "false", "null")
_NUMBER_END: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LONG_NUMBER: Final = re.compile(r"[0-9]{19}")
_INT64: Final = (-(2**63), 2**63 - 1)


class JSONTextError(ValueError):
    """A text that is no JSON, or nested too deeply; the message is encoding/json's."""


def decode(data: bytes) -> Any:
    """The value of a JSON text: dicts, lists and scalars.

    Bytes that are no UTF-8 become U+FFFD, integers beyond 64 bits become floats, the last of
    repeated members wins. Raises JSONTextError.
    """
    text = readable(data)
    try:
        value = msgspec.json.decode(text)
        if _LONG_NUMBER.search(text):
            value = _decode_slowly(data, text)  # it may hold integers that Go reads as floats
    except (msgspec.DecodeError, RecursionError):
        value = _decode_slowly(data, text)
    if gotext.too_deep(value):
        raise JSONTextError("exceeded max depth")
    return value


def readable(data: bytes) -> str:
    """The text of a body; what is no UTF-8 becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def _decode_slowly(data: bytes, text: str) -> Any:
    problem = syntax_problem(data)
    if problem:
        raise JSONTextError(problem)
    try:
        value = json.loads(text, parse_int=_integer, parse_float=_float)
    except RecursionError as error:
        raise JSONTextError("exceeded max depth") from error
    return value if gotext.too_deep(value) else _mended(value)


def _mended(value: Any) -> Any:
    """A value whose texts hold no halves of surrogate pairs."""
    if isinstance(value, str):
        return gotext.mended(value)
    if isinstance(value, dict):
        return {gotext.mended(name): _mended(inner) for name, inner in value.items()}
    return [_mended(entry) for entry in value] if isinstance(value, list) else value


def _integer(text: str) -> int | float:
    number = int(text) if len(text) <= 20 else _float(text)
    return number if _INT64[0] <= number <= _INT64[1] else _float(text)


def _float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise JSONTextError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


def syntax_problem(data: bytes) -> str:
    """What encoding/json says about the first byte that is wrong; empty when none is."""
    return _Scanner(data.decode("latin-1")).problem()


class _Scanner:
    """Walks over a text, a character for each byte, as the decoder does; no value is built."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[str] = []

    def problem(self) -> str:
        state = "value"
        while True:
            self._skip_space()
            if self.at >= len(self.text):
                return "" if state == "end" else _END
            character = self.text[self.at]
            if state in ("value", "value or ]"):
                if state == "value or ]" and character == "]":
                    state = self._close()
                    continue
                problem, state = self._value(character)
            elif state in ("key", "key or }"):
                if state == "key or }" and character == "}":
                    state = self._close()
                    continue
                if character != '"':
                    return _unexpected(character, "looking for beginning of object key string")
                problem, state = self._string(), "colon"
            elif state == "colon":
                problem = "" if character == ":" else _unexpected(character, "after object key")
                self.at += 1
                state = "value"
            else:
                problem, state = self._after_value(character)
            if problem:
                return problem

    def _skip_space(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in _SPACE:
            self.at += 1

    def _close(self) -> str:
        self.open.pop()
        self.at += 1
        return "after" if self.open else "end"

    def _value(self, character: str) -> tuple[str, str]:
        after = "after" if self.open else "end"
        if character in "{[":
            self.open.append(character)
            self.at += 1
            return "", "key or }" if character == "{" else "value or ]"
        if character == '"':
            return self._string(), after
        if character in "-0123456789":
            return self._number(), after
        for word in _WORDS:
            if character == word[0]:
                return self._word(word), after
        return _unexpected(character, "looking for beginning of value"), after

    def _after_value(self, character: str) -> tuple[str, str]:
        if not self.open:
            return _unexpected(character, "after top-level value"), "end"
        inside = self.open[-1]
        if character == ",":
            self.at += 1
            return "", "key" if inside == "{" else "value"
        if character == ("}" if inside == "{" else "]"):
            return "", self._close()
        place = "after object key:value pair" if inside == "{" else "after array element"
        return _unexpected(character, place), "after"

    def _word(self, word: str) -> str:
        for expected in word:
            if self.at >= len(self.text):
                return _END
            if self.text[self.at] != expected:
                place = f"in literal {word} (expecting {_quoted(expected)})"
                return _unexpected(self.text[self.at], place)
            self.at += 1
        return ""

    def _number(self) -> str:
        found = _NUMBER_END.match(self.text, self.at)
        end = found.end() if found else self.at + 1  # a lone minus
        rest = self.text[end : end + 3]
        if found is None:
            return _unexpected(rest[0], "in numeric literal") if rest else _END
        self.at = end
        if rest[:1] == "." and found[2] is None and found[3] is None:
            return _digit_missing(rest[1:], "after decimal point in numeric literal")
        if rest[:1] in ("e", "E") and found[3] is None:
            after = rest[2:] if rest[1:2] in ("+", "-") else rest[1:]
            return _digit_missing(after, "in exponent of numeric literal")
        return ""

    def _string(self) -> str:
        self.at += 1
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == '"':
                return ""
            if character < " ":
                return _unexpected(character, "in string literal")
            if character == "\\":
                problem = self._escape()
                if problem:
                    return problem
        return _END

    def _escape(self) -> str:
        if self.at >= len(self.text):
            return _END
        character = self.text[self.at]
        self.at += 1
        if character == "u":
            for digit in self.text[self.at : self.at + 4]:
                if digit not in "0123456789abcdefABCDEF":
                    return _unexpected(digit, "in \\u hexadecimal character escape")
                self.at += 1
            return ""
        return "" if character in '"\\/bfnrt' else _unexpected(character, "in string escape code")


def _digit_missing(rest: str, place: str) -> str:
    return _unexpected(rest[0], place) if rest else _END


def _unexpected(character: str, place: str) -> str:
    return f"invalid character {_quoted(character)} {place}"


def _quoted(character: str) -> str:
    if character == "'":
        return "'\\''"
    return "'\"'" if character == '"' else f"'{quoted(character)[1:-1]}'"


# --- strict decoding ----------------------------------------------------------------------------


class Members(list[tuple[str, Any]]):
    """The members of a JSON object in the order of the text, repeated ones included."""


def members(data: bytes) -> Any:
    """A JSON text that `decode` accepts, with every object as `Members`."""
    return json.loads(readable(data), object_pairs_hook=Members)


def repeated(value: Any, path: str = "") -> list[str]:
    """The paths of repeated members below a value that `members` gave: ``spec.a``, ``a[0].b``."""
    found: list[str] = []
    if isinstance(value, Members):
        seen: set[str] = set()
        for name, inner in value:
            place = f"{path}.{name}" if path else name
            if name in seen:
                found.append(place)
            seen.add(name)
            found += repeated(inner, place)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += repeated(inner, f"{path}[{index}]")
    return found
