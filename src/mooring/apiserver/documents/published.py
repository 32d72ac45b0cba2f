"""Documents about the API itself, encoded once and then served as bytes.

They change only when a kind joins, so they are kept until `Kinds.generation` moves.
"""

from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Any, Generic, TypeVar

import msgspec

from mooring.apiserver.kinds.registry import Kinds

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")


class Published(msgspec.Struct, frozen=True):
    """A body that is the same for every client."""

    body: bytes
    content_type: str
    digest: str  # of the body

    @property
    def etag(self) -> str:
        return f'"{self.digest}"'


def publish(document: dict[str, Any], content_type: str = "application/json") -> Published:
    return publish_bytes(msgspec.json.encode(document), content_type)


def publish_bytes(body: bytes, content_type: str) -> Published:
    digest = blake2b(body, digest_size=16).hexdigest().upper()
    return Published(body, content_type, digest)


class Shelf(Generic[Key, Kept]):
    """What was made from one generation of kinds; emptied when a kind joins."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._generation = kinds.generation
        self._kept: dict[Key, Kept] = {}

    def get(self, key: Key, make: Callable[[], Kept]) -> Kept:
        """The kept thing, made now if this is the first time it is asked for."""
        if self._generation != self._kinds.generation:
            self._kept.clear()
            self._generation = self._kinds.generation
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]
