"""Reads the small files that hold configuration and credentials, with errors that say which.

Used by `konstat.client.config`, `konstat.client.kubeconfig`, `konstat.client.auth` and
`konstat.client.tls`; contents never appear in messages.
"""

from __future__ import annotations

import os

from konstat.base import limits
from konstat.errors import ConfigError


def read_bytes(path: str | os.PathLike[str], *, what: str) -> bytes:
    """The file's content; raises ConfigError when it cannot be read or is too large."""
    try:
        with open(path, "rb") as file:
            data = file.read(limits.CREDENTIAL_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(
            f"cannot read {what} from {os.fspath(path)!r}: {reason.lower()};"
            " correct the path or the permissions"
        ) from error
    if len(data) > limits.CREDENTIAL_FILE_BYTES:
        raise ConfigError(
            f"{os.fspath(path)!r} ({what}) is larger than {limits.CREDENTIAL_FILE_BYTES} bytes:"
            " is it the right file?"
        )
    return data


def read_text(path: str | os.PathLike[str], *, what: str) -> str:
    """The file's text; raises ConfigError when it cannot be read or is not UTF-8."""
    try:
        return read_bytes(path, what=what).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{os.fspath(path)!r} ({what}) is not UTF-8 text (byte {error.start}):"
            " is it the right file?"
        ) from error


def stamp(path: str) -> tuple[int, int, int] | None:
    """What changes when the file is replaced or rewritten; None while it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)
