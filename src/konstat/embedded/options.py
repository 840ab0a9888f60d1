"""The options of a request: dry run, field validation, field manager, deletion.

Read from the query (for DELETE also from the body) and checked with the server's texts, which
name the options object: CreateOptions, UpdateOptions, PatchOptions, DeleteOptions, ListOptions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from konstat.base import limits
from konstat.embedded import status_errors as errors
from konstat.embedded.routes import Query
from konstat.embedded.status_errors import FieldError, forbidden_field, invalid_value, not_supported
from konstat.embedded.structural.gotime import go_duration_problem

FieldValidation: TypeAlias = Literal["Strict", "Warn", "Ignore"]

_VALIDATIONS: Final[Mapping[str, FieldValidation]] = {
    "": "Warn",
    "Strict": "Strict",
    "Warn": "Warn",
    "Ignore": "Ignore",
}
APPLY: Final = "application/apply-patch+yaml"


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """What a POST, PUT or PATCH asks besides its content."""

    dry_run: bool = False
    validation: FieldValidation = "Warn"
    manager: str = "unknown"
    force: bool = False


class DeleteOptions(NamedTuple):
    """What a DELETE asks. ``propagation`` is empty when the kind's default decides."""

    dry_run: bool = False
    uid: str | None = None
    resource_version: str | None = None
    propagation: str = ""
    orphan: bool | None = None
    grace_seconds: int | None = None


def refuse(kind: str, causes: Sequence[FieldError]) -> None:
    """Raise a 422 about the options when there are causes."""
    if causes:
        raise errors.invalid("meta.k8s.io", kind, "", causes)


def check_timeout(query: Query) -> None:
    """Refuse a ``timeout`` that is no duration of Go; what it asks is not enforced."""
    text = query.get("timeout")
    problem = go_duration_problem(text) if text else ""
    if problem:
        raise errors.bad_request(f"invalid timeout specified in the request URL - {problem}")


def write_options(
    query: Query,
    kind: Literal["CreateOptions", "UpdateOptions", "PatchOptions"],
    *,
    agent: str,
    content_type: str = "",
) -> WriteOptions:
    """The options of a write; ``agent`` is the User-Agent, which names the manager by default."""
    is_apply = kind == "PatchOptions" and content_type == APPLY
    manager, validation = query.get("fieldManager"), query.get("fieldValidation")
    causes: list[FieldError] = []
    if kind == "PatchOptions":
        if is_apply and not manager:
            causes.append(errors.required_value("fieldManager", "is required for apply patch"))
        if not is_apply and query.has("force"):
            problem = "may not be specified for non-apply patch"
            causes.append(forbidden_field("force", problem))
    causes += _manager_errors(manager)
    causes += _dry_run_errors(query.all("dryRun"))
    if validation not in _VALIDATIONS:
        words = ("", "Ignore", "Strict", "Warn")
        causes.append(not_supported("fieldValidation", validation, words))
    refuse(kind, causes)
    return WriteOptions(
        dry_run=bool(query.all("dryRun")),
        validation=_VALIDATIONS[validation],
        manager=manager or default_manager(agent),
        force=query.flag("force"),
    )


def default_manager(agent: str) -> str:
    """The manager of a client that names none: its User-Agent up to the first slash."""
    return agent.partition("/")[0][: limits.EMBEDDED_FIELD_MANAGER_BYTES] or "unknown"


def _manager_errors(manager: str) -> list[FieldError]:
    if len(manager.encode()) > limits.EMBEDDED_FIELD_MANAGER_BYTES:
        problem = f"Too long: may not be more than {limits.EMBEDDED_FIELD_MANAGER_BYTES} bytes"
        return [FieldError("fieldManager", "FieldValueTooLong", problem)]
    position = 0
    for character in manager:
        if not character.isprintable():
            problem = f"invalid character U+{ord(character):04X} (at position {position})"
            return [invalid_value("fieldManager", manager, problem)]
        position += len(character.encode())
    return []


