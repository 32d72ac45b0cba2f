"""Growing a file system to the size of its device."""

from pathlib import Path

import msgspec

from mooring import log
from mooring.errors import HostError
from mooring.host import command
from mooring.host.block_device import is_read_only, size_bytes
from mooring.host.probe import Contents, Empty, Holds, describe, probe

logger = log.get("mooring.host.resize")

INSPECT_SECONDS = 300.0
_DENIED = "Permission denied to resize filesystem"


class BtrfsSize(msgspec.Struct, frozen=True):
    sector_bytes: int
    total_bytes: int


def resize(device: Path, mounted_at: Path) -> bool:
    """Grow the mounted file system on `device`; False when there is none to grow.

    Repeated: a file system that fills its device is left unchanged.
    Raises: HostError when it could not be grown; it is undamaged.
    """
    contents = probe(device)
    match contents:
        case Empty():
            return False  # mkfs will take the whole device
        case Holds("ext3" | "ext4"):
            argv, about = ["resize2fs", str(device)], device
        case Holds("xfs"):
            argv, about = ["xfs_growfs", "-d", str(mounted_at)], mounted_at
        case Holds("btrfs"):
            argv = ["btrfs", "filesystem", "resize", "max", str(mounted_at)]
            about = mounted_at
        case _:
            raise HostError(
                f"ResizeFS.Resize - resize of format {describe(contents)} is not supported for "
                f"device {device} mounted at {mounted_at}"
            )
    ended = command.run(argv, seconds=None)
    if ended.code != 0:
        remedy = _remedy(device) if _DENIED in ended.output else ""
        raise ended.failed(
            f"resize of device {about} failed: {ended.status}. {remedy}"
            f"{argv[0]} output: {ended.output}"
        )
    logger.info("file system resized", device=device, mounted_at=mounted_at)
    return True


def _remedy(device: Path) -> str:
    return (
        "A mounted ext4 grows only by a process with CAP_SYS_RESOURCE: grant it, or, with no pod "
        f"using the volume, run `e2fsck -f` and `resize2fs` on {device} or on the file behind it. "
    )


def needs_resize(device: Path) -> bool:
    """Whether `resize` should be called: the device is writable, and may have room left.

    Always True for ext and xfs, whose tools check the size themselves.
    Raises: HostError for a format that cannot be resized.
    """
    if is_read_only(device):
        return False
    contents: Contents = probe(device)
    match contents:
        case Empty():
            return False
        case Holds("ext3" | "ext4" | "xfs"):
            return True
        case Holds("btrfs"):
            dump = ["btrfs", "inspect-internal", "dump-super", "-f", str(device)]
            told = parse_btrfs_super(command.check(dump, seconds=INSPECT_SECONDS))
            return size_bytes(device) > told.total_bytes + told.sector_bytes
        case _:
            raise HostError(
                f"could not parse fs info of given filesystem format: {describe(contents)}. "
                "Supported fs types are: xfs, ext3, ext4"
            )


def parse_btrfs_super(output: str) -> BtrfsSize:
    """Read what `btrfs inspect-internal dump-super` prints.

    Raises: HostError when the sizes are not in it.
    """
    pairs = (line.split() for line in output.split("\n"))
    numbers = {pair[0].lower(): pair[1] for pair in pairs if len(pair) == 2}
    try:
        size = BtrfsSize(int(numbers["sectorsize"]), int(numbers["total_bytes"]))
    except (KeyError, ValueError):
        raise HostError("could not find the size of the btrfs file system") from None
    return size
