"""Image references: their grammar, their full form, and which of them cannot be pulled. Pure.

The grammar is that of the distribution project, as container runtimes read it. The top-level
domain ``.invalid`` never resolves (RFC 2606), so an image there fails on a real node too.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

import msgspec

from konstat.base import limits

_DOMAIN_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE: Final = re.compile(
    rf"(?:(?P<host>{_HOST})/)??(?P<path>{_PATH_PART}(?:/{_PATH_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)
_BARE_ID: Final = re.compile(r"[a-f0-9]{64}")
_DEFAULT_HOST: Final = "docker.io"


class ImageReference(msgspec.Struct, frozen=True, kw_only=True):
    """A reference with its defaults filled in (docker.io, library/, latest)."""

    host: str
    path: str
    tag: str
    digest: str

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.host}/{self.path}{tag}{f'@{self.digest}' if self.digest else ''}"

    @property
    def unreachable(self) -> bool:
        """Whether the registry's name ends in the reserved domain ``.invalid``."""
        name = self.host.partition(":")[0].lower()
        return name == "invalid" or name.endswith(".invalid")

    @property
    def image_id(self) -> str:
        """An identity as a runtime reports it; without a digest, one made from the name."""
        digest = self.digest or f"sha256:{hashlib.sha256(str(self).encode()).hexdigest()}"
        return f"{self.host}/{self.path}@{digest}"

    @property
    def pull_error(self) -> str:
        """What a runtime says of a registry whose name does not resolve."""
        name = self.host.partition(":")[0]
        url = f"https://{self.host}/v2/{self.path}/manifests/{self.digest or self.tag}"
        return (
            f'failed to pull and unpack image "{self}": failed to resolve reference "{self}": '
            f'failed to do request: Head "{url}": dial tcp: lookup {name}: no such host'
        )


def parse_image(text: str) -> ImageReference:
    """Read an image reference; raises ValueError for what no runtime takes."""
    if len(text) > limits.IMAGE_REFERENCE_CHARACTERS:
        raise ValueError("invalid reference format: it is too long")
    match = None if _BARE_ID.fullmatch(text) else _REFERENCE.fullmatch(text)
    if match is None:
        raise ValueError("invalid reference format")
    host, path = _split_host(match["host"] or "", match["path"])
    if len(host) + len(path) > limits.IMAGE_NAME_CHARACTERS:
        raise ValueError("invalid reference format: the repository name is too long")
    digest = match["digest"] or ""
    tag = match["tag"] or ("" if digest else "latest")
    return ImageReference(host=host, path=path, tag=tag, digest=digest)


def _split_host(host: str, path: str) -> tuple[str, str]:
    """Tell ``team/app`` (a path of docker.io) from ``registry:5000/app``.

    The first part names a registry only if it has a dot, a port or a capital, or is localhost.
    """
    if not host:
        first, slash, rest = path.partition("/")
        if slash and ("." in first or first == "localhost"):
            return first, rest
        return _DEFAULT_HOST, path if slash else f"library/{path}"
    named = any(mark in host for mark in ".:") or host == "localhost" or host != host.lower()
    if not named:
        return _DEFAULT_HOST, f"{host}/{path}"
    return host, path
