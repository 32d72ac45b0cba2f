"""Real mounts, loop devices and file systems, for root. Each test cleans up what it leaves.

Cleaning goes by umount(8) and losetup(8), so that it does not depend on what is being tested.
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mooring.host.mount import Mounts
from mooring.host.mountinfo import read_table
from tests.fakes.programs import programs  # noqa: F401  a fixture
from tests.fakes.waiting import until
from tests.host.containers import little, world  # noqa: F401  fixtures
from tests.host.disks import Disks
from tests.host.image_disk import (  # noqa: F401  fixtures
    image_root,
    image_store,
    memory_disk,
    written_image,
)
from tests.host.kernels import kernel  # noqa: F401  a fixture

SECONDS_TO_GO = 10.0
NeedsTool = Callable[[str], None]


@pytest.fixture(scope="session")
def needs_root(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where this process may not mount."""
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts are made")
    trial = tmp_path_factory.mktemp("trial")
    mounted = _run("mount", "-t", "tmpfs", "trial", str(trial))
    if mounted.returncode != 0:
        pytest.skip(f"root may not mount here: {mounted.stderr.partition(chr(10))[0]}")
    _run("umount", str(trial))


@pytest.fixture
def needs_tool() -> NeedsTool:
    """Skip where a program is not installed."""

    def check(name: str) -> None:
        if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
            pytest.skip(f"needs {name}, which is not installed")

    return check


@pytest.fixture
def needs_filesystem() -> NeedsTool:
    """Skip where the kernel cannot mount a type."""

    def check(fs_type: str) -> None:
        if shutil.which("modprobe"):
            _run("modprobe", "-q", fs_type)
        known = {line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines()}
        if fs_type not in known:
            pytest.skip(f"needs {fs_type}, which this kernel does not know")

    return check


@pytest.fixture
def place(needs_root: None, tmp_path: Path) -> Iterator[Path]:
    """An empty directory. What gets mounted below goes again."""
    yield tmp_path
    clear(tmp_path)


@pytest.fixture
def mounts(needs_root: None) -> Mounts:
    return Mounts()


@pytest.fixture
def target(place: Path) -> Path:
    """A directory to mount at."""
    path = place / "target"
    path.mkdir()
    return path


@pytest.fixture
def disks(place: Path) -> Disks:
    """Block devices to be had: files behind loop devices, which go with the test."""
    if not Path("/dev/loop-control").exists():
        pytest.skip("needs loop devices: there is no /dev/loop-control")
    return Disks(place)


@pytest.fixture(scope="session", autouse=True)
def nothing_left_behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The last word: no mount, no loop device of these tests is left.

    What was there before belongs to fixtures of other suites, which end after this one.
    """
    base = tmp_path_factory.getbasetemp().resolve()
    others = set(base.iterdir())
    yield

    def own() -> list[Path]:
        return [path for path in base.iterdir() if path not in others and any(left_at(path))]

    try:
        # A detached device goes at its last close; another program may just be looking at it.
        asyncio.run(until(lambda: not own(), SECONDS_TO_GO))
    except TimeoutError:
        left = {str(path): left_at(path) for path in own()}
        for path in own():
            clear(path)
        pytest.fail(f"tests left these behind: {left}")


def left_at(base: Path) -> tuple[list[str], list[str]]:
    """The loop devices of files below `base`, and the mounts there."""
    devices = [device for device, backing in loop_devices() if backing.startswith(f"{base}/")]
    return devices, [entry.at for entry in read_table().below(base)]


def clear(base: Path) -> None:
    """Detach and unmount all that is below `base`."""
    devices, mount_points = left_at(base)
    for device in devices:  # before their files lose their names with the mounts
        _run("losetup", "--detach", device)
    for mount_point in reversed(mount_points):
        _run("umount", "--lazy", mount_point)


def loop_devices() -> list[tuple[str, str]]:
    """Every loop device in use, with the name of its backing file."""
    files = Path("/sys/block").glob("loop*/loop/backing_file")
    return [(f"/dev/{file.parts[3]}", _read(file)) for file in files]


def _read(file: Path) -> str:
    try:
        return os.fsdecode(file.read_bytes()).rstrip("\n")
    except OSError:
        return ""  # just being freed


def _run(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=False)  # noqa: S603  a test's own words
