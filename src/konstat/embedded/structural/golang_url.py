"""URLs as Go's ``net/url`` reads them: for the format ``uri`` and for ``url()`` in CEL rules.

`parse_request_uri` takes what ``url.ParseRequestURI`` takes: an absolute URI, or an absolute path.
Before: `konstat.embedded.structural.addresses`. After: `formats`, `konstat.embedded.cel`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from konstat.embedded.status_errors import quoted
from konstat.embedded.structural.addresses import parse_address

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_PORT: Final = re.compile(r":[0-9]*")
_USER: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})?")
_HOST_REFUSED: Final = re.compile(r"[^A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>\"%\u0080-\U0010ffff]")
_PATH_KEPT: Final = re.compile(r"[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]%]*")
_PATH_ESCAPED: Final = re.compile(rb"[^A-Za-z0-9\-_.~$&+,/:;=@]")


class URLError(ValueError):
    """A text that is no URL; the message is Go's, without the text itself."""


@dataclass(frozen=True, kw_only=True)
class URL:
    """The parts of a URL; ``host`` with its port, ``query`` undecoded."""

    scheme: str
    host: str = ""
    path: str = ""
    query: str = ""

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        host, _ = _host_and_port(self.host)
        return host

    @property
    def port(self) -> str:
        """The port, or an empty text."""
        _, port = _host_and_port(self.host)
        return port

    def values(self) -> dict[str, list[str]]:
        """The parameters of the query; what is malformed is left out."""
        found: dict[str, list[str]] = {}
        for part in self.query.split("&"):
            if not part or ";" in part:
                continue
            name, _, value = part.partition("=")
            try:
                decoded = _unescape(name.replace("+", " ")), _unescape(value.replace("+", " "))
            except URLError:
                continue
            found.setdefault(decoded[0], []).append(decoded[1])
        return found


def parse_request_uri(text: str) -> URL:
    """The parts of an absolute URI or absolute path; raises URLError."""
    if any(character < " " or character == "\x7f" for character in text):
        raise URLError("net/url: invalid control character in URL")
    if not text:
        raise URLError("empty url")
    if text == "*":
        return URL(scheme="", path="*")
    scheme, rest = _split_scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URL(scheme=scheme, query=query)
        raise URLError("invalid URI for request")
    host = ""
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        host, rest = _authority(scheme, authority), slash + path
    return URL(scheme=scheme, host=host, path=_escaped_path(rest), query=query)


def _split_scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise URLError("missing protocol scheme")
    match = _SCHEME.match(text)
    if match and text.startswith(":", match.end()):
        return match[0].lower(), text[match.end() + 1 :]
    return "", text


def _authority(scheme: str, authority: str) -> str:
    user, at, host = authority.rpartition("@")
    found = _host(scheme, host)
    if at:
        if not _USER.fullmatch(user):
            raise URLError("net/url: invalid userinfo")
        _unescape(user)
    return found


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise URLError("invalid IP-literal")
    if bracket == 0:
        return _literal_host(host)
    colon = host.find(":")
    if colon >= 0:
        if scheme not in ("http", "https"):
            colon = host.rfind(":")
        if not _PORT.fullmatch(host[colon:]):
            raise URLError(f"invalid port {quoted(host[colon:])} after host")
    return _unescape_host(host)


def _literal_host(host: str) -> str:
    end = host.rfind("]")
    if end < 0:
        raise URLError("missing ']' in host")
    port = host[end + 1 :]
    if port and not _PORT.fullmatch(port):
        raise URLError(f"invalid port {quoted(port)} after host")
    inner, zone_mark, zone = host[1:end].partition("%25")
    address = parse_address(_unescape_host(inner))
    if address is None:
        raise URLError(f"invalid host: ParseAddr({quoted(inner)}): unable to parse IP")
    if address.version == 4:
        raise URLError("invalid IP-literal")
    return f"[{inner}{'%' if zone_mark else ''}{_unescape(zone)}]{port}"


def _unescape_host(host: str) -> str:
    for match in _ESCAPE.finditer(host):
        if match[1] is None or (int(match[1], 16) < 0x80 and match[1] != "25"):
            raise URLError(f"invalid URL escape {quoted(host[match.start() :][:3])}")
    if refused := _HOST_REFUSED.search(host):
        raise URLError(f"invalid character {quoted(refused[0])} in host name")
    return _unescape(host)


def _unescape(text: str) -> str:
    for match in _ESCAPE.finditer(text):
        if match[1] is None:
            raise URLError(f"invalid URL escape {quoted(text[match.start() :][:3])}")
    raw = re.sub(
        rb"%([0-9A-Fa-f]{2})", lambda match: bytes.fromhex(match[1].decode()), _bytes(text)
    )
    return raw.decode("utf-8", "replace")


def _escaped_path(path: str) -> str:
    """The path as Go's ``EscapedPath`` gives it: as written where that is a valid encoding."""
    decoded = _unescape(path)
    if _PATH_KEPT.fullmatch(path):
        return path
    return _PATH_ESCAPED.sub(lambda match: b"%%%02X" % match[0][0], _bytes(decoded)).decode()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _host_and_port(host: str) -> tuple[str, str]:
    port = ""
    colon = host.rfind(":")
    if colon >= 0 and _PORT.fullmatch(host[colon:]):
        host, port = host[:colon], host[colon + 1 :]
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return host, port
