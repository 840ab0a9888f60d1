"""Objects as Tables and PartialObjectMetadata (C98): what `kubectl get` shows.

Columns belong to a resource type; those of custom resources are made here from
``additionalPrinterColumns``. Before: `jsonpath`, `registry`. After: `server`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from konstat.base import clock
from konstat.embedded import gotext
from konstat.embedded import status_errors as errors
from konstat.embedded.builtin.cells import AGE, NAME, duration
from konstat.embedded.jsonpath import compile_path
from konstat.embedded.negotiate import Form
from konstat.embedded.registry import Column, Object, ResourceType
from konstat.embedded.routes import Query

_META: Final = "meta.k8s.io/v1"
_DEFAULT: Final = (NAME, AGE)


def include_object(query: Query) -> str:
    """What a Table carries of each object: Metadata, Object or None; raises a 400."""
    given = query.get("includeObject") or "Metadata"
    if given not in ("Metadata", "Object", "None"):
        raise errors.bad_request(
            "Unable to convert to Table as requested: includeObject: Invalid value:"
            f" {errors.quoted(given)}: must be 'Metadata', 'Object', 'None', or empty"
        )
    return given


def partial(obj: Object) -> dict[str, Any]:
    """The metadata of an object alone."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": _META,
        "metadata": obj["metadata"],
    }


def table(
    kind: ResourceType,
    objects: Sequence[Object],
    metadata: Mapping[str, Any],
    *,
    include: str,
    columns: bool = True,
) -> dict[str, Any]:
    """A Table of objects; without ``columns`` their definitions are left out."""
    now = clock.now()
    return {
        "kind": "Table",
        "apiVersion": _META,
        "metadata": dict(metadata),
        "columnDefinitions": _definitions(kind) if columns else None,
        "rows": [_row(kind, obj, now, include) for obj in objects],
    }


def shaped(
    kind: ResourceType, obj: Object, form: Form, include: str, *, columns: bool = True
) -> Any:
    """One object in the form that was asked for."""
    if form.shape == "Table":
        versions = {"resourceVersion": obj["metadata"].get("resourceVersion")}
        metadata = {key: value for key, value in versions.items() if value}
        return table(kind, [obj], metadata, include=include, columns=columns)
    if form.shape == "PartialObjectMetadata":
        return partial(obj)
    if form.shape == "PartialObjectMetadataList":
        raise errors.internal_error("content is not a list")
    return obj


def shaped_list(
    kind: ResourceType,
    objects: Sequence[Object],
    metadata: Mapping[str, Any],
    form: Form,
    include: str,
) -> Any:
    """A list in the form that was asked for; raises a 406 for one that is for single objects."""
    if form.shape == "Table":
        return table(kind, objects, metadata, include=include)
    if form.shape == "PartialObjectMetadataList":
        return {
            "kind": "PartialObjectMetadataList",
            "apiVersion": _META,
            "metadata": dict(metadata),
            "items": [partial(obj) for obj in objects],
        }
    if form.shape == "PartialObjectMetadata":
        raise errors.StatusError(
            "you requested PartialObjectMetadata, but the requested object is a list"
            f" (*{'unstructured.UnstructuredList' if kind.custom else _go_list(kind)})",
            code=406,
            reason="NotAcceptable",
        )
    # Items of built-in kinds carry no apiVersion and kind.
    items = objects if kind.custom else [_bare(obj) for obj in objects]
    return {
        "kind": kind.list_name,
        "apiVersion": kind.api_version,
        "metadata": dict(metadata),
        "items": list(items),
    }


def _go_list(kind: ResourceType) -> str:
    return f"{kind.version}.{kind.list_name}"


def _bare(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}


def _definitions(kind: ResourceType) -> list[dict[str, Any]]:
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        }
        for column in kind.columns or _DEFAULT
    ]


def _row(kind: ResourceType, obj: Object, now: datetime, include: str) -> dict[str, Any]:
    shown: Any = None
    if include == "Metadata":
        shown = partial(obj)
    elif include == "Object":
        shown = obj
    bookmark = "name" not in obj["metadata"]
    cells = [_cell(column, obj, now, bookmark) for column in kind.columns or _DEFAULT]
    return {"cells": cells, "object": shown}


def _cell(column: Column, obj: Object, now: datetime, bookmark: bool) -> Any:
    """A cell; a bookmark is an object without content, whose cells are empty."""
    if not bookmark:
        return column.cells(obj, now)
    return "" if column.name == "Name" else None


# --- columns of custom resources ----------------------------------------------------------------


def custom_columns(declared: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """The columns of a CustomResourceDefinition's version; raises PathError for a bad path."""
    if not declared:
        return _DEFAULT
    return (NAME, *(_custom(one) for one in declared))


def _custom(declared: Mapping[str, Any]) -> Column:
    path = compile_path(declared["jsonPath"])
    kind = declared["type"]

    def cells(obj: Object, now: datetime) -> Any:
        found = path.find(obj)
        return _custom_cell(kind, found[0], now) if found else None

    return Column(
        name=declared["name"],
        type=kind,
        format=declared.get("format", ""),
        description=declared.get("description", "")
        or f"Custom resource definition column (in JSONPath format): {declared['jsonPath']}",
        priority=declared.get("priority", 0),
        cells=cells,
    )


def _custom_cell(kind: str, value: Any, now: datetime) -> Any:
    if value is None:
        return None
    if kind == "string":
        if isinstance(value, bool):
            return "true" if value else "false"
        return value if isinstance(value, str) else gotext.encode(value)
    if kind == "date":
        return _age(value, now)
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if kind == "integer" else float(value)


def _age(value: Any, now: datetime) -> str:
    try:
        moment = clock.parse_timestamp(value)
    except (TypeError, ValueError):
        return "<invalid>"
    return duration((now - moment).total_seconds())
