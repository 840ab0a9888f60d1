"""`Resource[Spec, Status]`: a typed view of one Kubernetes object, and the declaration of its kind.

An author's kind and a built-in kind are the same thing here: a class with a `Kind`, a type for
``spec`` and one for ``status``. An instance wraps the object's whole content, so fields that the
types do not name are never lost, and decodes ``spec`` and ``status`` when they are first read.
Instances are frozen. konstat writes by patch and apply only, never by PUT of a typed view.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, get_args, get_origin

import msgspec

from konstat.errors import ModelError, SpecInvalid
from konstat.objects import codec
from konstat.objects.constraint import Rule
from konstat.objects.docs import class_description
from konstat.objects.kind import Kind
from konstat.objects.meta import Metadata, OwnerReference, Ref
from konstat.objects.model import NoSpec, NoStatus, Status, status_fields, to_plain

S = TypeVar("S", bound=msgspec.Struct, covariant=True)
T = TypeVar("T", bound=msgspec.Struct, covariant=True)
P = TypeVar("P")


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of ``kubectl get``: ``path`` is a JSON path such as ``.spec.replicas``.

    ``type`` is integer, number, string, boolean or date; a ``priority`` above 0 shows only with
    ``-o wide``.
    """

    name: str
    path: str
    type: Literal["integer", "number", "string", "boolean", "date"] = "string"
    priority: int = 0
    description: str = ""
    format: str = ""


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """The scale subresource, for ``kubectl scale`` and autoscalers; JSON paths such as these.

    ``selector`` is the path of a status text with a label selector; autoscalers need it.
    """

    spec: str = ".spec.replicas"
    status: str = ".status.replicas"
    selector: str = ""


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """What a CustomResourceDefinition says beyond the types."""

    description: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    served: tuple[type[Resource[Any, Any]], ...] = ()
    rules: tuple[Rule, ...] = ()
    scale: Scale | None = None
    deprecation: str = ""


