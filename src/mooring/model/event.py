"""Event: something that happened to an object, for `kubectl describe` and `get events`."""

from enum import StrEnum
from typing import ClassVar

from mooring.model.meta import ApiObject, Resource
from mooring.model.reference import ObjectReference
from mooring.model.wire import Wire


class EventType(StrEnum):
    """The types that components write; other values are read as plain text."""

    NORMAL = "Normal"
    WARNING = "Warning"


class EventSource(Wire, frozen=True):
    component: str = ""
    host: str = ""


class EventSeries(Wire, frozen=True):
    count: int = 0
    last_observed_time: str | None = None


class Event(ApiObject, frozen=True):
    resource: ClassVar = Resource("", "v1", "Event", "events", namespaced=True)

    involved_object: ObjectReference = ObjectReference()
    type: str = ""
    reason: str = ""
    message: str = ""
    source: EventSource = EventSource()
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    count: int = 0
    series: EventSeries | None = None
    action: str = ""
    related: ObjectReference | None = None
    reporting_component: str = ""
    reporting_instance: str = ""

    @property
    def last_seen(self) -> str | None:
        """When it last happened, from the first of its timestamps that is set."""
        if self.series and self.series.last_observed_time:
            return self.series.last_observed_time
        return self.last_timestamp or self.first_timestamp or self.event_time
