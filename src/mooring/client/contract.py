"""What a controller may ask of an API server, whichever transport is behind it.

Reads are typed: documents are decoded into the frozen Structs of `mooring.model`. Writes are
patches that carry the resourceVersion of what was seen, so an unknown field is never erased and a
lost race is a Conflict, never a lost update. Refusals are the `ApiError`s of `mooring.errors`.
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
    """Which objects of a kind; by default all of them."""

    namespace: str = ""
    labels: str = ""  # a label selector
    fields: str = ""  # a field selector


EVERYTHING = Scope()


class Part(Enum):
    """What of an object a write is about."""

    MAIN = ""
    STATUS = "status"


class Action(Enum):
    """What can be done to an object by posting to a part of it."""

    BINDING = "binding"  # pods: put it on a node
    EVICTION = "eviction"  # pods: delete it, unless that would disrupt its application
    TOKEN = "token"  # noqa: S105  service accounts: the name of a path, no secret


_POSTED = {
    Action.BINDING: ("Binding", "v1"),
    Action.EVICTION: ("Eviction", "policy/v1"),
    Action.TOKEN: ("TokenRequest", "authentication.k8s.io/v1"),
}


def posted(key: Key, action: Action, doc: Doc) -> Doc:
    """What is sent for an action: `doc`, with its kind, and whom it is about."""
    kind, api_version = _POSTED[action]
    metadata = {"name": key.name, "namespace": key.namespace, **doc.get("metadata", {})}
    return {**doc, "kind": kind, "apiVersion": api_version, "metadata": metadata}


class ChangeType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"  # nothing changed up to the object's resourceVersion, its only field
    UNREADABLE = "UNREADABLE"  # no server's word: it was written, as its kind does not allow


class Change(msgspec.Struct, Generic[T], frozen=True):
    type: ChangeType
    object: T  # of a bookmark, and of one that is unreadable, nothing but the metadata
    why: str = ""  # it is unreadable


class Unread(msgspec.Struct, frozen=True):
    """An object of a list that is not as its kind allows."""

    key: Key
    why: str


class Listing(msgspec.Struct, Generic[T], frozen=True):
    readable: Sequence[T]
    version: str  # watch from here to miss nothing
    unread: Sequence[Unread] = ()

    @property
    def items(self) -> Sequence[T]:
        """All of them, for who concludes something from what is not there. Raises: Unreadable."""
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
        """Every change behind `version`, in order, until the server ends the stream.

        Raises, on entering or while iterating: Expired (list again), ApiError, ConnectionLost.
        """
        ...

    async def create(self, kind: type[T], doc: Doc) -> T:
        """`doc` has at least metadata.name or generateName, and its namespace if it has one.

        Raises: AlreadyExists, Invalid, Forbidden...
        """
        ...

    async def patch(self, seen: T, change: Doc, part: Part = Part.MAIN) -> T:
        """Merge `change` (RFC 7386: null removes) into the object, if it is still as `seen`.

        Raises: Conflict when somebody wrote meanwhile, NotFound when it is gone.
        """
        ...

    async def patch_both(self, seen: T, main: Doc, status: Doc) -> T:
        """Patch the object and its status, if it is still as `seen`; either may be empty.

        `status` is what goes below the field of that name.
        In this process that is one write and one revision. Over HTTP it is two, main first: a crash
        in between leaves a status that says less than the object does, never more.
        Raises: as `patch`.
        """
        ...

    async def post(self, kind: type[T], key: Key, action: Action, doc: Doc) -> Doc:
        """Ask for an action on an object; the answer is the document that the server made of it.

        `doc` is a Binding, an Eviction or a TokenRequest; its kind and its name are filled in. With
        metadata.uid it means that very object and no other of its name.
        Raises: Conflict when the object does not allow it now, NotFound when it is gone, or when
        its kind knows no such action.
        """
        ...

    async def delete(self, seen: ApiObject, *, grace_seconds: int | None = None) -> None:
        """Delete the object, if it is still the one that was seen (same uid).

        Raises: Conflict when another has its name now, NotFound when it is gone.
        """
        ...
