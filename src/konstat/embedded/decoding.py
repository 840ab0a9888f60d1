"""From the body of a request to an object: JSON or YAML, strict decoding, pruning, defaults.

Called by `konstat.embedded.verbs_write` and `konstat.embedded.verbs_patch`. What a body of the
wrong form is told is measured; unknown and repeated fields are refused, warned about or ignored
as ``fieldValidation`` asks (C46).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from konstat.base.yamltext import load_yaml
from konstat.embedded import gojson, gotext, protobuf
from konstat.embedded import status_errors as errors
from konstat.embedded.gojson import JSONTextError, Members
from konstat.embedded.options import FieldValidation
from konstat.embedded.registry import Object, ResourceType, Schema
from konstat.errors import UserError

_FRACTION: Final = re.compile(rb"[0-9][.eE][0-9+-]")
_GO_TYPE_META: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
    ' Kind string "json:\\"kind,omitempty\\"" }'
)
BODY_TYPES: Final = ("application/json", "application/yaml", protobuf.MEDIA_TYPE)


class Decoded:
    """An object as it came in, and what strict decoding has to say about it."""

    def __init__(self, content: Object, problems: list[str]) -> None:
        self.content = content
        self.problems = problems


def media_type(header: str) -> str:
    """The type of a Content-Type header without its parameters."""
    return header.partition(";")[0].strip().lower()


def read_object(
    body: bytes, content_type: str, kind: ResourceType, *, validation: FieldValidation
) -> Decoded:
    """The object of a POST or PUT body, pruned and defaulted; raises the server's 400 or 415."""
    given = media_type(content_type) or "application/json"
    if given == "application/yaml":
        value, members = _from_yaml(body), None
    elif given == "application/json":
        value = _parse(body, kind)
        members = gojson.members(body) if validation != "Ignore" else None
    elif given == protobuf.MEDIA_TYPE and not kind.custom:
        value, members = from_protobuf(body), None
    else:
        raise errors.unsupported_media_type(given, BODY_TYPES)
    if not isinstance(value, dict):
        raise _unrecognized(kind, f"{_NOT_AN_OBJECT.format(_go_kind(value))} ({body.hex()})")
    _check_type(value, kind, body)
    return finish(value, kind, members, validation=validation)


_NOT_AN_OBJECT: Final = (
    "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type "
    + _GO_TYPE_META.replace("{", "{{").replace("}", "}}")
)


def finish(
    value: Object, kind: ResourceType, members: Any, *, validation: FieldValidation
) -> Decoded:
    """Decode as Go would, find unknown fields, prune, default; ``members`` of the text if known.

    Raises a 400 for values of a wrong type.
    """
    problems: list[str] = []
    wanted = validation != "Ignore"
    if wanted and not kind.custom:
        problems = _strict_problems(members if members is not None else value, kind.full_schema())
    elif wanted and members is not None:
        problems = [f'duplicate field "{path}"' for path in gojson.repeated(members)]
    if kind.custom and wanted:
        problems += _unknown_metadata(value)
    try:
        kind.decode(value)
    except ValueError as error:
        raise cannot_be_handled(value, kind, str(error)) from error
    if kind.prune is not None:
        dropped = kind.prune(value)
        if wanted:
            problems += [f'unknown field "{path}"' for path in dropped]
    if validation == "Strict" and problems:
        raise cannot_be_handled(value, kind, f"strict decoding error: {', '.join(problems)}")
    try:
        kind.defaults(value)
    except ValueError as error:
        raise cannot_be_handled(value, kind, str(error)) from error
    return Decoded(value, problems)


def cannot_be_handled(value: Mapping[str, Any], kind: ResourceType, problem: str) -> Exception:
    """The 400 for an object that the decoder does not take."""
    name = value.get("kind") or kind.kind
    version = str(value.get("apiVersion") or kind.api_version).rpartition("/")[2]
    return errors.bad_request(
        f'{name} in version "{version}" cannot be handled as a {kind.kind}: {problem}'
    )


