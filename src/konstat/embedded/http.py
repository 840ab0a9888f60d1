"""`serve`: an embedded server over HTTP on loopback, for kubectl and any other client.

There is no authentication, so who can connect can do everything. Therefore it listens on loopback
only, answers only requests that name it by a loopback name and its port (a page in a browser that
was led here by DNS cannot), and refuses whatever carries an Origin. Before: `shell`.
After: `konstat.testing` and the command line.
"""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from aiohttp import web

from konstat.base import limits
from konstat.base.transport import Request, Response
from konstat.embedded import status_errors as errors
from konstat.embedded.server import EmbeddedServer
from konstat.embedded.shell import lines, settle
from konstat.embedded.watches import WatchStream
from konstat.errors import UserError

_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The URL of the server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


@asynccontextmanager
async def serve(
    server: EmbeddedServer, *, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Address]:
    """Listen for the length of a block; port 0 lets the system choose one.

    Raises UserError for a host that is not loopback, or an address that cannot be bound. At the
    end open watches are closed.
    """
    _require_loopback(host)
    shell = _Shell(server)
    inner = web.Server(shell.handle, access_log=None, handler_cancellation=True)
    runner = web.ServerRunner(inner, shutdown_timeout=0.5)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise UserError(f"cannot listen on {host}:{port}: {error.strerror}") from error
        bound = runner.addresses[0]
        address = Address(str(bound[0]), int(bound[1]))
        shell.names = {f"{name}:{address.port}" for name in _NAMES}
        server.address = f"{address.host}:{address.port}"
        yield address
    finally:
        shell.close()
        await runner.cleanup()


def _require_loopback(host: str) -> None:
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise UserError(
            f"the embedded API has no authentication and listens on loopback only, not on {host!r}:"
            " use 127.0.0.1"
        )


class _Shell:
    """Turns HTTP requests into those of the core."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server
        self._watches: set[WatchStream] = set()
        self.names: set[str] = set()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        refusal = self._refusal(request)
        if refusal is not None:
            return _whole(refusal)
        body = await _body(request)
        if body is None:
            return _error(errors.too_large(limits.EMBEDDED_BODY_BYTES))
        answer = await settle(
            self._server,
            Request(
                method=request.method,
                path=request.raw_path,
                headers=tuple(request.headers.items()),
                body=body,
            ),
        )
        if isinstance(answer, Response):
            return _whole(answer)
        return await self._stream(request, answer)

    def close(self) -> None:
        """End every watch."""
        for watch in tuple(self._watches):
            watch.close()

    def _refusal(self, request: web.BaseRequest) -> Response | None:
        host = request.headers.get("Host", "")
        if host.lower() not in self.names:
            problem = f"the Host header says {host[:100]!r}: use http://127.0.0.1 and the port"
        elif "Origin" in request.headers:
            problem = "requests of web pages (with an Origin header) are not answered"
        else:
            return None
        error = errors.StatusError(problem, code=403, reason="Forbidden", details={})
        return Response(status=403, headers={"content-type": "application/json"}, body=error.body())

    async def _stream(self, request: web.BaseRequest, watch: WatchStream) -> web.StreamResponse:
        response = web.StreamResponse(status=watch.status, headers=dict(watch.headers))
        response.enable_chunked_encoding()
        self._watches.add(watch)
        try:
            await response.prepare(request)
            async for line in lines(watch):
                await response.write(line)
            await response.write_eof()
        except ConnectionError:
            return response  # the client has gone; nobody is left to be told
        finally:
            watch.close()
            self._watches.discard(watch)
        return response


async def _body(request: web.BaseRequest) -> bytes | None:
    """The body; None when it is longer than is taken."""
    parts: list[bytes] = []
    size = 0
    async for part in request.content.iter_any():
        size += len(part)
        if size > limits.EMBEDDED_BODY_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)


def _whole(answer: Response) -> web.Response:
    return web.Response(status=answer.status, headers=dict(answer.headers), body=answer.body)


def _error(error: errors.StatusError) -> web.Response:
    answer = web.Response(
        status=error.code, headers={"content-type": "application/json"}, body=error.body()
    )
    answer.force_close()
    return answer
