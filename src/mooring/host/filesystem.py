"""Making a device ready: format it if it is empty, check it if it is not, then mount it.

Formatting is the one step here that can destroy data. It is decided from the output of blkid, and
confirmed just before mkfs: the device is not in use, it can be read at both ends, and blkid still
finds nothing.
"""

import json
import os
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

from mooring import log
from mooring.errors import CommandFailed, HostError, Unformatted, WrongFilesystem
from mooring.host import command
from mooring.host.block_device import claimed, is_block_device
from mooring.host.contract import MountOps
from mooring.host.mount_options import each
from mooring.host.probe import Contents, Empty, Holds, Partitions, describe, probe
from mooring.host.refusal import refusals

logger = log.get("mooring.host.filesystem")

DEFAULT_TYPE = "ext4"
END_BYTES = 1 << 20  # where file systems and partition tables leave their signatures
# One kernel driver mounts all three, and one fsck checks them.
EXT_FAMILY = frozenset(("ext2", "ext3", "ext4"))
FORMAT_ARGUMENTS = {
    "ext3": ("-F", "-m0"),  # force: it is a whole device; no blocks reserved for root
    "ext4": ("-F", "-m0"),
    "xfs": ("-f",),
}


class Preparation(Enum):
    """The step before the mount."""

    REFUSE = "refuse"
    FORMAT = "format"
    CHECK = "check"
    NONE = "none"


class FsckVerdict(Enum):
    CLEAN = "clean"
    CORRECTED = "corrected"
    DAMAGED = "damaged"  # errors left: do not mount
    UNTOLD = "untold"  # fsck itself failed; the mount decides


def decide_preparation(contents: Contents, wanted: str, options: Sequence[str]) -> Preparation:
    """What to do with a device before mounting it as `wanted`; pure.

    Another file system than `wanted` is left alone: the mount will be refused. (Upstream runs fsck
    on it too; but fsck may write, and the user did not ask for that.)
    """
    is_read_only = "ro" in options
    match contents:
        case Empty():
            return Preparation.REFUSE if is_read_only else Preparation.FORMAT
        case Holds(fs_type) if fs_type == wanted or {fs_type, wanted} <= EXT_FAMILY:
            return Preparation.NONE if is_read_only else Preparation.CHECK
        case Holds() | Partitions():
            return Preparation.NONE


def judge_fsck(code: int) -> FsckVerdict:
    """What the exit code of `fsck -a` means."""
    match code:
        case 0:
            return FsckVerdict.CLEAN
        case 1:
            return FsckVerdict.CORRECTED
        case 4:
            return FsckVerdict.DAMAGED
        case _:
            return FsckVerdict.UNTOLD


def format_and_mount(
    mounts: MountOps,
    device: Path,
    target: Path,
    fs_type: str,
    options: Sequence[str] = (),
    *,
    sensitive: Sequence[str] = (),
    format_options: Sequence[str] = (),
) -> None:
    """Mount `device` at `target`, with a new file system if it is empty.

    Before: `target` exists. An empty `fs_type` is ext4.
    After: mounted. Data that was on the device is still there.
    Raises: WrongFilesystem when the device holds something else, and it could not be mounted as
    `fs_type`; Unformatted when it is empty, and the mount is read-only; HostError otherwise.
    """
    wanted = fs_type or DEFAULT_TYPE
    given = (*options, "defaults")
    if "/" in wanted:
        raise HostError(f"{_quoted(wanted)} is not the name of a file system")
    contents = probe(device)
    match decide_preparation(contents, wanted, (*each(options), *each(sensitive))):
        case Preparation.REFUSE:
            raise Unformatted(
                f"cannot mount unformatted disk {device} as we are manipulating it in "
                "read-only mode"
            )
        case Preparation.FORMAT:
            confirm_empty(device)
            shown = ",".join((*given, *(command.MASK for _ in sensitive)))
            _format(device, target, wanted, format_options, shown)
        case Preparation.CHECK:
            check_and_repair(device)
        case Preparation.NONE:
            pass
    is_other = not isinstance(contents, Empty) and contents != Holds(wanted)
    if is_other:
        found = describe(contents)
        logger.warning("the device holds another format", device=device, wanted=wanted, found=found)
    try:
        mounts.mount(str(device), target, wanted, given, sensitive=sensitive)
    except HostError as error:
        if is_other:
            raise WrongFilesystem(str(error)) from error
        raise


