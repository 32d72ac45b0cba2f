"""One object from close up: its text, its events, and what explains it."""

from typing import Any, Protocol

import msgspec
import yaml

from mooring.client.contract import Scope
from mooring.client.http import HttpClient
from mooring.client.paths import path_of
from mooring.dashboard.kinds import SHOWN
from mooring.dashboard.rows import shortened
from mooring.errors import BadRequest
from mooring.host.blocking import in_thread
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.selector import escape_field

MOST_EVENTS = 200
MOST_MESSAGE = 4096  # characters of an event
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Subject(msgspec.Struct, frozen=True):
    """An object of one of the kinds that are shown."""

    kind: type[ApiObject]
    key: Key


class Explain(Protocol):
    """Says something about an object, as a document that can be encoded as JSON."""

    async def __call__(self, client: HttpClient, subject: Subject) -> Any: ...


def subject_of(kind: str, id: str) -> Subject:
    """Raises: BadRequest for kinds that are not shown, and for names that are none."""
    found = SHOWN.get(kind)
    namespace, _, name = id.rpartition("/")
    if found is None or not name or "/" in namespace:
        raise BadRequest(f"there is no {kind!r} {id!r} to look at")
    if bool(namespace) != found.resource.namespaced:
        raise BadRequest(f"{kind} are looked at by {'namespace/name' if not namespace else 'name'}")
    return Subject(found, Key(namespace, name))


def _page(subject: Subject) -> str:
    """Its path in the API. Raises: BadRequest."""
    key = subject.key
    if dots := {key.namespace, key.name} & {".", ".."}:
        raise BadRequest(f"{dots.pop()!r} is no name")
    return path_of(subject.kind.resource, key.namespace, key.name)


async def read_text(client: HttpClient, subject: Subject) -> str:
    """The object as YAML, without its managed fields. Raises: ApiError, ConnectionLost."""
    # In a thread: a large object takes a while, and in `up` the same event loop serves everybody.
    return await in_thread(_text_of, await client.read(_page(subject), {}))


def _text_of(stored: bytes) -> str:
    document = _decode(stored)
    if isinstance(document.get("metadata"), dict):
        document["metadata"].pop("managedFields", None)
    return yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)


async def read_events(client: HttpClient, subject: Subject) -> list[dict[str, Any]]:
    """The newest first. Raises: ApiError, ConnectionLost."""
    resource, key = subject.kind.resource, subject.key
    fields = (
        f"involvedObject.kind={resource.kind},"
        f"involvedObject.name={escape_field(key.name)},"
        f"involvedObject.namespace={escape_field(key.namespace)}"
    )
    # Events about objects without a namespace are in `default`.
    scope = Scope(namespace=key.namespace or "default", fields=fields)
    events = (await client.list(Event, scope)).readable
    newest = sorted(events, key=lambda event: event.last_seen or "", reverse=True)
    return [
        {
            "type": event.type,
            "reason": event.reason,
            "message": shortened(event.message, MOST_MESSAGE),
            "from": event.source.component or event.reporting_component,
            "count": event.series.count if event.series is not None else event.count,
            "last": event.last_seen,
        }
        for event in newest[:MOST_EVENTS]
    ]
