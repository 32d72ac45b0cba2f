"""Noticing that etcd went back: then versions that clients hold mean something else by now."""

from pathlib import Path

from mooring import log as logs
from mooring.apiserver.store.etcd.proto.etcd_pb2 import ResponseHeader
from mooring.apiserver.store.revision_mark import RevisionMark, find_mark
from mooring.errors import EtcdError, UsageError

_log = logs.get("mooring.etcd")


class Witness:
    """Remembers which etcd it was and how far it had come, also over a restart."""

    def __init__(self, mark: RevisionMark | None, header: ResponseHeader) -> None:
        self._mark = mark
        self._cluster = header.cluster_id
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
        if self._mark is not None:
            self._mark.note(revision)

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

    def begin(self, header: ResponseHeader) -> None:
        """Everything was read anew."""
        self._cluster = header.cluster_id
        self.note(header.revision)

    def close(self) -> None:
        if self._mark is not None:
            self._mark.close()


def _told(noted: int, found: int) -> str:
    return (
        f"etcd is at revision {found}, but was at {noted} before: it was restored from an older "
        "backup, and clients hold versions that it would give again. Restore it with `etcdutl "
        "snapshot restore --bump-revision 1000000000 --mark-compacted` and restart every "
        "mooring apiserver"
    )
