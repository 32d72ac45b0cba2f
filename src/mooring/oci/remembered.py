"""The containers of an earlier process, as records on the disk and the runtime tell of them."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mooring import log
from mooring.errors import HostError
from mooring.host.blocking import in_thread
from mooring.oci.records import ID, ContainerDirectory, Record
from mooring.oci.runc import Runc, RunningState

logger = log.get("mooring.oci.containers")


class Remembered(msgspec.Struct, frozen=True):
    id: str
    record: Record | None  # None: there is none that can be read


async def find_remembered(directory: Path, runc: Runc) -> list[Remembered]:
    """Of either side; the oldest first. Raises: HostError."""
    read = await in_thread(_read_all, directory)
    listed = await _list(runc)
    return merged(read, listed)


def merged(
    read: Mapping[str, Record | None], listed: Mapping[str, RunningState]
) -> list[Remembered]:
    """A container that the runtime has created and not started has no start, whatever was meant."""
    found = []
    for id in sorted({*read, *listed}, key=lambda id: _age(read.get(id))):
        record = read.get(id)
        if record is not None and id in listed and listed[id].status == "created":
            record = msgspec.structs.replace(record, started_at=None)
        found.append(Remembered(id, record))
    return found


async def _list(runc: Runc) -> Mapping[str, RunningState]:
    try:
        return await runc.list()
    except HostError as error:
        logger.warning("the runtime does not tell what it runs", error=error)
        return {}  # most of it is known from records and shims


def _read_all(directory: Path) -> dict[str, Record | None]:
    if not directory.is_dir():
        return {}
    names = [name for name in os.listdir(directory) if ID.fullmatch(name)]
    return {name: ContainerDirectory(directory / name).read() for name in names}


def _age(record: Record | None) -> float:
    return record.created_at.timestamp() if record is not None else 0.0
