"""Names, columns, scale paths and selectable fields of a CRD, with the server's texts (C47).

Before: `object_meta` (DNS labels), `field_paths`. After: `crd`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from konstat.embedded.metadata import subdomain_problems
from konstat.embedded.status_errors import FieldError, quoted
from konstat.embedded.structural import texts
from konstat.embedded.structural.correlation import Schema
from konstat.embedded.structural.field_paths import FieldPathError, resolve_field_path
from konstat.embedded.structural.golang_url import URLError, parse_request_uri
from konstat.embedded.structural.object_meta import dns_1035_problems

Object = Mapping[str, Any]

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = (
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
)
_SCOPES: Final = ("Cluster", "Namespaced")
_SELECTABLE: Final = 8
_DEPRECATION_BYTES: Final = 256
_APPROVED: Final = "api-approved.kubernetes.io"
_PULL: Final = "see https://github.com/kubernetes/enhancements/pull/1111"


def identity_errors(crd: Object) -> list[FieldError]:
    """Errors of the object's own name, and of groups that belong to Kubernetes."""
    spec: Object = crd.get("spec") or {}
    metadata: Object = crd.get("metadata") or {}
    names: Object = spec.get("names") or {}
    name = metadata.get("name") or ""
    found: list[FieldError] = []
    if not name:
        found.append(texts.required("metadata.name", "name or generateName is required"))
    else:
        found += [texts.invalid("metadata.name", name, p) for p in subdomain_problems(name)]
        if name != f"{names.get('plural') or ''}.{spec.get('group') or ''}":
            detail = 'must be spec.names.plural+"."+spec.group'
            found.append(texts.invalid("metadata.name", name, detail))
    return [*found, *_approval(spec.get("group") or "", metadata.get("annotations") or {})]


def _approval(group: str, annotations: Object) -> Iterator[FieldError]:
    """Groups of the community need an annotation that says who approved them."""
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return
    value = annotations.get(_APPROVED) or ""
    place = texts.key("metadata.annotations", _APPROVED)
    needed = f"protected groups must have approval annotation {quoted(_APPROVED)}"
    if not value:
        yield texts.required(place, f"{needed}, {_PULL}")
    elif not value.startswith("unapproved") and not _is_address(value):
        detail = f'{needed} with either a URL or a reason starting with "unapproved", {_PULL}'
        yield texts.invalid(place, value, detail)


def _is_address(text: str) -> bool:
    try:
        url = parse_request_uri(text)
    except URLError:
        return False
    return bool(url.host and url.scheme)


def group_errors(spec: Object) -> list[FieldError]:
    """Errors of the group and the scope."""
    group, scope = spec.get("group") or "", spec.get("scope") or ""
    found: list[FieldError] = []
    if not group:
        found.append(texts.required("spec.group"))
    elif problems := subdomain_problems(group):
        found.append(texts.invalid("spec.group", group, ",".join(problems)))
    elif "." not in group:
        detail = "should be a domain with at least one dot"
        found.append(texts.invalid("spec.group", group, detail))
    if not scope:
        found.append(texts.required("spec.scope"))
    elif scope not in _SCOPES:
        found.append(texts.not_supported("spec.scope", scope, _SCOPES))
    return found


def version_name_errors(version: Object, path: str, *, field: str = "name") -> list[FieldError]:
    """Errors of the name of one version."""
    name = version.get("name") or ""
    problems = dns_1035_problems(name)
    if not problems:
        return []
    return [texts.invalid(texts.child(path, field), name, ",".join(problems))]


def required_name_errors(names: Object) -> list[FieldError]:
    """Names that a CRD must have; defaults have filled in what can be derived."""
    return [
        texts.required(f"spec.names.{name}")
        for name in ("plural", "singular", "kind", "listKind")
        if not names.get(name)
    ]


def name_errors(names: Object, path: str) -> list[FieldError]:
    """Errors of the names that are given."""
    found: list[FieldError] = []
    for name in ("plural", "singular"):
        found += _label(names.get(name), texts.child(path, name))
    for name in ("kind", "listKind"):
        found += _kind(names.get(name), texts.child(path, name))
    for position, short in enumerate(names.get("shortNames") or ()):
        place = texts.index(texts.child(path, "shortNames"), position)
        found += _label(short, place, required=True)
    if names.get("kind") and names["kind"] == names.get("listKind"):
        place = texts.child(path, "listKind")
        detail = "kind and listKind may not be the same"
        found.append(texts.invalid(place, names["listKind"], detail))
    for position, category in enumerate(names.get("categories") or ()):
        place = texts.index(texts.child(path, "categories"), position)
        found += _label(category, place, required=True)
    return found


def _label(value: Any, place: str, *, required: bool = False) -> Iterator[FieldError]:
    text = value or ""
    problems = dns_1035_problems(text)
    if problems and (text or required):
        yield texts.invalid(place, text, ",".join(problems))


def _kind(value: Any, place: str) -> Iterator[FieldError]:
    problems = dns_1035_problems((value or "").lower())
    if problems and value:
        what = "may have mixed case, but should otherwise match: "
        yield texts.invalid(place, value, what + ",".join(problems))


