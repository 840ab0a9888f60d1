"""The server's refusals: `StatusError`, the only exception by which the embedded API says no.

Every part of `konstat.embedded` raises one of these (or returns `FieldError`s, which become an
Invalid); `konstat.embedded.server` turns them into the body and code of the answer. The texts are
those of kube-apiserver 1.36, because clients read them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class FieldError(NamedTuple):
    """One entry of ``Status.details.causes``: a field path, a reason word and the text for it."""

    path: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def shown(value: Any) -> str:
    """A value as the server writes it into a field error: text as Go quotes it, else JSON."""
    if isinstance(value, str):
        return quoted(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quoted(text: str) -> str:
    """Go's ``%q``: printable characters stay, others are escaped."""
    parts: list[str] = []
    for character in text:
        if character in _ESCAPES:
            parts.append(_ESCAPES[character])
        elif character.isprintable():
            parts.append(character)
        elif (code := ord(character)) < 0x80:
            parts.append(f"\\x{code:02x}")
        else:
            parts.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return f'"{"".join(parts)}"'


def invalid_value(path: str, value: Any, detail: str) -> FieldError:
    """``Invalid value: <value>: <detail>``."""
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}")


def required_value(path: str, detail: str = "") -> FieldError:
    """``Required value[: <detail>]``."""
    return FieldError(
        path, "FieldValueRequired", f"Required value{f': {detail}' if detail else ''}"
    )


def forbidden_field(path: str, detail: str) -> FieldError:
    """``Forbidden: <detail>``."""
    return FieldError(path, "FieldValueForbidden", f"Forbidden: {detail}")


def duplicate_value(path: str, value: Any) -> FieldError:
    """``Duplicate value: <value>``."""
    return FieldError(path, "FieldValueDuplicate", f"Duplicate value: {shown(value)}")


def not_supported(path: str, value: Any, choices: Sequence[str]) -> FieldError:
    """``Unsupported value: <value>: supported values: …``, the choices in the given order."""
    words = ", ".join(f'"{choice}"' for choice in choices)
    detail = f": supported values: {words}" if choices else ""
    return FieldError(path, "FieldValueNotSupported", f"Unsupported value: {shown(value)}{detail}")


