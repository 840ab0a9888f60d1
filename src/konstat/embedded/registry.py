"""`ResourceType`: everything the embedded API knows about one resource in one version.

`konstat.embedded.builtin` makes the built-in ones, `konstat.embedded.crds` those of
CustomResourceDefinitions; `Registry` finds them for a path. The verbs ask nothing else about a
kind: what is special about it is a field or a hook here.

Objects that hooks are given are plain dicts. Hooks that prepare or default change the new object
in place; the old one is stored state and is never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from konstat.embedded.status_errors import FieldError

Object: TypeAlias = dict[str, Any]
Schema: TypeAlias = Mapping[str, Any]


class Host(Protocol):
    """What a hook may ask of the server while it prepares an object."""

    def lookup(self, group: str, plural: str, namespace: str, name: str) -> Object | None:
        """A stored object (any served version of it), or None; do not change it."""
        ...

    def objects(self, group: str, plural: str, namespace: str = "") -> Sequence[Object]:
        """The stored objects of a resource (all namespaces without one); do not change them."""
        ...

    def next_cluster_ip(self) -> str:
        """A free address of the service range."""
        ...

    def next_node_port(self) -> int:
        """A free port of the range 30000-32767."""
        ...

    def now(self) -> datetime:
        """The wall time."""
        ...


@dataclass(frozen=True, kw_only=True)
class Column:
    """One printer column: ``cells`` computes the value from an object and the present moment."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0
    cells: Callable[[Object, datetime], Any]


@dataclass(frozen=True, kw_only=True)
class ScalePaths:
    """Where /scale finds its numbers: dotted paths such as ``spec.replicas``."""

    spec_replicas: str
    status_replicas: str
    selector: str = ""


def _nothing(obj: Object) -> None:
    return None


def _nothing_to_create(new: Object, host: Host) -> None:
    return None


def _nothing_to_update(new: Object, old: Object, host: Host) -> None:
    return None


def _valid(new: Object, old: Object | None) -> list[FieldError]:
    return []


def _no_warnings(new: Object, old: Object | None) -> list[str]:
    return []


ALL_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)