def stored_version_errors(stored: Sequence[str], versions: Sequence[Object]) -> list[FieldError]:
    """The storage version is among the stored ones, and these are all versions of the spec."""
    path = "status.storedVersions"
    if not stored:
        return [texts.invalid(path, None, "must have at least one stored version")]
    found: list[FieldError] = []
    names = {version.get("name") for version in versions}
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            detail = f"must have the storage version {version.get('name')}"
            found.append(texts.invalid(path, list(stored), detail))
    for position, name in enumerate(stored):
        if name not in names:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must"
                " remain in spec.versions until a storage migration ensures no data remains"
                f" persisted in {name} and removes {name} from status.storedVersions"
            )
            found.append(texts.invalid(texts.index(path, position), name, detail))
    return found


def deprecation_errors(version: Object, place: str) -> list[FieldError]:
    """Errors of a version's deprecation warning."""
    text = version.get("deprecationWarning")
    if text is None:
        return []
    if not version.get("deprecated"):
        return [texts.invalid(place, text, "can only be set for deprecated versions")]
    problems: list[str] = []
    if len(text.encode()) > _DEPRECATION_BYTES:
        problems.append(f"must be <= {_DEPRECATION_BYTES} characters long")
    if not text:
        problems.append("must not be an empty string")
    for character in text:
        if not character.isprintable():
            offset = len(text[: text.index(character)].encode())
            problems.append(
                "must only contain printable UTF-8 characters; non-printable character found at"
                f" index {offset}"
            )
            break
    return [texts.invalid(place, text, problem) for problem in problems]


def column_errors(columns: Sequence[Object], path: str) -> list[FieldError]:
    """Errors of printer columns."""
    found: list[FieldError] = []
    for position, column in enumerate(columns):
        place = texts.index(path, position)
        if not column.get("name"):
            found.append(texts.required(texts.child(place, "name")))
        kinds = f"must be one of {','.join(_COLUMN_TYPES)}"
        kind = column.get("type")
        if not kind:
            found.append(texts.required(texts.child(place, "type"), kinds))
        elif kind not in _COLUMN_TYPES:
            found.append(texts.invalid(texts.child(place, "type"), kind, kinds))
        name = column.get("format")
        if name and name not in _COLUMN_FORMATS:
            detail = f"must be one of {','.join(_COLUMN_FORMATS)}"
            found.append(texts.invalid(texts.child(place, "format"), name, detail))
        where = texts.child(place, "JSONPath")
        json_path = column.get("jsonPath") or ""
        found += _json_path(json_path, where) if json_path else [texts.required(where)]
    return found


def _json_path(path: str, place: str) -> list[FieldError]:
    if path.startswith("."):
        return []
    return [texts.invalid(place, path, "must be a simple json path starting with .")]


def scale_path_errors(subresources: Object | None, path: str) -> list[FieldError]:
    """Errors of the paths of the scale subresource."""
    scale = (subresources or {}).get("scale")
    if not isinstance(scale, Mapping):
        return []
    found: list[FieldError] = []
    for name, roots in (
        ("specReplicasPath", (".spec.",)),
        ("statusReplicasPath", (".status.",)),
        ("labelSelectorPath", (".spec.", ".status.")),
    ):
        value, place = scale.get(name) or "", texts.child(path, f"scale.{name}")
        if not value:
            if len(roots) == 1:
                found.append(texts.required(place))
        elif problems := _json_path(value, place):
            found += problems
        elif not value.startswith(roots):
            under = roots[0].strip(".") if len(roots) == 1 else ""
            where = f"under .{under}" if under else "under either .spec or .status"
            found.append(texts.invalid(place, value, f"should be a json path {where}"))
    return found


def selectable_errors(fields: Sequence[Object], schema: Schema, path: str) -> list[FieldError]:
    """Errors of selectable fields: scalars of the schema, outside of metadata, eight at most."""
    found: list[FieldError] = []
    known: set[str] = set()
    for position, field in enumerate(fields):
        place = texts.child(texts.index(path, position), "jsonPath")
        json_path = field.get("jsonPath") or ""
        if not json_path:
            found.append(texts.required(place))
            continue
        try:
            resolved = resolve_field_path(json_path, schema, brackets=False)
        except FieldPathError as error:
            found.append(texts.invalid(place, json_path, f"is an invalid path: {error}"))
            continue
        if resolved.first == "metadata":
            detail = "must not point to fields in metadata"
            found.append(texts.invalid(place, json_path, detail))
        if resolved.schema.get("type") not in ("string", "boolean", "integer"):
            detail = (
                "must point to a field of type string, boolean or integer. Enum string fields and"
                " strings with formats are allowed."
            )
            found.append(texts.invalid(place, json_path, detail))
        if resolved.path in known:
            found.append(texts.duplicate(place, json_path))
        known.add(resolved.path)
    if len(known) > _SELECTABLE:
        found.append(texts.too_many(path, len(known), _SELECTABLE))
    return found
