"""Where the engine keeps an object in etcd, and how; what an API's documents need is decided
elsewhere (`documents/etcd_layout.py`), because the store knows bytes only."""

from typing import Protocol

from mooring.apiserver.store.contract import Entry, Put
from mooring.errors import StoreError


class UnreadableValue(StoreError):
    """A value that this API server cannot show; the text names the key and the remedy."""


class Layout(Protocol):
    @property
    def prefix(self) -> bytes:
        """All keys begin with it; it ends in a slash."""
        ...

    def key(self, table: str, name: str) -> bytes: ...

    def find_place(self, key: bytes) -> tuple[str, str] | None:
        """Table and name; None for a key of somebody else."""
        ...

    def value(self, table: str, put: Put, mark: int) -> bytes:
        """What is stored: without the revision, which etcd gives when it commits.

        `mark`, 32 bits, makes the bytes of one write unlike those of any other.
        """
        ...

    def entry(self, table: str, name: str, value: bytes, revision: int) -> Entry:
        """Raises: UnreadableValue."""
        ...

    def restamped(self, entry: Entry, revision: int) -> Entry:
        """The same state at another revision: the last one of what was deleted."""
        ...

    def seconds_to_live(self, table: str) -> int:
        """How long etcd keeps an object after its last write; 0: for ever."""
        ...


def prefix_end(prefix: bytes) -> bytes:
    """The least key behind all that begin with `prefix`, which does not end in 0xff."""
    return prefix[:-1] + bytes((prefix[-1] + 1,))
