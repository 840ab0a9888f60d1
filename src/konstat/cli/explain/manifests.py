"""Objects from files and standard input: YAML or JSON, documents and lists, whole folders.

After: `konstat.cli.status.tree` judges them as it judges what a server gave.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from konstat import kinds
from konstat.base import limits
from konstat.base.yamltext import load_yaml_documents
from konstat.cli.status.tree import Content, Gathered, GroupKind, owner_uids
from konstat.errors import UserError
from konstat.objects import codec
from konstat.readiness import reading

STANDARD_INPUT: Final = "-"
_SUFFIXES: Final = (".yaml", ".yml", ".json")


def read_manifests(names: Iterable[str]) -> list[Content]:
    """Every object of the files, folders (their .yaml, .yml and .json) and ``-``, in order.

    The elements of lists stand for the list. Raises UserError for what cannot be read or is not a
    Kubernetes object, with the file and the number of the document.
    """
    found: list[Content] = []
    for source, data in _texts(names):
        for number, document in enumerate(_documents(data, source), start=1):
            place = f"{source}, document {number}"
            found += _objects(document, place, depth=0)
        if len(found) > limits.EXPLAIN_OBJECTS:
            raise UserError(
                f"{source}: more than {limits.EXPLAIN_OBJECTS} objects: give fewer at a time"
            )
    return found


def gathered_from(contents: Sequence[Content], *, word: str = "", name: str = "") -> Gathered:
    """The objects as one moment of the world.

    Told are those of the kind ``word`` and the ``name``; without them all that belong to none of
    the others, and those that own each other in a circle. Events are never told, they only support.
    """
    objects: dict[GroupKind, list[Content]] = {}
    for content in contents:
        objects.setdefault(group_kind(content), []).append(content)
    if word:
        told = [c for c in contents if _is_called(c, word)]
        told = [c for c in told if name in ("", _metadata(c).get("name"))]
    else:
        told = _roots([c for c in contents if group_kind(c)[1] != "Event"])
    return Gathered(resources=tuple(told), objects=objects)


def _roots(contents: Sequence[Content]) -> list[Content]:
    """Objects that no other one owns, and those that are below none of these."""
    owned: dict[str, list[Content]] = {}
    for content in contents:
        for uid in owner_uids(content):
            owned.setdefault(uid, []).append(content)
    uids = {_uid(content) for content in contents}
    roots = [c for c in contents if not uids.intersection(owner_uids(c))]
    reached = {id(content) for content in roots}
    left = list(roots)
    while left:
        below = [c for c in owned.get(_uid(left.pop()), ()) if id(c) not in reached]
        reached.update(map(id, below))
        left += below
    return [*roots, *(c for c in contents if id(c) not in reached)]


def group_kind(content: Content) -> GroupKind:
    """The group (empty for core) and kind of an object."""
    group, slash, _ = reading.text(content.get("apiVersion")).rpartition("/")
    return (group if slash else "", reading.text(content.get("kind")))


def _texts(names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for name in names:
        if name == STANDARD_INPUT:
            yield "standard input", _standard_input()
            continue
        path = Path(name)
        try:
            if path.is_dir():
                files = sorted(p for p in path.iterdir() if p.suffix in _SUFFIXES)
                if not files:
                    raise UserError(f"{name} holds no .yaml, .yml or .json file")
            else:
                files = [path]
            for file in files:
                with file.open("rb") as stream:
                    yield str(file), stream.read(limits.EXPLAIN_BYTES + 1)
        except (OSError, ValueError) as error:
            words = error.strerror if isinstance(error, OSError) else str(error)
            raise UserError(f"{name} cannot be read: {words}") from error


def _standard_input() -> bytes:
    stream = sys.stdin
    if stream is None:  # closed by the shell (<&-)
        raise UserError("standard input is closed: pipe objects into it, or name files with -f")
    return stream.buffer.read(limits.EXPLAIN_BYTES + 1)


def _documents(data: bytes, source: str) -> list[Any]:
    if len(data) > limits.EXPLAIN_BYTES:
        raise UserError(
            f"{source} is larger than {limits.EXPLAIN_BYTES} bytes: give fewer objects at a time"
        )
    if data.lstrip()[:1] == b"{":
        try:
            return [codec.decode(data)]
        except (ValueError, RecursionError):
            pass  # it may be flow-style YAML; else that reader says what is wrong
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{source} is not UTF-8 text (byte {error.start} fits no character)"
        ) from error
    return load_yaml_documents(text, source=source)


def _objects(document: Any, place: str, *, depth: int) -> list[Content]:
    """``depth`` is how many lists there are around the document."""
    if depth > limits.EXPLAIN_LISTS:
        raise UserError(f"{place} has lists in lists too deeply: {limits.EXPLAIN_LISTS} are read")
    if isinstance(document, list):
        return [
            content
            for n, item in enumerate(document, start=1)
            for content in _objects(item, f"{place}, item {n}", depth=depth + 1)
        ]
    if not isinstance(document, Mapping):
        raise UserError(
            f"{place} is no Kubernetes object but a {_type_name(document)}: expected a mapping with"
            " apiVersion, kind and metadata"
        )
    kind, version = document.get("kind"), document.get("apiVersion")
    if not (isinstance(kind, str) and kind.endswith("List") and "items" in document):
        return [_checked(document, place)]
    items = document["items"] or ()  # null is how Go writes a list of nothing
    if not isinstance(items, list | tuple):
        raise UserError(f"{place} is a {kind} whose items are a {_type_name(items)}, not a list")
    return [
        content
        for n, item in enumerate(items, start=1)
        for content in _item(item, kind, version, f"{place}, item {n}", depth=depth + 1)
    ]


def _item(item: Any, list_kind: str, version: Any, place: str, *, depth: int) -> list[Content]:
    """An element of a list, itself perhaps one; those of typed lists do not name their kind."""
    if isinstance(item, Mapping) and "kind" not in item and list_kind != "List":
        item = {"apiVersion": version, "kind": list_kind.removesuffix("List"), **item}
    return _objects(item, place, depth=depth)


def _checked(document: Any, place: str) -> Content:
    if not isinstance(document, Mapping):
        raise UserError(f"{place} is no Kubernetes object but a {_type_name(document)}")
    for key in ("apiVersion", "kind"):
        value = document.get(key)
        if not isinstance(value, str) or not value:
            raise UserError(f"{place} has no {key}: a Kubernetes object names its {key} as text")
    return document


def _type_name(value: Any) -> str:
    names = {str: "text", list: "list", dict: "mapping", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def _is_called(content: Content, word: str) -> bool:
    """Whether ``word`` (kind, plural or singular, with or without .group) means the object's kind.

    There is no server to ask for the plural: the regular forms are known, and the names of
    built-in kinds.
    """
    group, kind = group_kind(content)
    plain, dot, wanted_group = word.lower().partition(".")
    if dot and wanted_group != group:
        return False
    lower = kind.lower()
    words = {lower, f"{lower}s", f"{lower}es"}
    if lower.endswith("y"):
        words.add(f"{lower[:-1]}ies")
    builtin = kinds.BY_KIND.get((group, kind))
    if builtin is not None:
        words |= {builtin.kind.plural, *_SHORT.get(kind, ())}
    return plain in words


_SHORT: Final[Mapping[str, tuple[str, ...]]] = {
    "ConfigMap": ("cm",),
    "CronJob": ("cj",),
    "CustomResourceDefinition": ("crd", "crds"),
    "DaemonSet": ("ds",),
    "Deployment": ("deploy",),
    "HorizontalPodAutoscaler": ("hpa",),
    "Ingress": ("ing",),
    "Namespace": ("ns",),
    "Node": ("no",),
    "PersistentVolume": ("pv",),
    "PersistentVolumeClaim": ("pvc",),
    "Pod": ("po",),
    "PodDisruptionBudget": ("pdb",),
    "ReplicaSet": ("rs",),
    "Service": ("svc",),
    "StatefulSet": ("sts",),
}


def _uid(content: Content) -> str:
    return reading.text(_metadata(content).get("uid"))


def _metadata(content: Content) -> Mapping[str, Any]:
    return reading.mapping(content.get("metadata"))
