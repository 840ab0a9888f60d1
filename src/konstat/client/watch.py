"""One watch request: from a streaming answer to events.

Comes after `konstat.client.lines` (chunks to lines); `konstat.cache` resumes and lists again.
Nothing is retried here: the reader of the events knows the resourceVersion to go on from.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from konstat.base import limits
from konstat.base.transport import Request, Stream, Transport
from konstat.client.errors import error_from_answer, error_from_status
from konstat.client.lines import LineSplitter
from konstat.errors import TransportError

_HEADERS = (("Accept", "application/json"), ("Accept-Encoding", "identity"))
_ERROR_BODY_BYTES = 64 * 1024


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One event of a watch: ``type`` is ADDED, MODIFIED, DELETED or BOOKMARK.

    ``object`` is undecoded JSON that keeps its whole line alive: copy it before keeping it.
    """

    type: str
    object: msgspec.Raw


_decoder = msgspec.json.Decoder(WatchEvent)


@asynccontextmanager
async def open_watch(
    transport: Transport, path: str, *, silence_seconds: float, request: str
) -> AsyncIterator[AsyncIterator[WatchEvent]]:
    """Open the watch at ``path`` and give its events; the stream is closed on leaving.

    The iterator ends at a clean end of stream. It raises the APIError of an ERROR event (Expired
    for a resourceVersion that is too old), and TransportError when the stream breaks, sends
    rubbish or is silent for ``silence_seconds``; a last line that is incomplete is discarded (F4).
    """
    message = Request(method="GET", path=path, headers=_HEADERS, timeout_seconds=silence_seconds)
    try:
        # The headers of a watch come at once; only its events may take long.
        async with asyncio.timeout(limits.REQUEST_TIMEOUT_SECONDS):
            stream = await transport.open(message)
    except TimeoutError as error:
        raise TransportError(
            f"failed to {request}: no answer within {limits.REQUEST_TIMEOUT_SECONDS:.0f} s"
        ) from error
    except TransportError as error:
        raise TransportError(f"failed to {request}: {error}", sent=error.sent) from error
    try:
        if stream.status != 200:
            body = await _short_body(stream)
            raise error_from_answer(
                stream.status, body, stream.headers, request=request, method="GET"
            )
        events = _events(stream, request)
        try:
            yield events
        finally:
            await events.aclose()
    finally:
        await stream.close()


async def _events(stream: Stream, request: str) -> AsyncGenerator[WatchEvent, None]:
    splitter = LineSplitter()
    try:
        async for chunk in stream.chunks():
            for line in splitter.feed(chunk):
                yield _event(line, request)
    except TransportError as error:
        raise TransportError(f"failed to {request}: {error}") from error


def _event(line: bytes, request: str) -> WatchEvent:
    try:
        event = _decoder.decode(line)
    except ValueError as error:
        start = line[:80].decode("utf-8", "replace")
        raise TransportError(
            f"a line of the stream is not a watch event: {start!r} ({error})"
        ) from error
    if event.type == "ERROR":
        raise error_from_status(event.object, request=request)
    return event


async def _short_body(stream: Stream) -> bytes:
    """The body of an error answer, as far as it is of use."""
    body = bytearray()
    async for chunk in stream.chunks():
        body += chunk
        if len(body) > _ERROR_BODY_BYTES:
            break
    return bytes(body)
