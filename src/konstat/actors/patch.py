"""Guarded JSON Patches: the changes that actors make to objects they have read. Pure.

Each patch tests the uid and the resourceVersion that were read. It cannot land on a recreated
object, and a write of anybody else in between makes it a causeless 422: then the actor reads and
decides again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from konstat.actors import content
from konstat.objects.diff import same

Operation = dict[str, Any]


def guard(obj: Mapping[str, Any]) -> list[Operation]:
    """The tests that hold only while the object is as it was read."""
    return [
        {"op": "test", "path": "/metadata/uid", "value": content.uid(obj)},
        {
            "op": "test",
            "path": "/metadata/resourceVersion",
            "value": content.metadata(obj).get("resourceVersion"),
        },
    ]


def status_patch(obj: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Operation]:
    """Operations that make ``wanted`` the whole status; none when it is already."""
    stored = obj.get("status")
    wanted = {key: value for key, value in wanted.items() if value is not None}
    if not isinstance(stored, Mapping):
        return [*guard(obj), {"op": "add", "path": "/status", "value": wanted}]
    changes = members("/status", stored, wanted)
    return [*guard(obj), *changes] if changes else []


def members(path: str, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Operation]:
    """Operations on the members of the map at ``path``, which exists."""
    changes: list[Operation] = [
        {"op": "add", "path": f"{path}/{escaped(key)}", "value": value}
        for key, value in wanted.items()
        if not same(stored.get(key), value)
    ]
    changes += [
        {"op": "remove", "path": f"{path}/{escaped(key)}"}
        for key in stored
        if key not in wanted and stored[key] is not None
    ]
    return changes


def metadata_patch(obj: Mapping[str, Any], **wanted: Any) -> list[Operation]:
    """Operations that set members of the metadata; an empty value removes one.

    None when all of it holds already.
    """
    stored = content.metadata(obj)
    changes: list[Operation] = []
    for key, value in wanted.items():
        before = stored.get(key)
        if same(before or None, value or None):
            continue
        path = f"/metadata/{key}"
        changes.append(
            {"op": "add", "path": path, "value": value} if value else {"op": "remove", "path": path}
        )
    return [*guard(obj), *changes] if changes else []


def set_members(obj: Mapping[str, Any], *changes: tuple[str, Any]) -> list[Operation]:
    """Operations that set what is at each path (``/spec/replicas``), whatever was there."""
    return [
        *guard(obj),
        *({"op": "add", "path": path, "value": value} for path, value in changes),
    ]


def escaped(segment: str) -> str:
    return segment.replace("~", "~0").replace("/", "~1")
