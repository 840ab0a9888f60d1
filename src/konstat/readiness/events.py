"""What Events add to a verdict: the words of a kubelet or a controller, while they are fresh.

Events are the last source that a rule asks, where an object's own status does not say why. They
expire, so their absence proves nothing, and they can only make a verdict worse or clearer. Of many
fresh ones the same is picked at each look: the choice goes by text, not by time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from konstat.base import limits
from konstat.readiness import reading
from konstat.readiness.verdict import Evidence

_TIMES: Final = (
    ("series", "lastObservedTime"),
    ("lastTimestamp",),
    ("deprecatedLastTimestamp",),
    ("eventTime",),
    ("metadata", "creationTimestamp"),
)
_FIRST_TIMES: Final = (
    ("firstTimestamp",),
    ("deprecatedFirstTimestamp",),
    ("eventTime",),
    ("metadata", "creationTimestamp"),
)


class Told(NamedTuple):
    """One Event of either group: ``field`` is the part of its subject that it is about."""

    reason: str
    message: str
    field: str
    first: datetime | None
    last: datetime | None

    @property
    def evidence(self) -> Evidence:
        return Evidence("Event: reason", self.reason)


class Telling(NamedTuple):
    """Fresh events of one matter; never empty. ``until`` is when that may change.

    ``is_lasting`` says that they have been told for longer than things take to settle.
    """

    told: tuple[Told, ...]
    is_lasting: bool
    until: datetime | None

    def first_by_text(self, *, last_resort: str = "") -> Told:
        """The event to cite; one that begins with ``last_resort`` only for want of others."""
        return min(
            self.told,
            key=lambda e: (bool(last_resort) and e.message.startswith(last_resort), _order(e)),
        )


def read(events: Iterable[Mapping[str, Any]], reasons: Collection[str]) -> list[Told]:
    """The events with one of ``reasons``."""
    return [
        Told(
            reading.text(entry.get("reason")),
            reading.text(entry.get("message")) or reading.text(entry.get("note")),
            reading.text(reading.at(_subject(entry), "fieldPath")),
            _time(entry, _FIRST_TIMES),
            _time(entry, _TIMES),
        )
        for entry in events
        if reading.text(entry.get("reason")) in reasons
    ]


def fresh(
    events: Iterable[Mapping[str, Any]],
    reasons: Collection[str],
    *,
    now: datetime | None,
    after: datetime | None = None,
) -> Telling | None:
    """The events with one of ``reasons`` that still count; None without any.

    Those before ``after`` do not: what they told of is past. Without ``now``, or where an event
    has no time, it stands.
    """
    counted = [
        each
        for each in read(events, reasons)
        if (after is None or each.last is None or each.last > after) and _is_fresh(each, now)
    ]
    if not counted:
        return None
    firsts = [e.first for e in counted if e.first is not None]
    lasts = [e.last for e in counted if e.last is not None]
    span = max(lasts) - min(firsts) if firsts and lasts else None
    lasting = span is None or span.total_seconds() >= limits.UNHEALTHY_GRACE_SECONDS
    dated = len(lasts) == len(counted) and now is not None
    # Without the oldest of them the others may not have lasted.
    end = min if lasting else max
    until = reading.later(end(lasts), seconds=limits.EVENT_FRESH_SECONDS) if dated else None
    return Telling(tuple(sorted(counted, key=_order)), lasting, until)


def newest(events: Iterable[Mapping[str, Any]], reasons: Collection[str]) -> datetime | None:
    """When one of ``reasons`` was last told; None if never."""
    return max((e.last for e in read(events, reasons) if e.last is not None), default=None)


_FRESH: Final = timedelta(seconds=limits.EVENT_FRESH_SECONDS)


def _is_fresh(each: Told, now: datetime | None) -> bool:
    return now is None or each.last is None or now - each.last < _FRESH


def _order(each: Told) -> tuple[str, ...]:
    return (each.reason, each.message, each.field, str(each.first), str(each.last))


def _subject(entry: Mapping[str, Any]) -> Any:
    return entry.get("involvedObject") or entry.get("regarding")


def _time(entry: Mapping[str, Any], paths: Iterable[tuple[str, ...]]) -> datetime | None:
    for path in paths:
        found = reading.moment(reading.at(entry, *path))
        if found is not None:
            return found
    return None
