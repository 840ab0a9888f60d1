"""Typed views of the objects that controllers keep about their own work: Leases and events.

`Event` is the kind of events.k8s.io that recorders write today, `CoreEvent` the older one of the
core group; the server shows each event under both.
"""

from __future__ import annotations

from konstat.kinds.view import BuiltIn, ObjectReference, View
from konstat.objects.model import NoSpec, NoStatus


class LeaseSpec(View):
    """Who holds a Lease, since when; times are MicroTime as sent."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int = 0


class Lease(BuiltIn[LeaseSpec, NoStatus], group="coordination.k8s.io", version="v1"):
    """A claim that lapses unless it is renewed."""

    __slots__ = ()


class EventSource(View):
    """Which component on which host wrote an event."""

    component: str = ""
    host: str = ""


class CoreEvent(
    BuiltIn[NoSpec, NoStatus], group="", version="v1", kind="Event", short_names=("ev",)
):
    """Something that happened to an object, in the form of the core group."""

    __slots__ = ()

    @property
    def involved_object(self) -> ObjectReference:
        return self.part("involvedObject", ObjectReference)

    @property
    def source(self) -> EventSource:
        return self.part("source", EventSource)

    @property
    def type(self) -> str:
        """``Normal`` or ``Warning``."""
        return self.scalar("type", "")

    @property
    def reason(self) -> str:
        return self.scalar("reason", "")

    @property
    def message(self) -> str:
        return self.scalar("message", "")

    @property
    def count(self) -> int:
        return self.scalar("count", 0)

    @property
    def last_timestamp(self) -> str:
        return self.scalar("lastTimestamp", "")


class EventSeries(View):
    """How often an event was seen again."""

    count: int = 0
    last_observed_time: str | None = None


class Event(BuiltIn[NoSpec, NoStatus], group="events.k8s.io", version="v1", short_names=("ev",)):
    """Something that happened to an object."""

    __slots__ = ()

    @property
    def regarding(self) -> ObjectReference:
        return self.part("regarding", ObjectReference)

    @property
    def series(self) -> EventSeries:
        return self.part("series", EventSeries)

    @property
    def type(self) -> str:
        """``Normal`` or ``Warning``."""
        return self.scalar("type", "")

    @property
    def reason(self) -> str:
        return self.scalar("reason", "")

    @property
    def note(self) -> str:
        return self.scalar("note", "")

    @property
    def action(self) -> str:
        return self.scalar("action", "")

    @property
    def event_time(self) -> str:
        return self.scalar("eventTime", "")

    @property
    def reporting_controller(self) -> str:
        return self.scalar("reportingController", "")
