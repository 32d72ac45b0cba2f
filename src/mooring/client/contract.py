"""The client protocol that controllers use, whichever transport is behind it.

Reads are typed: documents are decoded into the frozen Structs of `mooring.model`. Writes are
patches that carry the resourceVersion of the object that was read, so an unknown field is never
erased and a lost race is a Conflict, never a lost update. Refusals are the `ApiError`s of
`mooring.errors`.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from enum import Enum, StrEnum
from typing import Generic, Protocol, TypeVar

import msgspec

from mooring.errors import Unreadable
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.meta import ApiObject

T = TypeVar("T", bound=ApiObject)


class Scope(msgspec.Struct, frozen=True):
    """Which objects of a kind to list or watch; by default all of them."""

    namespace: str = ""
    labels: str = ""  # a label selector
    fields: str = ""  # a field selector


EVERYTHING = Scope()


class Part(Enum):
    """The object itself, or the subresource that a write is about."""

    MAIN = ""
    STATUS = "status"


class Action(Enum):
    """The subresources that are written by POST."""

    BINDING = "binding"  # pods: put it on a node
    EVICTION = "eviction"  # pods: delete it, unless that would disrupt its application
    TOKEN = "token"  # noqa: S105  service accounts: a path element, no secret


_POSTED = {
    Action.BINDING: ("Binding", "v1"),
    Action.EVICTION: ("Eviction", "policy/v1"),
    Action.TOKEN: ("TokenRequest", "authentication.k8s.io/v1"),
}


def posted(key: Key, action: Action, doc: Doc) -> Doc:
    """The body of an action: `doc`, with its kind and the object's name filled in."""
    kind, api_version = _POSTED[action]
    metadata = {"name": key.name, "namespace": key.namespace, **doc.get("metadata", {})}
    return {**doc, "kind": kind, "apiVersion": api_version, "metadata": metadata}


class ChangeType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"  # nothing changed up to the object's resourceVersion, its only field
    UNREADABLE = "UNREADABLE"  # not on the wire: the object cannot be decoded as its kind


class Change(msgspec.Struct, Generic[T], frozen=True):
    type: ChangeType
    object: T  # only its metadata for BOOKMARK and UNREADABLE
    why: str = ""  # the decoding error, for UNREADABLE


class Unread(msgspec.Struct, frozen=True):
    """An object of a list that cannot be decoded as its kind."""

    key: Key
    why: str


class Listing(msgspec.Struct, Generic[T], frozen=True):
    readable: Sequence[T]
    version: str  # watch from here to miss nothing
    unread: Sequence[Unread] = ()

    @property
    def items(self) -> Sequence[T]:
        """All objects, for a caller that treats a missing one as absent. Raises: Unreadable."""
        if self.unread:
            raise Unreadable(self.unread[0].why)
        return self.readable


class Client(Protocol):
    async def get(self, kind: type[T], key: Key) -> T:
        """The newest version. Raises: NotFound."""
        ...

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]: ...

    def watch(
        self, kind: type[T], version: str, scope: Scope = EVERYTHING
    ) -> AbstractAsyncContextManager[AsyncIterator[Change[T]]]:
        """Every change after `version`, in order, until the server ends the stream.

        Raises, on entering or while iterating: Expired (list again), ApiError, ConnectionLost.
        """
        ...

    async def create(self, kind: type[T], doc: Doc) -> T:
        """Create the object; `doc` has metadata.name or generateName, and the namespace if any.

        Raises: AlreadyExists, Invalid, Forbidden...
        """
        ...

    async def patch(self, seen: T, change: Doc, part: Part = Part.MAIN) -> T:
        """Merge `change` (RFC 7386: null removes) into the object, if it is unchanged since `seen`.

        Raises: Conflict when it was written meanwhile, NotFound when it is gone.
        """
        ...

    async def patch_both(self, seen: T, main: Doc, status: Doc) -> T:
        """Patch the object and its status, if it is unchanged since `seen`; either may be empty.

        `status` is the content of the field of that name.
        In this process that is one write and one revision. Over HTTP it is two, main first: a crash
        in between leaves a status that is behind the object, never ahead of it.
        Raises: as `patch`.
        """
        ...

    async def post(self, kind: type[T], key: Key, action: Action, doc: Doc) -> Doc:
        """POST to a subresource of an object; returns the document that the server answers with.

        `doc` is a Binding, an Eviction or a TokenRequest; its kind and its name are filled in. With
        metadata.uid it applies only to the object with that uid.
        Raises: Conflict when the object does not allow it now, NotFound when it is gone, or when
        its kind has no such subresource.
        """
        ...

    async def delete(self, seen: ApiObject, *, grace_seconds: int | None = None) -> None:
        """Delete the object, and in time its dependents, if it still has the uid of `seen`.

        Raises: Conflict when another object has its name now, NotFound when it is gone.
        """
        ...
