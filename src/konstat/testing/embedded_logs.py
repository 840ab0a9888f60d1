"""Answers ``kubectl logs`` on an embedded API: from the node actor that runs the containers.

The API's core knows no nodes and never waits; it asks `PodLogs` for the whole text. So a log
cannot be followed here, and that is said. Before: `konstat.nodes` keeps the logs. After:
`konstat.testing.embedded_plane` puts it in place.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from konstat.embedded import status_errors as errors
from konstat.embedded.routes import Query
from konstat.errors import UserError
from konstat.nodes import LogQuery, NodeActor

T = TypeVar("T")

_NOT_HERE: Final = {
    "follow": "following logs: ask again, or start the API with --logs",
    "sinceTime": "logs since a moment: use sinceSeconds (kubectl logs --since)",
    "stream": "one stream of a log: all of them are together",
}


class PodLogs:
    """The ``log`` subresource of pods that ``actor`` plays."""

    def __init__(self, actor: NodeActor) -> None:
        self._actor = actor

    def __call__(self, namespace: str, pod: str, query: Query) -> bytes:
        """The log as text; a StatusError where there is none, or for what is not done here."""
        for name, what in _NOT_HERE.items():
            if query.flag(name) and query.get(name) != "All":
                raise errors.not_implemented(what)
        wanted = LogQuery(
            container=query.get("container"),
            previous=query.flag("previous"),
            timestamps=query.flag("timestamps"),
            tail_lines=_number(query, "tailLines", least=0),
            since_seconds=_number(query, "sinceSeconds", least=1),
            limit_bytes=_number(query, "limitBytes", least=1),
        )
        try:
            return _at_once(self._read(pod, wanted, namespace))
        except UserError as error:
            raise errors.bad_request(str(error)) from error

    async def _read(self, pod: str, wanted: LogQuery, namespace: str) -> bytes:
        pieces = self._actor.logs(pod, wanted, namespace=namespace)
        return b"".join([piece async for piece in pieces])


def _number(query: Query, name: str, *, least: int) -> int | None:
    if not query.has(name):
        return None
    number = query.number(name)
    if number < least:
        raise errors.bad_request(f"{name} is {number}: give {least} or more")
    return number


def _at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of work that never waits: a log that is not followed is read from files."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise AssertionError("a log that is not followed was waited for")
