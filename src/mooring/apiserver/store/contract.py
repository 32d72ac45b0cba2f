"""What a store promises, whichever engine is behind it.

A store holds tables of named byte values under one revision counter. A table is a resource
(`persistentvolumes`, `snapshot.storage.k8s.io/volumesnapshots`); a name is `name` or
`namespace/name`. Every change takes the next revision; revisions never repeat and never go back,
not even over a crash.

Durability: what `write` returned is there after a crash. Nothing that could still be lost is shown
to a reader or a watcher.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

FIRST_REVISION = 1
"""Of an empty store; 0 means "any" on the wire, so no state may have it."""


class Entry(msgspec.Struct, gc=False):
    """One stored version of one object. Only `memo` may change: a cache of derived facts."""

    table: str
    name: str
    value: bytes
    revision: int  # of this version
    memo: Any = None


class Put(msgspec.Struct, frozen=True, gc=False):
    """Store `head + <the write's revision> + tail`: a value that carries its own revision."""

    head: bytes
    tail: bytes

    def stamp(self, revision: int) -> bytes:
        return b"%b%d%b" % (self.head, revision, self.tail)


class Remove(msgspec.Struct, frozen=True):
    """Delete the object; watchers see `last`, stamped with the deletion's revision.

    On an engine that several servers share they see the version that was removed instead: it keeps
    no other.
    """

    last: Put


Change = Put | Remove | None
"""None keeps the object as it is: no new revision, no event."""

Decide = Callable[[Entry | None], Change]
"""Looks at the newest version (None: there is none) and says what to write, or raises to refuse.

Pure and quick: an engine may call it again when another writer was faster.
"""


class Event(msgspec.Struct, frozen=True, gc=False):
    """One change. `entry` is the new version, or the last state of what was deleted."""

    revision: int
    entry: Entry
    previous: Entry | None  # None: it was created
    deleted: bool = False


class Page(msgspec.Struct, frozen=True):
    """A slice of a table in name order, as of `revision`."""

    entries: list[Entry]
    revision: int
    more: bool  # there are further entries after the last one
    remaining: int  # how many


class Watch(Protocol):
    """A cursor over a table's changes, in revision order, none twice, none missed."""

    @property
    def revision(self) -> int:
        """Everything up to this revision has been returned by `poll`."""
        ...

    def poll(self, most: int = 1000, size: int = 0) -> Sequence[Event]:
        """The next changes, possibly none: at most so many, and of about `size` bytes (0: any).

        Raises Compacted when the cursor fell behind.
        """
        ...

    def close(self) -> None:
        """Stop calling `on_change`. Repeated: nothing happens."""
        ...


class Store(Protocol):
    @property
    def revision(self) -> int:
        """The revision of the newest readable change."""
        ...

    @property
    def oldest(self) -> int:
        """Watches and exact reads can start at this revision or later."""
        ...

    @property
    def trouble(self) -> str | None:
        """Why the last write failed, until one succeeds; None while all is well."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether other servers write to it too."""
        ...

    def get(self, table: str, name: str) -> Entry | None:
        """The newest readable version."""
        ...

    def range(
        self, table: str, prefix: str = "", *, after: str = "", limit: int = 0, revision: int = 0
    ) -> Page:
        """Entries whose name starts with `prefix` and sorts behind `after`, at most `limit`
        (0: all), as they were at `revision` (0: now).

        Raises: Compacted, FutureRevision.
        """
        ...

    def count(self, table: str) -> int: ...

    def tables(self) -> Sequence[str]:
        """The tables that hold anything."""
        ...

    async def write(self, table: str, name: str, decide: Decide) -> Entry | None:
        """Change one object by what `decide` says of its newest version.

        After: the change is durable and readable. Returns the new version, the unchanged one
        (kept), or the stamped last state (removed). What `decide` raises passes through and
        nothing is written.
        """
        ...

    def watch(self, table: str, after: int, on_change: Callable[[], None]) -> Watch:
        """Follow a table from the first change behind revision `after`.

        `on_change` is called, on the event loop, whenever `poll` may have something new.
        Raises: Compacted. A future `after` is legal: changes up to it are skipped.
        """
        ...

    async def catch_up(self) -> None:
        """After: reads see every write that anyone was acknowledged before this call."""
        ...

    async def wait_for(self, revision: int) -> None:
        """Return when `self.revision` has reached `revision`."""
        ...

    async def compact(self, revision: int) -> None:
        """Forget history before `revision`; current objects stay."""
        ...

    async def close(self) -> None:
        """Finish what was begun, then release everything. Writes raise StoreError from now on."""
        ...
