"""`mooring driver`: the bundled CSI driver, for this machine's disk."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.flags import Format, Level, LogFormat, LogLevel
from mooring.cli.say import say

if TYPE_CHECKING:
    from mooring.driver.settings import ThinPool


class Kind(StrEnum):
    LOOP = "loop"
    LVM = "lvm"


def pool_of(kind: Kind, volume_group: str, thin_pool: str) -> "ThinPool | None":
    """None for loop devices. Raises: UsageError."""
    from mooring.driver.settings import ThinPool
    from mooring.errors import UsageError

    if kind is Kind.LOOP and (volume_group or thin_pool):
        raise UsageError("--volume-group and --thin-pool take --backend lvm")
    if kind is Kind.LVM and not volume_group:
        raise UsageError("--backend lvm takes a --volume-group, which has a thin pool")
    return None if kind is Kind.LOOP else ThinPool(volume_group, thin_pool)


def driver(  # noqa: PLR0913, PLR0917  one argument per flag
    endpoint: Annotated[
        str, typer.Option(help="Socket to serve CSI at: unix:///run/mooring/csi.sock.")
    ],
    node_id: Annotated[
        str, typer.Option(help="Name of this machine; volumes can be reached from it alone.")
    ],
    state_dir: Annotated[Path, typer.Option(help="Where volumes and snapshots are kept.")],
    max_volumes: Annotated[
        int, typer.Option(help="How many volumes may be attached; 0: no limit.", min=0)
    ] = 0,
    overcommit: Annotated[
        float, typer.Option(help="Bytes to promise to volumes for each free byte of the disk.")
    ] = 1.0,
    freeze_seconds: Annotated[
        float,
        typer.Option(help="How long writers of a mounted volume may wait while it is copied."),
    ] = 10.0,
    stand_in_for: Annotated[
        str,
        typer.Option(
            help="Serve under the name, and with the volume ids, of another driver: "
            "pd.csi.storage.gke.io. For in-tree volumes on this machine.",
        ),
    ] = "",
    backend: Annotated[
        Kind, typer.Option(help="What volumes are: loop, files; or lvm, logical volumes.")
    ] = Kind.LOOP,
    volume_group: Annotated[
        str, typer.Option(help="With --backend lvm: the volume group, which has a thin pool.")
    ] = "",
    thin_pool: Annotated[
        str, typer.Option(help="Its thin pool; not needed where it has only one.")
    ] = "",
    driver_name: Annotated[
        str,
        typer.Option(
            help="Name to serve under, if not loop.csi.mooring.dev or lvm.csi.mooring.dev."
        ),
    ] = "",
    disk: Annotated[
        list[str] | None,
        typer.Option(
            help="A volume that is to be there, NAME=SIZE or NAME=SIZE:FSTYPE (repeatable); "
            "it is made once, and stays.",
        ),
    ] = None,
    log_level: LogLevel = Level.INFO,
    log_format: LogFormat = Format.TEXT,
) -> None:
    """Run the bundled CSI driver, loop.csi.mooring.dev: volumes are files behind loop devices.

    With --backend lvm it is lvm.csi.mooring.dev: thin logical volumes in a volume group, and thin
    snapshots and clones of them (docs/lvm.md).

    CSI 1.13. File systems ext4 (the default), xfs and btrfs; raw block; snapshots, also of groups,
    and clones, which share blocks where the disk's file system can (xfs, btrfs); changed blocks;
    expansion; health; inline volumes; topology by node. Access modes: all of one node, and
    read-only on many. Needs root. Stopping it leaves everything mounted.

    Parameters of a StorageClass: csi.storage.k8s.io/fstype (ext4, xfs, btrfs); provisioning
    (sparse, the default: blocks are taken when they are written; full: all at once);
    readBytesPerSecond, writeBytesPerSecond, readIOPS, writeIOPS (an amount such as 20Mi, or max),
    which take cgroup v2. A VolumeAttributesClass can change all but the first. An inline volume has
    them as attributes, and size. A VolumeSnapshotClass has none.

    Example: mooring driver --endpoint unix:///run/mooring/csi.sock --node-id n1 --state-dir ./state
    """
    from mooring import log
    from mooring.driver.disks import parse_disk
    from mooring.driver.settings import DriverSettings
    from mooring.driver.stand_in import check_stand_in
    from mooring.errors import UsageError
    from mooring.stack.standalone import run_driver

    log.to_stderr(log_level, log_format)
    pool = pool_of(backend, volume_group, thin_pool)
    if pool is not None and stand_in_for:
        raise UsageError("--stand-in-for takes --backend loop")
    settings = DriverSettings(
        node_id,
        state_dir,
        max_volumes,
        overcommit,
        freeze_seconds,
        stands_in_for=check_stand_in(stand_in_for),
        pool=pool,
        given_name=driver_name,
    )
    run_driver(settings, endpoint, [parse_disk(text) for text in disk or ()], say)
