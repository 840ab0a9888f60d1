"""Turns the server's error answers into the tree of `konstat.errors`.

`konstat.client.exchange` calls `error_from_answer` for every answer above 299, and
`konstat.client.watch` calls `error_from_status` for the ERROR events of a stream.
Both take anything: a body that is no Status (plain text of a proxy, rubbish) becomes the message.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from konstat.base.transport import ADVICE
from konstat.errors import (
    AlreadyExists,
    APIError,
    BadRequest,
    Cause,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    PatchRefused,
    RequestTooLarge,
    ServerError,
    ServerTimeout,
    ServiceUnavailable,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
)

_MESSAGE_CHARACTERS = 4096
_PLAIN_CHARACTERS = 300
_CAUSES = 100
_PAGE_BYTES = 8192
# Tags, and what is between tags but is not shown.
_MARKUP = re.compile(r"<(script|style)\b.*?(</\1\s*>|$)|<!--.*?(-->|$)|<[^>]*(>|$)", re.S | re.I)

# The reason is more exact than the code: 409 is two things, and a proxy may change codes.
_BY_REASON: dict[str, type[APIError]] = {
    "AlreadyExists": AlreadyExists,
    "BadRequest": BadRequest,
    "Conflict": Conflict,
    "Expired": Expired,
    "Forbidden": Forbidden,
    "Gone": Expired,
    "MethodNotAllowed": MethodNotAllowed,
    "NotAcceptable": NotAcceptable,
    "NotFound": NotFound,
    "RequestEntityTooLarge": RequestTooLarge,
    "ServerTimeout": ServerTimeout,
    "ServiceUnavailable": ServiceUnavailable,
    "Timeout": ServerTimeout,
    "TooManyRequests": TooManyRequests,
    "Unauthorized": Unauthorized,
    "UnsupportedMediaType": UnsupportedMediaType,
}
_BY_CODE: dict[int, type[APIError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    410: Expired,
    413: RequestTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    503: ServiceUnavailable,
    504: ServerTimeout,
}
# etcd and its gRPC channel refuse large objects with a 500 (measured: 2 MB and 3.1 MB).
_TOO_LARGE = ("etcdserver: request is too large", "code = ResourceExhausted", "ResourceExhausted:")
# An apply whose manifest the schema refuses is answered with a 500 too.
_NOT_IN_SCHEMA = ("failed to create typed patch object", "field not declared in schema")
# The same request can never succeed, although the code is 500.
_PERMANENT = ("resourceVersion should not be set", "resourceVersion can not be set")


class _StatusCause(msgspec.Struct, rename="camel"):
    field: str = ""
    reason: str = ""
    message: str = ""


class _StatusDetails(msgspec.Struct, rename="camel"):
    causes: list[_StatusCause] | None = None
    retry_after_seconds: float | None = None


class _Status(msgspec.Struct, rename="camel"):
    kind: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: _StatusDetails | None = None


_status_decoder = msgspec.json.Decoder(_Status, strict=False)
_any_decoder = msgspec.json.Decoder()


def error_from_answer(
    response_status: int,
    body: bytes,
    headers: Mapping[str, str],
    *,
    request: str,
    method: str = "PATCH",
) -> APIError:
    """The exception for an answer of HTTP status ``response_status``; never raises.

    ``headers`` have lower-case names; ``request`` are words such as ``get Pod a/b``; ``method``
    decides how a causeless 422 is read: only a patch can be refused because the world moved.
    """
    status, plain = _read_status(body)
    if status is None:
        status = _Status(message=_plain_text(body) or f"the server answered {response_status}")
    delay = _asked_delay(status) or _seconds(headers.get("retry-after", ""))
    return _build(
        status,
        plain,
        code=response_status,
        delay=delay,
        request=request,
        method=method,
        advice=headers.get(ADVICE, ""),
    )


def error_from_status(data: bytes | msgspec.Raw, *, request: str) -> APIError:
    """The exception for the Status of an ERROR event in a watch; never raises."""
    status, plain = _read_status(bytes(data))
    if status is None:
        status = _Status(message=f"the watch ended with {_plain_text(bytes(data))!r}")
    delay = _asked_delay(status)
    return _build(
        status, plain, code=status.code or 500, delay=delay, request=request, method="GET"
    )


def _read_status(body: bytes) -> tuple[_Status | None, dict[str, Any]]:
    """A Status as a struct and as plain data; None when ``body`` is something else."""
    try:
        status = _status_decoder.decode(body)
        plain = _any_decoder.decode(body)
    except (ValueError, RecursionError):
        return None, {}
    if status.kind != "Status" or not isinstance(plain, dict):
        return None, {}
    return status, plain


def _asked_delay(status: _Status) -> float | None:
    delay = status.details.retry_after_seconds if status.details else None
    return delay if delay is not None and delay > 0 else None


def _build(
    status: _Status,
    plain: dict[str, Any],
    *,
    code: int,
    delay: float | None,
    request: str,
    method: str,
    advice: str = "",
) -> APIError:
    given = (status.details.causes if status.details else None) or ()
    causes = [Cause(c.field, c.reason, c.message) for c in given[:_CAUSES]]
    error_class = _class_of(status, causes, code=code, method=method)
    error = error_class(
        status.message[:_MESSAGE_CHARACTERS] or f"the server answered {code} without a message",
        code=code,
        reason=status.reason[:_PLAIN_CHARACTERS],
        causes=causes,
        retry_after_seconds=delay,
        request=request,
        status=plain,
        advice=advice,
    )
    if any(words in status.message for words in _PERMANENT):
        error.retryable = False
    return error


def _class_of(status: _Status, causes: list[Cause], *, code: int, method: str) -> type[APIError]:
    if code >= 500 and any(words in status.message for words in _TOO_LARGE):
        return RequestTooLarge
    if code == 500 and any(words in status.message for words in _NOT_IN_SCHEMA):
        return BadRequest
    if code == 422:
        # A webhook may answer 422 without causes too; what it denied stays denied.
        moved = not causes and method == "PATCH" and "admission webhook" not in status.message
        return PatchRefused if moved else Invalid
    by_reason = _BY_REASON.get(status.reason)
    if by_reason is not None:
        return by_reason
    return _BY_CODE.get(code) or (ServerError if code >= 500 else APIError)


def _plain_text(body: bytes) -> str:
    """The start of a body that is no Status, on one line; of a web page what a reader sees."""
    text = body[:_PAGE_BYTES].decode("utf-8", "replace")
    page = is_page(body)
    if page:
        text = html.unescape(_MARKUP.sub(" ", text))
    shown = "".join(c if c.isprintable() else " " for c in text)
    shown = " ".join(shown.split())[:_PLAIN_CHARACTERS].strip()
    return f"a web page: {shown!r}" if page else shown


def is_page(body: bytes) -> bool:
    """Whether a body is HTML, which no API server writes: it came from something else."""
    if body[:1] == b"{":  # nearly every body
        return False
    return body[:_PLAIN_CHARACTERS].lstrip().lower().startswith((b"<!doctype html", b"<html"))


def _seconds(text: str) -> float | None:
    """Retry-After as the API server writes it, in whole seconds; dates are ignored."""
    text = text.strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
