"""What the server fills in: defaults of every Go type, wherever a kind contains it.

A default belongs to a type, as SetDefaults_<Type> does on the server: a container is completed in
a Pod, a Deployment's template and a CronJob's alike. `fill` walks a decoded object along its
definition and applies them from the outside inwards.

Before: `encoding.decode`. After: preparation and validation. The kinds' own defaults are in
`defaults_core`, `defaults_workloads` and `defaults_others`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from konstat.embedded.builtin import (
    defaults_core,
    defaults_others,
    defaults_workloads,
    definitions,
)

Object = dict[str, Any]
Default = Callable[[Object], None]

_BY_TYPE: Final[Mapping[str, Default]] = {
    **defaults_core.DEFAULTS,
    **defaults_workloads.DEFAULTS,
    **defaults_others.DEFAULTS,
}


def fill(obj: Object, name: str) -> None:
    """Apply the defaults of ``name`` and of all types inside it to a decoded object, in place."""
    default = _BY_TYPE.get(name)
    if default is not None:
        default(obj)
    for key, value in _plain_defaults(name).items():
        if not obj.get(key):
            obj[key] = value
    for key, inner in _inner(name).items():
        value = obj.get(key)
        if isinstance(value, dict):
            if inner.many:
                for one in value.values():
                    fill(one, inner.name)
            else:
                fill(value, inner.name)
        elif isinstance(value, list):
            for one in value:
                fill(one, inner.name)


class _Inner:
    """A member that holds structs with something to fill in."""

    def __init__(self, name: str, *, many: bool) -> None:
        self.name = name
        self.many = many


@cache
def _plain_defaults(name: str) -> dict[str, Any]:
    """Defaults that the description itself declares (a protocol's TCP)."""
    properties = definitions.definitions()[name].get("properties", {})
    return {
        key: schema["default"]
        for key, schema in properties.items()
        if schema.get("default") not in (None, "", 0, False, {})
    }


@cache
def _inner(name: str) -> dict[str, _Inner]:
    """The members to descend into."""
    found: dict[str, _Inner] = {}
    for key, schema in definitions.definitions()[name].get("properties", {}).items():
        many = isinstance(schema.get("additionalProperties"), dict)
        element = schema["additionalProperties"] if many else schema.get("items", schema)
        target = definitions.reference(element)
        if target and _anything_to_fill(target, frozenset()):
            found[key] = _Inner(target, many=many)
    return found


def _anything_to_fill(name: str, above: frozenset[str]) -> bool:
    if name in above:
        return False
    if name in _BY_TYPE or _plain_defaults(name):
        return True
    inside = definitions.definitions()[name].get("properties", {}).values()
    targets = set()
    for schema in inside:
        element = schema.get("additionalProperties")
        element = element if isinstance(element, dict) else schema.get("items", schema)
        targets.add(definitions.reference(element))
    return any(_anything_to_fill(target, above | {name}) for target in targets if target)
