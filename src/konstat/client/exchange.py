"""One request and its answer: headers, the decision to try again, and errors.

`konstat.client.api` calls it for every verb but watch; it calls a `Transport`.

What is tried again, at most `limits.REQUEST_TRIES` times in all:

- an answer 429, or 503 with a delay: the server did not begin, so any verb;
- no answer, and the request certainly was not sent: any verb;
- no answer, and it may have been sent: only verbs that may be repeated (GET, PUT), or where
  the caller says so. A lost answer of a create, a patch or an apply goes up: the layer above reads
  the object and decides (F24, F25).

Not when time has run out: whoever asked hears of the silence after one wait, not after several.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from urllib.parse import urlencode

from konstat.base import clock, limits
from konstat.base.backoff import Backoff
from konstat.base.transport import Request, Response, Transport
from konstat.client.errors import error_from_answer
from konstat.client.tally import count_request
from konstat.errors import APIError, ServiceUnavailable, TooManyRequests, TransportError

log = logging.getLogger(__name__)

Query = Mapping[str, str] | Sequence[tuple[str, str]]

_REPEATABLE = frozenset({"GET", "HEAD", "PUT"})
_ACCEPT = ("Accept", "application/json")
_backoff = Backoff(
    first_seconds=limits.REQUEST_RETRY_FIRST_SECONDS,
    maximum_seconds=limits.REQUEST_RETRY_MAXIMUM_SECONDS,
)


def with_query(path: str, query: Query) -> str:
    """``path`` with the encoded ``query``."""
    if not query:
        return path
    pairs = query.items() if isinstance(query, Mapping) else query
    return f"{path}?{_encoded(tuple(pairs))}"


@lru_cache(maxsize=limits.REMEMBERED_QUERIES)
def _encoded(pairs: tuple[tuple[str, str], ...]) -> str:
    return urlencode(pairs)


class Exchange:
    """Sends requests over a transport until there is an answer that is worth giving back."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._headers: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
        self._warned: set[str] = set()

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes = b"",
        content_type: str = "application/json",
        accept: str = "",
        timeout_seconds: float | None = None,
        request: str = "",
        retry: bool | None = None,
    ) -> bytes:
        """The body of a good answer; raises APIError or TransportError."""
        message = Request(
            method=method,
            path=with_query(path, query),
            headers=self._headers_for(content_type if body else "", accept),
            body=body,
            timeout_seconds=timeout_seconds or limits.REQUEST_TIMEOUT_SECONDS,
        )
        tries = 0
        while True:
            tries += 1
            count_request()
            try:
                response = await self._transport.send(message)
            except TransportError as error:
                if tries >= limits.REQUEST_TRIES or not _may_repeat(error, method, retry):
                    raise _in_words(error, method=method, path=path, request=request) from error
                # The first repetition goes at once: mostly an idle connection was closed under us.
                delay = _backoff.delay_seconds(tries - 2) if tries > 1 else 0.0
                log.debug("%s %s gave no answer, trying again: %s", method, path, error)
            else:
                if response.status < 300:
                    if "warning" in response.headers:
                        self._warn(response.headers["warning"])
                    return response.body
                failure = _failure(response, method=method, path=path, request=request)
                asked = _delay_asked(failure)
                if asked is None or retry is False or tries >= limits.REQUEST_TRIES:
                    raise failure
                delay = asked
                log.debug("%s %s must wait %.1f s: %s", method, path, delay, failure)
            if delay:
                await clock.sleep(delay)

    def _headers_for(self, content_type: str, accept: str) -> tuple[tuple[str, str], ...]:
        key = (content_type, accept)
        headers = self._headers.get(key)
        if headers is None:
            headers = (("Accept", accept) if accept else _ACCEPT,)
            if content_type:
                headers += (("Content-Type", content_type),)
            if len(self._headers) < limits.REMEMBERED_HEADERS:
                self._headers[key] = headers
        return headers

    def _warn(self, text: str) -> None:
        """Log a Warning header of the server (a deprecated version, a dropped field) once."""
        if text not in self._warned and len(self._warned) < limits.REMEMBERED_WARNINGS:
            self._warned.add(text)
            log.warning("the server warns: %s", text[: limits.MESSAGE_CHARACTERS])


def _may_repeat(error: TransportError, method: str, retry: bool | None) -> bool:
    if error.timed_out:
        return False
    if retry is not None:
        return retry
    return not error.sent or method in _REPEATABLE


def _delay_asked(failure: APIError) -> float | None:
    """How long to wait before the same request again; None when it should not be sent again."""
    if not isinstance(failure, TooManyRequests | ServiceUnavailable):
        return None
    delay = failure.retry_after_seconds
    if delay is None:
        return 1.0 if isinstance(failure, TooManyRequests) else None
    return delay if delay <= limits.RETRY_AFTER_MAXIMUM_SECONDS else None


def _failure(response: Response, *, method: str, path: str, request: str) -> APIError:
    return error_from_answer(
        response.status,
        response.body,
        response.headers,
        request=request or f"{method} {path}",
        method=method,
    )


def _in_words(error: TransportError, *, method: str, path: str, request: str) -> TransportError:
    return TransportError(
        f"failed to {request or f'{method} {path}'}: {error}",
        sent=error.sent,
        timed_out=error.timed_out,
    )
