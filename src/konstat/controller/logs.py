"""Log lines for terminals and files: nothing in them can forge a line or command a terminal.

Texts come from users' specs, from servers and from libraries; they are data. Control characters
are written as escapes, and every line after the first of one record is indented.
"""

from __future__ import annotations

import logging
from types import TracebackType

from konstat.base import limits


class PlainLines(logging.Formatter):
    """A record as one line, its traceback below it."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        # Another formatter's traceback may be kept on the record: ours is another.
        kept, record.exc_text = record.exc_text, None
        try:
            return super().format(record)
        finally:
            record.exc_text = kept

    def formatMessage(self, record: logging.LogRecord) -> str:
        return printable(super().formatMessage(record))

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        return "    " + printable(bounded(super().formatException(ei)))


def printable(text: str) -> str:
    """``text`` with control characters escaped and its later lines indented."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character == "\n":
        return "\n    "
    if character.isprintable() or character == "\t":
        return character
    return character.encode("unicode_escape").decode()


def bounded(text: str) -> str:
    """A traceback that is not too long for a log: its begin and its end."""
    most = limits.LOG_TRACEBACK_CHARACTERS
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… ({len(text) - 2 * half} characters are cut) …\n{text[-half:]}"
