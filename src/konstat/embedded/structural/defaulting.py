"""Fills in the defaults of a structural schema: on every write, and on reads (C50).

Before: `pruning`, which has removed nulls that no default replaces. After: `custom`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from konstat.embedded.structural.correlation import Schema


def apply_defaults(obj: Any, schema: Schema) -> None:
    """Set absent members to their defaults, in place, and nulls where null is no value."""
    if isinstance(obj, dict):
        _default_members(obj, schema)
    elif isinstance(obj, list):
        items = schema.get("items")
        if isinstance(items, Mapping):
            for position, entry in enumerate(obj):
                if entry is None and not items.get("nullable"):
                    obj[position] = copy.deepcopy(items.get("default"))
                apply_defaults(obj[position], items)


def _default_members(obj: dict[str, Any], schema: Schema) -> None:
    properties: Schema = schema.get("properties") or {}
    for name, inner in properties.items():
        default = inner.get("default")
        if default is None:
            continue
        if name not in obj or (obj[name] is None and not inner.get("nullable")):
            obj[name] = copy.deepcopy(default)
    others = schema.get("additionalProperties")
    for name in obj:
        if name in properties:
            apply_defaults(obj[name], properties[name])
        elif isinstance(others, Mapping):
            if obj[name] is None and not others.get("nullable"):
                obj[name] = copy.deepcopy(others.get("default"))
            apply_defaults(obj[name], others)
