"""A Resource class to the CustomResourceDefinition that declares it to a server.

`crd` gives the plain manifest: one entry per served version with its schema, printer columns and
the status subresource; the class itself is the storage version. Comes after
`konstat.objects.schema`; the command line prints it and the testing plugin installs it.
"""

from __future__ import annotations

from typing import Any, Final

from konstat.base import limits
from konstat.errors import ModelError
from konstat.objects import names
from konstat.objects.docs import field_descriptions
from konstat.objects.marks import validations
from konstat.objects.model import Status, rules_of, status_fields
from konstat.objects.resource import Column, Resource
from konstat.objects.schema import Place, Schema, decodable, field_schema, struct_schema

ResourceClass = type[Resource[Any, Any]]

# On every CRD that konstat prints, so that its kinds can be found on a cluster.
MANAGED_BY: Final = {"app.kubernetes.io/managed-by": "konstat"}

_READY: Final = '.status.conditions[?(@.type=="Ready")]'
# Ready and Reason come first, the author's columns follow, then Age; the message needs -o wide.
FIRST_COLUMNS: Final = (
    Column(name="Ready", path=f"{_READY}.status"),
    Column(name="Reason", path=f"{_READY}.reason"),
)
LAST_COLUMNS: Final = (
    Column(name="Age", path=".metadata.creationTimestamp", type="date"),
    Column(name="Message", path=f"{_READY}.message", priority=1),
)

# metav1.Condition as the API machinery publishes it: limits and patterns are its own.
CONDITION_TYPE_PATTERN: Final = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
CONDITION_REASON_PATTERN: Final = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
CONDITION_MESSAGE_CHARACTERS: Final = 32768


def crd(resource: ResourceClass) -> dict[str, Any]:
    """The apiextensions.k8s.io/v1 manifest of a Resource class, as plain data.

    Raises ModelError for names that the server refuses, for versions that do not belong
    together, and for types that a structural schema cannot say.
    """
    _check_names(resource)
    versions = _versions(resource)
    kind, definition = resource.kind, resource.definition
    naming: dict[str, Any] = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
    }
    if definition.short_names:
        naming["shortNames"] = list(definition.short_names)
    if definition.categories:
        naming["categories"] = list(definition.categories)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.resource, "labels": dict(MANAGED_BY)},
        "spec": {
            "group": kind.group,
            "names": naming,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [_version(v, storage=v is resource) for v in versions],
        },
    }


def resource_schema(resource: ResourceClass) -> Schema:
    """The structural schema of one version's whole object; raises ModelError."""
    spec = struct_schema(resource.spec_type)
    decodable(resource.spec_type)
    status = status_schema(resource.status_type)
    schema: Schema = {"type": "object"}
    if resource.definition.description:
        schema["description"] = resource.definition.description
    properties: dict[str, Schema] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    if "properties" in spec:
        properties["spec"] = spec
    properties["status"] = status
    schema["properties"] = properties
    if "required" in spec:
        schema["required"] = ["spec"]
    if resource.definition.rules:
        schema["x-kubernetes-validations"] = validations(resource.definition.rules)
    return schema


def status_schema(status_type: type[Any]) -> Schema:
    """The schema of a status: its plain fields, observedGeneration and conditions.

    A `Status` has no defaults in its schema: a default would look like an observation that nobody
    made. Types that are not `Status` classes are taken as they are. Raises ModelError.
    """
    if not issubclass(status_type, Status):
        schema = struct_schema(status_type)
        decodable(status_type)
        return schema
    place = Place(status_type.__name__)
    texts = field_descriptions(status_type)
    properties: dict[str, Schema] = {
        "observedGeneration": {
            "type": "integer",
            "format": "int64",
            "minimum": 0,
            "description": "The newest generation whose outcome is shown here.",
        },
        "conditions": conditions_schema(),
    }
    for field in status_fields(status_type):
        if field.part is None:
            here = place._replace(field=field.name)
            properties[field.encoded_name] = _without_defaults(
                field_schema(field.hint, here, text=texts.get(field.name, ""))
            )
    schema: Schema = {"type": "object", "properties": properties}
    if rules := rules_of(status_type):
        schema["x-kubernetes-validations"] = validations(rules)
    return schema


