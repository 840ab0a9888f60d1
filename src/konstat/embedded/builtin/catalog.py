"""`builtin_types`: the built-in kinds, ready for the registry.

Joins `kinds` (how each is served), `definitions` (schemas), `defaults`, `preparing`,
`validation` and `columns`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from konstat.embedded.builtin import (
    admission,
    columns,
    defaults,
    definitions,
    encoding,
    events,
    gates,
    kinds,
    validation,
    warnings,
)
from konstat.embedded.builtin.kinds import Entry
from konstat.embedded.builtin.preparing import Preparing
from konstat.embedded.builtin.validation import Checks
from konstat.embedded.registry import ALL_VERBS, Host, Object, ResourceType, Schema
from konstat.embedded.status_errors import FieldError, invalid

# The kinds that a quota can count.
_COUNTED: Final = frozenset(
    f"{entry.plural}.{entry.group}" if entry.group else entry.plural
    for entry in kinds.ENTRIES
    if entry.namespaced and entry.group != "events.k8s.io"
)
_WARNINGS: Final = {("", "Endpoints"): warnings.endpoints, ("", "Pod"): warnings.pod}


def builtin_types() -> list[ResourceType]:
    """Every built-in kind in the version that is served, in the order of their groups."""
    return [_resource_type(entry) for entry in kinds.ENTRIES]


def _resource_type(entry: Entry) -> ResourceType:
    definition = definitions.name_of(entry.group, entry.version, entry.kind)
    properties = definitions.definitions()[definition]["properties"]
    preparing = Preparing(
        definition=definition,
        moved_by=entry.moved_by,
        generation=entry.moved_by is not None and entry.born_with_generation,
        resets_status=entry.resets_status,
        has_status="status" in properties,
        create=partial(_create, entry),
        update=partial(_update, entry),
    )
    checks = validation.of(entry.group, entry.kind)
    prepare_status = entry.prepare_status
    further: dict[str, Any] = {}
    if prepare_status is not None:
        further["prepare_status"] = prepare_status
    if (entry.group, entry.kind) in _WARNINGS:
        further["warnings"] = _WARNINGS[entry.group, entry.kind]
    if entry.grace:
        further["grace_seconds"] = _grace
    if entry.group == "events.k8s.io":
        further |= {"to_stored": events.to_core, "from_stored": events.from_core}
        further["validate"] = partial(_validate_event, checks)
    else:
        further["validate"] = checks.validate
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
        decode=partial(_decode, definition),
        defaults=partial(_fill, definition),
        prepare_create=preparing.prepare_create,
        prepare_update=preparing.prepare_update,
        validate_status=checks.validate_status,
        name_problems=entry.name_problems,
        unconditional_update=entry.unconditional_update,
        create_on_put=entry.create_on_put,
        **further,
    )


def _create(entry: Entry, new: Object, host: Host) -> None:
    gates.drop(entry.group, entry.kind, new, None)
    entry.prepare(new, None, host)
    admission.admit(entry.group, entry.plural, new, None, host, _COUNTED)


def _update(entry: Entry, new: Object, old: Object, host: Host) -> None:
    gates.drop(entry.group, entry.kind, new, old)
    entry.prepare(new, old, host)
    admission.admit(entry.group, entry.plural, new, old, host, _COUNTED)


def _schema(definition: str) -> Schema:
    return definitions.schema(definition)


def _decode(definition: str, obj: Object) -> None:
    encoding.decode(obj, definition)


def _fill(definition: str, obj: Object) -> None:
    defaults.fill(obj, definition)


def _validate_event(checks: Checks, new: Object, old: Object | None) -> list[FieldError]:
    """Of Events of events.k8s.io too, the server speaks as of core's."""
    causes = checks.validate(new, old)
    if causes:
        raise invalid("", "Event", new["metadata"].get("name", ""), causes)
    return causes


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
