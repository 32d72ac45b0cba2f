"""Writes from inside the server: the same verbs, admission and validation as for any client."""

from collections.abc import Callable

from mooring.apiserver.auth.user import MASTERS, User
from mooring.apiserver.backend import Backend, Call
from mooring.apiserver.document import decode
from mooring.apiserver.http.message import Request
from mooring.apiserver.kinds.contract import Doc, Kind
from mooring.apiserver.negotiation import JSON
from mooring.apiserver.objects import store_name
from mooring.apiserver.options import NO_OPTIONS
from mooring.apiserver.routes import Route
from mooring.apiserver.store.contract import Change, Entry
from mooring.apiserver.verbs.changing import change_of
from mooring.apiserver.verbs.create import create_document
from mooring.apiserver.verbs.delete import DeleteOptions, delete_object
from mooring.model.backoff import Backoff

HOUSEKEEPER = User("system:mooring:housekeeper", groups=(MASTERS,))

AGAIN = Backoff(first=0.1, cap=30.0)
"""The pauses between tries of what is refused, or fails."""


class Local:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def create(self, kind: Kind, namespace: str, doc: Doc) -> None:
        """Raises AlreadyExists, and whatever else a client would be told."""
        call = self._call("POST", kind, namespace, "")
        await create_document(self._backend, call, doc, NO_OPTIONS, [])

    async def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str, policy: str = "Background"
    ) -> None:
        """Raises NotFound when it is gone, Conflict when another has taken its name.

        An empty policy is the object's own.
        """
        call = self._call("DELETE", kind, namespace, name)
        await delete_object(self._backend, call, DeleteOptions(uid=uid, policy=policy))

    async def change(
        self, kind: Kind, namespace: str, name: str, edit: Callable[[Doc], Doc]
    ) -> None:
        """Replace the document by what `edit` makes of it; nothing happens when it is gone.

        For metadata and status the server owns: not validated as a client's write would be.
        """

        def decide(entry: Entry | None) -> Change:
            if entry is None:
                return None
            new = edit(decode(kind, entry))
            return None if new == decode(kind, entry) else change_of(kind, new, entry)

        place = store_name(kind, namespace, name)
        await self._backend.store.write(kind.store_table, place, decide)

    def _call(self, method: str, kind: Kind, namespace: str, name: str) -> Call:
        route = Route(kind.group, kind.version, namespace, kind.plural, name)
        request = Request(method, "", headers={"user-agent": "mooring"})
        return Call(request, route, kind, HOUSEKEEPER, JSON)
