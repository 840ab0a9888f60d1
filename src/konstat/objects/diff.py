"""Comparison of plain objects: does the live one hold what we apply, and what would change it.

`differences` asks whether every field of a wanted manifest holds in the live object, as the
server merges and normalises it; what the server or others added never counts. `merge_patch` and
`apply_merge_patch` are RFC 7386, `applied_hash` names a manifest.
Comes after `konstat.objects.shape`; the writer, the simulator and the linter use it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from konstat.objects.model import without_none
from konstat.objects.place import member_path
from konstat.objects.quantity import same_amount
from konstat.objects.shape import Shape, shape_of

# What of metadata an applied manifest can ask for; the rest is identity or the server's own.
APPLIED_METADATA: Final = ("labels", "annotations", "finalizers", "ownerReferences")
_NOT_COMPARED: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
HIDDEN: Final = "(hidden)"


class Difference(msgspec.Struct, frozen=True):
    """One place where the live object is not as wanted; absent values are None.

    ``path`` is a JSON path such as ``spec.template.spec.containers[name="app"].image``. Values of
    a Secret's data are `HIDDEN`.
    """

    path: str
    wanted: Any
    live: Any


def differences(
    wanted: Mapping[str, Any], live: Mapping[str, Any], *, shape: Shape | None = None
) -> list[Difference]:
    """Every field of ``wanted`` that does not hold in ``live``; empty when all hold.

    Both are plain objects of one kind. Lists that are maps are compared by key and sets by
    membership (others' entries do not count); other lists entry by entry, in order, with equal
    length. Quantities are compared by value, numbers by value, everything else as it is; an
    int-or-string differs between ``80`` and ``"80"``. A wanted null is no wish, and a wanted empty
    text, list or map holds where the field is absent, because the server leaves such out; so does
    a wanted false or zero in the fields for which the built-in kinds do the same. ``stringData``
    of a Secret is looked up in ``data``. Identity, server-set metadata and ``status`` are ignored.
    ``shape`` is needed for kinds that are not built in (`shape_of_schema`).
    A field that was applied earlier and is no longer in ``wanted`` is not seen: compare
    `applied_hash` for that.
    """
    if shape is None:
        shape = shape_of(_group(wanted), str(wanted.get("kind", "")))
    secret = wanted.get("kind") == "Secret" and _group(wanted) == ""
    if secret:
        wanted = _secret_data(wanted)
    metadata = wanted.get("metadata") or {}
    asked = {name: metadata[name] for name in APPLIED_METADATA if name in metadata}
    found = list(
        _in_mapping(asked, live.get("metadata") or {}, shape.field("metadata"), "metadata")
    )
    content = {k: v for k, v in wanted.items() if k not in _NOT_COMPARED}
    found += _in_mapping(content, live, shape, "")
    if secret:
        found = [_hidden(d) if d.path.startswith("data") else d for d in found]
    return found


def _group(obj: Mapping[str, Any]) -> str:
    group, slash, _ = str(obj.get("apiVersion", "")).partition("/")
    return group if slash else ""


def _secret_data(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """A Secret with its write-only ``stringData`` moved into ``data``, where it wins."""
    texts = wanted.get("stringData") or {}
    encoded = {k: base64.b64encode(str(v).encode()).decode() for k, v in texts.items()}
    rest = {k: v for k, v in wanted.items() if k != "stringData"}
    return {**rest, "data": {**(wanted.get("data") or {}), **encoded}}


def _hidden(difference: Difference) -> Difference:
    live = None if difference.live is None else HIDDEN
    return Difference(difference.path, HIDDEN, live)


def _in_value(wanted: Any, live: Any, shape: Shape, path: str) -> Iterator[Difference]:
    if wanted is None or (live is None and _empty(wanted)):
        return
    if isinstance(wanted, Mapping) and isinstance(live, Mapping | None):
        yield from _in_mapping(wanted, live or {}, shape, path)
    elif isinstance(wanted, list | tuple) and isinstance(live, list | tuple | None):
        yield from _in_list(wanted, live, shape, path)
    elif not _holds(wanted, live, shape):
        yield Difference(path, wanted, live)


def _in_mapping(
    wanted: Mapping[str, Any], live: Mapping[str, Any], shape: Shape, path: str
) -> Iterator[Difference]:
    for name, value in wanted.items():
        there = live.get(name)
        if type(value) is str and value == there:  # most members: no shape, no path is needed
            continue
        if there is None and name in shape.drops and not value:
            continue
        yield from _in_value(value, there, shape.field(name), member_path(path, name))


def _in_list(
    wanted: Sequence[Any], live: Sequence[Any] | None, shape: Shape, path: str
) -> Iterator[Difference]:
    there = live or ()
    if shape.list_type == "map" and _all_mappings(wanted) and _all_mappings(there):
        yield from _in_list_map(wanted, there, shape, path)
    elif shape.list_type == "set":
        for value in wanted:
            if not any(same(value, other) for other in there):
                yield Difference(f"{path}[={_shown(value)}]", value, None)
    elif len(wanted) != len(there):
        yield Difference(path, wanted, live)
    else:
        for index, (value, other) in enumerate(zip(wanted, there, strict=True)):
            place = f"{path}[{index}]"
            if value is None or other is None:  # in a list null is a value, not an absence
                if value is not other:
                    yield Difference(place, value, other)
            else:
                yield from _in_value(value, other, shape.entry, place)


def _in_list_map(
    wanted: Sequence[Mapping[str, Any]],
    live: Sequence[Mapping[str, Any]],
    shape: Shape,
    path: str,
) -> Iterator[Difference]:
    there = {_key(entry, shape): entry for entry in live}
    for entry in wanted:
        key = _key(entry, shape)
        named = ",".join(f"{k}={_shown(v)}" for k, v in zip(shape.keys, key, strict=True))
        place = f"{path}[{named}]"
        if key in there:
            yield from _in_mapping(entry, there[key], shape.entry, place)
        else:
            yield Difference(place, entry, None)


def _key(entry: Mapping[str, Any], shape: Shape) -> tuple[Any, ...]:
    return tuple(_scalar(entry.get(k), shape.key_defaults.get(k)) for k in shape.keys)


def _scalar(value: Any, default: Any) -> Any:
    if value is None:
        return default
    return value if isinstance(value, str | int | float) else repr(value)


def _all_mappings(values: Sequence[Any]) -> bool:
    return all(isinstance(value, Mapping) for value in values)


def _empty(value: Any) -> bool:
    """Empty texts, lists and maps, and maps of nothing but such and nulls."""
    if isinstance(value, Mapping):
        return all(v is None or _empty(v) for v in value.values())
    return isinstance(value, str | list | tuple) and not value


def _holds(wanted: Any, live: Any, shape: Shape) -> bool:
    if same(wanted, live):
        return True
    if shape.quantity and live is not None:
        return same_amount(wanted, live)
    if shape.base64 and isinstance(wanted, str) and isinstance(live, str):
        return _decoded(wanted) == _decoded(live)
    return False


def _decoded(text: str) -> bytes | str:
    try:
        return base64.b64decode(text.translate({10: None, 13: None}), validate=True)
    except (binascii.Error, ValueError):
        return text


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, but neither is true, and list order counts."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(v, right[k]) for k, v in left.items())
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# --- patches and names ------------------------------------------------------------------------


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The RFC 7386 patch that turns ``before`` into ``after``; empty when nothing changes.

    A null member of ``after`` means an absent one, since such a patch cannot set null.
    """
    patch: dict[str, Any] = {k: None for k in before if after.get(k) is None}
    for name, value in after.items():
        old = before.get(name)
        if value is None or same(old, value):
            continue
        if isinstance(value, Mapping):
            inner = merge_patch(old if isinstance(old, Mapping) else {}, value)
            if inner or not isinstance(old, Mapping):
                patch[name] = inner
        else:
            patch[name] = value
    return patch


def apply_merge_patch(target: Any, patch: Any) -> Any:
    """``target`` changed by an RFC 7386 patch; neither argument is changed."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = apply_merge_patch(result.get(name), value)
    return result


def applied_hash(manifest: Mapping[str, Any]) -> str:
    """A short stable name of a manifest's content: 16 hexadecimal digits.

    The order of members and members that are null do not count; the order of lists does.
    """
    text = msgspec.json.encode(without_none(manifest), order="sorted")
    return hashlib.sha256(text).hexdigest()[:16]
