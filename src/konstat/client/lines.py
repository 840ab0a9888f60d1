"""Cuts a byte stream into lines, whatever the chunks.

`konstat.client.watch` feeds it the chunks of a watch; each line that comes out is one event.
The HTTP library's own line reader is not used, because it refuses lines above its buffer size.
"""

from __future__ import annotations

from konstat.base import limits
from konstat.errors import TransportError


class LineSplitter:
    """Collects chunks and gives back the lines that are complete.

    A line longer than ``line_bytes`` raises TransportError (F5); what follows the last line break
    is kept for the next chunk and is lost when the stream ends there (F4).
    """

    __slots__ = ("_line_bytes", "_rest", "_rest_bytes")

    def __init__(self, *, line_bytes: int = limits.WATCH_LINE_BYTES) -> None:
        self._line_bytes = line_bytes
        # Pieces of the unfinished line: joining once keeps a line of many chunks linear.
        self._rest: list[bytes] = []
        self._rest_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that ``chunk`` completes, without line breaks; blank lines are left out."""
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        lines = chunk.split(b"\n")
        if self._rest:
            self._rest.append(lines[0])
            lines[0] = b"".join(self._rest)
            self._rest.clear()
            self._rest_bytes = 0
        last = lines.pop()
        for line in lines:
            if len(line) > self._line_bytes:
                self._refuse(len(line))
        if last:
            self._keep(last)
        return [line for line in lines if line and not line.isspace()]

    def _keep(self, piece: bytes) -> None:
        self._rest_bytes += len(piece)
        if self._rest_bytes > self._line_bytes:
            self._refuse(self._rest_bytes)
        self._rest.append(piece)

    def _refuse(self, length: int) -> None:
        self._rest.clear()
        self._rest_bytes = 0
        raise TransportError(
            f"the server sent a line of at least {length} bytes in a stream of events, and"
            f" {self._line_bytes} are accepted: no object can be that large, so something between"
            " us and the server breaks the stream"
        )
