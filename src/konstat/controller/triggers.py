"""From changes in the caches to keys in a queue.

A change of the resource itself, of a child, of what explains a child (pods behind a Deployment),
or of a watched object adds the uids of the resources concerned. The key carries no event: the
attempt looks at the world as it is then.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable

import msgspec

from konstat.base import clock, limits
from konstat.cache import Change, Informer
from konstat.controller.controller import Controller, Found, Watch
from konstat.controller.views import CAUSES, Views
from konstat.controller.worker import Worker
from konstat.objects.resource import Resource
from konstat.objects.snapshot import Snapshot
from konstat.status.condition import usable_message
from konstat.status.outcome import text_of

log = logging.getLogger("konstat.controller")


class Triggers:
    """Subscribes one worker's queue to everything that its controller declares.

    After `open`, ``informers`` are all of them, ``required`` those without which the controller
    cannot do its work, ``own`` those of the resource itself and ``others`` all but them.
    """

    def __init__(self, worker: Worker, views: Views) -> None:
        self.worker = worker
        self._views = views
        self._controller: Controller[Resource[object, object]] = worker.controller  # pyright: ignore[reportInvalidTypeArguments]
        self._children: set[tuple[str, str]] = set()
        self.required: list[Informer] = []
        self.informers: list[Informer] = []
        self.own: list[Informer] = []
        self.others: list[Informer] = []

    def open(self) -> None:
        """Start the informers and subscribe."""
        controller, views = self._controller, self._views
        for informer in views.open(controller.kind):
            follow = functools.partial(self._on_resource, informer)
            informer.subscribe(follow, writer=views.writer)
            self._note(informer, required=True)
        self.own = list(self.informers)
        for owned in controller.owns:
            self._open_child(owned, required=True)
        for owned in controller.optional:
            self._open_child(owned, required=False)
        # What explains why a child is not ready is worth having, no more.
        for owned in (*controller.owns, *controller.optional):
            for cause in CAUSES.get((owned.kind.group, owned.kind.kind), ()):
                self._open_child(cause, required=False)
        for watch in controller.watches:
            for informer in views.open(watch.kind.kind):
                informer.subscribe(_Mapping(self, watch).on_change, writer=views.writer)
                self._note(informer, required=True)
        self.others = [informer for informer in self.informers if informer not in self.own]

    def _open_child(self, owned: type[Resource[object, object]], *, required: bool) -> None:  # pyright: ignore[reportInvalidTypeArguments]
        key = (owned.kind.group, owned.kind.kind)
        if key in self._children:
            return
        self._children.add(key)
        for informer in self._views.open(owned.kind):
            follow = functools.partial(self._on_child, informer)
            informer.subscribe(follow, writer=self._views.writer)
            self._note(informer, required=required)

    def _note(self, informer: Informer, *, required: bool) -> None:
        if informer not in self.informers:
            self.informers.append(informer)
        if required and informer not in self.required:
            self.required.append(informer)

    def _on_resource(self, informer: Informer, change: Change) -> None:
        if change.new is None:
            if change.old is not None:
                self.worker.gone(change.old)
            return
        # What the first list holds is mostly settled: a change must not wait for all of it.
        fresh = informer.state == "synced" or not _is_settled(change.new)
        self.worker.queue.add(change.new.uid, fresh=fresh)

    def _on_child(self, informer: Informer, change: Change) -> None:
        for snapshot in (change.old, change.new):
            if snapshot is not None and snapshot.controller_uid:
                uid = self._views.resource_uid(self._controller.kind, snapshot)
                if uid:
                    self.worker.queue.add(uid, fresh=informer.state == "synced")

    def add_named(self, found: Iterable[Found], namespace: str) -> None:
        """Add the resources that a watch's map function names."""
        if not self._controller.kind.namespaced:
            namespace = ""
        for entry in found:
            space, name = (namespace, entry) if isinstance(entry, str) else entry
            for informer in self._views.open(self._controller.kind):
                snapshot = informer.store.get(space, name)
                if snapshot is not None:
                    self.worker.queue.add(snapshot.uid)

    async def add_all(self) -> None:
        """Add every resource, behind what changes: the slow resync, or a kind became readable."""
        for informer in self._views.open(self._controller.kind):
            for number, uid in enumerate(informer.store.uids(), 1):
                if informer.store.by_uid(uid) is not None:
                    self.worker.queue.add(uid, fresh=False)
                if number % limits.RESYNC_SLICE_KEYS == 0:
                    await clock.sleep(0)


class _Observed(msgspec.Struct, rename="camel"):
    observed_generation: int | None = None


class _Settled(msgspec.Struct):
    status: _Observed | None = None


_settled = msgspec.json.Decoder(_Settled)


def _is_settled(snapshot: Snapshot) -> bool:
    """Whether the status is of the present spec, as far as it says; reads nothing else of it."""
    try:
        status = _settled.decode(snapshot.data).status
    except msgspec.ValidationError:
        return False
    return status is not None and status.observed_generation == snapshot.generation


class _Mapping:
    """One watch: calls the author's map function for both ends of a change."""

    def __init__(self, triggers: Triggers, watch: Watch) -> None:
        self._triggers = triggers
        self._watch = watch
        self._traced_at = -limits.MAP_TRACE_SECONDS

    def on_change(self, change: Change) -> None:
        for snapshot in (change.old, change.new):
            if snapshot is not None:
                self._follow(snapshot)

    def _follow(self, snapshot: Snapshot) -> None:
        try:
            found = self._watch.map(self._watch.kind.from_json(snapshot.data))
            if isinstance(found, str):
                raise TypeError(f"it returned {found!r}: return a list of names")
            self._triggers.add_named(found, snapshot.namespace)
        except KeyboardInterrupt:  # the process is to end
            raise
        except BaseException as error:  # SystemExit too is one map function's alone
            # It must not stop the watch of everything else; it is told each time, and with its
            # traceback once in a while: there may be thousands of objects.
            present = clock.monotonic()
            trace = present - self._traced_at >= limits.MAP_TRACE_SECONDS
            self._traced_at = present if trace else self._traced_at
            kind, text = self._watch.kind.__name__, usable_message(text_of(error))
            log.error(
                "the map function of Watch(%s) failed for %s: %s",
                kind,
                snapshot.ref,
                text,
                exc_info=error if trace else None,
            )
