"""Who keeps a mount busy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mooring.host.mountinfo import MountEntry, canonical, read_table
from mooring.upkeep.holders import Holder, find_holders, find_openers, tell_holders


def entry_of(path: Path) -> MountEntry:
    found = read_table().covering(canonical(path))
    assert found is not None
    return found


HOLDING = {
    "works there": "os.chdir({path!r})",
    "has a file open": "kept = open({path!r} + '/file')",
}


@pytest.mark.parametrize("line", HOLDING.values(), ids=HOLDING)
def test_a_process_is_found_with_its_command(tmp_path: Path, line: str) -> None:
    (tmp_path / "file").touch()
    program = f"import os, sys; {line.format(path=str(tmp_path))}; print(flush=True)"
    with subprocess.Popen(  # noqa: S603  our own interpreter
        [sys.executable, "-c", f"{program}\nsys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd="/proc",
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = find_holders([entry_of(tmp_path)])
        holders = {holder.pid: holder.command for each in found.values() for holder in each}
        assert holders[process.pid].startswith(f"{sys.executable} -c")
        assert os.getpid() not in holders


def test_who_has_a_device_open() -> None:
    with Path("/dev/zero").open("rb"):
        assert os.getpid() in [holder.pid for holder in find_openers(Path("/dev/zero"))]


def test_what_is_told() -> None:
    entry = MountEntry(1, 0, (8, 1), "/", "/m", (), (), "ext4", "/dev/x", ())
    many = [Holder(n, "sleep 1") for n in range(1, 6)]
    assert tell_holders(entry, many) == (
        "in use by (pid 1, sleep 1), (pid 2, sleep 1), (pid 3, sleep 1) and 2 more: end it, then "
        "try again"
    )
    assert tell_holders(entry, ()).startswith("in use, by nobody that can be seen from here")
