"""The seam between konstat and a server, in plain bytes.

The HTTP client and the embedded API both speak this protocol, so neither needs to know the
other, and a simulation can put faults between them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Final, Protocol

import msgspec


class Request(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One HTTP request: ``path`` begins with ``/`` and carries the encoded query.

    ``timeout_seconds`` bounds the whole exchange of `Transport.send` and, for `Transport.open`,
    the time until the headers have come and the longest silence between two chunks.
    """

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    timeout_seconds: float | None = None


# A header that a transport may add to an answer that is an error: what to do about it, in words.
ADVICE: Final = "konstat-advice"


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Stream(Protocol):
    """An answer whose body arrives in chunks; must be closed."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, cut anywhere; ends at a clean end of stream.

        Raises `konstat.errors.TransportError` when the stream breaks.
        """
        ...

    async def close(self) -> None: ...


class Transport(Protocol):
    """Sends requests to one server."""

    async def send(self, request: Request) -> Response:
        """Return the whole answer, whatever its status; raises TransportError if none came."""
        ...

    async def open(self, request: Request) -> Stream:
        """Begin a streaming answer (a watch, logs) on a connection of its own."""
        ...

    async def close(self) -> None: ...