class Resource(Generic[S, T]):
    """One Kubernetes object with a typed ``spec`` (asked) and ``status`` (answered).

    Declare a kind by subclassing with class keywords::

        class WebApp(Resource[WebAppSpec, WebAppStatus], group="demo.example.com", version="v1"):
            ...

    ``kind`` and ``plural`` follow from the class name, ``scope`` is ``"Namespaced"`` or
    ``"Cluster"``; ``short_names``, ``categories``, ``columns``, ``served`` (classes of further
    served versions), ``rules`` (CEL over the whole object), ``scale`` and ``deprecation`` (the
    warning that users of this version get) shape the CRD.
    Raises ModelError for a declaration that cannot work.
    """

    __slots__ = ("_metadata", "_parts", "_spec", "_status")

    kind: ClassVar[Kind]
    definition: ClassVar[Definition]
    spec_type: ClassVar[type[msgspec.Struct]] = NoSpec
    status_type: ClassVar[type[msgspec.Struct]] = NoStatus

    _metadata: Metadata
    _parts: Mapping[str, Any]

    def __init_subclass__(
        cls,
        *,
        group: str | None = None,
        version: str = "",
        kind: str = "",
        plural: str = "",
        scope: Literal["Namespaced", "Cluster"] = "Namespaced",
        short_names: Iterable[str] = (),
        categories: Iterable[str] = (),
        columns: Iterable[Column] = (),
        served: Iterable[type[Resource[Any, Any]]] = (),
        rules: Iterable[Rule] = (),
        scale: Scale | None = None,
        deprecation: str = "",
    ) -> None:
        super().__init_subclass__()
        _read_type_arguments(cls)
        if group is None:
            return
        if not version:
            raise ModelError(f"{cls.__name__}: give the class a version, for example version='v1'")
        if scope not in ("Namespaced", "Cluster"):
            raise ModelError(f"{cls.__name__}: scope is {scope!r}: use 'Namespaced' or 'Cluster'")
        name = kind or cls.__name__
        cls.kind = Kind(
            group=group,
            version=version,
            kind=name,
            plural=plural or plural_of(name),
            namespaced=scope == "Namespaced",
        )
        cls.definition = Definition(
            description=class_description(cls),
            short_names=tuple(short_names),
            categories=tuple(categories),
            columns=tuple(columns),
            served=tuple(served),
            rules=tuple(rules),
            scale=scale,
            deprecation=deprecation,
        )

    def __init__(
        self,
        *,
        metadata: Metadata | Mapping[str, Any],
        spec: msgspec.Struct | Mapping[str, Any] | None = None,
        **content: Any,
    ) -> None:
        """Describe an object to apply or create; mappings use the words of the YAML.

        ``content`` takes any other top-level field (``data`` of a ConfigMap, ``rules`` of a Role).
        """
        parts = {key: to_plain(value) for key, value in content.items() if value is not None}
        if spec is not None:
            parts["spec"] = to_plain(spec)
        if not isinstance(metadata, Metadata):
            metadata = _metadata_from(metadata, type(self).__name__)
        self._set(metadata, parts)

    @classmethod
    def named(cls, name: str, *, namespace: str = "", **spec: Any) -> Self:
        """An object of this kind with ``spec`` given field by field in Python names."""
        metadata = Metadata(name=name, namespace=namespace)
        return cls(metadata=metadata, spec=cls.spec_type(**spec) if spec else None)

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Wrap a decoded object as the server or a YAML file gives it."""
        parts = {k: v for k, v in content.items() if k != "metadata"}
        self = cls.__new__(cls)
        self._set(_metadata_from(content.get("metadata") or {}, cls.__name__), parts)
        return self

    @classmethod
    def from_json(cls, data: bytes | msgspec.Raw) -> Self:
        """Wrap one object's JSON; parts are decoded when they are first read."""
        metadata, parts = codec.split(data)
        self = cls.__new__(cls)
        self._set(metadata, parts)
        return self

    def _set(self, metadata: Metadata, parts: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_metadata", metadata)
        object.__setattr__(self, "_parts", parts)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"{type(self).__name__} objects are frozen: cannot set {name!r};"
            " build a new object, or assign to context.status"
        )

    # --- reading ------------------------------------------------------------------------------

    @property
    def metadata(self) -> Metadata:
        return self._metadata

    @property
    def name(self) -> str:
        return self._metadata.name

    @property
    def namespace(self) -> str:
        return self._metadata.namespace

    @property
    def uid(self) -> str:
        return self._metadata.uid

    @property
    def generation(self) -> int:
        return self._metadata.generation

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels; empty when there are none."""
        return self._metadata.labels or {}

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations; empty when there are none."""
        return self._metadata.annotations or {}

    @property
    def deleting(self) -> bool:
        """Whether deletion has been asked for."""
        return self._metadata.deletion_timestamp is not None

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self._metadata.namespace, self._metadata.name)

    @property
    def spec(self) -> S:
        """The typed spec; raises SpecInvalid with the JSON path when it does not fit its type."""
        try:
            return self._spec
        except AttributeError:
            spec: Any = self.part("spec", self.spec_type)
            object.__setattr__(self, "_spec", spec)
            return spec

    @property
    def status(self) -> T:
        """The typed status as stored; absent or unreadable fields are at their defaults."""
        try:
            return self._status
        except AttributeError:
            status: Any = self._decode_status()
            object.__setattr__(self, "_status", status)
            return status

    def part(self, name: str, as_type: type[P]) -> P:
        """One top-level part decoded as ``as_type``; an absent one reads as an empty object.

        Raises SpecInvalid with the JSON path when it does not fit.
        """
        value = self._parts.get(name)
        if value is None:
            value = {}
        try:
            if isinstance(value, msgspec.Raw):
                return codec.typed_json(value, as_type)
            return codec.typed(value, as_type)
        except msgspec.ValidationError as error:
            raise spec_invalid(name, error) from error
        except TypeError as error:  # not the object but the declared type is at fault
            raise ModelError(f"{as_type.__name__}: {error}") from error

    def _decode_status(self) -> Any:
        if issubclass(self.status_type, Status):
            return stored_status(self.status_type, self.raw("status"))
        return self.part("status", self.status_type)

    def raw(self, name: str) -> Any:
        """One top-level part as plain data (``data`` of a ConfigMap); None when absent."""
        value = self._parts.get(name)
        return codec.decode(value) if isinstance(value, msgspec.Raw) else value

    @property
    def content(self) -> dict[str, Any]:
        """The whole object as plain dicts and lists, with apiVersion and kind filled in."""
        content: dict[str, Any] = {
            "apiVersion": self.kind.api_version,
            "kind": self.kind.kind,
            "metadata": msgspec.to_builtins(self._metadata),
        }
        content.update((k, self.raw(k)) for k in self._parts if k not in ("apiVersion", "kind"))
        return content

    def owner_reference(self, *, controller: bool = True) -> OwnerReference:
        """How a child names this object as its owner."""
        return OwnerReference(
            api_version=self.kind.api_version,
            kind=self.kind.kind,
            name=self.name,
            uid=self.uid,
            controller=controller,
            block_owner_deletion=True,
        )

    def __repr__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"<{type(self).__name__} {place}>"


