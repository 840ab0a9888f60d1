"""`Informers`: one informer per kind and namespace, shared by everything in the program.

Before it: `konstat.cache.informer`. After it: `konstat.controller`, which subscribes and reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from konstat.base.tasks import Tasks
from konstat.cache.informer import Informer, InformerStatistics
from konstat.client.plain import PlainClient
from konstat.objects.kind import Kind


class Informers:
    """Makes informers on first use and runs them in ``tasks``; they end with it.

    An informer that fails, which only a subscriber's mistake can make it do, ends ``tasks``.
    """

    def __init__(self, client: PlainClient, tasks: Tasks) -> None:
        self._client = client
        self._tasks = tasks
        self._informers: dict[tuple[Kind, str], Informer] = {}

    def informer(self, kind: Kind, *, namespace: str = "") -> Informer:
        """The informer of ``kind`` in ``namespace`` or (empty) in all; starts it if needed."""
        place = namespace if kind.namespaced else ""
        informer = self._informers.get((kind, place))
        if informer is None:
            informer = Informer(self._client, kind, namespace=place)
            self._informers[kind, place] = informer
            name = f"informer {kind.resource}{f' in {place}' if place else ''}"
            self._tasks.start(informer.run(), name=name)
        return informer

    def statistics(self) -> tuple[InformerStatistics, ...]:
        """The numbers of every informer, in the order of their start."""
        return tuple(informer.statistics() for informer in self)

    def __iter__(self) -> Iterator[Informer]:
        return iter(tuple(self._informers.values()))

    def __len__(self) -> int:
        return len(self._informers)
