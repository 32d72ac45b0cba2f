"""Volumes that stand still while they are copied: never for long, whoever is killed meanwhile."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from mooring.driver import copying, freezing
from mooring.driver.backends import catching_up, freeze, image
from mooring.driver.refusal import PRECONDITION
from mooring.errors import HostError
from mooring.host.mount import Mounts
from mooring.host.mount_calls import open_file_system
from mooring.host.mountinfo import MountEntry
from tests.fakes.clock import VirtualClock
from tests.host.conftest import NeedsTool
from tests.host.disks import Disks
from tests.host.driver_life import SIZES, Machine
from tests.unit.driver.calls import Driver, refused

ROOT = Path(__file__).parents[2]
SOON = 1.0  # seconds
LONG = 60.0


@pytest.fixture
def machine(place: Path, mounts: Mounts, needs_tool: NeedsTool) -> Iterator[Machine]:
    """With one volume of ext4, which is staged."""
    needs_tool("mkfs.ext4")
    if not Path("/dev/loop-control").exists():
        pytest.skip("needs loop devices: there is no /dev/loop-control")
    machine = Machine(place, mounts)
    machine.stage(machine.made("ext4"))
    yield machine
    for entry in mounts.table().below(machine.staging):
        freeze.thaw(entry)


def volume_of(machine: Machine) -> str:
    (volume, *_) = [one for one in machine.driver.core.state.volumes.all() if one.stage]
    return volume.id


def clone(machine: Machine, name: str = "clone") -> str:
    driver, source = machine.driver, volume_of(machine)
    return driver.make(name, size=SIZES["ext4"], volume_id=source, fs_type="ext4").volume_id


def mount_of(machine: Machine) -> MountEntry:
    found = Mounts().table().find(machine.staging)
    assert found is not None
    return found


class Writer:
    """Writes to the volume, and waits for the disk, in a thread: frozen, it cannot be ended."""

    def __init__(self, machine: Machine) -> None:
        self._file = machine.staging / "written"
        self.is_through = threading.Event()
        threading.Thread(target=self._write, daemon=True).start()

    def _write(self) -> None:
        with self._file.open("w") as file:
            file.write("x")
            file.flush()
            os.fsync(file.fileno())
        self.is_through.set()


@contextmanager
def a_clone_that_never_ends(machine: Machine) -> Iterator["subprocess.Popen[str]"]:
    argv = [sys.executable, "-m", "tests.host.frozen_clone", str(machine.place)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  our own program
        assert process.stdout is not None
        assert process.stdout.readline() == "still\n"
        try:
            yield process
        finally:
            process.kill()


def test_writers_go_on_when_the_driver_is_killed_in_a_clone(machine: Machine) -> None:
    with a_clone_that_never_ends(machine) as driver:
        writer = Writer(machine)
        assert not writer.is_through.wait(0.3)
        driver.send_signal(signal.SIGKILL)
        assert writer.is_through.wait(SOON)
    machine.start()
    clone(machine)


def test_signals_that_end_a_driver_do_not_end_who_thaws(machine: Machine) -> None:
    with a_clone_that_never_ends(machine) as driver:
        (helper,) = children_of(driver.pid)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(helper, number)
        writer = Writer(machine)
        assert not writer.is_through.wait(0.3)
        driver.kill()
        assert writer.is_through.wait(SOON)


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_writers_go_on_when_the_time_is_over_and_the_copy_is_not_kept(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.start(freeze_seconds=0.5)
    writer: list[Writer] = []

    def while_still() -> None:
        writer.append(Writer(machine))
        assert not writer[0].is_through.wait(0.1)
        assert writer[0].is_through.wait(LONG)  # though the copy goes on

    during(monkeypatch, while_still)
    with refused(PRECONDITION, "its writers would have to wait for more than 0.5 s"):
        clone(machine)
    assert writer
    assert machine.driver.ids() == [volume_of(machine)]
    assert not machine.driver.core.get_volume(volume_of(machine)).is_frozen


def test_a_copy_is_not_kept_when_somebody_else_thaws(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    during(monkeypatch, lambda: freeze.thaw(mount_of(machine)))
    with refused(PRECONDITION, "its writers would have to wait"):
        clone(machine)
    assert machine.driver.ids() == [volume_of(machine)]


def test_a_copy_is_kept_when_who_should_thaw_is_killed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill() -> None:
        for pid in children_of(os.getpid()):
            if b"host/freezer.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)

    during(monkeypatch, kill)
    clone(machine)
    assert Writer(machine).is_through.wait(SOON)


def test_what_somebody_else_froze_is_left_frozen(machine: Machine) -> None:
    with freeze.frozen([mount_of(machine)], LONG):
        with pytest.raises(Exception, match="busy"):
            clone(machine)
        writer = Writer(machine)
        assert not writer.is_through.wait(0.3)
    assert writer.is_through.wait(SOON)


class RacingClock(VirtualClock):
    """Six seconds pass whenever one looks."""

    def monotonic(self) -> float:
        self._looks = getattr(self, "_looks", 0) + 1
        return 6.0 * self._looks


def test_a_volume_that_would_stand_still_for_too_long_never_does(
    machine: Machine, mounts: Mounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine.staging / "file").write_bytes(os.urandom(12 << 20))
    machine.driver = Driver(machine.state, mounts, RacingClock())

    def must_not(*_: object) -> None:
        raise AssertionError

    not_followed(monkeypatch)
    monkeypatch.setattr(freezing, "frozen", must_not)
    with refused(PRECONDITION, "raise --freeze-seconds"):
        clone(machine)


def test_only_what_was_written_meanwhile_is_looked_at_while_it_stands_still(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    try:
        os.close(open_file_system("tracefs"))
    except HostError as error:
        pytest.skip(f"needs tracefs: {error}")
    with (machine.staging / "large").open("wb") as large:
        large.write(os.urandom(12 << 20))
        os.fsync(large.fileno())
    looked_at: list[int] = []
    really = catching_up.catch_up_in

    def catch_up_in(
        ranges: list[tuple[int, int]], source: int, target: int, go_on: Callable[[], None]
    ) -> int:
        looked_at.append(sum(end - begin for begin, end in ranges))
        return really(ranges, source, target, go_on)

    def write_late(*_: object) -> None:
        (machine.staging / "late").write_text("late")

    monkeypatch.setattr(catching_up, "catch_up_in", catch_up_in)
    monkeypatch.setattr(catching_up, "catch_up", None)  # nothing is compared as a whole
    monkeypatch.setattr(freezing, "_follow_up", write_late)
    copy = clone(machine)
    assert len(looked_at) == 1
    assert 0 < looked_at[0] < 4 << 20
    at = place / "copy"
    at.mkdir()
    machine.stage(copy, at)
    assert (at / "late").read_text() == "late"
    assert (at / "large").read_bytes() == (machine.staging / "large").read_bytes()
    machine.unstage(copy, at)


def test_nothing_that_was_written_is_missed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it still stands still, the copy is compared as a whole."""
    enough = threading.Event()
    missed: list[int] = []
    really = image.Copy.catch_up

    def write() -> None:
        number = 0
        while not enough.is_set():
            number += 1
            file = machine.staging / f"file-{number % 30}"
            if number % 5 == 0:
                file.unlink(missing_ok=True)
            else:
                file.write_bytes(os.urandom(number * 7919 % 100_000))

    def catch_up(
        copy: image.Copy, go_on: Callable[[], None], ranges: list[tuple[int, int]] | None = None
    ) -> None:
        really(copy, go_on, ranges)
        if go_on is not freezing.while_in_use:
            missed.append(catching_up.catch_up(copy._read, copy._written, go_on))

    monkeypatch.setattr(image.Copy, "catch_up", catch_up)
    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(5):
            clone(machine, f"clone {number}")
    finally:
        enough.set()
        thread.join()
    assert missed[-5:] == [0] * 5


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_clone_of_a_volume_that_is_written_to_is_that_of_a_moment(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    place: Path,
    *,
    is_followed: bool,
) -> None:
    if not is_followed:
        not_followed(monkeypatch)
    first, second = machine.staging / "first", machine.staging / "second"
    enough, begun = threading.Event(), threading.Event()

    def write() -> None:
        number = 0
        while not enough.is_set():
            number += 1
            for file in (first, second):
                (machine.staging / "next").write_text(f"{number:0999d}")
                (machine.staging / "next").rename(file)
            begun.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert begun.wait(LONG)
        copies = [clone(machine, f"clone {number}") for number in range(3)]
    finally:
        enough.set()
        thread.join()
    for copy in copies:
        check = ["e2fsck", "-f", "-n", str(machine.driver.image(copy))]
        ended = subprocess.run(check, capture_output=True, text=True, check=False)  # noqa: S603  a test's own words
        assert "recovering journal" in ended.stdout or ended.returncode == 0, ended.stdout
        at = place / copy
        at.mkdir()
        machine.stage(copy, at)
        one, other = (int((at / name).read_text()) for name in ("first", "second"))
        assert other <= one <= other + 1
        machine.unstage(copy, at)


