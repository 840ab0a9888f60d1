"""Sockets, proxies, and the words for what goes wrong with them.

A part of `konstat.client.transport`: connections on one side, failures on the other.
"""

from __future__ import annotations

import importlib
import socket
import ssl
from typing import Any

import aiohttp
from yarl import URL

from konstat.base import limits
from konstat.client.cluster import ClusterConfig
from konstat.errors import ConfigError, TransportError

# Names differ between systems; what is missing there is left at the system's default.
_SOCKET_OPTIONS: tuple[tuple[str, int], ...] = (
    ("TCP_KEEPIDLE", limits.KEEPALIVE_IDLE_SECONDS),
    ("TCP_KEEPALIVE", limits.KEEPALIVE_IDLE_SECONDS),  # macOS
    ("TCP_KEEPINTVL", limits.KEEPALIVE_INTERVAL_SECONDS),
    ("TCP_KEEPCNT", limits.KEEPALIVE_PROBES),
    ("TCP_USER_TIMEOUT", limits.UNACKNOWLEDGED_SECONDS * 1000),
)


def open_connector(
    proxy: URL | None, config: ClusterConfig, *, connections: int
) -> aiohttp.BaseConnector:
    """A pool of at most ``connections``; raises ConfigError for SOCKS without its extra."""
    if proxy is not None and proxy.scheme.startswith("socks"):
        return _socks_connector(proxy, config, connections=connections)
    return aiohttp.TCPConnector(
        limit=connections,
        keepalive_timeout=limits.IDLE_CONNECTION_SECONDS,
        socket_factory=alive_socket,
    )


def alive_socket(address: Any) -> socket.socket:
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
    return made


def _socks_connector(
    proxy: URL, config: ClusterConfig, *, connections: int
) -> aiohttp.BaseConnector:
    try:
        aiohttp_socks = importlib.import_module("aiohttp_socks")
    except ImportError as error:
        raise ConfigError(
            f"{config.source}: proxy-url {shown(proxy)} is a SOCKS proxy, which needs a further"
            " package: install konstat[socks]"
        ) from error
    # The proxy resolves names, for both socks5 and socks5h, as for kubectl.
    return aiohttp_socks.ProxyConnector.from_url(
        str(proxy.with_scheme("socks5")),
        rdns=True,
        limit=connections,
        keepalive_timeout=limits.IDLE_CONNECTION_SECONDS,
    )


def shown(url: URL) -> str:
    """The address without user and password."""
    return str(url.with_user(None)) if url.host else "without a host"


def transport_error(
    error: Exception, config: ClusterConfig, *, timeout_seconds: float | None
) -> TransportError:
    """``error`` of the HTTP library in our words; ``sent`` False when no connection was made."""
    server = config.server
    before = _before_sending(error, config)
    if before is not None:
        return TransportError(before, sent=False)
    if isinstance(error, TimeoutError):
        return TransportError(f"{server} was silent for {timeout_seconds} s")
    detail = str(error) or type(error).__name__
    return TransportError(
        f"the connection to {server} broke before its answer was complete ({detail})"
    )


def _before_sending(error: Exception, config: ClusterConfig) -> str | None:
    """What went wrong before the request was sent; None if it may have been sent."""
    server = config.server
    match error:
        case aiohttp.ConnectionTimeoutError():
            return (
                f"no connection to {server} within {limits.CONNECT_TIMEOUT_SECONDS:.0f} s:"
                " is it reachable from here, and is the address right?"
            )
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            return (
                f"the proxy {_proxy_of(config)} gives no connection to {server}:"
                f" {_reason(error)}; check proxy-url of {config.source}"
            )
        case aiohttp.ClientConnectorCertificateError():
            return (
                f"the certificate of {server} is not accepted: {_verify_message(error)};"
                f" check the certificate authority (or tls-server-name) of {config.source}"
            )
        case aiohttp.ClientSSLError():
            return f"TLS with {server} failed: {_reason(error)}; does it speak https?"
        case aiohttp.ClientConnectorDNSError():
            return f"the name in {server} cannot be resolved: {_reason(error)}"
        case aiohttp.ClientConnectorError():
            return (
                f"{server} accepts no connection: {_reason(error)};"
                f" is it running, and is the address of {config.source} right?"
            )
        case aiohttp.InvalidURL():
            return f"{server} is no usable address"
        case _:
            return None


def _proxy_of(config: ClusterConfig) -> str:
    return shown(URL(config.proxy_url)) if config.proxy_url else "(none)"


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"it answered {error.status} {error.message}"
    inner = getattr(error, "os_error", None) or error
    if isinstance(inner, ssl.SSLError) and inner.reason:
        return inner.reason.lower().replace("_", " ")
    return str(getattr(inner, "strerror", None) or inner or type(inner).__name__).lower()


def _verify_message(error: aiohttp.ClientConnectorCertificateError) -> str:
    inner = error.certificate_error
    return str(getattr(inner, "verify_message", None) or inner)
