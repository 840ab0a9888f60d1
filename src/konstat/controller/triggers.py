"""From changes in the caches to keys in a queue.

A change of the resource itself, of a child, of what explains a child (pods behind a Deployment),
or of a watched object adds the uids of the resources concerned. The key carries no event: the
attempt looks at the world as it is then.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from konstat.cache import Change, Informer
from konstat.controller.controller import Controller, Found, Watch
from konstat.controller.views import CAUSES, Views
from konstat.controller.worker import Worker
from konstat.objects.resource import Resource
from konstat.objects.snapshot import Snapshot

log = logging.getLogger("konstat.controller")


class Triggers:
    """Subscribes one worker's queue to everything that its controller declares."""

    def __init__(self, worker: Worker, views: Views) -> None:
        self._worker = worker
        self._views = views
        self._controller: Controller[Resource[object, object]] = worker.controller  # pyright: ignore[reportInvalidTypeArguments]

    def open(self) -> list[Informer]:
        """Start the informers and subscribe; returns those that attempts must wait for."""
        controller, views = self._controller, self._views
        needed = list(views.open(controller.kind))
        for informer in needed:
            informer.subscribe(self._on_resource, writer=views.writer)
        for owned in controller.owns:
            needed.extend(self._open_owned(owned))
        for owned in controller.optional:
            self._open_owned(owned)
        for watch in controller.watches:
            for informer in views.open(watch.kind.kind):
                informer.subscribe(_Mapping(self, watch).on_change, writer=views.writer)
                needed.append(informer)
        return needed

    def _open_owned(self, owned: type[Resource[object, object]]) -> list[Informer]:  # pyright: ignore[reportInvalidTypeArguments]
        informers: list[Informer] = []
        for cls in (owned, *CAUSES.get((owned.kind.group, owned.kind.kind), ())):
            if self._views.is_open(cls.kind):
                continue
            for informer in self._views.open(cls.kind):
                informer.subscribe(self._on_child, writer=self._views.writer)
                informers.append(informer)
        return informers

    def _on_resource(self, change: Change) -> None:
        if change.new is None:
            if change.old is not None:
                self._worker.forget(change.old.uid)
            return
        self._worker.queue.add(change.new.uid)

    def _on_child(self, change: Change) -> None:
        for snapshot in (change.old, change.new):
            if snapshot is not None and snapshot.controller_uid:
                uid = self._views.resource_uid(self._controller.kind, snapshot)
                if uid:
                    self._worker.queue.add(uid)

    def add_named(self, found: Iterable[Found], namespace: str) -> None:
        """Add the resources that a watch's map function names."""
        for entry in found:
            space, name = (namespace, entry) if isinstance(entry, str) else entry
            for informer in self._views.open(self._controller.kind):
                snapshot = informer.store.get(space, name)
                if snapshot is not None:
                    self._worker.queue.add(snapshot.uid)

    def add_all(self, *, fresh: bool) -> None:
        """Add every resource: the slow resync, or a kind that became readable."""
        for informer in self._views.open(self._controller.kind):
            for snapshot in informer.store.list():
                self._worker.queue.add(snapshot.uid, fresh=fresh)


class _Mapping:
    """One watch: calls the author's map function for both ends of a change."""

    def __init__(self, triggers: Triggers, watch: Watch) -> None:
        self._triggers = triggers
        self._watch = watch

    def on_change(self, change: Change) -> None:
        for snapshot in (change.old, change.new):
            if snapshot is not None:
                self._triggers.add_named(self._names(snapshot), snapshot.namespace)

    def _names(self, snapshot: Snapshot) -> list[Found]:
        try:
            return list(self._watch.map(self._watch.kind.from_json(snapshot.data)))
        except Exception:
            # The author's mistake must not stop the watch of everything else; it is reported
            # with its traceback each time.
            log.exception("the map function of Watch(%s) failed", self._watch.kind.__name__)
            return []
