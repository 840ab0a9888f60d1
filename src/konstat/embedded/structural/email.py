"""Mail addresses as Go's ``net/mail.ParseAddress`` reads them: the format ``email``.

``user@host``, quoted local parts, address literals, ``Name <user@host>`` and comments. Before:
`addresses`. After: `formats`.
"""

from __future__ import annotations

import re
from typing import Final

from konstat.embedded.structural.addresses import parse_address

_ATEXT: Final = r"[^\x00-\x20\x7f()<>\[\]:;@\\,\".]"
_DOT_ATOM: Final = rf"{_ATEXT}+(?:\.{_ATEXT}+)*"
_LOOSE_ATOM: Final = rf"(?:{_ATEXT}|\.)+"
_QTEXT: Final = r"[^\x00-\x08\x0a-\x1f\x7f\\\"]"
_QUOTED: Final = rf'"(?:{_QTEXT}|\\[^\x00-\x08\x0a-\x1f\x7f])*"'
_LITERAL: Final = r"\[([^\x00-\x20\x7f\[\]\\]*)\]"
_SPEC: Final = re.compile(
    rf'[ \t]*(?!"")(?:{_QUOTED}|{_DOT_ATOM})(?!\.)@[ \t]*(?:(?:{_DOT_ATOM})(?!\.)|{_LITERAL})'
)
_WORD: Final = re.compile(rf"[ \t]*(?:{_QUOTED}|{_LOOSE_ATOM})")


def is_email(text: str) -> bool:
    """Whether the text is one mail address."""
    end = _spec(text, 0)
    if end is None:
        end = _named(text)
    return end is not None and _after_comments(text, end) == len(text)


def _spec(text: str, start: int) -> int | None:
    """The end of ``user@host``, or None."""
    match = _SPEC.match(text, start)
    if match is None or (match[1] is not None and parse_address(match[1]) is None):
        return None
    return match.end()


def _named(text: str) -> int | None:
    """The end of ``Name <user@host>`` or ``<user@host>``, or None."""
    position: int | None = 0
    words = 0
    while position is not None and (match := _WORD.match(text, position)):
        words += 1
        position = _after_comments(text, match.end())
    if position is None:
        return None
    position = _after_space(text, position)
    if not text.startswith("<", position):
        return None
    end = _spec(text, position + 1)
    return end + 1 if end is not None and text.startswith(">", end) else None


def _after_space(text: str, position: int) -> int:
    while text[position : position + 1] in (" ", "\t"):
        position += 1
    return position


def _after_comments(text: str, position: int) -> int | None:
    """Past white space and parenthesised comments; None for an open one."""
    position = _after_space(text, position)
    while text.startswith("(", position):
        depth, position = 1, position + 1
        while depth and position < len(text):
            if text[position] == "\\" and position + 1 < len(text):
                position += 1
            elif text[position] == "(":
                depth += 1
            elif text[position] == ")":
                depth -= 1
            position += 1
        if depth:
            return None
        position = _after_space(text, position)
    return position
