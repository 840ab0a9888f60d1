"""Ownership through /scale: the scale object's ``spec.replicas`` is a field of the main resource.

A write to /scale is a write of a Scale object whose managedFields are made from the main object's
(`to_scale`), and lead back into them (`to_parent`). Between the two `konstat.embedded.managed` or
`konstat.embedded.apply` treat the Scale like any object, with subresource ``scale`` and
`SCALE_SCHEMA` (C23, C41). Pure. After: the verbs of the server.
"""

from __future__ import annotations

from typing import Any, Final

from konstat.embedded import fieldset, managed
from konstat.embedded.fieldset import FieldSet, Path
from konstat.embedded.managed import ManagedFieldsError, Object, Owned, Owners

SCALE_VERSION: Final = "autoscaling/v1"
SCALE_SCHEMA: Final[Object] = {
    "type": "object",
    "x-kubernetes-group-version-kind": [{"group": "autoscaling", "version": "v1", "kind": "Scale"}],
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "namespace": {"type": "string"},
                "uid": {"type": "string"},
                "resourceVersion": {"type": "string"},
                "creationTimestamp": {"type": "string", "format": "date-time"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
                "managedFields": {"type": "array", "items": {"type": "object"}},
            },
        },
        "spec": {
            "type": "object",
            "default": {},
            "properties": {"replicas": {"type": "integer"}},
        },
        "status": {
            "type": "object",
            "default": {},
            "required": ["replicas"],
            "properties": {
                "replicas": {"type": "integer", "default": 0},
                "selector": {"type": "string"},
            },
        },
    },
}
_REPLICAS: Final = fieldset.path("spec", "replicas")


def to_scale(parent: Object, *, replicas: str) -> list[Object]:
    """The managedFields of a Scale of ``parent``: who owns the number of replicas.

    ``replicas`` is the dotted path of that number in the parent, such as ``spec.replicas``.
    """
    place = _place(replicas)
    owners = {
        manager: Owned(FieldSet.of(_REPLICAS), SCALE_VERSION, owned.time)
        for manager, owned in _owners(parent).items()
        if owned.fields.has(place)
    }
    return managed.write_owners(owners)


def to_parent(parent: Object, scale: Object, *, api_version: str, replicas: str) -> Object:
    """``parent`` with the owners of a written Scale; the number itself is not set.

    Who lost the number in the Scale loses it in the parent; who gained it gains it, with
    subresource ``scale``. ``parent`` is not changed.

    Caveats, both as on the server: owners by /scale carry no time, and an Update entry of the
    parent that still owns the number comes back as a second entry of the same manager, because
    the Scale is of another version; the next write reads but one of the two.
    """
    place = _place(replicas)
    before = _owners(parent)
    scaled = _owners(scale)
    made: Owners = {}
    for manager, owned in before.items():
        if not owned.fields.has(place) or scaled.pop(manager, None) is not None:
            made[manager] = owned
        else:
            rest = owned.fields.difference(FieldSet.of(place))
            if rest:
                made[manager] = owned._replace(fields=rest)
    for manager, owned in scaled.items():
        if owned.fields.has(_REPLICAS):
            known = before.get(manager)
            time = None if known is None else known.time
            made[manager] = Owned(FieldSet.of(place), api_version, time)
    return managed.with_owners(parent, made)


def _place(dotted: str) -> Path:
    return fieldset.path(*dotted.removeprefix(".").split("."))


def _owners(obj: Any) -> Owners:
    try:
        return managed.read_owners(managed.entries_of(obj))
    except ManagedFieldsError:
        return {}
