"""Sockets, proxies, and the words for what goes wrong with them.

A part of `konstat.client.transport`: connections on one side, failures on the other.
"""

from __future__ import annotations

import importlib
import os
import socket
import ssl
import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import aiohttp
from yarl import URL

from konstat.base import clock, limits
from konstat.client.cluster import ClusterConfig
from konstat.errors import ConfigError, TransportError

FAILURES: tuple[type[Exception], ...] = (aiohttp.ClientError, OSError)

# Names differ between systems; what is missing there is left at the system's default.
_SOCKET_OPTIONS: tuple[tuple[str, int], ...] = (
    ("TCP_KEEPIDLE", limits.KEEPALIVE_IDLE_SECONDS),
    ("TCP_KEEPALIVE", limits.KEEPALIVE_IDLE_SECONDS),  # macOS
    ("TCP_KEEPINTVL", limits.KEEPALIVE_INTERVAL_SECONDS),
    ("TCP_KEEPCNT", limits.KEEPALIVE_PROBES),
    ("TCP_USER_TIMEOUT", limits.UNACKNOWLEDGED_SECONDS * 1000),
)

_LOCATION_CHARACTERS = 200

# What to do about a certificate, by the verify codes of OpenSSL; the configuration's name follows.
_CLOCK_ADVICE = "renew it on the server, or set this machine's clock right; the server is of"
_NAME_ADVICE = "check the host in server, or set tls-server-name, in"
_AUTHORITY_ADVICE = "check the certificate authority in"
_CERTIFICATE_ADVICE = {9: _CLOCK_ADVICE, 10: _CLOCK_ADVICE, 62: _NAME_ADVICE, 64: _NAME_ADVICE}


class Pool(NamedTuple):
    """A pool of connections, and what it raises when one cannot be made or breaks."""

    connector: aiohttp.BaseConnector
    failures: tuple[type[Exception], ...]


def open_pool(
    proxy: URL | None, config: ClusterConfig, *, connections: int, sockets: Sockets
) -> Pool:
    """A pool of at most ``connections``; raises ConfigError for SOCKS without its extra."""
    if proxy is not None and proxy.scheme.startswith("socks"):
        return _open_socks_pool(proxy, config, connections=connections)
    connector = aiohttp.TCPConnector(
        limit=connections,
        keepalive_timeout=limits.IDLE_CONNECTION_SECONDS,
        socket_factory=sockets.make,
    )
    return Pool(connector, FAILURES)


class Sockets:
    """Makes the sockets of one client, and sees that none outlives it.

    The HTTP library lets go of a connection that it closes while the farewell of TLS, or a body
    that the server did not want, is still under way; such a one could stay for half a minute.
    """

    def __init__(self) -> None:
        self._made: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def make(self, address: Any) -> socket.socket:
        """A socket that finds out by itself when its peer is gone."""
        family, kind, protocol, _, _ = address
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _SOCKET_OPTIONS:
                option = getattr(socket, name, None)
                if option is not None:
                    made.setsockopt(socket.IPPROTO_TCP, option, value)
        except BaseException:
            made.close()
            raise
        self._made.add(made)
        return made

    async def close(self) -> None:
        """Break what is still open and wait, with a bound, until the event loop has closed it."""
        for made in self._open():
            with suppress(OSError):
                made.shutdown(socket.SHUT_RDWR)
        for _ in range(limits.CLOSE_TURNS):
            if not self._open():
                return
            await clock.sleep(limits.CLOSE_TURN_SECONDS)

    def _open(self) -> list[socket.socket]:
        return [made for made in self._made if made.fileno() != -1]


def _open_socks_pool(proxy: URL, config: ClusterConfig, *, connections: int) -> Pool:
    try:
        aiohttp_socks = importlib.import_module("aiohttp_socks")
    except ImportError as error:
        raise ConfigError(
            f"{config.source}: proxy-url {shown(proxy)} is a SOCKS proxy, which needs a further"
            " package: install konstat[socks]"
        ) from error
    # The proxy resolves names, for both socks5 and socks5h, as for kubectl.
    connector = aiohttp_socks.ProxyConnector.from_url(
        str(proxy.with_scheme("socks5")),
        rdns=True,
        limit=connections,
        keepalive_timeout=limits.IDLE_CONNECTION_SECONDS,
    )
    names = ("ProxyError", "ProxyConnectionError", "ProxyTimeoutError")
    # Its errors share no base class with those of aiohttp.
    own = tuple(getattr(aiohttp_socks, name) for name in names)
    return Pool(connector, (*FAILURES, *own))


