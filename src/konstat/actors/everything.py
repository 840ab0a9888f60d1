"""`Everything`: an informer for each kind that the server serves, new ones as they come.

The garbage collector and the namespace actor share it. A kind is learnt when its definition is
established, and again from time to time for servers that are joined in. Before:
`konstat.client.discovery`, `konstat.actors.world`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Final, Never

from konstat.actors import content
from konstat.actors.world import World
from konstat.base import limits
from konstat.base.waiting import wait_at_most
from konstat.cache.informer import Informer
from konstat.cache.store import Change
from konstat.client.discovery import Discovery, ServedKind
from konstat.errors import APIError, TransportError
from konstat.kinds import CustomResourceDefinition
from konstat.objects.kind import Kind
from konstat.objects.snapshot import Snapshot

log = logging.getLogger("konstat.actors")

OnAny = Callable[[Kind, Change], None]

# Nobody owns events, they own nothing, and there are many.
IGNORED: Final = frozenset({("", "Event"), ("events.k8s.io", "Event")})
_NEEDED: Final = frozenset({"list", "watch", "delete"})


class Everything:
    """Follows all kinds that can be listed, watched and deleted, one version of each."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._discovery = Discovery(world.client)
        self._kinds: dict[tuple[str, str], Kind] = {}
        self._served: dict[tuple[str, str], ServedKind] = {}
        self._listeners: list[OnAny] = []
        self._look = asyncio.Event()
        self.known = asyncio.Event()
        self.problem = ""

    def listen(self, on_any: OnAny) -> None:
        """Hear of every change of every kind, those of kinds to come included."""
        self._listeners.append(on_any)
        for kind in self._kinds.values():
            self._subscribe(kind, on_any)

    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that are followed and still served."""
        return tuple(kind for key, kind in self._kinds.items() if key in self._served)

    @property
    def unavailable(self) -> tuple[str, ...]:
        """Groups whose own server did not answer."""
        return self._discovery.unavailable

    def served(self, group: str, kind: str) -> Kind | None:
        """The kind of that name, followed or not; None when it is not served."""
        found = self._served.get((group, kind))
        return None if found is None else found.kind

    def synced(self) -> bool:
        """Whether every kind can be read; one that may not be read does not count."""
        return self.known.is_set() and all(i.state != "unsynced" for i in self.informers())

    def informers(self) -> Iterator[Informer]:
        for kind in self.kinds():
            yield self._world.informer(kind)

    def by_uid(self, uid: str) -> Snapshot | None:
        """The object with that uid, of any kind."""
        for informer in self.informers():
            found = informer.store.by_uid(uid)
            if found is not None:
                return found
        return None

    def dependents(self, uid: str) -> list[Snapshot]:
        """The objects that name ``uid`` among their owners."""
        return [found for one in self.informers() for found in one.store.by_owner(uid)]

    def look_again(self) -> None:
        """Ask at once which kinds there are."""
        self._look.set()

    async def run(self) -> Never:
        """Learn kinds until cancelled."""
        definitions = self._world.informer(CustomResourceDefinition.kind)
        end = definitions.subscribe(self._on_definition)
        try:
            while True:
                self._look.clear()
                seconds = limits.ACTOR_DISCOVERY_SECONDS
                try:
                    await self._learn()
                except (APIError, TransportError) as error:
                    log.warning("what kinds there are is not known: %s", error)
                    seconds = 1.0
                await wait_at_most(self._look, timeout_seconds=seconds)
        finally:
            end()

    def _on_definition(self, change: Change) -> None:
        if change.old is None or change.new is None:
            self._look.set()
            return
        versions = [
            (content.spec(s.content).get("versions"), content.is_true(s.content, "Established"))
            for s in (change.old, change.new)
        ]
        if versions[0] != versions[1]:
            self._look.set()

    async def _learn(self) -> None:
        await self._discovery.refresh()
        served: dict[tuple[str, str], ServedKind] = {}
        for one in await self._discovery.kinds():
            served.setdefault((one.kind.group, one.kind.kind), one)
        self._served = served
        versions = {one.kind for one in await self._discovery.kinds()}
        for key, one in served.items():
            if key in IGNORED or not set(one.verbs) >= _NEEDED:
                continue
            # One version of each kind will do, as long as it is served.
            followed = self._kinds.get(key) in versions
            if not followed and len(self._kinds) < limits.ACTOR_KINDS:
                self._kinds[key] = one.kind
                for listener in self._listeners:
                    self._subscribe(one.kind, listener)
        self.known.set()

    def _subscribe(self, kind: Kind, on_any: OnAny) -> None:
        self._world.informer(kind).subscribe(lambda change: on_any(kind, change))
