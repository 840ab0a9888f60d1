"""Merge patches and JSON patches, with the server's behaviour where the standards leave room.

A patch comes as the bytes of the request, because a JSON Patch ``test`` compares *encoded text*:
the stored value as the server writes it with the text that was sent. What the server adds to
RFC 6902: negative indices count from the end, ``test`` with null passes where the last member of
the path is absent, ``copy`` of an absent member adds null; RFC 7386: nulls are pruned from new
parts, inside of lists too.

Pure; the document is never changed. Before: `konstat.embedded.gojson`. After: the PATCH verb and
`konstat.embedded.strategic`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import msgspec

from konstat.base import limits
from konstat.embedded import gojson, gotext
from konstat.embedded.status_errors import StatusError

Object: TypeAlias = dict[str, Any]

_MAP_TYPE: Final = "map[string]interface {}"
_OPERATION: Final = "handlers.jsonPatchOp"
_OPERATION_FIELDS: Final = ("op", "path", "from", "value")
_INDEX: Final = re.compile(r"[+-]?[0-9]+")
_NO_VALUE: Final = object()


class PatchError(StatusError):
    """A patch that cannot be read (400, 413) or does not apply (422, or 500 as the server does)."""


def bad_patch(message: str) -> PatchError:
    """400."""
    return PatchError(message, code=400, reason="BadRequest")


def _refused() -> PatchError:
    """422 without causes, whatever failed: the server does not tell."""
    return PatchError(
        "the server rejected our request due to an error in our request",
        code=422,
        reason="Invalid",
        details={},
    )


def _beyond_the_server(what: str) -> PatchError:
    """What kube-apiserver 1.36 crashes on (it drops the connection) is refused here."""
    return PatchError(
        f"{what}: kube-apiserver breaks the connection on this; send another patch",
        code=500,
        reason="InternalError",
    )


# --- reading ------------------------------------------------------------------------------------


def read_object_patch(patch: bytes | Object, *, prefix: str = "error decoding patch: ") -> Any:
    """The object of a merge or strategic patch, or None when null was sent; raises PatchError."""
    value: Any = patch
    if isinstance(patch, bytes):
        try:
            value = gojson.decode(patch)
        except gojson.JSONTextError as error:
            raise bad_patch(f"{prefix}{error}") from error
    elif gotext.too_deep(value):
        raise bad_patch(f"{prefix}exceeded max depth")
    if value is not None and not isinstance(value, dict):
        kind = gotext.json_type(value)
        raise bad_patch(f"{prefix}json: cannot unmarshal {kind} into Go value of type {_MAP_TYPE}")
    return value


def json_patch_problems(patch: bytes) -> list[str]:
    """What strict decoding says about a JSON patch that can be read: unknown and repeated members.

    Texts as in ``Warning`` headers, in the order of the operations: ``json patch unknown field
    "[0].foo"``.
    """
    found: list[str] = []
    operations: list[gojson.Members | None] = gojson.members(patch) or []
    for index, operation in enumerate(operations):
        seen: set[str] = set()
        for name, value in operation or gojson.Members():
            place = f"[{index}].{name}"
            if name not in _OPERATION_FIELDS:
                found.append(f'json patch unknown field "{place}"')
            elif name in seen:
                found.append(f'json patch duplicate field "{place}"')
            else:
                inside = gojson.repeated(value, place)
                found += [f'json patch duplicate field "{one}"' for one in inside]
            seen.add(name)
    return found


# --- merge patch --------------------------------------------------------------------------------


def merge_patch(document: Object, patch: bytes | Object) -> Object:
    """RFC 7386 as the server does it (C31): null deletes, lists are replaced.

    Nulls in parts that are new are dropped, inside of lists too, where the RFC keeps them.
    Raises PatchError (400) for a patch that is no JSON object.
    """
    read = read_object_patch(patch)
    if read is None:
        raise bad_patch("Invalid JSON Patch")
    return _merged(document, read)


def _merged(document: Object, patch: Object) -> Object:
    made = dict(document)
    for name, value in patch.items():
        current = made.get(name)
        if value is None:
            made.pop(name, None)
        elif isinstance(current, dict):
            # A list in the place of an object keeps its nulls: the server does not look into it.
            made[name] = _merged(current, value) if isinstance(value, dict) else value
        else:
            made[name] = _without_nulls(value)
    return made


def _without_nulls(value: Any) -> Any:
    """Without members that are null, at every depth; entries of lists that are null stay."""
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(entry) for entry in value] if isinstance(value, list) else value


# --- JSON patch ---------------------------------------------------------------------------------

_Operation: TypeAlias = dict[str, msgspec.Raw]
_operations = msgspec.json.Decoder(list[msgspec.Raw])
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def json_patch(document: Object, operations: bytes | Sequence[Object]) -> Any:
    """The document after a JSON patch (RFC 6902, C32); all operations or none.

    ``operations`` are the bytes that were sent, or the list of operations, which is then taken as
    our encoder writes it. The result is an object, or a list when the patch replaced the whole.
    Raises PatchError: 400 for what is no list of operations, 413 for too many, a causeless 422
    for an operation that fails, and 500 where kube-apiserver breaks the connection.
    """
    sent = operations if isinstance(operations, bytes) else msgspec.json.encode(operations)
    steps = _read_operations(sent)
    patching = _Patching(document)
    for step in steps:
        patching.run(step)
    result = _plain(patching.root)
    if gotext.too_deep(result):
        raise _refused()
    return result


def _read_operations(sent: bytes) -> list[_Operation]:
    problem = "error decoding patch: "
    try:
        value = gojson.decode(sent)
    except gojson.JSONTextError as error:
        raise bad_patch(f"{problem}{error}") from error
    if value is None:
        return []
    cannot = f"{problem}json: cannot unmarshal"
    if not isinstance(value, list):
        raise bad_patch(f"{cannot} {gotext.json_type(value)} into Go value of type []{_OPERATION}")
    for entry in value:
        if entry is not None and not isinstance(entry, dict):
            raise bad_patch(
                f"{cannot} {gotext.json_type(entry)} into Go value of type {_OPERATION}"
            )
        for name in ("op", "path", "from"):
            member = (entry or {}).get(name)
            if member is not None and not isinstance(member, str):
                raise bad_patch(
                    f"{cannot} {gotext.json_type(member)} into Go struct field"
                    f" jsonPatchOp.{name} of type string"
                )
    if len(value) > limits.EMBEDDED_PATCH_OPERATIONS:
        raise PatchError(
            "Request entity too large: The allowed maximum operations in a JSON patch is"
            f" {limits.EMBEDDED_PATCH_OPERATIONS}, got {len(value)}",
            code=413,
            reason="RequestEntityTooLarge",
        )
    raws = _operations.decode(_exact(sent, value))
    return [{} if bytes(raw) == b"null" else _members.decode(raw) for raw in raws]


def _exact(sent: bytes, value: Any) -> bytes:
    """The text that was sent; our own where Go mends it (halves of surrogate pairs)."""
    text = gojson.readable(sent).encode()
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return msgspec.json.encode(value)
    return text


class _Text:
    """A scalar as it was sent: equal to another only if the texts are."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _opened(value: Any) -> Any:
    """One level of a value: what was sent becomes a dict or list of raw parts, a text, or None."""
    if not isinstance(value, msgspec.Raw):
        return value
    data = bytes(value).strip()
    if data.startswith(b"{"):
        return _members.decode(data)
    if data.startswith(b"["):
        return _operations.decode(data)
    return None if data == b"null" else _Text(data.decode())


