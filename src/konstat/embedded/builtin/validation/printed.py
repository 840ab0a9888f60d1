"""Objects as the server prints them in a refusal: its own Go structs, and what differs in two.

The server checks its internal types, whose members have Go's names and are all written, absent
ones as null or zero. Only what it prints of Pods, claims and volumes is known here.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from konstat.embedded.builtin import definitions
from konstat.embedded.builtin.validation.basics import Object, ordered_selector

_EMPTY: Final[Mapping[str, Any]] = {"t": "", "i": 0, "b": False, "q": "0", "o": 0}
_HOST: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_METADATA: Final = (
    "name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "finalizers",
)  # fmt: skip


def printed(value: Mapping[str, Any], struct: str) -> Object:
    """A value as the internal type ``struct`` prints it."""
    given = _moved(value, struct)
    made: Object = {}
    for name, code, inner in definitions.internal()[struct]:
        if code == "m":
            metadata = given.get("metadata") or {}
            made |= {key: _sorted(metadata[key]) for key in _METADATA if metadata.get(key)}
            continue
        made[name] = _member(given.get(_names(tuple(given)).get(name.lower(), "")), code, inner)
    return made


@cache
def _names(keys: tuple[str, ...]) -> dict[str, str]:
    return {key.lower(): key for key in keys}


def _member(value: Any, code: str, struct: str) -> Any:
    if code == "s":
        return printed(value or {}, struct)
    if code == "p":
        return None if value is None else printed(value, struct)
    if code == "l":
        return None if not value else [printed(one, struct) for one in value]
    if value is None:
        return _EMPTY.get(code)
    if isinstance(value, dict) and ("matchLabels" in value or "matchExpressions" in value):
        return ordered_selector(value)
    return _sorted(value) or None if isinstance(value, list | dict) else value


def _sorted(value: Any) -> Any:
    """Maps are printed in the order of their keys."""
    return dict(sorted(value.items())) if isinstance(value, dict) else value


def _moved(value: Mapping[str, Any], struct: str) -> Mapping[str, Any]:
    """Members that stand elsewhere in the internal types."""
    if struct != "PodSpec":
        return value
    hosts = {name: value[name] for name in _HOST if name in value}
    return {**value, "securityContext": {**(value.get("securityContext") or {}), **hosts}}


def difference(old: Mapping[str, Any], new: Mapping[str, Any], struct: str) -> str:
    """What differs, as a unified diff of the printed values."""
    before, after = (
        [f"{line}\n" for line in _text(printed(one, struct)).split("\n")] for one in (old, new)
    )
    lines = list(difflib.unified_diff(before, after, n=3))[2:]
    return "".join(lines)


def _text(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)
