"""Reading many objects: snapshots at a revision, pages, continue tokens (C73 to C81).

`Lister.page` gives the objects of one page and the list's metadata; `konstat.embedded.server`
puts them into the form that the client asked for. A read of a revision that the server has not
reached raises `Ahead`: the shell waits for it (C81).
"""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_left
from typing import Any, Final, NamedTuple

from konstat.embedded import gojson, gotext
from konstat.embedded import status_errors as errors
from konstat.embedded.options import ListOptions
from konstat.embedded.registry import Object, ResourceType
from konstat.embedded.selectors import Selection
from konstat.embedded.state import State
from konstat.embedded.status_errors import StatusError
from konstat.embedded.storage import Compacted

_TOKEN_VERSION: Final = "meta.k8s.io/v1"
_LATEST: Final = -1
_GONE: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start"
    " a new list without the continue parameter, or use the continue token in this response to"
    " retrieve the remainder of the results. Continuing with the provided token results in an"
    " inconsistent list - objects that were created, modified, or deleted between the time the"
    " first chunk was returned and now may show up in the list."
)
_TOO_OLD: Final = "The resourceVersion for the provided list is too old."


class Ahead(Exception):
    """A read of a revision that is yet to come."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"revision {revision} is yet to come")
        self.revision = revision


class Page(NamedTuple):
    """Objects in order, and the metadata of their list."""

    objects: list[Object]
    metadata: dict[str, Any]


class _Token(NamedTuple):
    revision: int
    start: str


def too_large_version(revision: int, current: int) -> StatusError:
    """504: what a read of a revision that did not come is told."""
    return StatusError(
        f"Timeout: Too large resource version: {revision}, current: {current}",
        code=504,
        reason="Timeout",
        details={
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ]
        },
        retry_after_seconds=1,
    )


def parse_version(text: str) -> int:
    """A resourceVersion as a number, 0 without one; raises ValueError with the server's text."""
    if not text:
        return 0
    if not text.isascii() or not text.isdigit():
        quoted = errors.quoted(text)
        raise ValueError(
            f"resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}:"
            " invalid syntax"
        )
    return int(text)


class Lister:
    """Reads pages of one state."""

    def __init__(self, state: State) -> None:
        self._state = state

    def page(
        self, kind: ResourceType, namespace: str, options: ListOptions, selection: Selection
    ) -> Page:
        """One page; raises Ahead, and the server's 400 and 410."""
        storage = self._state.storage
        token = self._token(options)
        revision = self._revision(options, token)
        try:
            entries = storage.scan_at(kind.storage_name, revision, namespace)
        except Compacted as error:
            raise self._expired(token) from error
        begin = 0
        if token is not None:
            keys = [_place(key.text, namespace) for key, _ in entries]
            begin = bisect_left(keys, token.start)
        objects: list[Object] = []
        rest = 0
        last = ""
        for position in range(begin, len(entries)):
            key, stored = entries[position]
            view = self._state.view(kind, stored)
            if not selection.matches(view):
                continue
            if options.limit > 0 and len(objects) == options.limit:
                rest = len(entries) - position
                break
            objects.append(view)
            last = _place(key.text, namespace)
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        if rest:
            metadata["continue"] = _write_token(revision, f"{last}\0")
            if selection.empty:
                metadata["remainingItemCount"] = rest
        elif kind.custom:
            metadata["continue"] = ""
        return Page(objects, metadata)

    def _token(self, options: ListOptions) -> _Token | None:
        if not options.token:
            return None
        token = _read_token(options.token)
        if options.resource_version not in ("", "0"):
            problem = "specifying resource version is not allowed when using continue"
            raise errors.bad_request(problem)
        return token

    def _revision(self, options: ListOptions, token: _Token | None) -> int:
        current = self._state.storage.revision
        if token is not None:
            return current if token.revision == _LATEST else token.revision
        try:
            asked = parse_version(options.resource_version)
        except ValueError as error:
            raise errors.bad_request(f"invalid resource version: {error}") from error
        if asked > current:
            raise Ahead(asked)
        # A page at an exact revision is what a limit with a resourceVersion has always meant.
        exact = options.match == "Exact" or (options.limit > 0 and asked > 0 and not options.match)
        return asked if exact else current

    def _expired(self, token: _Token | None) -> StatusError:
        if token is None:
            return errors.expired(_TOO_OLD)
        error = errors.expired(_GONE)
        error.list_metadata = {"continue": _write_token(_LATEST, token.start)}
        return error


def _place(text: str, namespace: str) -> str:
    """The key as a token tells it: after the prefix of the list."""
    return f"/{text.partition('/')[2]}" if namespace else f"/{text}"


def _write_token(revision: int, start: str) -> str:
    content = json.dumps(
        {"v": _TOKEN_VERSION, "rv": revision, "start": start}, separators=(",", ":")
    )
    return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")


def _read_token(text: str) -> _Token:
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        problem = f"illegal base64 data at input byte {len(text) - len(text) % 4}"
        raise _bad_token(problem) from error
    try:
        content = gojson.decode(data)
    except gojson.JSONTextError as error:
        raise _bad_token(str(error)) from error
    if not isinstance(content, dict):
        kind = gotext.json_type(content)
        problem = f"json: cannot unmarshal {kind} into Go value of type storage.continueToken"
        raise _bad_token(problem)
    version, revision, start = content.get("v"), content.get("rv", 0), content.get("start", "")
    if version != _TOKEN_VERSION:
        raise _bad_token(f"server does not recognize this encoded version {version or ''}")
    if not isinstance(revision, int) or not isinstance(start, str) or revision == 0:
        raise _bad_token(f"incorrect encoded start resourceVersion (version {version})")
    if not start:
        raise _bad_token(f"encoded start key empty (version {version})")
    if not start.startswith("/"):
        raise _bad_token(start)
    return _Token(revision, start)


def _bad_token(problem: str) -> StatusError:
    return errors.bad_request(f"invalid continue token: continue key is not valid: {problem}")
