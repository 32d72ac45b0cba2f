"""Which pool a state directory belongs to: written once, so that two groups never mix.

The file also has the owner, which is in a tag of every logical volume that the driver makes.
"""

import os
import uuid
from pathlib import Path

import msgspec

from mooring.driver.file_names import LVM_HOME, VOLUMES
from mooring.driver.settings import ThinPool
from mooring.errors import HostError, UsageError
from mooring.host.lvm import LogicalVolume, Lvm

FILE_MODE = 0o600
_POOL = "thin-pool"


class Home(msgspec.Struct, frozen=True):
    volume_group: str
    group_uuid: str
    pool: str
    owner: str

    def tags(self, name: str) -> tuple[str, str]:
        """Of the logical volume with this name."""
        return f"mooring.owner={self.owner}", f"mooring.id={name}"

    def is_ours(self, volume: LogicalVolume) -> bool:
        return set(self.tags(volume.name)) <= volume.tags


def open_home(wanted: ThinPool, state_dir: Path, lvm: Lvm) -> Home:
    """The home of the state directory, written if it is new. Blocks. Raises: UsageError."""
    try:
        group = lvm.describe()
        pool = _choose_pool(wanted, lvm)
        found = read_home(state_dir)
        if found is None:
            _check_new(state_dir)
            found = Home(group.name, group.uuid, pool, uuid.uuid4().hex)
            _write(state_dir, found)
    except (HostError, OSError) as error:
        raise UsageError(f"--volume-group {wanted.volume_group}: {error}") from error
    if (found.group_uuid, found.pool) != (group.uuid, pool):
        text = (
            f"--state-dir {state_dir} is of the pool {found.volume_group}/{found.pool} "
            f"({found.group_uuid}), not of {group.name}/{pool} ({group.uuid})"
        )
        raise UsageError(f"{text}: give it another --state-dir")
    return msgspec.structs.replace(found, volume_group=group.name)


def check_no_home(state_dir: Path) -> None:
    """For loop devices. Raises: UsageError when volumes there are logical volumes."""
    found = read_home(state_dir)
    if found is not None:
        text = f"volumes in {state_dir} are in the pool {found.volume_group}/{found.pool}"
        raise UsageError(f"{text}: start with --backend lvm --volume-group {found.volume_group}")


def read_home(state_dir: Path) -> Home | None:
    """Raises: UsageError when it cannot be read."""
    try:
        return msgspec.json.decode((state_dir / LVM_HOME).read_bytes(), type=Home)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{state_dir / LVM_HOME} cannot be read: {error}") from error


def _choose_pool(wanted: ThinPool, lvm: Lvm) -> str:
    pools = {one.name: one for one in lvm.volumes().values() if one.kind == _POOL}
    how = f"lvcreate --type thin-pool -L 10G -n pool {wanted.volume_group}"
    if wanted.name and wanted.name not in pools:
        raise HostError(f"it has no thin pool {wanted.name}; make one: {how}")
    if not pools:
        raise HostError(f"it has no thin pool; make one: {how}")
    if not wanted.name and len(pools) > 1:
        raise HostError(f"it has several thin pools ({', '.join(sorted(pools))}): say --thin-pool")
    pool = pools[wanted.name or next(iter(pools))]
    if not pool.zeroes:
        text = f"the pool {pool.name} does not zero new blocks, which hold what others wrote"
        raise HostError(f"{text}: lvchange --zero y {wanted.volume_group}/{pool.name}")
    return pool.name


def _check_new(state_dir: Path) -> None:
    volumes = state_dir / VOLUMES
    if volumes.is_dir() and any(volumes.iterdir()):
        raise HostError(f"{state_dir} has volumes of loop devices: give another --state-dir")


def _write(state_dir: Path, home: Home) -> None:
    unfinished = state_dir / f"{LVM_HOME}.unfinished"
    state_dir.mkdir(0o700, parents=True, exist_ok=True)
    descriptor = os.open(
        unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE
    )
    try:
        os.write(descriptor, msgspec.json.encode(home))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    unfinished.rename(state_dir / LVM_HOME)
