"""The API for callers in this process: no sockets, no HTTP, and bytes from the store as they are.

Implements the protocol of `client/local.py`, one method per verb. Writes pass the same admission
and validation as those of any client. Objects are returned as stored JSON, without `kind` and
`apiVersion`, which the caller knows. Most callers are trusted: only admission looks at their user.
With `check` they are authorized too, as over HTTP.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import wraps
from typing import ParamSpec, Protocol, TypeVar, overload

from mooring.apiserver.auth.attributes import AccessAttributes, AccessCheck
from mooring.apiserver.auth.user import User
from mooring.apiserver.documents.document import encode, wire
from mooring.apiserver.documents.objects import store_name, store_prefix
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.request.message import Answer, Response
from mooring.apiserver.request.options import NO_OPTIONS, ListOptions
from mooring.apiserver.request.refusals import not_found, unknown_resource
from mooring.apiserver.store.contract import Entry, Watch
from mooring.apiserver.verbs.backend import Backend, SubresourceVerbs, Verb
from mooring.apiserver.verbs.bind import bind
from mooring.apiserver.verbs.converted_watch import open_watch
from mooring.apiserver.verbs.create import create_document
from mooring.apiserver.verbs.decoding import decode_body
from mooring.apiserver.verbs.delete import DeleteOptions
from mooring.apiserver.verbs.evict import evict
from mooring.apiserver.verbs.in_process_writer import InProcessWriter
from mooring.apiserver.verbs.list import find_page
from mooring.apiserver.verbs.reading import catch_up, parse_version
from mooring.apiserver.verbs.selecting import Selection, selection
from mooring.apiserver.verbs.watch_filter import watched_changes
from mooring.errors import Compacted, Expired, InternalError, StoreError
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.meta import Resource

LONG = 10_000  # objects: of such lists there is one in each turn of the event loop

ReviewVerbs = Mapping[str, Verb]
"""What answers a review, which is never stored, by its plural."""

_ON_PODS: SubresourceVerbs = {
    ("pods", "binding"): {"POST": bind},
    ("pods", "eviction"): {"POST": evict},
}


class Scope(Protocol):
    """Which objects of a kind; an empty text leaves a choice open."""

    @property
    def namespace(self) -> str: ...

    @property
    def labels(self) -> str: ...

    @property
    def fields(self) -> str: ...


P = ParamSpec("P")
R = TypeVar("R")


def writing(verb: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[None, None, R]]:
    """A verb whose callers see the trouble of the database as that of any API server."""

    @wraps(verb)
    async def write(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await verb(*args, **kwargs)
        except StoreError as error:
            raise InternalError(f"the database refused: {error}") from error

    return write


class Documents(Sequence[bytes]):
    """The objects of a list, made as they are read: of a hundred thousand, some at a time."""

    def __init__(self, kind: Kind, entries: Sequence[Entry]) -> None:
        self._kind = kind
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, at: int) -> bytes: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[bytes]: ...

    def __getitem__(self, at: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(at, slice):
            return [_shown(self._kind, entry) for entry in self._entries[at]]
        return _shown(self._kind, self._entries[at])


class InProcessApi:
    """The verbs, for one user. Refusals are raised as `ApiError`s.

    `part_verbs` and `review_verbs` are those of `Access`, needed for token requests and reviews.
    `check` is that of `Access`: it raises the refusal for a user without the right; without it, the
    user may do everything.
    """

    def __init__(
        self,
        backend: Backend,
        user: User,
        part_verbs: SubresourceVerbs | None = None,
        check: AccessCheck | None = None,
        review_verbs: ReviewVerbs | None = None,
    ) -> None:
        self._backend = backend
        self._user = user
        self._writer = InProcessWriter(backend, user)
        self._check = check
        self._part_verbs = _ON_PODS if part_verbs is None else {**_ON_PODS, **part_verbs}
        self._review_verbs = review_verbs or {}

    async def get(self, resource: Resource, key: Key) -> bytes:
        kind = self._kind(resource)
        self._ask("get", kind, key.namespace, key.name)
        await catch_up(self._backend, "")
        place = store_name(kind, key.namespace, key.name)
        entry = self._backend.store.get(kind.store_table, place)
        if entry is None:
            raise not_found(kind, key.name)
        return _shown(kind, await self._backend.conversions.readable_one(kind, entry))

    async def list(self, resource: Resource, scope: Scope) -> tuple[Sequence[bytes], str]:
        """The objects, and the version they are all from."""
        kind = self._kind(resource)
        self._ask("list", kind, scope.namespace, fields=scope.fields)
        call = self._writer.call("GET", kind, scope.namespace)
        await catch_up(self._backend, "")
        if self._backend.store.count(kind.store_table) > LONG:
            await self._backend.turns.next()
        found = await find_page(self._backend, call, _options(scope), 0)
        return Documents(kind, found.entries), str(found.revision)

    async def watch(
        self, resource: Resource, version: str, scope: Scope, on_change: Callable[[], None]
    ) -> "Cursor":
        """Follow from behind `version`; `on_change` is called when `poll` may find something."""
        kind = self._kind(resource)
        self._ask("watch", kind, scope.namespace, fields=scope.fields)
        after = parse_version(version)
        chosen, prefix = selection(kind, _options(scope)), store_prefix(kind, scope.namespace)
        await catch_up(self._backend, "")
        try:
            watch = open_watch(
                self._backend, kind, prefix, after, on_change, with_previous=not chosen.is_all
            )
        except Compacted as error:
            raise Expired(str(error)) from error
        return Cursor(watch, kind, prefix, chosen)

    @writing
    async def create(self, resource: Resource, doc: Doc) -> bytes:
        kind = self._kind(resource)
        namespace = doc.get("metadata", {}).get("namespace", "")
        self._ask("create", kind, namespace)
        named = {**doc, "kind": kind.kind, "apiVersion": kind.api_version}
        # One typed decode in C copies the document, checks every field of it and spells its
        # values; a walk in Python over the document itself takes three times as long.
        call = self._writer.call("POST", kind, namespace, body=encode(named))
        if review := self._review_verbs.get(kind.plural):
            return _document(kind, await review(self._backend, call))
        decoded, _ = decode_body(call, "Ignore")
        answer = await create_document(self._backend, call, decoded, NO_OPTIONS, [])
        assert isinstance(answer.body, bytes)  # noqa: S101  only lists come in parts
        return answer.body

    @writing
    async def patch(
        self, resource: Resource, key: Key, version: str, changes: Sequence[tuple[str, Doc]]
    ) -> bytes:
        """Merge changes into parts of the object ("", "status"), if it is still of this version.

        All of them in one write; each is judged as if it came alone.
        """
        kind = self._kind(resource)
        for part, _ in changes:
            self._ask("patch", kind, key.namespace, key.name, part)
        for part, _ in changes:
            _check_part(kind, part)
        entry = await self._writer.merge(kind, key.namespace, key.name, version, changes)
        return _shown(kind, await self._backend.conversions.readable_one(kind, entry))

    @writing
    async def post(self, resource: Resource, key: Key, part: str, doc: Doc) -> bytes:
        """Do what posting to a part of an object does; answers the document it comes to."""
        kind = self._kind(resource)
        verb = self._part_verbs.get((kind.plural, part), {}).get("POST")
        if verb is None:
            raise unknown_resource()
        self._ask("create", kind, key.namespace, key.name, part)
        call = self._writer.call("POST", kind, key.namespace, key.name, part, encode(doc))
        return _document(kind, await verb(self._backend, call))

    @writing
    async def delete(self, resource: Resource, key: Key, uid: str, grace: int | None) -> None:
        kind = self._kind(resource)
        self._ask("delete", kind, key.namespace, key.name)
        policy = "Background" if resource.orphans_by_default else ""
        options = DeleteOptions(grace=grace, uid=uid, policy=policy)
        await self._writer.delete(kind, key.namespace, key.name, options)

    def _ask(
        self,
        verb: str,
        kind: Kind,
        namespace: str,
        name: str = "",
        part: str = "",
        fields: str = "",
    ) -> None:
        """Raises: Forbidden."""
        if self._check is None:
            return
        attributes = AccessAttributes(
            verb,
            group=kind.group,
            version=kind.version,
            resource=kind.plural,
            subresource=part,
            namespace=namespace,
            name=name,
            field_selector=fields,
        )
        self._check(self._user, attributes)

    def _kind(self, resource: Resource) -> Kind:
        kind = self._backend.kinds.find(resource.group, resource.version, resource.plural)
        if kind is None:
            raise unknown_resource()
        return kind


class Cursor:
    """A place in the changes of a kind, and the eye of one watcher on them."""

    def __init__(self, watch: Watch, kind: Kind, prefix: str, chosen: Selection) -> None:
        self._watch = watch
        self._kind = kind
        self._prefix = prefix
        self._chosen = chosen

    def poll(self, most: int) -> Sequence[tuple[str, bytes]]:
        """The types and objects of the next changes that the watcher sees; empty: none are left.

        Raises: Expired when the cursor fell behind.
        """
        kind = self._kind
        try:
            while events := self._watch.poll(most):
                seen = watched_changes(kind, self._prefix, self._chosen, events)
                if told := [(change, _shown(kind, entry)) for change, entry in seen]:
                    return told
        except Compacted as error:
            raise Expired(str(error)) from error
        return ()

    def close(self) -> None:
        self._watch.close()


def _options(scope: Scope) -> ListOptions:
    return ListOptions(labels=scope.labels, fields=scope.fields)


def _check_part(kind: Kind, part: str) -> None:
    if part and not (part == "status" and kind.status):
        raise unknown_resource()


def _document(kind: Kind, answer: Answer) -> bytes:
    if not isinstance(answer, Response) or not isinstance(answer.body, bytes):
        raise TypeError(f"posting to {kind.plural} has no single document for an answer")
    return answer.body


def _shown(kind: Kind, entry: Entry) -> bytes:
    return entry.value if kind.from_stored is None and kind.renew is None else wire(kind, entry)
