"""Places in an object: JSON paths for people and RFC 6901 pointers for patches."""

from __future__ import annotations

import msgspec


def member_path(path: str, name: str) -> str:
    """The JSON path of a member; a name that is no plain word stands quoted in brackets.

    ``member_path("metadata.labels", "a/b")`` is ``metadata.labels["a/b"]``.
    """
    plain = name.replace("_", "a").replace("-", "a").isalnum()
    step = name if plain else f"[{msgspec.json.encode(name).decode()}]"
    return f"{path}.{step}" if path and plain else f"{path}{step}"


def pointer(*segments: str | int) -> str:
    """An RFC 6901 pointer: ``pointer("metadata", "annotations", "a/b")``."""
    return "".join(f"/{str(s).replace('~', '~0').replace('/', '~1')}" for s in segments)


def pointer_segments(text: str) -> list[str]:
    """The segments of an RFC 6901 pointer; raises ValueError for a text that is none."""
    if text and not text.startswith("/"):
        raise ValueError(f"{text!r} is not a JSON pointer: it starts with '/'")
    segments = text.split("/")[1:]
    for segment in segments:
        if "~" in segment.replace("~0", "").replace("~1", ""):
            raise ValueError(f"{text!r} is not a JSON pointer: '~' is written '~0'")
    return [s.replace("~1", "/").replace("~0", "~") for s in segments]