@dataclass(frozen=True, kw_only=True)
class ResourceType:
    """One resource in one version: names, schema, hooks.

    ``store``
        The name of the storage that its objects live in (``plural.group``; empty: derived).
        Versions of one resource, and the two views of Events, share one.
    ``to_stored``, ``from_stored``
        Convert an object of this version to the form that is stored and back; None when the
        stored form differs in ``apiVersion`` alone.
    ``schema``
        A structural schema of the whole object (apiVersion, kind, metadata included).
    ``decode``
        Bring an object into the form that the server would write after reading it: drop what the
        schema does not know, refuse values of a wrong type by a ValueError with the decoder's
        text (it becomes a 400). Called before ``defaults``.
    ``prune``
        Of custom resources: drop what the schema does not know, in place; the dropped paths.
    ``selectable``
        Fields that a field selector may name beyond metadata.name and metadata.namespace.
    ``prepare_create``, ``prepare_update``
        After decoding and defaults, before validation: reset what the client may not set,
        generation of built-in kinds, allocated values. ``prepare_update`` serves the main
        resource; ``prepare_status`` serves /status, whose other parts the core has restored.
    ``validate``, ``validate_status``
        Field errors of a new object, or of an update (old given); metadata that all kinds share
        (names by ``name_problems``, labels, owners, finalizers, immutable fields) the core
        validates itself before.
    ``name_problems``
        What is wrong with a name, in the server's words; None for DNS subdomains.
    ``unconditional_update``
        A PUT without resourceVersion is taken (C26).
    ``create_on_put``
        A PUT of an absent object creates it.
    ``grace_seconds``
        Graceful deletion: the grace for an object when the client names none (pods); None: at once.
    ``custom``
        It belongs to a CustomResourceDefinition: other errors, other rules of generation.
    ``deprecation``
        The warning that every answer carries, for a deprecated version (C57).
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    namespaced: bool = True
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: frozenset[str] = frozenset()
    scale: ScalePaths | None = None
    schema: Schema | Callable[[], Schema] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    selectable: Mapping[str, Callable[[Object], str]] = field(default_factory=dict)
    store: str = ""
    to_stored: Callable[[Object], Object] | None = None
    from_stored: Callable[[Object], Object] | None = None
    decode: Callable[[Object], None] = _nothing
    prune: Callable[[Object], list[str]] | None = None
    defaults: Callable[[Object], None] = _nothing
    prepare_create: Callable[[Object, Host], None] = _nothing_to_create
    prepare_update: Callable[[Object, Object, Host], None] = _nothing_to_update
    prepare_status: Callable[[Object, Object, Host], None] = _nothing_to_update
    validate: Callable[[Object, Object | None], list[FieldError]] = _valid
    validate_status: Callable[[Object, Object], list[FieldError]] = _valid
    warnings: Callable[[Object, Object | None], list[str]] = _no_warnings
    name_problems: Callable[[str], list[str]] | None = None
    unconditional_update: bool = True
    create_on_put: bool = False
    orphan_by_default: bool = False
    grace_seconds: Callable[[Object], int] | None = None
    custom: bool = False
    preferred: bool = True
    deprecation: str = ""

    @property
    def api_version(self) -> str:
        """``group/version``, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """``plural.group``, or the plural alone for the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def storage_name(self) -> str:
        """The storage that the objects live in."""
        return self.store or self.resource

    @property
    def list_name(self) -> str:
        """The kind of a list of it."""
        return self.list_kind or f"{self.kind}List"

    @property
    def singular_name(self) -> str:
        """The singular word for it."""
        return self.singular or self.kind.lower()

    def full_schema(self) -> Schema:
        """The schema; made on first use for built-in kinds."""
        return self.schema() if callable(self.schema) else self.schema


class Registry:
    """The resource types that are served, by group, version and plural; changed by CRDs."""

    def __init__(self, types: Iterable[ResourceType] = ()) -> None:
        self._types: dict[tuple[str, str, str], ResourceType] = {}
        self._readers: dict[tuple[str, str, str], list[Callable[[], None]]] = {}
        self.generation = 0
        for one in types:
            self.add(one)

    def add(self, one: ResourceType) -> None:
        """Serve ``one``, in place of what was served under its group, version and plural."""
        self._types[one.group, one.version, one.plural] = one
        self.generation += 1

    def remove(self, group: str, version: str, plural: str) -> None:
        """Serve it no more."""
        if self._types.pop((group, version, plural), None) is not None:
            self.generation += 1
        for end in self._readers.pop((group, version, plural), ()):
            end()

    def when_removed(self, one: ResourceType, end: Callable[[], None]) -> Callable[[], None]:
        """Call ``end`` once ``one`` is served no more; returns what takes that back."""
        key = (one.group, one.version, one.plural)
        self._readers.setdefault(key, []).append(end)

        def forget() -> None:
            readers = self._readers.get(key, [])
            if end in readers:
                readers.remove(end)
            if not readers:
                self._readers.pop(key, None)

        return forget

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """The type of a path, if it is served."""
        return self._types.get((group, version, plural))

    def of_kind(self, group: str, version: str, kind: str) -> ResourceType | None:
        """The type of an apiVersion and kind, if it is served."""
        for one in self._types.values():
            if (one.group, one.version, one.kind) == (group, version, kind):
                return one
        return None

    def in_group(self, group: str) -> list[ResourceType]:
        """All served types of a group, in the order of registration."""
        return [one for one in self._types.values() if one.group == group]

    def stored_as(self, storage_name: str) -> list[ResourceType]:
        """The types whose objects live in one storage."""
        return [one for one in self._types.values() if one.storage_name == storage_name]

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(list(self._types.values()))
