"""The backend of one thin pool."""

from pathlib import Path

from mooring import log
from mooring.clock import Clock
from mooring.driver.backends.contract import Backend
from mooring.driver.backends.lvm import LvmImages
from mooring.driver.backends.lvm_devices import LvmDevices
from mooring.driver.backends.lvm_home import open_home
from mooring.driver.backends.lvm_space import PoolSpace
from mooring.driver.settings import ThinPool
from mooring.host.lvm import Lvm, Run

_log = log.get("mooring.driver.lvm")


def open_lvm(pool: ThinPool, state_dir: Path, clock: Clock, run: Run | None = None) -> Backend:
    """Blocks. Raises: UsageError when the pool cannot be used, or is not that of `state_dir`."""
    lvm = Lvm(pool.volume_group, run)
    home = open_home(pool, state_dir, lvm)
    extent = lvm.describe().extent_bytes
    return Backend(
        LvmImages(lvm, home),
        LvmDevices(lvm),
        PoolSpace(lvm, home, extent, clock),
        copies_at_once=True,
        tells_changed_blocks=False,
    )
