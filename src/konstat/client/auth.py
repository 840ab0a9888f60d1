"""Credentials: what each request carries, and how they are renewed.

Between `konstat.client.config`, which says what there is, and `konstat.client.transport`, which
asks for a `Credential` before each request and for a renewed one after a 401.

- A static token, or user and password: never changes.
- A token file: read again every `limits.TOKEN_FILE_REREAD_SECONDS`, and at once after a 401.
- A plugin: run when there is nothing, shortly before its answer expires, and after a 401.
- Client certificates of the configuration are looked after by `konstat.client.tls`.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from datetime import datetime, timedelta
from urllib.parse import quote

from konstat.base import clock, limits
from konstat.client.cluster import ClusterConfig, Impersonation
from konstat.client.execplugin import ExecCredential, run_plugin
from konstat.client.files import read_text
from konstat.client.tls import KeyPair
from konstat.errors import ConfigError

log = logging.getLogger(__name__)


class Credential:
    """What a request carries: headers, and perhaps a client certificate that a plugin gave.

    Compared by identity: a 401 concerns the credential that the request carried.
    """

    __slots__ = ("headers", "pair")

    def __init__(
        self, headers: tuple[tuple[str, str], ...] = (), *, pair: KeyPair | None = None
    ) -> None:
        self.headers = headers
        self.pair = pair

    def __repr__(self) -> str:
        return f"Credential({', '.join(name for name, _ in self.headers)})"


class Login:
    """Gives the current credential of one configuration.

    ``current`` is cheap while nothing has to be renewed; renewals happen one at a time, and those
    who waited for one use its result.
    """

    def __init__(self, config: ClusterConfig) -> None:
        self._config = config
        self._fixed = impersonation_headers(config.impersonation)
        self._lock = asyncio.Lock()
        self._credential: Credential | None = None
        self._fresh_until = float("inf")  # of the monotonic clock
        self._expires: datetime | None = None
        self._expired: datetime | None = None  # when the plugin's answer was too old already
        self._token = config.token

    def fresh(self) -> Credential | None:
        """The credential if it needs no renewal now; the way of nearly every request."""
        if self._credential is None or clock.monotonic() >= self._fresh_until:
            return None
        if self._expires is not None and clock.now() >= self._expires:
            return None
        return self._credential

    async def current(self) -> Credential:
        """The credential, renewed first if it is due; raises ConfigError when that fails."""
        credential = self.fresh()
        if credential is not None:
            return credential
        async with self._lock:
            return self.fresh() or await self._renew()

    async def renewed(self, refused: Credential) -> Credential | None:
        """A credential after the server refused ``refused``; None when there is no other."""
        config = self._config
        if not config.token_file and (config.exec is None or config.token):
            return None
        async with self._lock:
            if self._credential is not refused and self._credential is not None:
                return self._credential
            credential = await self._renew()
        return None if _alike(credential, refused) else credential

    def advice(self) -> str:
        """What to do when the server refuses the credential; shows no secret."""
        config = self._config
        if config.token_file:
            what = f"the token in {config.token_file!r}"
        elif config.token:
            what = "the token"
        elif config.exec is not None:
            what = f"the answer of the credentials plugin {config.exec.command!r}"
        elif config.username or config.password:
            what = "the user and password"
        elif config.client_certificate_data or config.client_certificate_file:
            what = "the client certificate"
        else:
            return f"{config.source} holds no credentials: add them, or use another context"
        place = (
            f"context {config.context!r} of {config.source}" if config.context else config.source
        )
        if self._expired is not None:
            when = clock.timestamp(self._expired)
            what += f", expired since {when} by this machine's clock,"
        return f"{what} is not accepted: log in again, and check that {place} is meant"

    async def _renew(self) -> Credential:
        config = self._config
        if config.token_file:
            self._token = self._read_token_file()
            self._fresh_until = clock.monotonic() + limits.TOKEN_FILE_REREAD_SECONDS
            credential = Credential((*bearer(self._token), *self._fixed))
        elif config.token:
            credential = Credential((*bearer(config.token), *self._fixed))
        elif config.exec is not None:
            answer = await run_plugin(config.exec, config)
            self._expires = _renewal_time(answer)
            late = answer.expires is not None and answer.expires <= clock.now()
            self._expired = answer.expires if late else None
            credential = self._from_plugin(answer)
        elif config.username or config.password:
            credential = Credential((*basic(config.username, config.password), *self._fixed))
        else:
            credential = Credential(self._fixed)
        if self._credential is None or not _alike(credential, self._credential):
            self._credential = credential
        return self._credential

    def _from_plugin(self, answer: ExecCredential) -> Credential:
        assert self._config.exec is not None
        pair = None
        if answer.certificate:
            source = f"the credentials plugin {self._config.exec.command!r}"
            pair = KeyPair(certificate=answer.certificate, key=answer.key, source=source)
        headers = bearer(answer.token) if answer.token else ()
        return Credential((*headers, *self._fixed), pair=pair)

    def _read_token_file(self) -> str:
        """The token; the last good one while the file is being replaced (F63)."""
        path = self._config.token_file
        try:
            token = read_text(path, what="the token").strip()
            if not token:
                raise ConfigError(f"the token file {path!r} is empty: expected a bearer token")
            if not token.isprintable() or not token.isascii():
                raise ConfigError(f"the token file {path!r} holds more than one line of text")
        except ConfigError as error:
            if not self._token:
                raise
            log.warning("keeping the last token: %s", error)
            return self._token
        return token


def _alike(one: Credential, other: Credential) -> bool:
    if one.headers != other.headers:
        return False
    return one.pair is other.pair or (one.pair is not None and one.pair.same(other.pair))


def _renewal_time(answer: ExecCredential) -> datetime | None:
    """A little before the expiry; a short-lived credential is used for most of its life."""
    if answer.expires is None:
        return None
    life = (answer.expires - clock.now()).total_seconds()
    early = min(limits.EXEC_PLUGIN_EARLY_SECONDS, max(life, 0.0) / 10)
    return answer.expires - timedelta(seconds=early)


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """The header of a bearer token."""
    return (("Authorization", f"Bearer {token}"),)


def basic(username: str, password: str) -> tuple[tuple[str, str], ...]:
    """The header of user and password."""
    text = base64.b64encode(f"{username}:{password}".encode()).decode()
    return (("Authorization", f"Basic {text}"),)


def impersonation_headers(who: Impersonation | None) -> tuple[tuple[str, str], ...]:
    """The headers that make requests act as somebody else; keys of extra are escaped."""
    if who is None:
        return ()
    headers = [("Impersonate-User", who.user)]
    headers += [("Impersonate-Group", group) for group in who.groups]
    if who.uid:
        headers.append(("Impersonate-Uid", who.uid))
    for key, values in who.extra:
        name = f"Impersonate-Extra-{quote(key, safe='')}"
        headers += [(name, value) for value in values]
    return tuple(headers)
