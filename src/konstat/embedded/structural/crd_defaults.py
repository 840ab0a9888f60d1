"""Do the defaults of a schema fit it: each is pruned, validated and checked by its own rules.

Before: `pruning`, `object_meta`, `validation`, `konstat.embedded.cel.rules`. After: `crd`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from konstat.embedded.cel.parsing import missing
from konstat.embedded.cel.rules import Rules
from konstat.embedded.status_errors import FieldError
from konstat.embedded.structural import object_meta, texts
from konstat.embedded.structural.correlation import Schema, identical
from konstat.embedded.structural.pruning import META_FIELDS, prune
from konstat.embedded.structural.validation import validate

_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_TYPE_META: Final = {"kind": "Validation", "apiVersion": "validation/v1"}

# Puts a default at its place in an object, from the nearest whole object above.
Surround = Callable[[Any], dict[str, Any]]


def default_errors(schema: Schema, path: str, *, pruned: bool = True) -> list[FieldError]:
    """What is wrong with the defaults of a whole object's schema.

    ``pruned``: a default may not have fields that the schema does not know.
    """
    root = {**schema, _EMBEDDED: True}
    return list(_errors(root, root, path, _whole, inside_meta=False, pruned=pruned))


def _whole(value: Any) -> dict[str, Any]:
    return {**_TYPE_META, **(value if isinstance(value, dict) else {})}


def _below(surround: Surround, name: str) -> Surround:
    return lambda value: surround({name: value})


def _errors(
    schema: Schema, root: Schema, path: str, surround: Surround, *, inside_meta: bool, pruned: bool
) -> Iterator[FieldError]:
    if schema.get(_EMBEDDED):
        inside_meta, surround, root = False, _whole, schema
    if schema.get("default") is not None:
        place = texts.child(path, "default")
        if inside_meta:
            yield from _meta_default(schema, root, place, surround)
        else:
            yield from _default(schema, place, pruned=pruned, at_root=schema is root)
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield from _errors(
            items,
            root,
            texts.child(path, "items"),
            lambda value: surround([value]),
            inside_meta=inside_meta,
            pruned=pruned,
        )
    for name, inner in (schema.get("properties") or {}).items():
        meta = inside_meta or (bool(schema.get(_EMBEDDED)) and name in META_FIELDS)
        place = texts.key(f"{path}.properties", name)
        below = _below(surround, name)
        yield from _errors(inner, root, place, below, inside_meta=meta, pruned=pruned)


def _default(schema: Schema, place: str, *, pruned: bool, at_root: bool) -> Iterator[FieldError]:
    default = schema["default"]
    embedded = bool(schema.get(_EMBEDDED))
    if pruned:
        kept = copy.deepcopy(default)
        prune(kept, schema, at_root=embedded)
        if not identical(kept, default):
            yield texts.invalid(place, default, "must not have unknown fields")
    try:
        object_meta.coerce(copy.deepcopy(default), schema, path=place, at_root=embedded)
    except object_meta.MalformedMetadata as error:
        yield error.error
        return
    found = object_meta.embedded_errors(default, schema, path=place, at_root=embedded)
    yield from found or _fits(schema, default, place, at_root=at_root)


def _meta_default(
    schema: Schema, root: Schema, place: str, surround: Surround
) -> Iterator[FieldError]:
    default = schema["default"]
    obj = surround(copy.deepcopy(default))
    try:
        object_meta.coerce(obj, root, at_root=True)
    except object_meta.MalformedMetadata as error:
        yield texts.invalid(place, default, f"must result in valid metadata: {error}")
        return
    found = object_meta.embedded_errors(obj, root, at_root=True)
    if found:
        shown = ", ".join(dict.fromkeys(map(str, found)))
        shown = shown if len(found) == 1 else f"[{shown}]"
        yield texts.invalid(place, default, f"must result in valid metadata: {shown}")
        return
    yield from _fits(schema, default, place, at_root=False)


def _fits(schema: Schema, default: Any, place: str, *, at_root: bool) -> Iterator[FieldError]:
    found = validate(default, schema, path=place)
    if found:
        yield from found
        return
    if missing():
        return  # the rules themselves are refused
    rules = Rules.compile(schema, at_root=at_root)
    if rules is not None:
        # A default may come in by an update as well as by a creation.
        yield from rules.check(default, default, path=place) or rules.check(default, path=place)
