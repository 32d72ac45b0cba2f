"""Control groups, in trees that look like the kernel's."""

import signal
import subprocess
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.oci import cgroups

INNER = "/mooring/podu/c"


def v1(root: Path) -> list[Path]:
    places = [root / tree / "mooring/podu/c" for tree in ("memory", "pids")]
    for place in places:
        place.mkdir(parents=True)
    (root / "cpu").mkdir()
    return places


def v2(root: Path) -> list[Path]:
    place = root / "mooring/podu/c"
    place.mkdir(parents=True)
    (root / "cgroup.controllers").touch()
    return [place]


def test_a_group_is_in_every_tree_that_has_it(tmp_path: Path) -> None:
    places = v1(tmp_path)
    assert sorted(cgroups.directories(INNER, tmp_path)) == places
    assert not cgroups.is_v2(tmp_path)


def test_one_tree_for_all(tmp_path: Path) -> None:
    assert cgroups.directories(INNER, tmp_path) == ()
    assert cgroups.directories(INNER, tmp_path / "none") == ()
    places = v2(tmp_path)
    assert list(cgroups.directories(INNER, tmp_path)) == places
    assert cgroups.is_v2(tmp_path)


OOMS = {
    "killed, in version 1": ("memory.oom_control", "under_oom 0\noom_kill 2\n", 2),
    "not killed, in version 1": ("memory.oom_control", "under_oom 0\noom_kill 0\n", 0),
    "killed, in version 2": ("memory.events", "low 0\noom 1\noom_kill 1\n", 1),
    "killed as a group, which is counted apart": (
        "memory.events",
        "oom 1\noom_kill 0\noom_group_kill 1\n",
        0,
    ),
    "nobody counts": ("memory.other", "", 0),
}


@pytest.mark.parametrize(("name", "content", "count"), OOMS.values(), ids=OOMS)
def test_oom_kills(tmp_path: Path, name: str, content: str, count: int) -> None:
    (v1(tmp_path)[0] / name).write_text(content)
    assert cgroups.oom_kills(INNER, tmp_path) == count


def test_all_processes_are_killed_those_of_groups_below_too(tmp_path: Path) -> None:
    place = v2(tmp_path)[0]
    (place / "below").mkdir()
    processes = [subprocess.Popen(["sleep", "1000"]) for _ in range(2)]  # noqa: S607  a test's own
    first, second = processes
    (place / "cgroup.procs").write_text(f"{first.pid}\n0\n")
    (place / "below/cgroup.procs").write_text(f"{second.pid}\n")
    try:
        # The files of this test do not empty themselves, so all sweeps find the two.
        with pytest.raises(HostError, match="cannot be killed"):
            cgroups.kill_all(INNER, tmp_path)
    finally:
        codes = [process.wait() for process in processes]
    assert codes == [-signal.SIGKILL, -signal.SIGKILL]


def test_an_empty_group_has_nobody_to_kill(tmp_path: Path) -> None:
    place = v2(tmp_path)[0]
    (place / "cgroup.procs").write_text("")
    cgroups.kill_all(INNER, tmp_path)
    assert place.exists()


def test_groups_that_the_runtime_knows_nothing_of_are_taken_away(tmp_path: Path) -> None:
    places = v1(tmp_path)
    (places[0] / "below").mkdir()
    other = places[0].with_name("other")
    other.mkdir()
    assert cgroups.find("c", tmp_path) == {INNER}
    cgroups.remove(INNER, tmp_path)
    cgroups.remove(INNER, tmp_path)
    assert cgroups.find("c", tmp_path) == frozenset()
    assert not any(place.exists() for place in places)
    assert other.exists()


def test_the_group_of_a_pod_goes_when_nothing_is_in_it(tmp_path: Path) -> None:
    place = v2(tmp_path)[0]
    cgroups.remove_pod("u", tmp_path)
    assert place.exists()
    place.rmdir()
    cgroups.remove_pod("u", tmp_path)
    cgroups.remove_pod("u", tmp_path)
    assert not place.parent.exists()
    assert (tmp_path / "mooring").exists()


SERVICES = {
    "a service, one tree": ("0::/system.slice/mooring.service\n", True),
    "a service, many trees": ("4:memory:/x\n1:name=systemd:/system.slice/m.service\n", True),
    "a session": ("0::/user.slice/user-0.slice/session-1.scope\n", False),
    "no systemd": ("4:memory:/a.service\n0::/\n", False),
}


@pytest.mark.parametrize(("content", "expected"), SERVICES.values(), ids=SERVICES)
def test_whether_we_are_part_of_a_service(tmp_path: Path, content: str, expected: bool) -> None:  # noqa: FBT001  a column
    file = tmp_path / "cgroup"
    file.write_text(content)
    assert cgroups.is_in_service(file) is expected
    assert cgroups.is_in_service(tmp_path / "none") is False


def test_a_shim_is_moved_out_of_our_service(tmp_path: Path) -> None:
    (tmp_path / "systemd").mkdir()
    (tmp_path / "systemd/cgroup.procs").touch()
    cgroups.adopt_shim(77, tmp_path)
    assert (tmp_path / "systemd/mooring/conmon/cgroup.procs").read_text() == "77"
    assert not (tmp_path / "unified").exists()
