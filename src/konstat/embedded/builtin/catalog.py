"""`builtin_types`: the built-in kinds, ready for the registry.

Joins `kinds` (how each is served), `definitions` (schemas), `defaults`, `preparing`,
`validation` and `columns`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from konstat.embedded.builtin import columns, defaults, definitions, events, kinds, validation
from konstat.embedded.builtin.kinds import Entry
from konstat.embedded.builtin.preparing import Preparing
from konstat.embedded.registry import ALL_VERBS, Host, Object, ResourceType, Schema


def builtin_types() -> list[ResourceType]:
    """Every built-in kind in the version that is served, in the order of their groups."""
    return [_resource_type(entry) for entry in kinds.ENTRIES]


def _resource_type(entry: Entry) -> ResourceType:
    definition = definitions.name_of(entry.group, entry.version, entry.kind)
    properties = definitions.definitions()[definition]["properties"]
    preparing = Preparing(
        definition=definition,
        moved_by=entry.moved_by,
        generation=entry.moved_by is not None,
        resets_status=entry.resets_status,
        has_status="status" in properties,
        create=partial(_create, entry),
        update=entry.prepare,
    )
    checks = validation.of(entry.group, entry.kind)
    prepare_status = entry.prepare_status
    further: dict[str, Any] = {}
    if prepare_status is not None:
        further["prepare_status"] = prepare_status
    if entry.grace:
        further["grace_seconds"] = _grace
    if entry.group == "events.k8s.io":
        further |= {"to_stored": events.to_core, "from_stored": events.from_core}
    return ResourceType(
        group=entry.group,
        version=entry.version,
        kind=entry.kind,
        plural=entry.plural,
        short_names=entry.short,
        categories=entry.categories,
        namespaced=entry.namespaced,
        verbs=tuple(v for v in ALL_VERBS if entry.deletes_collection or v != "deletecollection"),
        subresources=frozenset(entry.subresources),
        scale=entry.scale,
        schema=partial(_schema, definition),
        columns=columns.of(entry.group, entry.kind),
        selectable={name: _reader(path) for name, path in entry.selectable.items()},
        store=entry.store,
        defaults=partial(_complete, definition),
        prepare_create=preparing.prepare_create,
        prepare_update=preparing.prepare_update,
        validate=checks.validate,
        validate_status=checks.validate_status,
        name_problems=entry.name_problems,
        unconditional_update=entry.unconditional_update,
        create_on_put=entry.create_on_put,
        **further,
    )


def _create(entry: Entry, new: Object, host: Host) -> None:
    entry.prepare(new, None, host)


def _schema(definition: str) -> Schema:
    return definitions.schema(definition)


def _complete(definition: str, obj: Object) -> None:
    defaults.complete(obj, definition)


def _grace(obj: Object) -> int:
    """The seconds that a Pod's deletion takes when its client names none."""
    spec = obj["spec"]
    if not spec.get("nodeName") or obj.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    return int(spec.get("terminationGracePeriodSeconds", 30))


def _reader(path: str) -> Callable[[Object], str]:
    keys = path.split(".")

    def read(obj: Object) -> str:
        value: Any = obj
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)

    return read
