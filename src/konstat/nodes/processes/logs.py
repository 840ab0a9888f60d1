"""`RunLog`: what one run of a container has said, in two bounded files.

Stored lines are ``<time> <F or P> <text>``: F for a whole line, P for a piece of one. When a file
is full it takes the place of the older one, so the last `limits.CONTAINER_LOG_BYTES` are there.
Before: `konstat.nodes.processes.life`, which appends. After: `konstat.nodes.actor.NodeActor.logs`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from konstat.base import clock, limits
from konstat.nodes.acting import LogQuery

Line = tuple[bytes, bool, bytes]
"""Time, whether the line ends here, text."""


class RunLog:
    """The log of one run.

    ``heard`` gets every line as it comes. Not for several writers.
    """

    def __init__(
        self,
        path: Path,
        *,
        file_bytes: int = limits.CONTAINER_LOG_BYTES,
        heard: Callable[[bytes], None] | None = None,
    ) -> None:
        self.path = path
        self._file_bytes = file_bytes
        self._heard = heard
        self._rest = b""
        self._turns = 0
        self._size = 0
        self._closed = False
        self._news = asyncio.Event()
        self._file: BinaryIO = path.open("wb", buffering=0)

    @property
    def older(self) -> Path:
        """The file that was full."""
        return self.path.with_suffix(".older")

    def append(self, data: bytes) -> None:
        """Store output as it comes; an unfinished line waits for its end."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            *pieces, last = _pieces(line)
            for piece in pieces:
                self._store(piece, whole=False)
            self._store(last, whole=True)
        *pieces, self._rest = _pieces(self._rest)
        for piece in pieces:
            self._store(piece, whole=False)
        self._tell()

    def close(self) -> None:
        """Store what waits; readers that follow come to their end."""
        if self._closed:
            return
        if self._rest:
            self._store(self._rest, whole=False)
            self._rest = b""
        self._closed = True
        self._file.close()
        self._tell()

    def tail(self, *, lines: int, bytes: int) -> str:
        """The end of the log as text."""
        kept = deque(self._stored(), maxlen=lines)
        text = b"".join(_shown(line) for line in kept)
        return text[-bytes:].decode(errors="replace")

    async def read(self, query: LogQuery) -> AsyncIterator[bytes]:
        """The lines that a query wants, and with ``follow`` those to come, in pieces."""
        left = query.limit_bytes
        async for line in self._wanted(query):
            piece = _shown(line, timestamps=query.timestamps)
            if left is not None:
                piece = piece[:left]
                left -= len(piece)
            if piece:
                yield piece
            if left == 0:
                return

    # --- parts --------------------------------------------------------------------------------

    async def _wanted(self, query: LogQuery) -> AsyncIterator[Line]:
        turns, file = self._turns, self._open()
        try:
            for line in self._present(query, file):
                yield line
            while query.follow:
                # Nothing is awaited between this look and the wait, so no news is missed.
                lines = list(_parse(file.read()))
                for line in lines:
                    yield line
                if lines:
                    continue
                if turns != self._turns:
                    # The file that was read to its end has made room for another.
                    file.close()
                    turns, file = self._turns, self._open()
                elif self._closed:
                    return
                else:
                    await self._news.wait()
        finally:
            file.close()

    def _open(self) -> BinaryIO:
        return self.path.open("rb")

    def _present(self, query: LogQuery, file: BinaryIO) -> Iterable[Line]:
        """What is stored already; the file is read to its end."""
        first = _earliest(query)
        before = self.older.read_bytes() if self.older.exists() else b""
        lines = (*_parse(before), *_parse(file.read()))
        if first is not None:
            lines = tuple(line for line in lines if line[0] >= first)
        return lines if query.tail_lines is None else deque(lines, maxlen=query.tail_lines)

    def _store(self, text: bytes, *, whole: bool) -> None:
        moment = clock.micro_timestamp(clock.now()).encode()
        line = b"%b %b %b\n" % (moment, b"F" if whole else b"P", text)
        if self._size and self._size + len(line) > self._file_bytes:
            self._turn()
        self._file.write(line)
        self._size += len(line)
        if self._heard is not None:
            self._heard(text)

    def _turn(self) -> None:
        self._file.close()
        self.path.replace(self.older)
        self._file = self.path.open("wb", buffering=0)
        self._size = 0
        self._turns += 1

    def _tell(self) -> None:
        # Every waiting reader wakes, and each looks at its own place.
        self._news.set()
        self._news = asyncio.Event()

    def _stored(self) -> Iterator[Line]:
        for path in (self.older, self.path):
            if path.exists():
                yield from _parse(path.read_bytes())


def _pieces(line: bytes) -> list[bytes]:
    """A line in pieces of bounded length; at least one, which may be empty."""
    most = limits.CONTAINER_LOG_LINE_BYTES
    return [line[i : i + most] for i in range(0, len(line), most)] or [b""]


def _parse(data: bytes) -> Iterator[Line]:
    # Each line is written by one call, so only whole ones are seen.
    for line in data.split(b"\n"):
        moment, _, rest = line.partition(b" ")
        mark, _, text = rest.partition(b" ")
        if mark:
            yield moment, mark == b"F", text


def _shown(line: Line, *, timestamps: bool = False) -> bytes:
    moment, whole, text = line
    return (moment + b" " if timestamps else b"") + text + (b"\n" if whole else b"")


def _earliest(query: LogQuery) -> bytes | None:
    """The stored form of the first moment that a query wants; stored times sort as text."""
    if query.since_seconds is None:
        return None
    first: datetime = clock.now() - timedelta(seconds=query.since_seconds)
    return clock.micro_timestamp(first).encode()
