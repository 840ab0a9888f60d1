"""`konstat status --watch`: the same world as `gather` reads, kept current by watches.

Kinds of which only metadata is read are not watched (a watch would bring their content): they are
listed again every `limits.TREE_REREAD_SECONDS`. After: `konstat.cli.status.screen` shows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Never

from konstat.base import clock, limits
from konstat.base.tasks import open_tasks
from konstat.base.waiting import wait_at_most
from konstat.cache import Change, Informer, Informers
from konstat.cli.status.gather import read_children
from konstat.cli.status.plan import Plan
from konstat.cli.status.tree import Content, Gathered, GroupKind
from konstat.client.api import Client
from konstat.errors import TransportError, UserError
from konstat.objects.kind import Kind


async def follow(client: Client, plan: Plan, show: Callable[[Gathered], None]) -> Never:
    """Call ``show`` with the world whenever it has changed, and for the ages now and then."""
    async with open_tasks() as tasks:
        world = World(client, plan, Informers(client, tasks))
        tasks.start(world.reread(), name="list kinds that are not watched")
        await world.wait_read()
        while True:
            world.changed.clear()
            show(world.gathered())
            await wait_at_most(world.changed, timeout_seconds=limits.TREE_AGES_SECONDS)
            # Changes come in bursts: one drawing for all of a burst.
            await clock.sleep(limits.TREE_REDRAW_SECONDS)


class World:
    """The objects of a plan, kept current; `changed` is set whenever one of them has changed."""

    def __init__(self, client: Client, plan: Plan, informers: Informers) -> None:
        self._client = client
        self._plan = plan
        self.changed = asyncio.Event()
        everywhere = not all(kind.namespaced for kind in plan.resources)
        self._namespace = None if everywhere else plan.namespace
        self._resources = {
            kind: informers.informer(kind, namespace=_place(kind, plan.namespace))
            for kind in plan.resources
        }
        self._listed_kinds = [k for k in plan.children if k in plan.metadata_only]
        self._children = {
            kind: informers.informer(kind, namespace=_place(kind, self._namespace))
            for kind in (*plan.children, *plan.looked_up)
            if kind not in plan.metadata_only
        }
        self._listed: Mapping[GroupKind, list[Content]] = {}
        self._unlisted: Mapping[Kind, str] = {}
        self._was_listed = asyncio.Event()
        for informer in self._informers():
            informer.subscribe(self._on_change)

    async def reread(self) -> Never:
        """List what is not watched, again and again."""
        while True:
            try:
                self._listed, self._unlisted = await read_children(
                    self._client, self._listed_kinds, namespace=self._namespace, plan=self._plan
                )
            except* TransportError:  # of one kind, or of several that were asked for at once
                # The informers go on by themselves too; until then it is said.
                self._listed, self._unlisted = {}, dict.fromkeys(self._listed_kinds, "no answer")
            self._was_listed.set()
            self.changed.set()
            await clock.sleep(limits.TREE_REREAD_SECONDS)

    async def wait_read(self) -> None:
        """Wait until every kind was read once, or is known to be unreadable.

        A kind of children that only fails, as behind a broken webhook, is given up after
        `limits.TREE_FAILING_SECONDS`: its objects are missing from the tree, which says so.
        """
        await self._was_listed.wait()
        for informer in self._resources.values():
            while informer.state == "unsynced":
                await informer.wait_changed()
        failing_since: dict[Kind, float] = {}
        while not all(self._is_read(child, failing_since) for child in self._children.values()):
            await clock.sleep(limits.TREE_LOOK_SECONDS)

    def _is_read(self, child: Informer, failing_since: dict[Kind, float]) -> bool:
        """Whether there is nothing to wait for; notes since when the kind fails."""
        if not child.fails:
            failing_since.pop(child.kind, None)
            return child.state != "unsynced"
        since = failing_since.setdefault(child.kind, clock.monotonic())
        return clock.monotonic() - since >= limits.TREE_FAILING_SECONDS

    def require(self) -> None:
        """Raise UserError when the resources that were asked for cannot be watched."""
        for informer in self._resources.values():
            if informer.state in ("forbidden", "not installed"):
                raise UserError(
                    f"{informer.kind.resource} cannot be watched ({informer.state}):"
                    f" {informer.problem}"
                )

    @property
    def problem(self) -> str:
        """Why nothing is heard now of resources that were read before; empty when all is well."""
        return next((i.problem for i in self._resources.values() if i.problem), "")

    def gathered(self) -> Gathered:
        """The world now."""
        objects: dict[GroupKind, list[Content]] = {}
        unread = dict(self._unlisted)
        for kind, informer in self._children.items():
            if informer.state == "synced":
                objects[kind.group, kind.kind] = self._contents(kind, informer)
            elif kind not in self._plan.looked_up:
                unread[kind] = informer.state
        unread |= {k: i.state for k, i in self._resources.items() if i.state != "synced"}
        return Gathered(
            resources=tuple(self._wanted()),
            objects=objects | dict(self._listed),
            unread=unread,
            outdated={
                i.kind: i.problem for i in self._informers() if i.state == "synced" and i.problem
            },
            statusless=self._plan.statusless,
        )

    def _wanted(self) -> Iterable[Content]:
        for informer in self._resources.values():
            if informer.state in ("forbidden", "not installed"):
                continue  # what was read before may long be gone
            for snapshot in informer.store.list():
                if self._plan.name in ("", snapshot.name):
                    yield snapshot.content

    def _contents(self, kind: Kind, informer: Informer) -> list[Content]:
        keep_all = kind in self._plan.looked_up
        return [s.content for s in informer.store.list() if keep_all or s.owner_uids]

    def _informers(self) -> Iterable[Informer]:
        return (*self._resources.values(), *self._children.values())

    def _on_change(self, change: Change) -> None:
        self.changed.set()


def _place(kind: Kind, namespace: str | None) -> str:
    return namespace or "" if kind.namespaced else ""
