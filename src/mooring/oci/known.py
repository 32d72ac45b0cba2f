"""One container as we know it, and how it is found out how it ended."""

import asyncio
import os
import signal
from pathlib import Path

from mooring import log
from mooring.clock import Clock
from mooring.errors import HostError
from mooring.oci import cgroups, process
from mooring.oci.records import ContainerDirectory, Ended, Record

logger = log.get("mooring.oci.containers")

KILLED = process.SIGNAL_BASE + signal.SIGKILL


class KnownContainer:
    """A container as we know it."""

    def __init__(self, record: Record, place: ContainerDirectory) -> None:
        self.record = record
        self.place = place
        self.lock = asyncio.Lock()  # it is made, started or removed: one at a time
        self.ended = asyncio.Event()
        self.shim = 0
        self.pidfd = -1
        if record.ended is not None:
            self.ended.set()

    @property
    def group(self) -> str:
        return cgroups.inner_path(self.record.owner.pod_uid, self.record.id)

    @property
    def log_directory(self) -> Path:
        return Path(self.record.log_path).parent

    def has_log(self) -> bool:
        return os.path.lexists(self.record.log_path)


def conclude(record: Record, place: ContainerDirectory, clock: Clock) -> Ended:
    """How it ended, when its shim is gone; no process of it is left."""
    seen = place.read_exit()
    inner = cgroups.inner_path(record.owner.pod_uid, record.id)
    if seen is None or record.shares_processes:
        try:
            cgroups.kill_all(inner)
        except HostError as error:
            logger.warning("a container has not ended", id=record.id, error=error)
    code, finished_at = seen or (KILLED, clock.now())
    if record.started_at is not None:  # times of files are a few milliseconds behind
        finished_at = max(finished_at, record.started_at)
    return Ended(
        exit_code=code,
        finished_at=finished_at,
        is_oom_killed=cgroups.oom_kills(inner) > 0,
        is_lost=seen is None,
    )
