"""Snapshots of 1.3 GiB of ext4 under writes, without reflinks: how long a writer waits. Needs root.

Two threads write 64 KiB again and again; one of them also waits for the disk now and then, which
is not counted. What is counted is the longest write that the freeze of each snapshot held up.
"""

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mooring.clock import RealClock
from mooring.csi.proto import csi_pb2 as csi
from mooring.driver import freezing
from mooring.driver.backends import freeze
from mooring.host.mount import Mounts
from mooring.host.mountinfo import MountEntry
from tests.unit.driver.calls import Driver, a_capability

Row = tuple[str, str, str]

RUNS = 10
VOLUME_BYTES, FILE_MIB = 2 << 30, 1300
BLOCK, BLOCKS = 64 << 10, 800
PAUSE = 0.002  # seconds between two writes
TARGET = "target 100 ms"


class Writers:
    """Write to a mounted volume in threads, and remember when they had to wait."""

    def __init__(self, place: Path) -> None:
        self.waits: list[tuple[float, float]] = []  # begin and end of each write
        self._is_over = threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(place / f"written-{number}", number == 0))
            for number in range(2)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def longest(self, begin: float, end: float) -> float:
        """Of the writes that were under way in this time."""
        return max(
            (after - at for at, after in self.waits if after > begin and at < end), default=0
        )

    def _write(self, path: Path, is_patient: bool) -> None:  # noqa: FBT001  by position in a thread
        data, count = os.urandom(BLOCK), 0
        with path.open("wb", buffering=0) as file:
            while not self._is_over.wait(PAUSE):
                count += 1
                began = time.perf_counter()
                os.pwrite(file.fileno(), data, count * 7919 % BLOCKS * BLOCK)
                self.waits.append((began, time.perf_counter()))
                if is_patient and count % 16 == 0:
                    os.fsync(file.fileno())


@contextmanager
def _staged(place: Path) -> Iterator[tuple[Driver, str, Path]]:
    """A driver, and its volume, which is mounted and full."""
    staging = place / "staging"
    staging.mkdir()
    driver = Driver(place / "state", Mounts(), RealClock())
    volume = driver.make("data", size=VOLUME_BYTES, fs_type="ext4").volume_id
    driver.NodeStageVolume(
        csi.NodeStageVolumeRequest(
            volume_id=volume,
            staging_target_path=str(staging),
            volume_capability=a_capability(fs_type="ext4"),
        )
    )
    try:
        with (staging / "large").open("wb") as file:
            for _ in range(FILE_MIB):
                file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
        yield driver, volume, staging
    finally:
        driver.NodeUnstageVolume(
            csi.NodeUnstageVolumeRequest(volume_id=volume, staging_target_path=str(staging))
        )


def _measure(place: Path) -> Iterator[tuple[float, float]]:
    """Of each snapshot: seconds that a writer waited, and that the snapshot took."""
    spans: list[tuple[float, float]] = []
    really = freeze.frozen

    @contextmanager
    def frozen(
        mounts: Sequence[MountEntry], seconds: float, before: Callable[[], None]
    ) -> Iterator[float]:
        with really(mounts, seconds, before) as waited:
            began = time.perf_counter() - waited
            yield waited
        spans.append((began, time.perf_counter()))

    vars(freezing)["frozen"] = frozen
    with _staged(place) as (driver, volume, staging):
        writers = Writers(staging)
        try:
            for number in range(RUNS):
                writers.waits.clear()
                began = time.perf_counter()
                snapshot = driver.snap(volume, f"snapshot {number}")
                took = time.perf_counter() - began
                yield writers.longest(*spans[-1]), took
                driver.unsnap(snapshot.snapshot_id)
        finally:
            writers.stop()
            vars(freezing)["frozen"] = really


def run() -> list[Row]:
    if os.geteuid() or shutil.which("mkfs.ext4") is None:
        return [("snapshots under writes", "not run", "needs root, loop devices and mkfs.ext4")]
    with tempfile.TemporaryDirectory(prefix="mooring-freeze-") as name:
        runs = sorted(_measure(Path(name)))
    each = " ".join(f"{waited * 1e3:.0f}" for waited, _ in runs)
    what = f"snapshot of {FILE_MIB} MiB under writes"
    took = sorted(took for _, took in runs)[len(runs) // 2]
    return [
        (f"{what}: a writer waits (longest of {RUNS})", f"{runs[-1][0] * 1e3:.0f} ms", TARGET),
        ("  each of them, sorted", "", f"{each} ms"),
        ("  the whole snapshot (median)", f"{took:.1f} s", ""),
    ]