def _plain(value: Any) -> Any:
    """A value without raw parts."""
    if isinstance(value, msgspec.Raw):
        return gojson.decode(bytes(value))
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value


def _same(left: Any, right: Any) -> bool:
    """Whether a stored value and one that was sent are equal, as ``test`` compares."""
    left, right = _opened(left), _opened(right)
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(_same(value, right[name]) for name, value in left.items())
        )
    if isinstance(left, list):
        if not isinstance(right, list) or len(left) != len(right):
            return False
        return all(_same_entries(*pair) for pair in zip(left, right, strict=True))
    if isinstance(right, dict | list) or (left is None) != (right is None):
        return False
    return left is None or _text(left) == _text(right)


def _same_entries(left: Any, right: Any) -> bool:
    if _opened(left) is None:
        raise _beyond_the_server("test compares a list that holds null")
    return _same(left, right)


def _text(value: Any) -> str:
    return value.text if isinstance(value, _Text) else gotext.encode(value)


def _index(text: str, length: int) -> int:
    """The position that a path names in a list of ``length`` places; raises PatchError."""
    if not _INDEX.fullmatch(text) or len(text) > 19:
        raise _refused()
    index = int(text)
    if not -length <= index < length:
        raise _refused()
    return index + length if index < 0 else index


class _Patching:
    """A document while operations run on it.

    What is stored is not changed: containers are copied on the way to a change, once. Values of
    operations stay raw until something reaches into them.
    """

    def __init__(self, document: Object) -> None:
        self.root: Any = dict(document)
        self._own: dict[int, Any] = {id(self.root): self.root}  # alive, so that no id is reused
        self._copied_bytes = 0

    def run(self, operation: _Operation) -> None:
        """One operation; raises PatchError."""
        kind = _string(operation, "op")
        runs = {
            "add": self._add,
            "remove": self._remove,
            "replace": self._replace,
            "move": self._move,
            "copy": self._copy,
            "test": self._test,
        }
        if kind not in runs:
            raise _refused()
        runs[kind](operation)

    def _add(self, operation: _Operation) -> None:
        self._put(_required(operation, "path"), operation.get("value"))

    def _remove(self, operation: _Operation) -> None:
        self._take(_required(operation, "path"))

    def _replace(self, operation: _Operation) -> None:
        path = _required(operation, "path")
        value = operation.get("value")
        if path == "":
            self._replace_all(value)
            return
        parent, last = self._parent(path)
        if isinstance(parent, list):
            parent[_index(last, len(parent))] = value
        else:
            parent[last] = value

    def _replace_all(self, value: Any) -> None:
        if value is None:
            raise _beyond_the_server("replace of the whole document has no value")
        opened = _opened(value)
        if not isinstance(opened, dict | list):
            raise _refused()
        self.root = self._owned(opened)

    def _move(self, operation: _Operation) -> None:
        value = self._take(_required(operation, "from"))
        self._put(_required(operation, "path"), value)

    def _copy(self, operation: _Operation) -> None:
        value = self._value_at(_required(operation, "from"))
        path = _required(operation, "path")
        self._parent(path)
        if value is not None:
            self._copied_bytes += len(msgspec.json.encode(value))
        if self._copied_bytes > limits.EMBEDDED_PATCH_COPY_BYTES:
            raise _refused()
        self._put(path, _plain(value))

    def _test(self, operation: _Operation) -> None:
        path = _required(operation, "path")
        wanted = operation.get("value")
        stored = self.root if path == "" else self._value_at(path)
        if not _same(stored, wanted):
            raise _refused()

    # --- places ---------------------------------------------------------------------------------

    def _parent(self, path: str) -> tuple[Any, str]:
        """The container that a path ends in, ready to be changed, and its last part."""
        parts = [_unescaped(part) for part in path.split("/")]
        if len(parts) < 2:
            raise _refused()
        place = self.root
        for part in parts[1:-1]:
            where: Any = part
            if isinstance(place, list):
                where = _index(part, len(place))
            inner = _opened(place[where] if isinstance(place, list) else place.get(where))
            if not isinstance(inner, dict | list):
                raise _refused()
            if id(inner) not in self._own:
                inner = self._owned(inner)
                place[where] = inner
            place = inner
        return place, parts[-1]

    def _owned(self, container: Any) -> Any:
        """A copy that may be changed."""
        made = container.copy()
        self._own[id(made)] = made
        return made

    def _value_at(self, path: str) -> Any:
        """The value at a path; None also for an absent member."""
        parent, last = self._parent(path)
        if isinstance(parent, list):
            return parent[_index(last, len(parent))]
        return parent.get(last)

    def _put(self, path: str, value: Any) -> None:
        parent, last = self._parent(path)
        if not isinstance(parent, list):
            parent[last] = value
        elif last == "-":
            parent.append(value)
        else:
            parent.insert(_index(last, len(parent) + 1), value)

    def _take(self, path: str) -> Any:
        parent, last = self._parent(path)
        if isinstance(parent, list):
            return parent.pop(_index(last, len(parent)))
        if last not in parent:
            raise _refused()
        return parent.pop(last)


def _string(operation: _Operation, name: str) -> str | None:
    raw = operation.get(name)
    value = None if raw is None else gojson.decode(bytes(raw))
    return value if isinstance(value, str) else None


def _required(operation: _Operation, name: str) -> str:
    value = _string(operation, name)
    if value is None:
        raise _refused()
    return value


def _unescaped(part: str) -> str:
    """A part of a JSON pointer (RFC 6901, section 4)."""
    return part.replace("~1", "/").replace("~0", "~")
