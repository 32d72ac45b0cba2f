"""The size of a new volume, and whether the disk or the pool has room for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.backends.contract import Space
from mooring.driver.records import AccessType
from mooring.driver.refusal import EXHAUSTED, INVALID, OUT_OF_RANGE, CallRefused
from mooring.driver.settings import GIB, MIB
from mooring.driver.state import State

DEFAULT_BYTES = GIB
# The smallest size that mkfs accepts, with a little room for files.
LEAST_BYTES = {"": MIB, "ext4": 8 * MIB, "xfs": 300 * MIB, "btrfs": 128 * MIB}


def choose_size(
    wanted: csi.CapacityRange, access_type: AccessType, fs_type: str, least: int, grain: int
) -> int:
    """The size of a new volume: `least` or more, a multiple of `grain`. Raises: CallRefused."""
    required, limit = checked_range(wanted)
    floor = max(least, LEAST_BYTES["" if access_type is AccessType.BLOCK else fs_type])
    size = (
        max(required, floor) if required or least else max(floor, min(DEFAULT_BYTES, limit or GIB))
    )
    size = -(-size // grain) * grain
    if limit and size > limit:
        text = f"the volume would have {size} bytes, which is more than limit_bytes {limit}"
        raise CallRefused(OUT_OF_RANGE, text)
    return size


def is_within(size: int, wanted: csi.CapacityRange) -> bool:
    """Whether a volume of this size satisfies the capacity range. Raises: CallRefused."""
    required, limit = checked_range(wanted)
    return required <= size and (not limit or size <= limit)


def checked_range(wanted: csi.CapacityRange) -> tuple[int, int]:
    """Required and limit bytes; 0: none. Raises: CallRefused when they are contradictory."""
    required, limit = wanted.required_bytes, wanted.limit_bytes
    if required < 0 or limit < 0:
        raise CallRefused(INVALID, "the capacity range is negative")
    if limit and required > limit:
        text = f"required_bytes {required} are more than limit_bytes {limit}"
        raise CallRefused(OUT_OF_RANGE, text)
    return required, limit


class Room:
    """The space that can still be promised to volumes."""

    def __init__(self, state: State, overcommit: float, space: Space) -> None:
        self._state = state
        self._space = space
        self._overcommit = overcommit
        self._lock = Lock()
        self._coming: dict[str, int] = {}  # bytes reserved for images being created

    @property
    def grain_bytes(self) -> int:
        """Sizes of volumes are multiples of this."""
        return self._space.grain_bytes

    def available_bytes(self) -> int:
        """The largest possible new volume. Raises: HostError."""
        with self._lock:
            return max(0, self._left())

    def total_bytes(self) -> int:
        """The largest possible volume on an empty disk. Raises: HostError."""
        return int(self._space.total_bytes() * self._overcommit)

    @contextmanager
    def reserved(self, identifier: str, size: int) -> Iterator[None]:
        """Reserve `size` bytes for an image that has a record by the end of the block.

        Raises: CallRefused when there is not enough room; HostError.
        """
        with self._lock:
            if size > self.total_bytes():
                text = f"{size} bytes are more than the disk has: {self.total_bytes()}"
                raise CallRefused(OUT_OF_RANGE, text)
            left = self._left_at_least()
            if size > left:
                left = self._left()
            if size > left:
                text = f"{size} bytes are wanted, and {max(0, left)} are left to promise"
                raise CallRefused(EXHAUSTED, text)
            self._coming[identifier] = size
        try:
            yield
        finally:
            with self._lock:
                del self._coming[identifier]

    def _left_at_least(self) -> int:
        """A lower bound, found without a look at the images."""
        records = self._state.volumes.all(), self._state.all_snapshots()
        left = self._space.left_at_least(*records, self._overcommit)
        return left - sum(self._coming.values())

    def _left(self) -> int:
        records = self._state.volumes.all(), self._state.all_snapshots()
        left = self._space.left_bytes(*records, self._overcommit)
        return left - sum(self._coming.values())
