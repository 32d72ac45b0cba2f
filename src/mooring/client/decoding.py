"""Decoding the JSON of objects into their Structs: one reader per kind, made once."""

from collections.abc import Iterable
from typing import Any, Generic, cast

import msgspec

from mooring.client.contract import Change, ChangeType, T, Unread
from mooring.errors import ServerError
from mooring.model.meta import ApiObject
from mooring.model.wire import Wire, json_decoder

UNREADABLE = (ValueError, RecursionError)
"""What decoding JSON can raise: msgspec's own errors, and those of invalid Unicode."""
MOST_DIGITS = 40  # of a resource version


class ListMeta(Wire, frozen=True):
    resource_version: str = ""
    next: str = msgspec.field(name="continue", default="")


class Page(Wire, Generic[T], frozen=True):
    """A list as servers send it; an empty one may be null."""

    metadata: ListMeta = ListMeta()
    items: list[T] | None = None
    unread: tuple[Unread, ...] = ()  # never on the wire


class _RawPage(Wire, frozen=True):
    metadata: ListMeta = ListMeta()
    items: list[msgspec.Raw] | None = None


class Reader(Generic[T]):
    """Reads objects of one kind.

    Servers leave `kind` and `apiVersion` out of some answers; here every object has them, and all
    objects of a kind share the two texts.
    """

    def __init__(self, kind: type[T]) -> None:
        resource = kind.resource
        self._kind, self._api_version = resource.kind, resource.api_version
        self._decode = json_decoder(kind).decode
        self._decode_page = json_decoder(Page[kind]).decode  # type: ignore[valid-type]  # made at run time

    def read(self, data: bytes | msgspec.Raw) -> T:
        """Raises: ServerError when the object cannot be decoded as its kind."""
        try:
            return self._named(self._decode(data))
        except UNREADABLE as error:
            raise self._unreadable(data, error) from error

    def read_bookmark(self, data: bytes | msgspec.Raw) -> T:
        """Decode only the metadata: servers send an empty object as the rest, which may not be
        valid (`"containers": null`). Raises: ServerError.
        """
        try:
            return self._named(cast(T, _ANY.decode(data)))
        except UNREADABLE as error:
            raise self._unreadable(data, error) from error

    def read_page(self, data: bytes) -> Page[T]:
        """Raises: ServerError."""
        try:
            page: Page[T] = self._decode_page(data)
            check_version(page.metadata.resource_version)
            for item in page.items or ():
                check_version(self._named(item).metadata.resource_version)
        except UNREADABLE as error:
            return self._read_rest(data, error)
        return page

    def read_all(self, stored: Iterable[bytes | msgspec.Raw]) -> tuple[list[T], list[Unread]]:
        """Decode all objects; those that cannot be decoded are returned as `Unread`.

        Raises: ServerError for an object without readable metadata.
        """
        items: list[T] = []
        unread: list[Unread] = []
        for data in stored:
            try:
                items.append(self.read(data))
            except ServerError as error:
                unread.append(Unread(self.read_bookmark(data).key, str(error)))
        return items, unread

    def read_change(self, type: ChangeType, data: bytes | msgspec.Raw) -> Change[T]:
        """Decode an object that changed. Raises: ServerError when its metadata is unreadable."""
        try:
            return Change(type, self.read(data))
        except ServerError as error:
            known = self.read_bookmark(data)
            if type is ChangeType.DELETED:
                return Change(type, known)  # deleted: its content does not matter
            return Change(ChangeType.UNREADABLE, known, str(error))

    def _read_rest(self, data: bytes, error: Exception) -> Page[T]:
        """Decode a page object by object, after decoding it as a whole has failed."""
        try:
            page = _RAW_PAGE.decode(data)
            check_version(page.metadata.resource_version)
            items, unread = self.read_all(page.items or ())
            for item in items:
                check_version(item.metadata.resource_version)
        except UNREADABLE:
            raise ServerError(f"a list of {self._kind} cannot be read: {error}") from error
        return Page(page.metadata, items, tuple(unread))

    def _named(self, found: T) -> T:
        if version := found.metadata.resource_version:  # reviews have none
            check_version(version)
        # The object is not shared yet, so the frozen Struct may still be completed.
        msgspec.structs.force_setattr(found, "kind", self._kind)
        msgspec.structs.force_setattr(found, "api_version", self._api_version)
        return found

    def _unreadable(self, data: bytes | msgspec.Raw, error: Exception) -> ServerError:
        try:
            key = str(_ANY.decode(data).key)
        except UNREADABLE:
            key = "without a name"
        return ServerError(f"{self._kind} {key} cannot be read: {error}")


def check_version(version: str) -> None:
    """Versions are compared as numbers. Raises: ValueError for any other text."""
    if not (version.isdecimal() and version.isascii() and len(version) <= MOST_DIGITS):
        raise ValueError("its resourceVersion is not a whole number")


_ANY = json_decoder(ApiObject)
_RAW_PAGE = msgspec.json.Decoder(_RawPage)
_READERS: dict[type[ApiObject], Reader[Any]] = {}


def reader_of(kind: type[T]) -> Reader[T]:
    known: Reader[T] | None = _READERS.get(kind)
    if known is None:
        known = _READERS[kind] = Reader(kind)
    return known