def check_and_repair(device: Path) -> None:
    """Let fsck repair what it can without questions. Raises: HostError when errors are left."""
    if command.find_program("fsck") is None:
        logger.warning("'fsck' not found; mounting without a check", device=device)
        return
    ended = command.run(["fsck", "-a", str(device)], seconds=None)
    match judge_fsck(ended.code):
        case FsckVerdict.CLEAN:
            pass
        case FsckVerdict.CORRECTED:
            logger.info("fsck corrected errors", device=device)
        case FsckVerdict.DAMAGED:
            raise ended.failed(
                f"'fsck' found errors on device {device} but could not correct them: {ended.output}"
            )
        case FsckVerdict.UNTOLD:
            logger.warning("fsck failed", device=device, status=ended.status, output=ended.output)


def confirm_empty(device: Path) -> None:
    """Check, just before mkfs, that formatting `device` destroys no known data.

    blkid reports "nothing found" for an unreadable device too, so both ends are read here. Bytes
    without a signature are no obstacle: discarded and shredded disks have them.
    Raises: HostError when the device is in use, or cannot be read; WrongFilesystem when it is not
    empty any more.
    """
    if not is_block_device(device):
        raise HostError(f"{device} is not a block device, so it is not formatted")
    with claimed(device) as descriptor:
        is_blank = _ends_are_zero(device, descriptor)
        contents = probe(device)
    if not isinstance(contents, Empty):
        text = f"{device} holds {describe(contents)} by now, so it is not formatted"
        raise WrongFilesystem(text)
    if not is_blank:
        logger.warning("formatting a device with bytes of no known signature", device=device)


def _ends_are_zero(device: Path, descriptor: int) -> bool:
    with refusals(f"read {device}"):
        size = os.lseek(descriptor, 0, os.SEEK_END)
    if size == 0:
        raise HostError(f"{device} has no size, so it is not formatted")
    length = min(size, END_BYTES)
    ends = (_read(device, descriptor, start, length) for start in (0, size - length))
    return all(end.count(0) == len(end) for end in ends)


def _read(device: Path, descriptor: int, start: int, length: int) -> bytes:
    """Read exactly `length` bytes. Raises: HostError, since an unreadable device may hold data."""
    content = b""
    while len(content) < length:
        with refusals(f"read {device}"):
            more = os.pread(descriptor, length - len(content), start + len(content))
        if not more:
            raise HostError(f"{device} ends before its size, so it is not formatted")
        content += more
    return content


def _format(
    device: Path, target: Path, fs_type: str, extra: Sequence[str], shown_options: str
) -> None:
    arguments = (*extra, *FORMAT_ARGUMENTS.get(fs_type, ()), str(device))
    logger.info("formatting an empty device", device=device, fs_type=fs_type)
    try:
        ended = command.run([f"mkfs.{fs_type}", *arguments], seconds=None)
        failed = ended.failed(ended.status) if ended.code != 0 else None
    except CommandFailed as missing:
        failed = missing
    if failed is not None:
        text = (
            f"format of disk {_quoted(device)} failed: type:({_quoted(fs_type)}) "
            f"target:({_quoted(target)}) options:({_quoted(shown_options)}) "
            f"errcode:({failed}) output:({failed.output}) "
        )
        raise CommandFailed(text, argv=failed.argv, code=failed.code, output=failed.output)


def _quoted(value: object) -> str:
    return json.dumps(str(value), ensure_ascii=False)
