"""One regular expression, read alike by the server (RE2) and by Python's ``re``.

`python_pattern` takes an expression that both engines know and gives the Python expression with
RE2's meaning, or refuses. It comes before the constraints, which put the result into the decoder
and the original into the schema.
"""

from __future__ import annotations

import re
import warnings
from typing import Final

REPEAT_MAXIMUM: Final = 1000  # RE2's own limit
_SPACE: Final = r"\t\n\f\r "  # RE2's \s has no vertical tab
_LEADING_FLAGS: Final = re.compile(r"\(\?([a-zA-Z]+)\)")
_GROUP: Final = re.compile(r"\(\?(:|P<[A-Za-z_][A-Za-z0-9_]*>)")
_REPEAT: Final = re.compile(r"\{(\d*)(,?)(\d*)\}")
_SAME_ESCAPES: Final = frozenset("dDwWbBAafnrtv.+*?()|[]{}^$\\/-\"'#%&,:;<=>@_`~! ")


def python_pattern(expression: str) -> str:
    """The Python expression that matches what RE2 matches with ``expression``.

    Raises ValueError that names the construct which only one of the two engines knows.
    """
    flags, start = "", 0
    if leading := _LEADING_FLAGS.match(expression):
        flags, start = leading[1], leading.end()
        if set(flags) - {"i", "s"}:
            raise ValueError(f"flags {leading[0]} are not known to both engines: use i and s only")
    translated = f"(?a{flags})" + _translate(expression, start)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            re.compile(translated)
        except (re.error, FutureWarning, DeprecationWarning, OverflowError) as error:
            raise ValueError(
                f"not a regular expression for both RE2 and Python: {error}"
            ) from error
    return translated


def _translate(expression: str, start: int) -> str:
    out: list[str] = []
    position = start
    while position < len(expression):
        character = expression[position]
        if character == "[":
            text, position = _class(expression, position)
        elif character == "\\":
            text, position = _escape(expression, position, in_class=False)
        elif character == "$":
            text, position = r"\Z", position + 1
        elif expression.startswith("(?", position):
            text = _group(expression, position)
            position += len(text)
        elif character in "*+?{":
            text, position = _repeat(expression, position)
        else:
            text, position = character, position + 1
        out.append(text)
    return "".join(out)


def _escape(expression: str, position: int, *, in_class: bool) -> tuple[str, int]:
    letter = expression[position + 1 : position + 2]
    if letter == "s":
        return (_SPACE if in_class else f"[{_SPACE}]"), position + 2
    if letter == "S" and not in_class:
        return f"[^{_SPACE}]", position + 2
    if letter == "z" and not in_class:
        return r"\Z", position + 2
    if letter == "x" and re.fullmatch(r"[0-9A-Fa-f]{2}", expression[position + 2 : position + 4]):
        return expression[position : position + 4], position + 4
    if letter in _SAME_ESCAPES and letter and not (in_class and letter in "AbB"):
        return "\\" + letter, position + 2
    raise ValueError(f"\\{letter} is not known to both engines, or not with one meaning")


def _group(expression: str, position: int) -> str:
    match = _GROUP.match(expression, position)
    if match is None:
        raise ValueError(
            f"{expression[position : position + 4]}… is not known to both engines:"
            " groups are (…), (?:…) and (?P<name>…)"
        )
    return match[0]


def _repeat(expression: str, position: int) -> tuple[str, int]:
    """One repetition with its lazy mark; what only one engine takes for a repetition is refused."""
    if expression[position] == "{":
        match = _REPEAT.match(expression, position)
        if match is None or not match[1]:
            raise ValueError("a brace that is not a repetition {n}, {n,} or {n,m}: escape it")
        if any(int(count[-9:]) > REPEAT_MAXIMUM for count in (match[1], match[3]) if count):
            raise ValueError(f"{match[0]}: RE2 repeats {REPEAT_MAXIMUM} times at most")
        text = match[0]
    else:
        text = expression[position]
    end = position + len(text)
    if expression.startswith("?", end):
        text, end = text + "?", end + 1
    if expression[end : end + 1] and expression[end] in "*+?{":
        raise ValueError(f"{text}{expression[end]}: a repetition of a repetition")
    return text, end


def _class(expression: str, position: int) -> tuple[str, int]:
    """A bracket expression; ``position`` is at its ``[``."""
    out = ["["]
    position += 1
    if expression.startswith("^", position):
        out.append("^")
        position += 1
    first = True
    while position < len(expression):
        character = expression[position]
        if character == "]" and not first:
            return "".join(out) + "]", position + 1
        if character == "\\":
            text, position = _escape(expression, position, in_class=True)
        elif character == "[":
            if expression.startswith("[:", position):
                raise ValueError("[:name:] classes are not known to Python: write them out")
            text, position = r"\[", position + 1
        else:
            text, position = character, position + 1
        out.append(text)
        first = False
    raise ValueError("a [ without its ]")
