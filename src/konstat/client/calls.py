"""What every verb of the client needs: kinds, contents, pages, options.

Pure: `konstat.client.plain` and `konstat.client.api` build their requests with it and read the
answers with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from konstat.errors import ManifestError
from konstat.objects import codec
from konstat.objects.kind import Kind
from konstat.objects.resource import Resource, Unstructured

KindLike: TypeAlias = Kind | type[Resource[Any, Any]]
Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]
FieldValidation: TypeAlias = Literal["Strict", "Warn", "Ignore"]

PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
# JSON is YAML; every server that applies takes this name.
APPLY_TYPE = "application/apply-patch+yaml"


class Call(NamedTuple):
    """Where a verb goes, and the words that name it in errors."""

    path: str
    words: str


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a list.

    ``continue_token`` is empty on the last page; ``remaining`` is an estimate that the server gives
    without selectors only. ``items`` are undecoded and keep the whole page alive: copy them before
    keeping them. Items of built-in kinds carry no apiVersion and kind.
    """

    resource_version: str
    continue_token: str
    remaining: int | None
    items: list[msgspec.Raw]


class _ListMetadata(msgspec.Struct, rename="camel", gc=False):
    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class _List(msgspec.Struct, gc=False):
    metadata: _ListMetadata = msgspec.field(default_factory=_ListMetadata)
    # A list without objects says so with [] or null; what has no items is none.
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET


_list_decoder = msgspec.json.Decoder(_List)


def read_page(data: bytes) -> Page:
    """Decode the answer to a list; raises ValueError when it is none."""
    answer = _list_decoder.decode(data)
    if answer.items is msgspec.UNSET:
        raise ValueError("it has no items")
    return Page(
        resource_version=answer.metadata.resource_version,
        continue_token=answer.metadata.continue_token,
        remaining=answer.metadata.remaining_item_count,
        items=answer.items or [],
    )


def kind_of(kind: Resource[Any, Any] | KindLike) -> Kind:
    """The `Kind` of a kind, a resource class or an object."""
    if isinstance(kind, Kind):
        return kind
    found = getattr(kind, "kind", None)
    if not isinstance(found, Kind):
        raise ManifestError(
            f"{getattr(kind, '__name__', kind)!r} does not say its kind: give a Kind, or a class"
            " declared with group= and version="
        )
    return found


def as_object(kind: Resource[Any, Any] | KindLike, data: bytes | msgspec.Raw) -> Any:
    """One object's JSON as what ``kind`` asks for: its class, or a dict for a `Kind`."""
    if isinstance(kind, Kind):
        content = codec.decode(data)
        if "kind" not in content:  # an item of a list of a built-in kind
            content = {"apiVersion": kind.api_version, "kind": kind.kind, **content}
        return content
    if isinstance(kind, Unstructured):
        return Unstructured.of(kind.kind, codec.decode(data))
    return (kind if isinstance(kind, type) else type(kind)).from_json(data)


def content_of(
    obj_or_kind: Resource[Any, Any] | KindLike, content: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The content to send, with apiVersion and kind filled in.

    Raises ManifestError when it names another kind, TypeError when it is no mapping.
    """
    kind = kind_of(obj_or_kind)
    if content is None:
        if not isinstance(obj_or_kind, Resource):
            raise TypeError(f"give the content of the {kind.kind}, or an object in place of it")
        return obj_or_kind.content
    if not isinstance(content, Mapping):
        raise TypeError(
            f"the content of a {kind.kind} must be a plain mapping, not {type(content).__name__}"
            " (a typed view may lack fields that a PUT would then remove: patch or apply it)"
        )
    said = (content.get("apiVersion", kind.api_version), content.get("kind", kind.kind))
    if said != (kind.api_version, kind.kind):
        raise ManifestError(
            f"the content says {said[1]} ({said[0]}) and the verb was given {kind}: make them agree"
        )
    return {"apiVersion": kind.api_version, "kind": kind.kind, **content}


def metadata_text(content: Mapping[str, Any], key: str) -> str:
    """One text of the metadata; empty when it is not there."""
    metadata = content.get("metadata")
    value = metadata.get(key) if isinstance(metadata, Mapping) else None
    return value if isinstance(value, str) else ""


def name_of(content: Mapping[str, Any]) -> str:
    """metadata.name; raises ManifestError without one."""
    name = metadata_text(content, "name")
    if not name:
        raise ManifestError(
            f"the content of a {content.get('kind')} has no metadata.name, and this verb needs one"
        )
    return name


def call(verb: str, kind: Kind, namespace: str, name: str, subresource: str = "") -> Call:
    """The path and the words of a verb on one object, or on a collection (no name)."""
    place = f"in {namespace}" if namespace else ""
    if name:
        place = f"{namespace}/{name}" if namespace else name
    what = f"{subresource} of {kind.kind}" if subresource else kind.kind
    return Call(kind.path(namespace, name, subresource), f"{verb} {what} {place}".rstrip())


def delete_options(
    *,
    uid: str | None = None,
    resource_version: str | None = None,
    propagation: Propagation | None = None,
    grace_period_seconds: int | None = None,
    dry_run: bool = False,
) -> dict[str, Any]:
    """A DeleteOptions body that says only what is given.

    The server reads options from the query only when there is no body: ``dryRun`` in the query of
    a DELETE with a body is ignored, and the object is gone.
    """
    options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    given = {key: value for key, value in preconditions.items() if value is not None}
    if given:
        options["preconditions"] = given
    if propagation is not None:
        options["propagationPolicy"] = propagation
    if grace_period_seconds is not None:
        options["gracePeriodSeconds"] = grace_period_seconds
    if dry_run:
        options["dryRun"] = ["All"]
    return options


def selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    """The query of a selection; empty selectors are left out."""
    query: dict[str, str] = {}
    if label_selector:
        query["labelSelector"] = label_selector
    if field_selector:
        query["fieldSelector"] = field_selector
    return query
