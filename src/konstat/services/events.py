"""Kubernetes Events, recorded without ever making an attempt wait or fail (F72).

`Recorder.record` puts an event into a bounded queue; one task posts them to events.k8s.io. An
event that repeats within the series window counts up the stored one instead of adding another.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import OrderedDict
from typing import Any, Literal

import msgspec

from konstat.base import chance, clock, limits
from konstat.client import Client
from konstat.errors import KonstatError, NotFound
from konstat.objects import codec
from konstat.objects.kind import Kind
from konstat.status.outcome import is_namespace_going

log = logging.getLogger("konstat.events")

EVENT = Kind(group="events.k8s.io", version="v1", kind="Event", plural="events")

# The name only has to be new; the object's name keeps it readable (names are ≤ 253).
_NAME_CHARACTERS = 230
_QUALIFIED_CHARACTERS = 63

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

    @property
    def namespace(self) -> str:
        """Where the event is stored: an event about an object at cluster scope is in default."""
        return self.regarding.namespace or "default"

    @property
    def key(self) -> tuple[str, ...]:
        """What two events have in common of which the later repeats the earlier."""
        about = self.regarding
        identity = (about.uid, about.api_version, about.kind, about.namespace, about.name)
        return (*identity, self.type, self.reason, self.action, self.note)


class _Series(msgspec.Struct):
    """An event that is stored, and how often it was seen since."""

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
    """Records events under one reporting controller name.

    ``controller`` is ``plural.group`` of the kind, ``instance`` the host or pod.
    """

    def __init__(self, client: Client, *, controller: str, instance: str) -> None:
        self._client = client
        self._controller = _qualified(controller)
        self._instance = _word(instance, otherwise="unknown")
        self._queue: asyncio.Queue[_Entry] = asyncio.Queue(limits.EVENT_QUEUE)
        self._turn = asyncio.Lock()
        self._series: OrderedDict[tuple[str, ...], _Series] = OrderedDict()
        self._recorded = self._written = self._dropped = 0
        self._told = ""

    def record(
        self,
        regarding: Regarding,
        reason: str,
        note: str,
        *,
        type: EventType = "Normal",
        action: str = "Reconcile",
    ) -> None:
        """Queue one event; a full queue drops it and counts that.

        Never waits and never raises: what the API would not take is cut or reshaped.
        """
        self._recorded += 1
        entry = _Entry(
            regarding=regarding,
            type=type,
            reason=_word(reason, otherwise="Unspecified"),
            action=_word(action, otherwise="Unspecified"),
            note=_note(note),
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
        """Write what is queued now, and wait for what `run` has in hand; for a graceful stop.

        Takes as long as the server does: bound it.
        """
        while not self._queue.empty():
            await self._take()
        await self._queue.join()

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
            # One at a time, so that a repetition finds its series.
            async with self._turn:
                await self._write(entry)
            self._written += 1
            self._told = ""
        except KonstatError as error:
            self._dropped += 1
            self._tell(entry, error)
        finally:
            self._queue.task_done()

    def _tell(self, entry: _Entry, error: KonstatError) -> None:
        """Warn once of a failure that goes on; a server that is away fails every event."""
        kind = type(error).__name__
        # Where a namespace goes, its events need not be told any more.
        known = kind == self._told or isinstance(error, NotFound) or is_namespace_going(error)
        level = logging.DEBUG if known else logging.WARNING
        self._told = kind
        log.log(level, "an event (%s) was not recorded: %s", entry.reason, error)

    async def _write(self, entry: _Entry) -> None:
        series = self._series.get(entry.key)
        present = clock.monotonic()
        if series is not None and present - series.last < limits.EVENT_SERIES_SECONDS:
            series.count += 1
            series.last = present
            self._series.move_to_end(entry.key)
            if await self._count_up(series, entry):
                return
        name = await self._create(entry)
        self._series[entry.key] = _Series(name, 1, present)
        self._series.move_to_end(entry.key)
        while len(self._series) > limits.EVENT_SERIES_KEYS:
            self._series.popitem(last=False)

    async def _create(self, entry: _Entry) -> str:
        name = f"{_name_part(entry.regarding.name)}.{chance.suffix(10)}"
        content: dict[str, Any] = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {"name": name, "namespace": entry.namespace},
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
            "POST",
            EVENT.path(entry.namespace),
            body=codec.encode(content),
            request="record an event",
        )
        return name

    async def _count_up(self, series: _Series, entry: _Entry) -> bool:
        """Whether the stored event could be counted up; False when it has expired.

        Any other refusal is raised: a second event would be one too many.
        """
        patch = {"series": {"count": series.count, "lastObservedTime": entry.time}}
        try:
            await self._client.exchange(
                "PATCH",
                EVENT.path(entry.namespace, series.name),
                body=codec.encode(patch),
                content_type="application/merge-patch+json",
                request="count an event up",
            )
        except NotFound:
            return False
        return True


def _qualified(controller: str) -> str:
    """``plural.group`` as a qualified name, of which the server takes 63 characters unprefixed."""
    plural, dot, group = controller.partition(".")
    if len(controller) <= _QUALIFIED_CHARACTERS or not dot:
        return controller[:_QUALIFIED_CHARACTERS]
    return f"{group}/{plural[:_QUALIFIED_CHARACTERS]}"


def _word(text: str, *, otherwise: str) -> str:
    return _cut(_encodable(text).strip(), limits.EVENT_WORD_BYTES) or otherwise


def _note(text: str) -> str:
    """``text`` within the server's limit; a cut ends in an ellipsis."""
    text = _encodable(text)
    if len(text.encode()) <= limits.EVENT_NOTE_BYTES:
        return text
    return _cut(text, limits.EVENT_NOTE_BYTES - len("…".encode())) + "…"


def _cut(text: str, most_bytes: int) -> str:
    """As much of ``text`` as fits: the server's limits count bytes of UTF-8, not characters."""
    return text.encode()[:most_bytes].decode(errors="ignore")


def _encodable(text: str) -> str:
    """``text`` without lone surrogates, which UTF-8 cannot say (broken input, os.fsdecode)."""
    return text.encode("utf-8", "replace").decode()


def _name_part(name: str) -> str:
    """The regarded object's name as the readable part of the event's own name.

    Names of some kinds are not DNS subdomains (``system:node``), and a cut must not end in a dot.
    """
    readable = re.sub(r"[^a-z0-9.-]", "-", name.lower())[:_NAME_CHARACTERS]
    return re.sub(r"\.[.-]*|-+\.[.-]*", ".", readable).strip(".-") or "event"
