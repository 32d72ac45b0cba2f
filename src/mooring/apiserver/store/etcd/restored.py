"""Noticing that etcd went back: then versions that clients hold mean something else by now."""

import asyncio
from contextlib import suppress
from pathlib import Path

from mooring import log as logs
from mooring.apiserver.store.etcd.proto.etcd_pb2 import KeyValue, ResponseHeader
from mooring.apiserver.store.revision_mark import RevisionMark, find_mark
from mooring.errors import EtcdError, StillRunning, UsageError
from mooring.host.blocking import in_thread

_log = logs.get("mooring.etcd")


class Witness:
    """Remembers which etcd it was and how far it had come, also over a restart."""

    def __init__(self, mark: RevisionMark | None, header: ResponseHeader) -> None:
        self._mark = mark
        self._cluster = header.cluster_id
        self._revision = 0
        self._has_moved = asyncio.Event()
        self.written: KeyValue | None = None  # of what was written, the newest that was seen
        self.removed: KeyValue | None = None  # likewise of removals
        self.flaw: str | None = None
        self.note(header.revision)

    @classmethod
    def open(cls, path: Path | None, header: ResponseHeader) -> "Witness":
        """Raises: UsageError when etcd had come further before."""
        if path is None:
            return cls(None, header)
        noted = find_mark(path)
        if noted > header.revision:
            raise UsageError(
                f"{_told(noted, header.revision)}; or, when no client of before runs any more, "
                f"remove {path} and start again"
            )
        try:
            mark = RevisionMark.open(path)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
        return cls(mark, header)

    def note(self, revision: int) -> None:
        """It is written down soon, by `keep`: the disk may hang."""
        self._revision = revision
        self._has_moved.set()

    async def keep(self) -> None:
        """Write down how far etcd has come, whenever that has changed. Raises: StillRunning."""
        while True:
            await self._has_moved.wait()
            self._has_moved.clear()
            await self._write()

    def check(self, header: ResponseHeader, known: int) -> bool:
        """Whether this is the same etcd as before, which had reached revision `known` when it was
        asked; False: another one that is ahead, as after a restore that has raised the revision.

        Raises: EtcdError when it has gone back, for good.
        """
        if header.revision < known and self.flaw is None:
            self.flaw = _told(known, header.revision)
            _log.warning("etcd went back", because=self.flaw)
        if self.flaw is not None:
            raise EtcdError(self.flaw)
        return header.cluster_id == self._cluster

    def compare(self, seen: KeyValue, found: KeyValue | None) -> None:
        """`found` is what etcd says of what was `seen`, as of its revision: a backup that was
        restored may have come further than what was seen before, but with other writes.

        Raises: EtcdError when it is not the same, for good.
        """
        if seen is self.removed:
            is_same = found is None
        else:
            held = (found.mod_revision, found.value) if found is not None else None
            is_same = held == (seen.mod_revision, seen.value)
        if is_same:
            return
        self.flaw = (
            f"what etcd holds of revision {seen.mod_revision} is not what it held before: {_WAY}"
        )
        _log.warning("etcd went back", because=self.flaw)
        raise EtcdError(self.flaw)

    def begin(self, header: ResponseHeader) -> None:
        """Everything was read anew."""
        self.written = self.removed = None
        self._cluster = header.cluster_id
        self.note(header.revision)

    async def close(self) -> None:
        with suppress(StillRunning):
            await self._write()
        if self._mark is not None:
            self._mark.close()

    async def _write(self) -> None:
        if self._mark is not None:
            await in_thread(self._mark.note, self._revision)


_WAY = (
    "it was restored from an older backup, and clients hold versions that it would give again. "
    "Restore it with `etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted` and "
    "restart every mooring apiserver"
)


def _told(noted: int, found: int) -> str:
    return f"etcd is at revision {found}, but was at {noted} before: {_WAY}"