def whole_numbers(value: Any) -> Any:
    """Numbers without a fraction as integers: the server writes 1.0 and 1e3 as 1 and 1000."""
    if isinstance(value, dict):
        return {key: whole_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [whole_numbers(inner) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    return value


def parse_json(body: bytes) -> Any:
    """The value of a JSON text as the server keeps it; raises JSONTextError."""
    value = gojson.decode(body)
    return whole_numbers(value) if _FRACTION.search(body) else value


def _parse(body: bytes, kind: ResourceType) -> Any:
    try:
        return parse_json(body)
    except JSONTextError as error:
        shown = body.decode("utf-8", "replace") or "<empty>"
        raise _unrecognized(
            kind, f"couldn't get version/kind; json parse error: {error} ({shown})"
        ) from error


def _from_yaml(body: bytes) -> Any:
    try:
        return load_yaml(body.decode("utf-8", "replace"), source="the body of the request")
    except UserError as error:
        raise errors.bad_request(str(error)) from error


def from_protobuf(body: bytes) -> Object:
    """The object of a protobuf body; raises a 400."""
    try:
        return protobuf.decode(body)
    except ValueError as error:
        raise errors.bad_request(f"the protobuf body cannot be read: {error}") from error


def _unrecognized(kind: ResourceType, problem: str) -> Exception:
    return errors.bad_request(
        f"the object provided is unrecognized (must be of type {kind.kind}): {problem}"
    )


def _go_kind(value: Any) -> str:
    return "null" if value is None else gotext.json_type(value)


def _check_type(value: Object, kind: ResourceType, body: bytes) -> None:
    version, name = value.get("apiVersion"), value.get("kind")
    for key, given in (("apiVersion", version), ("kind", name)):
        if given is not None and not isinstance(given, str):
            shown = body.decode("utf-8", "replace")
            problem = (
                "couldn't get version/kind; json parse error: json: cannot unmarshal"
                f" {_go_kind(given)} into Go struct field .{key} of type string ({shown})"
            )
            raise _unrecognized(kind, problem)
    if not kind.custom:
        value.setdefault("apiVersion", kind.api_version)
        value.setdefault("kind", kind.kind)
        if (value["apiVersion"], value["kind"]) != (kind.api_version, kind.kind):
            raise cannot_be_handled(value, kind, _no_such_kind(value, kind))
        return
    if not name:
        shown = body.decode("utf-8", "replace")
        raise _unrecognized(kind, f"Object 'Kind' is missing in '{shown}' ({shown})")
    if version != kind.api_version:
        raise errors.bad_request(
            f"the API version in the data ({version or ''}) does not match the expected API version"
            f" ({kind.api_version})"
        )


def _no_such_kind(value: Mapping[str, Any], kind: ResourceType) -> str:
    return (
        f'no kind "{value["kind"]}" is registered for version "{value["apiVersion"]}" in scheme'
        ' "pkg/runtime/scheme.go:111"'
    )


# --- strict decoding ----------------------------------------------------------------


def _strict_problems(value: Any, schema: Schema, path: str = "") -> list[str]:
    """Unknown and repeated members of a built-in kind, in the order of the text."""
    found: list[str] = []
    if isinstance(value, dict | Members):
        properties = schema.get("properties")
        others = schema.get("additionalProperties")
        pairs = value.items() if isinstance(value, dict) else value
        seen: set[str] = set()
        for name, inner in pairs:
            place = f"{path}.{name}" if path else name
            if name in seen:
                found.append(f'duplicate field "{place}"')
            seen.add(name)
            if isinstance(properties, Mapping) and name in properties:
                found += _strict_problems(inner, properties[name], place)
            elif isinstance(others, Mapping):
                found += _strict_problems(inner, others, place)
            elif isinstance(properties, Mapping) and properties and not _open(schema):
                found.append(f'unknown field "{place}"')
    elif isinstance(value, list):
        items = schema.get("items")
        for index, inner in enumerate(value):
            if isinstance(items, Mapping):
                found += _strict_problems(inner, items, f"{path}[{index}]")
    return found


def _open(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields"))


_METADATA: Final = frozenset(
    (
        "annotations",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    )
)


def _unknown_metadata(value: Object) -> list[str]:
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return []
    unknown = sorted(name for name in metadata if name not in _METADATA)
    return [f'unknown field "metadata.{name}"' for name in unknown]
