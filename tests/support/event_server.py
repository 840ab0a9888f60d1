"""A server of events that exists only in memory, and breaks when a test asks for it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from konstat.base.transport import Request, Response, Stream
from konstat.errors import TransportError


class EventServer:
    """Takes POST and PATCH of events; ``trouble`` says what goes wrong instead.

    "refuse connections", "hang", or the HTTP status to answer with.
    """

    def __init__(self) -> None:
        self.events: dict[str, dict[str, Any]] = {}
        self.trouble: str | int = ""
        self.requests = 0

    async def send(self, request: Request) -> Response:
        self.requests += 1
        if self.trouble == "refuse connections":
            raise TransportError("connection refused", sent=False)
        if self.trouble == "hang":
            await asyncio.Event().wait()
        if isinstance(self.trouble, int):
            return self._answer(self.trouble, {"kind": "Status", "message": "no"})
        body = json.loads(request.body)
        if request.method == "POST":
            self.events[body["metadata"]["name"]] = body
            return self._answer(201, body)
        event = self.events.get(request.path.rpartition("/")[2])
        if event is None:
            return self._answer(404, {"kind": "Status", "reason": "NotFound", "message": "gone"})
        event |= body
        return self._answer(200, event)

    async def open(self, request: Request) -> Stream:
        raise TransportError("nothing to watch")

    async def close(self) -> None:
        pass

    def _answer(self, status: int, body: dict[str, Any]) -> Response:
        return Response(status=status, headers={}, body=json.dumps(body).encode())

    @property
    def counts(self) -> list[tuple[str, int]]:
        """``(reason, how often)`` of every stored event."""
        return [
            (e["reason"], e["series"]["count"] if "series" in e else 1)
            for e in self.events.values()
        ]
