"""What will not work on this machine: each thing in one line, with its reason and a remedy."""

import re

from mooring.driver.backends.filesystem import grows_mounted
from mooring.driver.role import Bundled, NoDriver
from mooring.driver.settings import NAME
from mooring.host.command import find_program
from mooring.host.loop_device import CONTROL
from mooring.oci.probe import AS_ROOT, NoRuntime, Probed

MAKES_EXT4 = "mkfs.ext4"
_WHERE = re.compile(r"^mount: (/.*?: )?")  # as mount(8) begins its complaints


def node_limits(cannot_mount: str, runtime: Probed, *, is_root: bool) -> tuple[str, ...]:
    """`cannot_mount`: why nothing can be mounted; empty: everything can."""
    found = []
    if cannot_mount:
        why = _WHERE.sub("", cannot_mount).rstrip(".")
        found.append(f"volumes that are mounted: {why}; {AS_ROOT}")
    if isinstance(runtime, NoRuntime):
        is_able = (is_root and not cannot_mount) or runtime.reason.endswith(AS_ROOT)
        found.append(f"pods: {runtime.reason}" + ("" if is_able else f"; {AS_ROOT}"))
    return tuple(found)


def driver_limits(driver: Bundled | NoDriver | None) -> tuple[str, ...]:
    """Of the bundled driver; None: nothing can be mounted, which was told. Asks the disk."""
    match driver:
        case None:
            return ()
        case NoDriver(because):
            return (f"volumes of {NAME}: {because}",)
        case Bundled():
            return (*missing_tools(), *missing_rights())


def missing_tools() -> tuple[str, ...]:
    found = []
    if find_program(MAKES_EXT4) is None:
        found.append(f"volumes of {NAME}: there is no {MAKES_EXT4}; install e2fsprogs")
    if not CONTROL.exists():
        found.append(f"volumes of {NAME}: there is no {CONTROL}; modprobe loop")
    return tuple(found)


def missing_rights() -> tuple[str, ...]:
    if grows_mounted("ext4"):
        return ()
    return (
        "growth of ext4 while it is mounted: this process lacks CAP_SYS_RESOURCE; grant it, or "
        "replace the pod after the claim has grown",
    )