def conditions_schema() -> Schema:
    """A list of metav1.Condition that is a map keyed by type (status rule 1, KEP-1623)."""
    text: Schema = {"type": "string"}
    generation: Schema = {"type": "integer", "format": "int64", "minimum": 0}
    properties: dict[str, Schema] = {
        "type": {
            **text,
            "maxLength": limits.CONDITION_TYPE_CHARACTERS,
            "pattern": CONDITION_TYPE_PATTERN,
        },
        "status": {**text, "enum": ["True", "False", "Unknown"]},
        "observedGeneration": generation,
        "lastTransitionTime": {**text, "format": "date-time"},
        "reason": {
            **text,
            "minLength": 1,
            "maxLength": limits.REASON_CHARACTERS,
            "pattern": CONDITION_REASON_PATTERN,
        },
        "message": {**text, "maxLength": CONDITION_MESSAGE_CHARACTERS},
    }
    required = ["type", "status", "lastTransitionTime", "reason", "message"]
    return {
        "type": "array",
        "description": "What is known of the object, one entry per aspect.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {"type": "object", "properties": properties, "required": required},
    }


def _without_defaults(schema: Schema) -> Schema:
    """A schema without ``default``, down to the last property (of which one may be so named)."""
    bare = {k: v for k, v in schema.items() if k != "default"}
    if "properties" in bare:
        bare["properties"] = {k: _without_defaults(v) for k, v in bare["properties"].items()}
    for inner in ("items", "additionalProperties"):
        if isinstance(bare.get(inner), dict):
            bare[inner] = _without_defaults(bare[inner])
    return bare


def _version(resource: ResourceClass, *, storage: bool) -> dict[str, Any]:
    definition = resource.definition
    subresources: dict[str, Any] = {"status": {}}
    if definition.scale:
        subresources["scale"] = {
            "specReplicasPath": definition.scale.spec,
            "statusReplicasPath": definition.scale.status,
        }
        if definition.scale.selector:
            subresources["scale"]["labelSelectorPath"] = definition.scale.selector
    version: dict[str, Any] = {"name": resource.kind.version, "served": True, "storage": storage}
    if definition.deprecation:
        version |= {"deprecated": True, "deprecationWarning": definition.deprecation}
    return {
        **version,
        "schema": {"openAPIV3Schema": resource_schema(resource)},
        "subresources": subresources,
        "additionalPrinterColumns": [_column(c) for c in _columns(resource)],
    }


def _columns(resource: ResourceClass) -> list[Column]:
    own = resource.definition.columns
    taken = {column.name for column in own}
    for column in own:
        if not column.path.startswith("."):
            raise ModelError(
                f"{resource.__name__}: the path {column.path!r} of column {column.name!r} does"
                " not begin with '.': write it as .spec.replicas"
            )
    if len(taken) != len(own):
        raise ModelError(f"{resource.__name__}: two columns have one name: {sorted(taken)}")
    first = [column for column in FIRST_COLUMNS if column.name not in taken]
    last = [column for column in LAST_COLUMNS if column.name not in taken]
    return [*first, *own, *last]


def _column(column: Column) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.priority:
        entry["priority"] = column.priority
    if column.description:
        entry["description"] = column.description
    if column.format:
        entry["format"] = column.format
    return entry


# --- what the server would refuse -------------------------------------------------------------


def _versions(resource: ResourceClass) -> list[ResourceClass]:
    versions = [resource, *resource.definition.served]
    seen: set[str] = set()
    for version in versions:
        _check_names(version)
        own, other = version.kind, resource.kind
        same = (own.group, own.kind, own.plural, own.namespaced)
        if same != (other.group, other.kind, other.plural, other.namespaced):
            raise ModelError(
                f"{version.__name__}: served beside {resource.__name__}, but group, kind, plural"
                f" or scope differ: {own.resource} {own.kind} and {other.resource} {other.kind}"
            )
        if own.version in seen:
            raise ModelError(f"{version.__name__}: version {own.version} is declared twice")
        seen.add(own.version)
    return versions


def _check_names(resource: ResourceClass) -> None:
    kind = getattr(resource, "kind", None)
    if kind is None:
        raise ModelError(
            f"{resource.__name__}: the class declares no kind: give it group= and version="
        )
    checks = [
        ("group", names.subdomain_problem(kind.group)),
        ("version", names.service_label_problem(kind.version)),
        ("kind", names.service_label_problem(kind.kind.lower())),
        ("plural", names.service_label_problem(kind.plural)),
        *(("short name", names.service_label_problem(n)) for n in resource.definition.short_names),
        *(("category", names.service_label_problem(n)) for n in resource.definition.categories),
    ]
    if "." not in kind.group:
        checks.append(("group", f"{kind.group!r} has no dot: write it as a domain of yours"))
    for what, problem in checks:
        if problem:
            raise ModelError(f"{resource.__name__}: {what}: {problem}")