def plural_of(kind: str) -> str:
    """The usual plural of a kind, lower case: as `kubebuilder` and the built-in kinds have it."""
    word = kind.lower()
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def stored_status(status_type: type[Status], stored: Any) -> Status:
    """A status draft from what is stored: unreadable fields are at their defaults.

    Components are fresh copies of what the class declares, without evidence.
    """
    stored = stored if isinstance(stored, Mapping) else {}
    values: dict[str, Any] = {}
    for field in status_fields(status_type):
        if field.part is not None:
            values[field.name] = field.part.begin(field)
            continue
        values[field.name] = field.default()
        if field.encoded_name in stored and not field.per_attempt:
            try:
                values[field.name] = codec.typed(stored[field.encoded_name], field.hint)
            except msgspec.ValidationError:
                continue
    return status_type(**values)


def spec_invalid(part: str, error: msgspec.ValidationError) -> SpecInvalid:
    """msgspec's text ("Expected `int`, got `str` - at `$.ports[0]`") as path and problem."""
    problem, _, place = str(error).rpartition(" - at ")
    if not problem:
        problem, place = str(error), ""
    key = "`key` in " if place.startswith("`key` in ") else ""
    path = part + place.removeprefix(key).strip("`").removeprefix("$")
    problem = problem[:1].lower() + problem[1:]
    return SpecInvalid(path=path, problem=f"a key: {problem}" if key else problem)


def _metadata_from(metadata: Mapping[str, Any], owner: str) -> Metadata:
    try:
        return msgspec.convert(metadata, Metadata)
    except msgspec.ValidationError as error:
        raise ModelError(f"{owner}: metadata is not usable: {error}") from error


def _read_type_arguments(cls: type[Resource[Any, Any]]) -> None:
    """Take spec and status types from ``Resource[...]`` in the bases."""
    for base in cls.__dict__.get("__orig_bases__", ()):
        origin = get_origin(base)
        if not (isinstance(origin, type) and issubclass(origin, Resource)):
            continue
        arguments = get_args(base)
        if any(isinstance(a, TypeVar) for a in arguments):
            continue
        for argument in arguments:
            if not (isinstance(argument, type) and issubclass(argument, msgspec.Struct)):
                raise ModelError(
                    f"{cls.__name__}: Resource[…] takes a Spec class and a Status class,"
                    f" not {argument!r}"
                )
        cls.spec_type, cls.status_type = arguments


class Unstructured(Resource[NoSpec, NoStatus]):
    """An object of a kind that has no class: read it through ``raw`` and ``content``."""

    __slots__ = ("kind",)

    @classmethod
    def of(cls, kind: Kind, content: Mapping[str, Any]) -> Self:
        """Wrap ``content`` as an object of ``kind``."""
        self = cls.from_content(content)
        object.__setattr__(self, "kind", kind)
        return self
