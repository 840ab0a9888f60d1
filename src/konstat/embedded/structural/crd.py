"""`check_crd`: may a CustomResourceDefinition be created, or updated so, in the server's words.

Names, versions, columns, subresources, selectable fields and conversion are checked here, the
schemas in `crd_schema`, `crd_structural` and `crd_defaults`. Paths are those of the server's
internal form: what is the same in all versions is at ``spec.validation``. What the server does on
updates only so as not to break what was stored by older servers is left out. After: the core's
handling of CustomResourceDefinitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from konstat.base import limits
from konstat.embedded.cel.budget import Budget, excess
from konstat.embedded.status_errors import FieldError
from konstat.embedded.structural import texts
from konstat.embedded.structural.correlation import Schema
from konstat.embedded.structural.crd_conversion import conversion_errors
from konstat.embedded.structural.crd_defaults import default_errors
from konstat.embedded.structural.crd_names import (
    column_errors,
    deprecation_errors,
    group_errors,
    identity_errors,
    name_errors,
    required_name_errors,
    scale_path_errors,
    selectable_errors,
    stored_version_errors,
    version_name_errors,
)
from konstat.embedded.structural.crd_schema import Setting, schema_errors
from konstat.embedded.structural.crd_structural import (
    inner_schemas,
    structural_errors,
    unsupported_keyword,
)
from konstat.embedded.structural.formats import checked_format
from konstat.embedded.structural.internal_form import (
    GO_NAMES,
    ZEROES,
    Lifted,
    lifted,
    schema_text,
    versions_text,
)

Object = Mapping[str, Any]

# What may stand at the root of a schema whose status is a subresource, by its Go names.
_ROOT_FIELDS: Final = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength"
    " MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties"
    " ExternalDocs Example XPreserveUnknownFields XValidations"
)


def check_crd(crd: Object, old: Object | None = None) -> list[FieldError]:
    """Why the server would refuse a CustomResourceDefinition, or its update from ``old``.

    ``crd`` is decoded and defaulted (`konstat.embedded.builtin`), status included; its metadata
    but for the name is checked by the core. An empty list means that it may be stored.
    """
    spec: Object = crd.get("spec") or {}
    found = [] if old is not None else identity_errors(crd)
    found += _spec_errors(spec)
    if old is not None:
        found += _immutable(spec, old)
    status: Object = crd.get("status") or {}
    found += name_errors(status.get("acceptedNames") or {}, "status.acceptedNames")
    found += stored_version_errors(status.get("storedVersions") or [], spec.get("versions") or [])
    if spec.get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in"
            " spec.versions[*].schema instead"
        )
        found.append(texts.invalid("spec.preserveUnknownFields", True, detail))
    return found


def _immutable(spec: Object, old: Object) -> Iterator[FieldError]:
    before: Object = old.get("spec") or {}
    names: Object = spec.get("names") or {}
    old_names: Object = before.get("names") or {}
    conditions: Sequence[Object] = (old.get("status") or {}).get("conditions") or ()
    established = any(
        c.get("type") == "Established" and c.get("status") == "True" for c in conditions
    )
    pairs = [
        ("spec.scope", spec.get("scope"), before.get("scope"), established),
        ("spec.names.kind", names.get("kind"), old_names.get("kind"), established),
        ("spec.group", spec.get("group"), before.get("group"), True),
        ("spec.names.plural", names.get("plural"), old_names.get("plural"), True),
    ]
    for path, new, previous, fixed in pairs:
        if fixed and new != previous:
            yield texts.invalid(path, new or "", "field is immutable")


def _spec_errors(spec: Object) -> list[FieldError]:
    found = group_errors(spec)
    common = lifted(spec)
    found += _missing_schemas(common)
    seen_names: set[str] = set()
    for position, version in enumerate(common.versions):
        path = f"spec.versions[{position}]"
        found += version_name_errors(version, path)
        found += _version_errors(version, common, path)
        seen_names.add(str(version.get("name")))
    none_given = spec.get("versions") is None
    found += _version_list_errors(common, seen_names, "null" if none_given else "[]")
    found += required_name_errors(spec.get("names") or {})
    found += name_errors(spec.get("names") or {}, "spec.names")
    found += _validation_errors(common.schema, "spec.validation", status=_any_status(common))
    found += scale_path_errors(common.subresources, "spec.subresources")
    found += column_errors(common.columns or (), "spec.additionalPrinterColumns")
    if common.selectable:
        schema = (common.schema or {}).get("openAPIV3Schema")
        if common.schema is None:
            detail = "may only be set when validations.schema is included"
            found.append(texts.invalid("spec.selectableFields", "", detail))
        elif isinstance(schema, Mapping):
            found += selectable_errors(common.selectable, schema, "spec.selectableFields")
    found += conversion_errors(spec.get("conversion"), "spec.conversion")
    return found


def _missing_schemas(common: Lifted) -> Iterator[FieldError]:
    if (common.schema or {}).get("openAPIV3Schema") is not None:
        return
    for position, version in enumerate(common.versions):
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            yield texts.required(f"spec.versions[{position}].schema.openAPIV3Schema")


def _version_errors(version: Object, common: Lifted, path: str) -> list[FieldError]:
    found = deprecation_errors(version, texts.child(path, "deprecationWarning"))
    subresources = version.get("subresources")
    if not any(v.get("subresources") is not None for v in common.versions):
        subresources = common.subresources
    status = _has_status(subresources)
    found += _validation_errors(version.get("schema"), texts.child(path, "schema"), status=status)
    found += scale_path_errors(version.get("subresources"), texts.child(path, "subresources"))
    columns = version.get("additionalPrinterColumns") or ()
    found += column_errors(columns, texts.child(path, "additionalPrinterColumns"))
    if selectable := version.get("selectableFields"):
        place = texts.child(path, "selectableFields")
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
            found.append(texts.invalid(place, "", detail))
        else:
            found += selectable_errors(selectable, schema, place)
    return found


def _version_list_errors(common: Lifted, names: set[str], when_empty: str) -> Iterator[FieldError]:
    versions = common.versions
    shown = versions_text(versions) if versions else when_empty
    if len(names) != len(versions):
        yield texts.invalid_raw("spec.versions", shown, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield texts.invalid_raw("spec.versions", shown, detail)
    if versions and versions[0].get("name"):
        # The internal form also holds the name of the first version.
        yield from version_name_errors({"name": versions[0]["name"]}, "spec", field="version")


def _has_status(subresources: Object | None) -> bool:
    return (subresources or {}).get("status") is not None


def _any_status(common: Lifted) -> bool:
    all_subresources = [common.subresources, *(v.get("subresources") for v in common.versions)]
    return any(map(_has_status, all_subresources))


# --- schemas ----------------------------------------------------------------------------------


def _validation_errors(validation: Object | None, path: str, *, status: bool) -> list[FieldError]:
    schema = (validation or {}).get("openAPIV3Schema")
    if not isinstance(schema, Mapping):
        return []
    place = texts.child(path, "openAPIV3Schema")
    found = list(_root_errors(schema, place, status=status))
    unsupported = unsupported_keyword(schema)
    budget: Budget | None = None
    if not unsupported:
        structure = structural_errors(schema, place) or default_errors(schema, place)
        found += structure
        budget = None if structure else Budget()
    checked = schema_errors(schema, place, setting=Setting(at_root=True), budget=budget)
    found += [*checked.schema, *checked.rules]
    if unsupported and not found:
        found.append(texts.invalid(place, "", unsupported))
    if budget is not None:
        found += _total_cost_errors(budget, place)
    return found


def _root_errors(schema: Schema, place: str, *, status: bool) -> Iterator[FieldError]:
    if status:
        yield from _status_root_errors(schema, place)
    if schema.get("nullable"):
        yield texts.forbidden(f"{place}.nullable", "nullable cannot be true at the root")


def _status_root_errors(schema: Schema, place: str) -> Iterator[FieldError]:
    """With a status subresource, nothing at the root may matter to the status."""
    allowed = _ROOT_FIELDS.split()
    for keyword, name in GO_NAMES.items():
        value = schema.get(keyword)
        if value in ZEROES and value is not False:
            continue
        if value is False and keyword != "additionalProperties":
            continue
        if name == "Type":
            if value != "object":
                detail = (
                    'only "object" is allowed as the type at the root of the schema if the status'
                    " subresource is enabled"
                )
                yield texts.invalid(f"{place}.type", value, detail)
                return
        elif name not in allowed:
            detail = (
                f"only [{_ROOT_FIELDS}] fields are allowed at the root of the schema if the status"
                " subresource is enabled"
            )
            yield texts.invalid_raw(place, schema_text(schema), detail)
            return


def _total_cost_errors(budget: Budget, place: str) -> Iterator[FieldError]:
    total, limit = budget.total, limits.EMBEDDED_RULES_ESTIMATE
    if total.cost <= limit:
        return
    for _, path in total.dearest:
        detail = (
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3"
            " schema"
        )
        yield texts.forbidden(path, detail)
    what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    yield texts.forbidden(place, excess(what, total.cost, limit))


def crd_warnings(crd: Object, old: Object | None = None) -> list[str]:
    """The server's warnings: formats that it does not check and that ``old`` did not have."""
    known = set(_unknown_formats(old)) if old is not None else set()
    return [f'unrecognized format "{name}"' for name in _unknown_formats(crd) if name not in known]


def _unknown_formats(crd: Object) -> list[str]:
    common = lifted(crd.get("spec") or {})
    validations = [common.schema, *(version.get("schema") for version in common.versions)]
    schemas = [(one or {}).get("openAPIV3Schema") for one in validations]
    found = [name for schema in schemas if schema for name in unknown_formats(schema)]
    return list(dict.fromkeys(found))


def unknown_formats(schema: Schema) -> Iterator[str]:
    """Formats in a schema that the server does not check, at any depth."""
    name = schema.get("format")
    if name and not checked_format(schema):
        yield name
    for inner in inner_schemas(schema):
        yield from unknown_formats(inner)
