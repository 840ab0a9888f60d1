"""`HttpTransport`: the `Transport` over HTTP/1.1 with aiohttp.

Before: `konstat.client.auth` and `konstat.client.tls` give credentials and TLS contexts. After:
`konstat.client.plain` speaks through it. No exception of aiohttp leaves this module.

Requests and watches have pools of their own, so that watches cannot use up the connections of
writes. Sockets have TCP keepalive and a bound on unacknowledged bytes: a peer that vanished is
found in about a minute, also under a quiet watch.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from konstat.base import clock, limits
from konstat.base.transport import ADVICE, Request, Response
from konstat.client.auth import Credential, Login
from konstat.client.cluster import ClusterConfig
from konstat.client.connector import (
    FAILURES,
    Sockets,
    not_an_api,
    open_pool,
    tls_error,
    transport_error,
)
from konstat.client.errors import is_page
from konstat.client.tls import TLSContexts
from konstat.errors import ConfigError, TransportError

_READ_BUFFER_BYTES = 256 * 1024
# For streams: their silence is measured here, as the HTTP library sets a timer for each chunk.
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=limits.CONNECT_TIMEOUT_SECONDS)
_PIECEWISE_BYTES = 512 * 1024


class HttpTransport:
    """Sends requests to the API server of ``config``; satisfies `konstat.base.transport.Transport`.

    The credential is renewed when it is due; after a 401 it is renewed and the request sent once
    more. `prepare` raises ConfigError when certificates or the first credential cannot be used;
    later failures of the same kind are passing ones (a token service that is away) and raise
    TransportError with ``sent=False``.
    Cancelling a call closes its connection.
    """

    def __init__(self, config: ClusterConfig) -> None:
        try:
            self._base = str(URL(config.server)).rstrip("/")
            self._proxy = URL(config.proxy_url) if config.proxy_url else None
        except ValueError as error:
            raise ConfigError(
                f"{config.source}: the server or proxy-url is no usable address: {error}"
            ) from error
        self._config = config
        self._login = Login(config)
        self._tls = TLSContexts(config) if self._base.startswith("https:") else None
        self._requests: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None
        self._failures = FAILURES
        self._sockets = Sockets()
        self._closed = False
        self._prepared = False
        self._timeouts: dict[float | None, aiohttp.ClientTimeout] = {}
        self._options: dict[str, Any] = {"allow_redirects": False}
        if self._proxy is not None and not self._proxy.scheme.startswith("socks"):
            self._options["proxy"] = self._proxy

    async def prepare(self) -> None:
        """Load certificates and get the first credential; raises ConfigError."""
        credential = await self._credential()
        if self._tls is not None:
            self._tls.current(credential.pair)
        self._session()
        self._prepared = True

    async def close(self) -> None:
        """Close all connections; later calls raise TransportError."""
        self._closed = True
        sessions = (self._requests, self._streams)
        self._requests = self._streams = None
        for session in sessions:
            if session is not None:
                await session.close()
        await self._sockets.close()

    # --- sending ------------------------------------------------------------------------------

    async def send(self, request: Request) -> Response:
        """Send and read the whole answer, whatever its status."""
        credential = self._login.fresh() or await self._credential()
        response = await self._send(request, credential)
        if response.status == 401:
            renewed = await self._credential(refused=credential)
            if renewed is not credential:
                response = await self._send(request, renewed)
        return response

    async def _send(self, request: Request, credential: Credential) -> Response:
        session = self._requests or self._session()
        seconds = request.timeout_seconds
        options = self._connection(credential)
        try:
            async with session.request(
                request.method,
                URL(self._base + request.path, encoded=True),
                data=_body(request.body),
                headers=CIMultiDict((*request.headers, *credential.headers)),
                timeout=self._timeouts.get(seconds) or self._timeout(seconds),
                **options,
            ) as answer:
                body = await _read(answer)
                headers = _headers(answer)
                if answer.status >= 300:
                    self._advise(answer.status, headers, page=is_page(body))
                elif is_page(body) and _is_unasked(request, headers):
                    raise TransportError(not_an_api(self._config, headers))
                return Response(status=answer.status, headers=headers, body=body)
        except self._failures as error:
            raise self._failure(error, seconds) from error

    def _timeout(self, seconds: float | None) -> aiohttp.ClientTimeout:
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=limits.CONNECT_TIMEOUT_SECONDS)
        if len(self._timeouts) < limits.REMEMBERED_HEADERS:
            self._timeouts[seconds] = timeout
        return timeout

    async def open(self, request: Request) -> HttpStream:
        """Begin a streaming answer on a connection of its own."""
        credential = self._login.fresh() or await self._credential()
        stream = await self._open(request, credential)
        if stream.status == 401:
            renewed = await self._credential(refused=credential)
            if renewed is not credential:
                await stream.close()
                stream = await self._open(request, renewed)
        return stream

    async def _open(self, request: Request, credential: Credential) -> HttpStream:
        self._session()
        assert self._streams is not None
        silence_seconds = request.timeout_seconds
        options = self._connection(credential)
        try:
            async with asyncio.timeout(silence_seconds):
                answer = await self._streams.request(
                    request.method,
                    URL(self._base + request.path, encoded=True),
                    data=_body(request.body),
                    headers=CIMultiDict((*request.headers, *credential.headers)),
                    timeout=_NO_TIMEOUT,
                    **options,
                )
        except self._failures as error:
            raise self._failure(error, silence_seconds) from error
        headers = _headers(answer)
        if answer.status >= 300:
            self._advise(answer.status, headers, page=False)
        elif _is_unasked(request, headers):
            answer.close()
            raise TransportError(not_an_api(self._config, headers))
        return HttpStream(answer, headers, config=self._config, silence_seconds=silence_seconds)

    # --- credentials and connections ----------------------------------------------------------

    async def _credential(self, refused: Credential | None = None) -> Credential:
        """The current credential, or one instead of ``refused`` (itself if there is no other)."""
        try:
            if refused is None:
                return await self._login.current()
            return await self._login.renewed(refused) or refused
        except ConfigError as error:
            raise self._passing(error) from error

    def _connection(self, credential: Credential) -> dict[str, Any]:
        """What chooses the connection: the TLS context, the server's name, the proxy."""
        if self._tls is None:
            return self._options
        try:
            context = self._tls.current(credential.pair)
        except ConfigError as error:
            raise self._passing(error) from error
        if self._options.get("ssl") is not context:
            self._options["ssl"] = context
        return self._options

    def _advise(self, status: int, headers: dict[str, str], *, page: bool) -> None:
        """Put into ``headers`` what to do about an answer that is an error."""
        advice = ""
        if status == 401:
            advice = self._login.advice()
        elif status < 400 or page:
            advice = not_an_api(self._config, headers)
        if advice:
            headers[ADVICE] = advice

    def _passing(self, error: ConfigError) -> ConfigError | TransportError:
        """What a failed renewal is: a mistake at the start, a passing failure afterwards."""
        if not self._prepared:
            return error
        return TransportError(f"the credential cannot be renewed: {error}", sent=False)

    def _failure(self, error: Exception, seconds: float | None) -> TransportError:
        if self._tls is not None and tls_error(error) is not None:
            # Perhaps the authority was exchanged (F64): the next try looks at the files.
            self._tls.expire()
        return transport_error(error, self._config, timeout_seconds=seconds)

    def _session(self) -> aiohttp.ClientSession:
        """The session for requests; sessions need a running loop, so the first call opens them."""
        if self._closed:
            raise TransportError("the client is closed", sent=False)
        if self._requests is None:
            self._requests = self._new_session(limits.REQUEST_CONNECTIONS)
            self._streams = self._new_session(limits.WATCH_CONNECTIONS)
        return self._requests

    def _new_session(self, connections: int) -> aiohttp.ClientSession:
        pool = open_pool(self._proxy, self._config, connections=connections, sockets=self._sockets)
        self._failures = pool.failures
        session = aiohttp.ClientSession(
            connector=pool.connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": _user_agent(), "Accept-Encoding": "gzip"},
            read_bufsize=_READ_BUFFER_BYTES,
            trust_env=False,
        )
        # aiohttp would repeat a DELETE whose answer was lost, which may hit a namesake that came
        # in between (F26). What is repeated is decided in konstat.client.exchange alone.
        session._retry_connection = False  # pyright: ignore[reportPrivateUsage] - no public switch
        return session


