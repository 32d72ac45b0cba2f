"""fsGroup on real files, with the right to give them away."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host import no_follow, ownership, ownership_walk, same_mount, tree
from mooring.host import parallel_walk as ownership_crew
from mooring.host.atomic_dir import FileContent, write
from mooring.host.mount import Mounts
from mooring.host.ownership import Applied, ChangePolicy, FsGroup, View
from mooring.host.ownership_walk import Share, Wanted
from tests.fakes.system_calls import SystemCalls
from tests.host.attacker import attacking, exchange
from tests.host.conftest import NeedsTool

GROUP = FsGroup(2000)


def owners(directory: Path) -> dict[str, tuple[int, int]]:
    """Group and mode of everything, links themselves."""
    found = {}
    for path in (directory, *directory.rglob("*")):
        seen = path.lstat()
        found[str(path.relative_to(directory))] = (seen.st_gid, stat.S_IMODE(seen.st_mode))
    return found


@pytest.fixture
def volume(place: Path) -> Path:
    volume = place / "volume"
    (volume / "d").mkdir(parents=True)
    (volume / "d" / "file").touch(0o644)
    return volume


def fill(directory: Path, directories: int, files: int) -> None:
    for number in range(directories):
        parent = directory / f"dir{number}"
        parent.mkdir()
        for file in range(files):
            os.mknod(parent / f"file{file}", 0o644)


def test_everything_gets_the_group(volume: Path) -> None:
    assert ownership.apply(volume, GROUP) == Applied(3)
    assert owners(volume) == {
        ".": (2000, 0o2775),
        "d": (2000, 0o2775),
        "d/file": (2000, 0o664),
    }


def test_a_secret_volume_is_read_by_the_group(volume: Path) -> None:
    group = FsGroup(2000, read_only=True)
    payload = {"key": FileContent(b"x", 0o400), "sub/key": FileContent(b"x", 0o400)}

    def own(directory: Path) -> None:
        ownership.apply(directory, group)

    write(volume, payload, own)
    generation = volume / os.readlink(volume / "..data")
    assert owners(generation) == {
        ".": (2000, 0o2755),
        "key": (2000, 0o440),
        "sub": (2000, 0o2755),
        "sub/key": (2000, 0o440),
    }
    assert (volume / "key").stat().st_uid == 0


def test_the_owner_of_a_file_is_set(volume: Path) -> None:
    write(volume, {"token": FileContent(b"x", 0o600, owner=1000)})
    seen = (volume / "token").stat()
    assert (seen.st_uid, seen.st_gid, stat.S_IMODE(seen.st_mode)) == (1000, 0, 0o600)


def test_an_inner_file_is_left_when_the_root_is_right(volume: Path) -> None:
    group = FsGroup(2000, policy=ChangePolicy.ON_ROOT_MISMATCH)
    ownership.apply(volume, group)
    os.chown(volume / "d" / "file", -1, 3000)
    assert ownership.apply(volume, group) == Applied(0)
    assert (volume / "d" / "file").stat().st_gid == 3000
    volume.chmod(0o770)  # setgid is gone
    assert ownership.apply(volume, group) == Applied(3)
    assert (volume / "d" / "file").stat().st_gid == 2000


def test_links_get_the_group_and_lead_nowhere(volume: Path, place: Path) -> None:
    outside = place / "outside"
    outside.mkdir(0o700)
    (volume / "out").symlink_to(outside)
    (volume / "dangling").symlink_to("nowhere")
    assert ownership.apply(volume, GROUP) == Applied(5)
    found = owners(volume)
    assert (found["out"][0], found["dangling"][0]) == (2000, 2000)
    assert owners(outside) == {".": (0, 0o700)}


def test_setuid_and_setgid_of_files_survive_the_change_of_group(volume: Path) -> None:
    program = volume / "program"
    program.touch()
    program.chmod(0o6775)
    ownership.apply(volume, GROUP)
    assert owners(volume)["program"] == (2000, 0o6775)


def test_fifos_sockets_and_devices_are_changed_unopened(volume: Path) -> None:
    os.mkfifo(volume / "fifo", 0o600)
    os.mknod(volume / "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    ownership.apply(volume, GROUP)
    found = owners(volume)
    assert (found["fifo"], found["null"]) == ((2000, 0o660), (2000, 0o660))


@pytest.fixture(params=[*View], ids=lambda view: view.value)
def view(request: pytest.FixtureRequest) -> View:
    view: View = request.param
    return view


@pytest.fixture
def other(place: Path) -> Path:
    """A directory that is none of the volume's, with a file that is nobody else's."""
    path = place / "other"
    path.mkdir(0o700)
    (path / "key").touch(0o600)
    return path


@pytest.mark.usefixtures("kernel")
def test_mounts_inside_are_left_alone(
    volume: Path, other: Path, mounts: Mounts, view: View
) -> None:
    (volume / "mounted").mkdir()
    (volume / "file").touch()
    mounts.bind(other, volume / "mounted")
    mounts.bind(other / "key", volume / "file")
    mounts.mount("tmpfs", volume / "d", "tmpfs", ["mode=0700"])
    (volume / "d" / "inner").touch(0o600)
    ownership.apply(volume, GROUP, view=view)
    assert owners(other) == {".": (0, 0o700), "key": (0, 0o600)}
    assert owners(volume / "d") == {".": (0, 0o700), "inner": (0, 0o600)}
    assert owners(volume)["."] == (2000, 0o2775)


@pytest.mark.usefixtures("other")
def test_what_mounts_hide_is_owned_where_a_bind_shows_it(
    volume: Path, place: Path, mounts: Mounts, target: Path
) -> None:
    mounts.bind(place / "other", volume / "d")
    ownership.apply(volume, GROUP, view=View.AS_BOUND)
    mounts.bind(volume, target)
    assert owners(target) == {
        ".": (2000, 0o2775),
        "d": (2000, 0o2775),
        "d/file": (2000, 0o664),
    }
    assert owners(place / "other")["key"] == (0, 0o600)


@pytest.mark.usefixtures("large")
def test_helpers_see_what_the_bind_shows(volume: Path, other: Path, mounts: Mounts) -> None:
    (volume / "mounted").mkdir()
    mounts.bind(other, volume / "mounted")
    assert ownership.apply(volume, GROUP, view=View.AS_BOUND).failures == 0
    assert owners(other) == {".": (0, 0o700), "key": (0, 0o600)}
    mounts.unmount(volume / "mounted")
    assert {gid for gid, _ in owners(volume).values()} == {2000}


def test_a_refused_change_is_counted_and_passed_over(
    volume: Path, caplog: pytest.LogCaptureFixture, needs_tool: NeedsTool
) -> None:
    needs_tool("chattr")
    (volume / "fixed").touch(0o600)
    with immutable(volume / "fixed"):
        assert ownership.apply(volume, GROUP) == Applied(4, failures=1)
    found = owners(volume)
    assert (found["."], found["d/file"], found["fixed"]) == (
        (2000, 0o2775),
        (2000, 0o664),
        (0, 0o600),
    )
    assert "Operation not permitted" in caplog.text


@contextmanager
def immutable(file: Path) -> Iterator[None]:
    """Not even root may change it."""
    for sign in "+-":
        argv = ["chattr", f"{sign}i", str(file)]
        ended = subprocess.run(argv, check=False, capture_output=True, text=True)  # noqa: S603  a test's own words
        if ended.returncode != 0:
            pytest.skip(f"needs a file system with attributes: {ended.stderr}")
        if sign == "+":
            yield


def test_the_root_comes_last(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    change = ownership_walk.change

    def note(directory: int, name: str, seen: os.stat_result, wanted: Wanted) -> OSError | None:
        order.append(name)
        return change(directory, name, seen, wanted)

    monkeypatch.setattr(ownership_walk, "change", note)
    ownership.apply(volume, GROUP)
    assert order == ["file", "d", "."]


@pytest.fixture
def large(volume: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A volume that is large enough for helpers, on a machine that has the cores for them."""
    fill(volume, directories=3, files=99)
    monkeypatch.setattr(ownership_walk, "REPORT_EVERY", 50)
    monkeypatch.setattr(ownership_crew, "SHARED_FROM", 100)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    return volume


