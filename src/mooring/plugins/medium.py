"""What an emptyDir is made of, decided from the pod alone: disk, memory or huge pages."""

import os
import re
from collections.abc import Mapping
from enum import Enum, auto
from pathlib import Path

import msgspec

from mooring.model import quantity
from mooring.model.pod import Pod
from mooring.model.pod_resources import MEMORY, find_memory_limit, huge_page_requests
from mooring.model.pod_volume import EmptyDirSource
from mooring.model.quantity import Quantity
from mooring.plugins.contract import VolumeError

IN_MEMORY = "Memory"
HUGE_PAGES = "HugePages"
_SIZED = "HugePages-"

_NOSWAP_SINCE = (6, 4)
_UID_MAP = Path("/proc/self/uid_map")
_ALL_UIDS = ("0", "0", "4294967295")


class OnDisk(msgspec.Struct, frozen=True):
    pass


class InMemory(msgspec.Struct, frozen=True):
    size: int | None = None  # bytes; None leaves it to the kernel, which takes half the memory


class InHugePages(msgspec.Struct, frozen=True):
    page_size: Quantity
    takes_any: bool  # the pod did not say which size: one that is mounted already will do


Medium = OnDisk | InMemory | InHugePages
ON_DISK = OnDisk()


class Swap(Enum):
    """Whether a file system in memory can be kept from being swapped out."""

    NEVER_OUT = auto()
    MAY_GO_OUT = auto()
    TRY = auto()  # some kernels before 6.4 can


def choose_medium(source: EmptyDirSource, pod: Pod, allocatable: Mapping[str, str]) -> Medium:
    """Raises: VolumeError for a medium that there is none of, or not for this pod."""
    medium = source.medium
    if not medium:
        return ON_DISK
    if medium == IN_MEMORY:
        return memory_for(pod, allocatable, source.size_limit)
    if medium == HUGE_PAGES or medium.startswith(_SIZED):
        return InHugePages(_page_size(medium, pod), takes_any=medium == HUGE_PAGES)
    raise VolumeError(f'unknown storage medium "{medium}"')


def memory_for(pod: Pod, allocatable: Mapping[str, str], size_limit: str | None = None) -> InMemory:
    """As large as the volume asks for, but no larger than the pod may ever fill it."""
    bounds = (
        _bytes(allocatable.get(MEMORY)),
        find_memory_limit(pod),
        _bytes(size_limit),
    )
    return InMemory(min((bound for bound in bounds if bound), default=None))


def tmpfs_options(medium: InMemory, *, noswap: bool) -> tuple[str, ...]:
    options = (f"size={medium.size}",) if medium.size else ()
    return (*options, "noswap") if noswap else options


def swap_rule(release: str, uid_map: str) -> Swap:
    """What the kernel with this release allows a process with this map of user ids."""
    if tuple(uid_map.split()) != _ALL_UIDS:
        return Swap.MAY_GO_OUT  # in a user namespace, refused
    numbers = re.match(r"(\d+)\.(\d+)", release)
    kernel = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    return Swap.NEVER_OUT if kernel >= _NOSWAP_SINCE else Swap.TRY


def swap_rule_here() -> Swap:
    try:
        return swap_rule(os.uname().release, _UID_MAP.read_text())
    except OSError:
        return Swap.TRY


def mounted_page_size(options: tuple[str, ...]) -> Quantity | None:
    """The size among a mount's options, where `2M` stands for `2Mi`; None when it is not there."""
    for option in options:
        name, _, size = option.partition("=")
        if name == "pagesize":
            return _parse(size if size.endswith("i") else f"{size}i")
    return None


def _page_size(medium: str, pod: Pod) -> Quantity:
    asked = {_parse(size) for size in huge_page_requests(pod)}
    if medium == HUGE_PAGES:
        if len(asked) > 1:
            raise VolumeError(
                f"medium: {medium} can't be used if container requests multiple huge page sizes"
            )
        wanted = asked
    else:
        wanted = asked & {_parse(medium.removeprefix(_SIZED))}
    if not wanted:
        raise VolumeError(
            f"medium {medium}: hugePages storage requested, "
            "but there is no resource request for huge pages"
        )
    return wanted.pop()


def _parse(size: str) -> Quantity:
    try:
        return quantity.parse(size)
    except ValueError as error:
        raise VolumeError(f"{size} is no size of huge pages: {error}") from None


def _bytes(text: str | None) -> int | None:
    return None if text is None else quantity.parse(text).bytes_ceil()
