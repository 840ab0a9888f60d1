"""TLS contexts from certificates in place or in files, built again when a file changes.

Called by `konstat.client.transport` before each request; a context that is still current costs a
comparison. Connections that exist keep their context, new ones get the new one (F64).
"""

from __future__ import annotations

import binascii
import logging
import os
import ssl
import tempfile
from contextlib import suppress
from datetime import UTC, datetime

from konstat.base import clock, limits
from konstat.client.cluster import ClusterConfig
from konstat.client.files import read_bytes, stamp
from konstat.errors import ConfigError

log = logging.getLogger(__name__)


class KeyPair:
    """A client certificate and its key in PEM; compared by content, shown without it."""

    __slots__ = ("certificate", "key", "source")

    def __init__(self, *, certificate: bytes, key: bytes, source: str) -> None:
        self.certificate = certificate
        self.key = key
        self.source = source

    def same(self, other: KeyPair | None) -> bool:
        return other is not None and self.certificate == other.certificate and self.key == other.key


class TLSContexts:
    """Gives the context for the next connection of one cluster configuration."""

    def __init__(self, config: ClusterConfig) -> None:
        self._config = config
        self._context: ssl.SSLContext | None = None
        self._pair: KeyPair | None = None
        self._stamps: list[object] = []
        self._looked_at = 0.0

    def current(self, plugin_pair: KeyPair | None) -> ssl.SSLContext:
        """The context with the given pair of a plugin, or with the configured certificate.

        Raises ConfigError when a certificate or key cannot be used and there is no earlier one.
        """
        same = plugin_pair is self._pair or (
            plugin_pair is not None and plugin_pair.same(self._pair)
        )
        now = clock.monotonic()
        if self._context is not None and same:
            if now - self._looked_at < limits.CERTIFICATE_REREAD_SECONDS:
                return self._context
            self._looked_at = now
            if not self._changed():
                return self._context
        # Stamps first: a file that changes while it is read is read again next time.
        stamps = self._stamps_now()
        try:
            context = build_context(self._config, plugin_pair)
        except ConfigError as error:
            if self._context is None or not same:
                raise
            # Half of a pair is replaced: the old one serves until both are there.
            log.warning("keeping the last certificates: %s", error)
            return self._context
        self._context, self._pair, self._stamps = context, plugin_pair, stamps
        self._looked_at = now
        return context

    def _changed(self) -> bool:
        return self._stamps_now() != self._stamps

    def expire(self) -> None:
        """Look at the files again at the next request."""
        self._looked_at = float("-inf")

    def _stamps_now(self) -> list[object]:
        config = self._config
        files = (config.ca_file, config.client_certificate_file, config.client_key_file)
        return [stamp(file) if file else None for file in files]


class _NamedContext(ssl.SSLContext):
    """Asks for, and checks, a fixed server name (tls-server-name), whatever the address is.

    Set here and not by the HTTP library, so that it holds behind every kind of proxy.
    """

    server_name: str

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        return super().wrap_bio(incoming, outgoing, server_side, self.server_name, session)


def build_context(config: ClusterConfig, plugin_pair: KeyPair | None) -> ssl.SSLContext:
    """A client context: TLS 1.2 or later, HTTP/1.1, the configured authority and certificate."""
    if config.tls_server_name:
        context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
        context.server_name = config.tls_server_name
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if config.insecure_skip_tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        _load_authority(context, config)
    pair = plugin_pair or configured_pair(config)
    if pair is not None:
        _load_pair(context, pair)
    return context


def _load_authority(context: ssl.SSLContext, config: ClusterConfig) -> None:
    if not config.ca_data and not config.ca_file:
        context.load_default_certs()
        return
    place = "certificate-authority-data" if config.ca_data else config.ca_file
    data = config.ca_data or read_bytes(config.ca_file, what="the certificate authority")
    try:
        context.load_verify_locations(cadata=data.decode("ascii", "ignore"))
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(
            f"{config.source}: the certificate authority ({place}) is not usable:"
            " expected certificates in PEM, beginning with -----BEGIN CERTIFICATE-----"
        ) from error


def configured_pair(config: ClusterConfig) -> KeyPair | None:
    """The client certificate of the configuration, read from its files now."""
    certificate, key = config.client_certificate_data, config.client_key_data
    places: list[str] = []
    if not certificate and config.client_certificate_file:
        certificate = read_bytes(config.client_certificate_file, what="the client certificate")
        places.append(config.client_certificate_file)
    if not key and config.client_key_file:
        key = read_bytes(config.client_key_file, what="the client key")
        places.append(config.client_key_file)
    if not certificate:
        return None
    where = f" ({', '.join(places)})" if places else ""
    return KeyPair(certificate=certificate, key=key, source=f"{config.source}{where}")


def _load_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Load a pair through a private file that exists only meanwhile: ssl takes nothing else."""
    expiry = certificate_expiry(pair.certificate)
    if expiry is not None and expiry <= clock.now():
        raise ConfigError(
            f"the client certificate of {pair.source} expired at {clock.timestamp(expiry)}:"
            " get a new one (and check this machine's clock)"
        )
    descriptor, path = tempfile.mkstemp(prefix="konstat-", suffix=".pem")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pair.certificate + b"\n" + pair.key + b"\n")
        # An empty password refuses an encrypted key, where none would ask on the terminal.
        context.load_cert_chain(path, password="")
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(
            f"the client certificate and key of {pair.source} are not usable: expected a"
            " certificate and its own unencrypted key in PEM"
            f" ({getattr(error, 'reason', None) or 'unreadable'})"
        ) from error
    except OSError as error:
        raise ConfigError(
            f"the client certificate of {pair.source} cannot be loaded through"
            f" {tempfile.gettempdir()}: {error.strerror}"
        ) from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


def certificate_expiry(pem: bytes) -> datetime | None:
    """notAfter of the first certificate in ``pem``; None when it cannot be read.

    ssl shows this only for authorities and peers, so the few fields on the way are stepped over
    here (RFC 5280, 4.1). Judging a broken certificate is left to ssl.
    """
    _, found, rest = pem.partition(b"-----BEGIN CERTIFICATE-----")
    body, ended, _ = rest.partition(b"-----END CERTIFICATE-----")
    if not found or not ended:
        return None
    try:
        der = binascii.a2b_base64(body)
        _, certificate, _ = _der_value(der)
        _, tbs, _ = _der_value(certificate)
        tag, _, after = _der_value(tbs)
        if tag == 0xA0:  # the explicit version; next comes the serial number
            _, _, after = _der_value(after)
        for _ in range(2):  # signature algorithm, issuer
            _, _, after = _der_value(after)
        _, validity, _ = _der_value(after)
        _, _, after = _der_value(validity)  # notBefore
        tag, value, _ = _der_value(after)
        text = value.decode("ascii")
        if tag == 0x17:  # UTCTime: two digits of the year, 50 and more are 19xx
            text = ("19" if int(text[:2]) >= 50 else "20") + text
        return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except (ValueError, IndexError):
        return None


def _der_value(data: bytes) -> tuple[int, bytes, bytes]:
    """Tag and value of the first element, and what follows it; IndexError when cut off."""
    tag, length, start = data[0], data[1], 2
    if length & 0x80:
        count = length & 0x7F
        length = int.from_bytes(data[2 : 2 + count])
        start += count
    if start + length > len(data):
        raise IndexError(length)
    return tag, data[start : start + length], data[start + length :]
