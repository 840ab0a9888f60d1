"""Kubernetes Events, recorded without ever making an attempt wait or fail (F72).

`Recorder.record` puts an event into a bounded queue; one task posts them to events.k8s.io. An
event that repeats within the series window counts up the stored one instead of adding another.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import Any, Literal

import msgspec

from konstat.base import chance, clock, limits
from konstat.client import Client
from konstat.errors import APIError, KonstatError, NotFound
from konstat.objects import codec
from konstat.objects.kind import Kind

log = logging.getLogger("konstat.events")

EVENT = Kind(group="events.k8s.io", version="v1", kind="Event", plural="events")

EventType = Literal["Normal", "Warning"]


class Regarding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The object that an event is about, as an ObjectReference."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    regarding: Regarding
    type: EventType
    reason: str
    action: str
    note: str
    time: str


class _Series(msgspec.Struct):
    """An event that is stored, and how often it was seen since."""

    namespace: str
    name: str
    count: int
    last: float


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """Counts since the start: ``dropped`` found the queue full or was refused by the server."""

    recorded: int
    written: int
    dropped: int
    waiting: int


class Recorder:
    """Records events under one reporting controller name."""

    def __init__(self, client: Client, *, controller: str, instance: str) -> None:
        self._client = client
        self._controller = controller
        self._instance = instance
        self._queue: asyncio.Queue[_Entry] = asyncio.Queue(limits.EVENT_QUEUE)
        self._series: OrderedDict[tuple[str, str, str, str], _Series] = OrderedDict()
        self._recorded = self._written = self._dropped = 0

    def record(
        self,
        regarding: Regarding,
        reason: str,
        note: str,
        *,
        type: EventType = "Normal",
        action: str = "Reconcile",
    ) -> None:
        """Queue one event; a full queue drops it and counts that."""
        self._recorded += 1
        if len(note) > limits.EVENT_MESSAGE_CHARACTERS:
            note = note[: limits.EVENT_MESSAGE_CHARACTERS - 1] + "…"
        entry = _Entry(
            regarding=regarding,
            type=type,
            reason=reason[:128],
            action=action[:128],
            note=note,
            time=clock.micro_timestamp(clock.now()),
        )
        try:
            self._queue.put_nowait(entry)
        except asyncio.QueueFull:
            self._dropped += 1

    async def run(self) -> None:
        """Write queued events until cancelled; what the server refuses is logged and dropped."""
        while True:
            await self._take()

    async def flush(self) -> None:
        """Write what is queued now; for a graceful stop."""
        while not self._queue.empty():
            await self._take()

    def statistics(self) -> Statistics:
        return Statistics(
            recorded=self._recorded,
            written=self._written,
            dropped=self._dropped,
            waiting=self._queue.qsize(),
        )

    async def _take(self) -> None:
        entry = await self._queue.get()
        try:
            await self._write(entry)
            self._written += 1
        except KonstatError as error:
            self._dropped += 1
            log.warning("an event (%s) was not recorded: %s", entry.reason, error)

    async def _write(self, entry: _Entry) -> None:
        key = (entry.regarding.uid, entry.type, entry.reason, entry.note)
        series = self._series.get(key)
        present = clock.monotonic()
        if series is not None and present - series.last < limits.EVENT_SERIES_SECONDS:
            series.count += 1
            series.last = present
            if await self._count_up(series, entry):
                return
        name = await self._create(entry)
        namespace = entry.regarding.namespace or "default"
        self._series[key] = _Series(namespace, name, 1, present)
        self._series.move_to_end(key)
        while len(self._series) > limits.EVENT_SERIES_KEYS:
            self._series.popitem(last=False)

    async def _create(self, entry: _Entry) -> str:
        namespace = entry.regarding.namespace or "default"
        # The name only has to be new; the object's name keeps it readable (names are ≤ 253).
        name = f"{entry.regarding.name[:230]}.{chance.suffix(10)}"
        content: dict[str, Any] = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": entry.time,
            "type": entry.type,
            "reason": entry.reason,
            "action": entry.action,
            "note": entry.note,
            "regarding": msgspec.to_builtins(entry.regarding),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
        }
        await self._client.exchange(
            "POST", EVENT.path(namespace), body=codec.encode(content), request="record an event"
        )
        return name

    async def _count_up(self, series: _Series, entry: _Entry) -> bool:
        """Whether the stored event could be counted up; False when it has expired."""
        patch = {"series": {"count": series.count, "lastObservedTime": entry.time}}
        try:
            await self._client.exchange(
                "PATCH",
                EVENT.path(series.namespace, series.name),
                body=codec.encode(patch),
                content_type="application/merge-patch+json",
                request="count an event up",
            )
        except NotFound:
            return False
        except APIError as error:
            log.debug("an event series was not counted up: %s", error)
            return False
        return True
