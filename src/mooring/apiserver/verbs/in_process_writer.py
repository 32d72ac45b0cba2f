"""Writes by callers in this process: the same verbs, admission and validation as for any client.

`InProcessApi` writes by it for the controllers and nodes of this process, `lifecycle/` for the API
server itself. Refusals are raised as `ApiError`s, trouble of the database as `StoreError`s.
"""

from collections.abc import Callable, Sequence

from mooring.apiserver.auth.user import User
from mooring.apiserver.documents.document import decode
from mooring.apiserver.documents.objects import store_name
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.request.message import JSON as JSON_MEDIA
from mooring.apiserver.request.message import Request, Response
from mooring.apiserver.request.negotiation import JSON
from mooring.apiserver.request.options import NO_OPTIONS
from mooring.apiserver.request.refusals import conflict, not_found
from mooring.apiserver.request.routes import Route
from mooring.apiserver.store.contract import Change, Entry
from mooring.apiserver.verbs.at_once import write_decided
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.before_write import prepare_change, single_owners
from mooring.apiserver.verbs.changing import (
    change_of,
    check_storage,
    is_outdated,
    last_state,
)
from mooring.apiserver.verbs.create import create_document
from mooring.apiserver.verbs.delete import DeleteOptions, delete_object
from mooring.apiserver.verbs.merging import merged
from mooring.model.document import Doc

MANAGER = "mooring"
_HEADERS = {"user-agent": MANAGER, "content-type": JSON_MEDIA}


class InProcessWriter:
    """The writes of one user."""

    def __init__(self, backend: Backend, user: User) -> None:
        self._backend = backend
        self._user = user

    def call(
        self,
        method: str,
        kind: Kind,
        namespace: str,
        name: str = "",
        subresource: str = "",
        body: bytes = b"",
    ) -> Call:
        """What a verb is given when such a request comes over HTTP."""
        route = Route(kind.group, kind.version, namespace, kind.plural, name, subresource)
        return Call(Request(method, "", "", _HEADERS, body), route, kind, self._user, JSON)

    async def create(self, kind: Kind, namespace: str, doc: Doc) -> Response:
        """Create `doc`, which the caller gives away. Raises: AlreadyExists, and other refusals."""
        call = self.call("POST", kind, namespace)
        return await create_document(self._backend, call, doc, NO_OPTIONS, [])

    async def merge(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        version: str,
        changes: Sequence[tuple[str, Doc]],
    ) -> Entry:
        """Merge changes, each into a subresource ("": the object), all in one write.

        Each is judged as if it came alone. Raises: NotFound; Conflict when the object is no longer
        of this version.
        """
        steps = [
            (self.call("PATCH", kind, namespace, name, part), change) for part, change in changes
        ]

        async def decide(entry: Entry | None) -> Change:
            if entry is None:
                raise not_found(kind, name)
            if version != str(entry.revision):
                raise conflict(kind, name)
            seen = await self._backend.conversions.readable_one(kind, entry)
            old, changed = decode(kind, seen), None
            for call, change in steps:
                new = merged(call, old, change)
                single_owners(new)
                prepared = await prepare_change(
                    self._backend, call, old, new, manager=MANAGER, warnings=[]
                )
                changed = prepared or changed
                old = changed or old
            if changed is None:
                if not is_outdated(kind, entry):
                    return None
                changed = old
            stored = await self._backend.conversions.to_storage(kind, changed)
            return change_of(kind, stored, entry)

        entry = await write_decided(
            self._backend.store,
            kind.store_table,
            store_name(kind, namespace, name),
            decide,
            check_late=lambda: check_storage(self._backend, kind),
        )
        assert entry is not None  # noqa: S101  decide refuses what is absent
        return entry

    async def delete(self, kind: Kind, namespace: str, name: str, options: DeleteOptions) -> None:
        """Raises: NotFound when it is gone, Conflict when another object has taken its name."""
        await delete_object(self._backend, self.call("DELETE", kind, namespace, name), options)

    async def replace(
        self, kind: Kind, namespace: str, name: str, edit: Callable[[Doc], Doc]
    ) -> None:
        """Replace the document by what `edit` makes of it; nothing happens when it is gone.

        For metadata and status the server owns: not validated as a client's write would be, and in
        the version that the object is stored in.
        """

        def decide(entry: Entry | None) -> Change:
            if entry is None:
                return None
            new = edit(last_state(kind, entry))
            return None if new == last_state(kind, entry) else change_of(kind, new, entry)

        await self._backend.store.write(kind.store_table, store_name(kind, namespace, name), decide)