def test_helpers_and_we_together_change_everything(
    large: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[int] = []
    assert ownership.apply(large, GROUP, told.append) == Applied(303)
    assert caplog.text == ""  # no helper failed
    assert {gid for gid, _ in owners(large).values()} == {2000}
    assert told == sorted(told)
    assert told[-1] <= 302


def test_a_share_is_nobody_elses(large: Path) -> None:
    root = os.open(large, os.O_RDONLY)
    try:
        wanted = Wanted(2000, 0o660, 0o2770)
        done = ownership_walk.change_below(root, wanted, Share(1, 3), lambda _: None)
    finally:
        os.close(root)
    changed = [path for path in large.rglob("*") if path.stat().st_gid == 2000]
    assert {path.stat().st_ino % 3 for path in changed} == {1}
    assert done.entries == len(changed)


HELPERS = {
    "that cannot start": ["/nonexistent"],
    "that die": ["/bin/sh", "-c", "kill -9 $$"],
    "that say nothing": ["/bin/true"],
    "that talk nonsense": ["/bin/echo", "hello"],
}


@pytest.mark.parametrize("program", HELPERS.values(), ids=HELPERS)
def test_without_helpers(large: Path, monkeypatch: pytest.MonkeyPatch, program: list[str]) -> None:
    started: list[object] = []
    popen = subprocess.Popen

    def start(argv: list[str], **options: object) -> object:
        started.append(argv)
        return popen(program, **options)  # type: ignore[call-overload]  # the same options

    monkeypatch.setattr(subprocess, "Popen", start)
    assert ownership.apply(large, GROUP) == Applied(303)
    assert {gid for gid, _ in owners(large).values()} == {2000}
    assert started


def test_a_helper_whose_parent_is_gone_does_nothing(volume: Path) -> None:
    root = os.open(volume, os.O_PATH)
    arguments = ownership_walk.arguments(root, Wanted(2000, 0o660, 0o2770), Share())
    try:
        # Its parent is this process, not the shell that it is told of.
        argv = [sys.executable, "-m", ownership_walk.__name__, "1", *arguments[1:]]
        subprocess.run(argv, pass_fds=(root,), check=True)  # noqa: S603  a test's own words
    finally:
        os.close(root)
    assert {gid for gid, _ in owners(volume).values()} == {0}


@pytest.fixture
def trap(volume: Path, place: Path) -> tuple[Path, Path]:
    """A directory of the volume, and the link to the host that may take its place."""
    outside = place / "outside"
    for root in (outside, volume / "d"):
        (root / "deep").mkdir(parents=True)
        (root / "deep" / "file").touch(0o600)
    (volume / "link").symlink_to(outside)
    return volume / "d", volume / "link"


def test_an_attacker_strikes_at_every_system_call(
    volume: Path, place: Path, trap: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = owners(place / "outside")
    at = calls = 0
    while calls >= at:
        at += 1

        def strike(number: int, at: int = at) -> None:
            if number == at:
                exchange(*trap)

        attack = SystemCalls(strike)
        with monkeypatch.context() as patch:
            attack.install(patch, ownership, ownership_walk, tree, no_follow, same_mount)
            with suppress(HostError):
                ownership.apply(volume, FsGroup(2000 + at))
        calls = attack.count
        assert owners(place / "outside") == before
    assert at > 20  # the attacker did meet the calls


def test_an_attacker_swaps_directories_without_rest(
    volume: Path, place: Path, trap: tuple[Path, Path]
) -> None:
    before = owners(place / "outside")
    with attacking(*trap):
        for number in range(300):
            with suppress(HostError):
                ownership.apply(volume, FsGroup(2000 + number % 2))
    assert owners(place / "outside") == before