def shown(url: URL) -> str:
    """The address without user and password."""
    return str(url.with_user(None)) if url.host else "without a host"


def transport_error(
    error: Exception, config: ClusterConfig, *, timeout_seconds: float | None
) -> TransportError:
    """``error`` of the HTTP library in our words; ``sent`` False when no connection was made."""
    server = config.server
    before = _before_sending(error, config)
    if before is None and not isinstance(error, FAILURES):
        before = _proxy_failed(error, config)
    if before is not None:
        return TransportError(before, sent=False, timed_out=isinstance(error, TimeoutError))
    if isinstance(error, TimeoutError):
        return TransportError(f"{server} was silent for {timeout_seconds} s", timed_out=True)
    if isinstance(error, aiohttp.ClientResponseError):
        behind = f" behind the proxy {shown(URL(config.proxy_url))}" if config.proxy_url else ""
        return TransportError(
            f"what answers at {server}{behind} does not speak HTTP; is the address of"
            f" {config.source} right?"
        )
    detail = str(error) or type(error).__name__
    if server.startswith("http:") and isinstance(error, aiohttp.ServerDisconnectedError):
        detail += "; does it expect https?"
    return TransportError(
        f"the connection to {server} broke before its answer was complete ({detail})"
    )


def not_an_api(config: ClusterConfig, headers: Mapping[str, str]) -> str:
    """What to say to a redirect or a web page, which no API server answers with."""
    what = "a web page"
    if location := headers.get("location", ""):
        # Queries of login pages hold what nobody should read in a log.
        what = f"a redirect to {location.partition('?')[0][:_LOCATION_CHARACTERS]!r}"
    return (
        f"{config.server} answered with {what}, as no Kubernetes API does: check the address in"
        f" {config.source}, and whether a login page or proxy is in the way"
    )


def _before_sending(error: Exception, config: ClusterConfig) -> str | None:
    """What went wrong before the request was sent; None if it may have been sent."""
    server = config.server
    of_tls = tls_error(error)
    if isinstance(of_tls, ssl.SSLCertVerificationError):
        return (
            f"the certificate of {server} is not accepted: {of_tls.verify_message.rstrip('.')};"
            f" {_CERTIFICATE_ADVICE.get(of_tls.verify_code, _AUTHORITY_ADVICE)} {config.source}"
        )
    match error:
        case aiohttp.ConnectionTimeoutError():
            return (
                f"no connection to {server} within {limits.CONNECT_TIMEOUT_SECONDS:.0f} s:"
                " is it reachable from here, and is the address right?"
            )
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            return _proxy_failed(error, config)
        case aiohttp.ClientSSLError():
            return f"TLS with {server} failed: {_reason(error)}; does it speak https?"
        case aiohttp.ClientConnectorDNSError():
            return (
                f"the name in {server} cannot be resolved: {_reason(error)}; is the address of"
                f" {config.source} right, and does this machine reach a name server?"
            )
        case aiohttp.ClientConnectorError():
            return (
                f"{server} accepts no connection: {_reason(error)};"
                f" is it running, and is the address of {config.source} right?"
            )
        case aiohttp.InvalidURL():
            return f"{server} is no usable address"
        case _:
            return None


def _proxy_failed(error: Exception, config: ClusterConfig) -> str:
    return (
        f"the proxy {shown(URL(config.proxy_url))} gives no connection to {config.server}:"
        f" {_reason(error)}; check proxy-url of {config.source}"
    )


def tls_error(error: BaseException) -> ssl.SSLError | None:
    """The error of TLS that ``error`` is or carries, however it is wrapped; None without one."""
    inner = [getattr(error, name, None) for name in ("certificate_error", "os_error")]
    for candidate in (*inner, error, error.__cause__):
        if isinstance(candidate, ssl.SSLError):
            return candidate
    return None


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"it answered {error.status} {error.message}"
    inner = getattr(error, "os_error", None) or error
    if isinstance(inner, ssl.SSLError) and inner.reason:
        return inner.reason.lower().replace("_", " ")
    number = getattr(inner, "errno", None)
    if isinstance(number, int) and not isinstance(inner, socket.gaierror):
        # asyncio writes addresses and several failures at once into strerror.
        return os.strerror(number).lower()
    return str(getattr(inner, "strerror", None) or inner or type(inner).__name__).lower()
