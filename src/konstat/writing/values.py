"""What a manifest cannot say: values that JSON has no form for, or would change silently. Pure.

An encoder turns NaN into null and bytes into base64 without a word; the server then keeps
something else than was meant. Called before a manifest is sent, and to tell where one that cannot
be encoded goes wrong.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from konstat.base import limits
from konstat.errors import ManifestError
from konstat.objects import codec


def refuse_unwritable(manifest: Mapping[str, Any], name: str) -> None:
    """Raise ManifestError, with the path, for a value that JSON cannot say.

    ``name`` names the object in the message. Quick where nothing is wrong: keys that are no
    texts pass, as they can be written; `find_unwritable` finds them too.
    """
    try:
        # The encoder of the standard library is strict where ours is lenient.
        json.dumps(manifest, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        find_unwritable(manifest, name)


def find_unwritable(manifest: Mapping[str, Any], name: str) -> None:
    """As `refuse_unwritable`, looking at every value and key."""
    waiting: list[tuple[str, Any, int]] = [("", manifest, 0)]
    while waiting:
        path, value, depth = waiting.pop()
        problem = _problem(value)
        if depth > limits.MANIFEST_DEPTH:
            problem = f"is more than {limits.MANIFEST_DEPTH} levels deep, or contains itself"
        if problem:
            place = (
                path if len(path) <= limits.MANIFEST_PATH_CHARACTERS else "a deeply nested value"
            )
            raise ManifestError(f"{name}: {place.lstrip('.')} {problem}")
        if isinstance(value, Mapping):
            waiting.extend(
                (_member(path, key, name), member, depth + 1) for key, member in value.items()
            )
        elif isinstance(value, list | tuple):
            waiting.extend((f"{path}[{n}]", member, depth + 1) for n, member in enumerate(value))


def _member(path: str, key: Any, name: str) -> str:
    if not isinstance(key, str):
        raise ManifestError(f"{name}: {path.lstrip('.')} has the key {key!r}: keys are texts")
    return f"{path}.{key}"


def _problem(value: Any) -> str:
    match value:
        case float() if not math.isfinite(value):
            return f"is {value}, which is not a JSON number"
        case bytes() | bytearray() | memoryview():
            return "is bytes: decode them to text (in a Secret, stringData takes text)"
        case str() if not value.isascii() and not codec.is_text(value):
            return "holds lone surrogates, which are not text (os.fsdecode gives such)"
        case _:
            return ""