class HttpStream:
    """A streaming answer; satisfies `konstat.base.transport.Stream`."""

    def __init__(
        self,
        answer: aiohttp.ClientResponse,
        headers: Mapping[str, str],
        *,
        config: ClusterConfig,
        silence_seconds: float | None,
    ) -> None:
        self._answer = answer
        self._config = config
        self.headers = headers
        self._silence_seconds = silence_seconds
        self._loop = asyncio.get_running_loop()
        self._waits_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._set_timer(silence_seconds)

    @property
    def status(self) -> int:
        return self._answer.status

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives; raises TransportError when it breaks off or falls silent."""
        content = self._answer.content
        while True:
            self._waits_since = self._loop.time()
            try:
                chunk = await content.readany()
            except FAILURES as error:
                raise transport_error(
                    error, self._config, timeout_seconds=self._silence_seconds
                ) from error
            finally:
                self._waits_since = None
            if not chunk:
                return
            yield chunk

    def _set_timer(self, seconds: float | None) -> None:
        if seconds is not None:
            self._timer = self._loop.call_later(seconds, self._measure_silence)

    def _measure_silence(self) -> None:
        """End the stream if its reader has waited too long; else look again when it may have."""
        assert self._silence_seconds is not None
        left = self._silence_seconds
        if self._waits_since is not None:
            left -= self._loop.time() - self._waits_since
        if left > 0:
            self._set_timer(left)
        else:
            self._answer.content.set_exception(aiohttp.SocketTimeoutError())

    async def close(self) -> None:
        """Close the connection, unless the answer was read to its end."""
        if self._timer is not None:
            self._timer.cancel()
        connection = self._answer.connection
        if connection is not None and connection.transport is not None:
            # A stream in full flow is cut off: the farewell of TLS would wait for the server, at
            # worst for half a minute, and outlive the client.
            connection.transport.abort()
        self._answer.close()
        await clock.sleep(0)  # one turn of the loop, in which the socket is closed


def _body(body: bytes) -> aiohttp.BytesPayload | io.BytesIO | None:
    """Large bodies as a file, which aiohttp writes in pieces; it warns about them otherwise."""
    if len(body) > _PIECEWISE_BYTES:
        return io.BytesIO(body)
    # What aiohttp would make of bytes after it has looked through all kinds of bodies.
    return aiohttp.BytesPayload(body) if body else None


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    """The whole body, at most `limits.RESPONSE_BYTES` after decompression."""
    length = answer.content_length
    short = length is not None and length <= limits.RESPONSE_BYTES
    if short and "Content-Encoding" not in answer.headers:
        return await answer.read()
    chunks: list[bytes] = []
    total = 0
    async for chunk in answer.content.iter_any():
        total += len(chunk)
        if total > limits.RESPONSE_BYTES:
            raise TransportError(
                f"the answer is larger than {limits.RESPONSE_BYTES} bytes:"
                " list with a smaller limit"
            )
        chunks.append(chunk)
    return b"".join(chunks)


def _headers(answer: aiohttp.ClientResponse) -> dict[str, str]:
    """Names in lower case; values of a name that stands several times are joined."""
    headers: dict[str, str] = {}
    for name, value in answer.headers.items():
        name = name.lower()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _is_unasked(request: Request, headers: Mapping[str, str]) -> bool:
    """Whether an answer is a web page; those of pods and services come through ``proxy``."""
    return headers.get("content-type", "").startswith("text/html") and (
        "/proxy" not in request.path
    )


def _user_agent() -> str:
    try:
        return f"konstat/{version('konstat')}"
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "konstat/unknown"