def _dry_run_errors(values: Sequence[Any]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    return [not_supported("dryRun", list(values), ["All"])]


def delete_options(query: Query, body: Mapping[str, Any] | None) -> DeleteOptions:
    """The options of a DELETE: of the body when there is one, else of the query."""
    given = _from_query(query) if body is None else body
    kind = given.get("kind", "DeleteOptions")
    if kind != "DeleteOptions":
        raise errors.bad_request(
            f'no kind "{kind}" is registered for version "{given.get("apiVersion", "")}" in scheme'
            ' "pkg/runtime/scheme.go:111"'
        )
    dry_run = given.get("dryRun") or []
    propagation, orphan = given.get("propagationPolicy"), given.get("orphanDependents")
    causes: list[FieldError] = []
    if propagation is not None and orphan is not None:
        problem = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid_value("propagationPolicy", propagation, problem))
    if propagation not in (None, "Foreground", "Background", "Orphan"):
        words = ["Foreground", "Background", "Orphan", "nil"]
        causes.append(not_supported("propagationPolicy", propagation, words))
    causes += _dry_run_errors(dry_run)
    refuse("DeleteOptions", causes)
    conditions = given.get("preconditions") or {}
    return DeleteOptions(
        dry_run=bool(dry_run),
        uid=conditions.get("uid"),
        resource_version=conditions.get("resourceVersion"),
        propagation=propagation or "",
        orphan=orphan,
        grace_seconds=given.get("gracePeriodSeconds"),
    )


def _from_query(query: Query) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if query.has("propagationPolicy"):
        found["propagationPolicy"] = query.get("propagationPolicy")
    if query.has("orphanDependents"):
        found["orphanDependents"] = query.flag("orphanDependents")
    if query.has("gracePeriodSeconds"):
        found["gracePeriodSeconds"] = query.number("gracePeriodSeconds")
    if query.all("dryRun"):
        found["dryRun"] = query.all("dryRun")
    return found


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """What a list or watch asks."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    token: str = ""
    timeout_seconds: int | None = None
    bookmarks: bool = False
    initial_events: bool | None = None
    watch: bool = False


def list_options(query: Query, *, watch: bool) -> ListOptions:
    """The options of a list or watch; raises the server's 400 or 422."""
    initial = query.flag("sendInitialEvents") if query.has("sendInitialEvents") else None
    found = ListOptions(
        label_selector=query.get("labelSelector"),
        field_selector=query.get("fieldSelector"),
        resource_version=query.get("resourceVersion"),
        match=query.get("resourceVersionMatch"),
        limit=query.number("limit"),
        token=query.get("continue"),
        timeout_seconds=query.number("timeoutSeconds") if query.get("timeoutSeconds") else None,
        bookmarks=query.flag("allowWatchBookmarks"),
        initial_events=initial,
        watch=watch,
    )
    refuse("ListOptions", _watch_errors(found) if watch else _list_errors(found))
    return found


def _list_errors(options: ListOptions) -> list[FieldError]:
    path = "resourceVersionMatch"
    causes: list[FieldError] = []
    if options.match and not options.resource_version:
        problem = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        causes.append(forbidden_field(path, problem))
    if options.match and options.token:
        problem = "resourceVersionMatch is forbidden when continue is provided"
        causes.append(forbidden_field(path, problem))
    if options.match not in ("", "Exact", "NotOlderThan"):
        causes.append(not_supported(path, options.match, ["Exact", "NotOlderThan", ""]))
    if options.match == "Exact" and options.resource_version == "0":
        problem = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        causes.append(forbidden_field(path, problem))
    if options.initial_events is not None:
        problem = "sendInitialEvents is forbidden for list"
        causes.append(forbidden_field("sendInitialEvents", problem))
    return causes


def _watch_errors(options: ListOptions) -> list[FieldError]:
    path = "resourceVersionMatch"
    causes: list[FieldError] = []
    if options.initial_events is not None and options.match != "NotOlderThan":
        problem = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(forbidden_field(path, problem))
    if options.match and options.initial_events is None:
        problem = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(forbidden_field(path, problem))
    if options.match not in ("", "NotOlderThan"):
        causes.append(not_supported(path, options.match, ["NotOlderThan"]))
    if options.token:
        problem = "resourceVersionMatch is forbidden when continue is provided"
        causes.append(forbidden_field(path, problem))
    return causes
