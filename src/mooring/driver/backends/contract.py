"""What a backend of the driver offers: images, which hold the bytes of volumes; devices; and room.

An image has a path in the state directory: with loop devices it is a file, with LVM a link to a
logical volume. It is made in a draft, and appears and disappears with its record (`state.py`).
The modules `image` and `device` are the first two parts of the loop backend. All of it blocks, and
raises HostError.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import msgspec

from mooring.driver.records import SnapshotRecord, VolumeRecord
from mooring.host.loop_device import Access


class Copying(Protocol):
    """A new image with the bytes of another one; see `image.Copy`."""

    @property
    def is_shared(self) -> bool: ...
    @property
    def shared_bytes(self) -> int: ...
    def reopen(self) -> None: ...
    def make(self) -> None: ...
    def catch_up(
        self, go_on: Callable[[], None], ranges: Iterable[tuple[int, int]] | None = None
    ) -> None: ...
    def save(self) -> None: ...


class Images(Protocol):
    def create(self, path: Path, size: int) -> None:
        """An image of zeros."""

    def copying(self, source: Path, target: Path, size: int) -> AbstractContextManager[Copying]: ...
    def copy(self, source: Path, target: Path, size: int) -> int:
        """Copy an image that is not being written to; returns how many bytes the two share."""

    def grow(self, path: Path, size: int) -> None: ...
    def allocate(self, path: Path) -> None: ...
    def blank(self, path: Path, size: int) -> None:
        """Replace an image by one of zeros. Only for an image that was never staged."""

    def give_own_identity(self, path: Path) -> None: ...
    def discard(self, path: Path) -> None:
        """Free what is behind the path of an image, which is in a draft or in the trash."""

    def size_bytes(self, path: Path) -> int:
        """Raises: FileNotFoundError when it is missing; OSError."""

    def allocated_bytes(self, path: Path) -> int: ...
    def find_read_error(self, path: Path) -> str: ...


class Devices(Protocol):
    def find(self, image: Path, access: Access = ...) -> Path | None: ...
    def find_or_attach(self, image: Path, access: Access = ...) -> Path: ...
    def find_all(self, image: Path) -> Sequence[Path]: ...
    def detach(self, device: Path) -> None: ...
    def detach_all(self, image: Path) -> None: ...
    def is_held(self, image: Path) -> bool:
        """Whether somebody may have its raw device, in whatever mount namespace."""

    def is_in_use(self, image: Path) -> bool: ...
    def wait_unmounted(self, *images: Path) -> bool: ...
    def is_soon_closed(self, image: Path) -> bool: ...
    def follow_size(self, image: Path) -> None: ...


class Space(Protocol):
    """The disk or pool that holds all images."""

    @property
    def grain_bytes(self) -> int:
        """Sizes of volumes are multiples of this."""

    def total_bytes(self) -> int: ...
    def left_bytes(
        self,
        volumes: Sequence[VolumeRecord],
        snapshots: Sequence[SnapshotRecord],
        overcommit: float,
    ) -> int:
        """What can be promised to new volumes; may be negative."""

    def left_at_least(
        self,
        volumes: Sequence[VolumeRecord],
        snapshots: Sequence[SnapshotRecord],
        overcommit: float,
    ) -> int:
        """A lower bound, which is found faster."""

    def full(self) -> str:
        """What is full, in words; empty: nothing is."""


class Backend(msgspec.Struct, frozen=True):
    images: Images
    devices: Devices
    space: Space
    # A copy of one volume in use is of one moment by itself: neither freeze nor trace is needed.
    copies_at_once: bool = False
    tells_changed_blocks: bool = True