class StatusError(Exception):
    """An error answer: ``code`` is the HTTP status, the rest fills the Status object.

    ``plain`` is set for the few answers that are plain text instead of a Status;
    ``list_metadata`` is the metadata of the Status (a continue token after a 410).
    """

    def __init__(
        self,
        message: str,
        *,
        code: int,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after_seconds: int | None = None,
        plain: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.details = None if details is None else dict(details)
        self.retry_after_seconds = retry_after_seconds
        self.plain = plain
        self.list_metadata: dict[str, Any] = {}

    def status(self) -> dict[str, Any]:
        """The Status object, members in the server's order."""
        content: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.list_metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            content["reason"] = self.reason
        details = dict(self.details or {})
        if self.retry_after_seconds is not None:
            details["retryAfterSeconds"] = self.retry_after_seconds
        if self.details is not None or details:
            content["details"] = details
        content["code"] = self.code
        return content

    def body(self) -> bytes:
        """The body of the answer."""
        if self.plain:
            return f"{self.message}\n".encode()
        return json.dumps(self.status(), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def qualified(resource: str, group: str) -> str:
    """``plural.group``, or the plural for the core group: how messages name a resource."""
    return f"{resource}.{group}" if group else resource


def _details(name: str, group: str, kind: str) -> dict[str, Any]:
    named = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in named.items() if value}


def not_found(resource: str, name: str, *, group: str = "") -> StatusError:
    """404 for one object."""
    return StatusError(
        f'{qualified(resource, group)} "{name}" not found',
        code=404,
        reason="NotFound",
        details=_details(name, group, resource),
    )


def resource_not_found() -> StatusError:
    """404 for a path that no group, version or resource serves, in the form of built-in groups."""
    return StatusError(
        "the server could not find the requested resource", code=404, reason="NotFound", details={}
    )


def page_not_found() -> StatusError:
    """404 in plain text: unknown paths and custom resources."""
    return StatusError("404 page not found", code=404, plain=True)


def already_exists(resource: str, name: str, *, group: str = "") -> StatusError:
    """409 on create."""
    return StatusError(
        f'{qualified(resource, group)} "{name}" already exists',
        code=409,
        reason="AlreadyExists",
        details=_details(name, group, resource),
    )


MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def conflict(resource: str, name: str, *, group: str = "", detail: str = MODIFIED) -> StatusError:
    """409: a resourceVersion or uid that does not hold."""
    return StatusError(
        f'Operation cannot be fulfilled on {qualified(resource, group)} "{name}": {detail}',
        code=409,
        reason="Conflict",
        details=_details(name, group, resource),
    )


def invalid(group: str, kind: str, name: str, causes: Sequence[FieldError]) -> StatusError:
    """422 with causes; the message lists each distinct text once, as the server does."""
    details = _details(name, group, kind)
    details["causes"] = [
        {"reason": cause.reason, "message": cause.message, "field": cause.path} for cause in causes
    ]
    texts = list(dict.fromkeys(str(cause) for cause in causes))
    problem = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return StatusError(
        f'{qualified(kind, group)} "{name}" is invalid: {problem}',
        code=422,
        reason="Invalid",
        details=details,
    )


def refused_patch() -> StatusError:
    """422 without causes: an operation or a test of a JSON patch failed."""
    return StatusError(
        "the server rejected our request due to an error in our request",
        code=422,
        reason="Invalid",
        details={},
    )


def bad_request(message: str) -> StatusError:
    """400."""
    return StatusError(message, code=400, reason="BadRequest")


def forbidden(
    resource: str,
    name: str,
    problem: str,
    *,
    group: str = "",
    causes: Sequence[FieldError] = (),
) -> StatusError:
    """403."""
    details = _details(name, group, resource)
    if causes:
        details["causes"] = [
            {"reason": c.reason, "message": c.message, "field": c.path} for c in causes
        ]
    place = f'{qualified(resource, group)} "{name}"' if name else qualified(resource, group)
    return StatusError(
        f"{place} is forbidden: {problem}", code=403, reason="Forbidden", details=details
    )


def expired(message: str) -> StatusError:
    """410: a resourceVersion that is older than the history that is kept."""
    return StatusError(message, code=410, reason="Expired")


def unsupported_media_type(given: str, accepted: Sequence[str]) -> StatusError:
    """415."""
    return StatusError(
        f"the body of the request was in an unknown format - accepted media types include:"
        f" {', '.join(accepted)}",
        code=415,
        reason="UnsupportedMediaType",
    )


def not_acceptable(accepted: Sequence[str]) -> StatusError:
    """406."""
    return StatusError(
        "only the following media types are accepted: " + ", ".join(accepted),
        code=406,
        reason="NotAcceptable",
    )


def method_not_allowed(method: str = "") -> StatusError:
    """405."""
    return StatusError(
        "the server does not allow this method on the requested resource",
        code=405,
        reason="MethodNotAllowed",
        details={},
    )


def too_large(limit_bytes: int) -> StatusError:
    """413: the body of the request."""
    return StatusError(
        f"Request entity too large: limit is {limit_bytes}",
        code=413,
        reason="RequestEntityTooLarge",
    )


def internal_error(message: str, *, causes: bool = False) -> StatusError:
    """500 without reason, as unexpected errors come from the server."""
    return StatusError(message, code=500)


def not_implemented(what: str) -> StatusError:
    """501: a feature of Kubernetes that the embedded API does not have."""
    return StatusError(
        f"the embedded Kubernetes API does not implement {what}",
        code=501,
        reason="NotImplemented",
        details={},
    )