@pytest.mark.parametrize("fs_type", ["xfs", "btrfs"])
def test_what_was_written_after_blocks_were_shared_is_in_the_clone(
    place: Path,
    mounts: Mounts,
    disks: Disks,
    needs_tool: NeedsTool,
    monkeypatch: pytest.MonkeyPatch,
    fs_type: str,
) -> None:
    for name in ("mkfs.ext4", f"mkfs.{fs_type}"):
        needs_tool(name)
    store = place / "store"
    store.mkdir()
    mounts.mount(str(disks.formatted(fs_type, 400)), store, fs_type)
    machine = Machine(store, mounts)
    machine.stage(machine.made("ext4"))
    really = image.Copy.make

    def make(copy: image.Copy) -> None:
        really(copy)
        (machine.staging / "late").write_text("late")

    monkeypatch.setattr(image.Copy, "make", make)
    source = volume_of(machine)
    copied = machine.driver.make(
        "clone", size=2 * SIZES["ext4"], volume_id=source, fs_type="ext4"
    ).volume_id
    assert machine.driver.core.get_volume(copied).shared_bytes > 0
    machine.unstage(source)
    machine.stage(copied)
    assert (machine.staging / "late").read_text() == "late"
    machine.unstage(copied)


def during(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Do something while the volume stands still."""

    @contextmanager
    def frozen(
        mounts: Sequence[MountEntry], seconds: float, before: Callable[[], None]
    ) -> Iterator[float]:
        with freeze.frozen(mounts, seconds, before) as waited:
            act()
            yield waited

    monkeypatch.setattr(freezing, "frozen", frozen)


def not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a kernel that does not report what is written."""

    @contextmanager
    def refuse(device: Path) -> Iterator[None]:
        raise HostError(f"{device}: no tracefs")
        yield

    monkeypatch.setattr(copying, "write_trace", refuse)
