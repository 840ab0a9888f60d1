"""`MemoryTransport`: requests to an embedded server by a function call, for tests and simulation.

The in-memory shell: it turns watch streams into chunks. Before: `shell`. After:
`konstat.client.Client` takes it as its transport.
"""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Callable, Mapping

from konstat.base.transport import Request, Response, Stream
from konstat.embedded.server import EmbeddedServer
from konstat.embedded.shell import lines, settle
from konstat.embedded.watches import WatchStream
from konstat.errors import TransportError


class MemoryStream:
    """An answer that is read in chunks: a watch, or a whole answer as one chunk."""

    def __init__(
        self, answer: Response | WatchStream, forget: Callable[[MemoryStream], None]
    ) -> None:
        self._answer = answer
        self._forget = forget
        self._broken = False

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._answer.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body; ends at the end of the watch, raises TransportError after `sever`."""
        if isinstance(self._answer, Response):
            if self._answer.body:
                yield self._answer.body
            return
        async for line in lines(self._answer):
            yield line
        if self._broken:
            raise TransportError("the connection to the embedded server was cut")

    async def close(self) -> None:
        if isinstance(self._answer, WatchStream):
            self._answer.close()
        self._forget(self)

    def sever(self) -> None:
        """Cut the connection: what follows raises TransportError."""
        self._broken = True
        if isinstance(self._answer, WatchStream):
            self._answer.close()


class MemoryTransport:
    """A `konstat.base.transport.Transport` to an `EmbeddedServer` in the same process."""

    def __init__(self, server: EmbeddedServer) -> None:
        self.server = server
        self._streams: set[MemoryStream] = set()
        self._closed = False

    async def send(self, request: Request) -> Response:
        """The whole answer."""
        self._require_open()
        answer = await settle(self.server, request)
        if isinstance(answer, WatchStream):
            body = b"".join([line async for line in lines(answer)])
            return Response(status=answer.status, headers=answer.headers, body=body)
        return _unpacked(answer)

    async def open(self, request: Request) -> Stream:
        """Begin a streaming answer."""
        self._require_open()
        answer = await settle(self.server, request)
        if isinstance(answer, Response):
            answer = _unpacked(answer)
        stream = MemoryStream(answer, self._streams.discard)
        self._streams.add(stream)
        return stream

    async def close(self) -> None:
        """End every stream."""
        self._closed = True
        for stream in tuple(self._streams):
            stream.sever()
        self._streams.clear()

    def _require_open(self) -> None:
        if self._closed:
            raise TransportError("the transport is closed", sent=False)


def _unpacked(answer: Response) -> Response:
    """The answer without gzip, as an HTTP client hands it on."""
    if answer.headers.get("content-encoding") != "gzip":
        return answer
    headers = {name: value for name, value in answer.headers.items() if name != "content-encoding"}
    return Response(status=answer.status, headers=headers, body=gzip.decompress(answer.body))
