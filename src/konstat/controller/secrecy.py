"""Values of Secrets that an attempt has read, and texts without them.

An exception of a library often quotes what it was given: a password in a URL, a token. Its text
goes to a status, Events and the log, which many may read. What konstat itself writes never names
values of Secrets; this is for the author's texts. A value that was changed before it was quoted
(hashed, cut, joined) cannot be found.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from konstat.base import limits
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot

_HIDDEN = "(a value of a Secret)"


class Secrets:
    """The Secrets that one attempt has read or applied; decoded only when a text needs it."""

    def __init__(self) -> None:
        self._seen: dict[str, Snapshot] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def note(self, snapshot: Snapshot) -> None:
        """Remember a Secret; any other kind is ignored."""
        if is_secret(snapshot.kind) and len(self._seen) < limits.SECRETS_REMEMBERED:
            self._seen[snapshot.uid] = snapshot

    def without(self, text: str) -> str:
        """``text`` with each value that was read replaced; the same text when there is none."""
        for value in sorted(set(self._values()), key=len, reverse=True):
            text = text.replace(value, _HIDDEN)
        return text

    def _values(self) -> Iterator[str]:
        for snapshot in self._seen.values():
            data: Any = snapshot.content.get("data")
            for encoded in (data if isinstance(data, Mapping) else {}).values():
                value = _decoded(encoded)
                for form in (value, value.strip(), str(encoded)):
                    # Short words occur by chance: hiding them would hide what the text says.
                    if len(form) >= limits.SECRET_CHARACTERS:
                        yield form


def is_secret(kind: Kind) -> bool:
    return (kind.group, kind.kind) == ("", "Secret")


def _decoded(encoded: Any) -> str:
    try:
        return base64.b64decode(str(encoded), validate=True).decode()
    except (binascii.Error, ValueError):
        return ""  # not text; its base64 form is looked for all the same
