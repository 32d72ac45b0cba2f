"""Directories for what is not finished, and what killed processes leave of them."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mooring.upkeep.scratch import scratch_directory

PREFIX = ".one.tar.mooring-"
NAMES = frozenset(("database", "backup"))

STOPS = """
import sys, time
from pathlib import Path
from mooring.upkeep.scratch import scratch_directory
with scratch_directory(Path(sys.argv[1]), ".one.tar.mooring-", frozenset(("database",))) as made:
    (made / "database").write_text("secret")
    print(made, flush=True)
    time.sleep(1000)
"""


def left(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


def test_it_is_private_and_goes_with_its_content(tmp_path: Path) -> None:
    with scratch_directory(tmp_path, PREFIX, NAMES) as made:
        assert made.stat().st_mode & 0o777 == 0o700
        (made / "any").mkdir()
    assert left(tmp_path) == []


def test_what_a_killed_process_left_goes_with_the_next_one_and_not_before(tmp_path: Path) -> None:
    run = (sys.executable, "-c", STOPS, str(tmp_path))
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        theirs = Path(process.stdout.readline().strip())
        with scratch_directory(tmp_path, PREFIX, NAMES):
            assert (theirs / "database").read_text() == "secret"  # it lives
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert left(tmp_path) == [theirs.name]
    with scratch_directory(tmp_path, PREFIX, NAMES) as ours:
        assert left(tmp_path) == [ours.name]


OTHERS = {
    "another name": lambda at: (at / ".one.tar.mooring-notrandom!").mkdir(mode=0o700),
    "of another file": lambda at: (at / ".two.tar.mooring-abcd1234").mkdir(mode=0o700),
    "open to others": lambda at: (at / ".one.tar.mooring-abcd1234").mkdir(mode=0o755),
    "a file": lambda at: (at / ".one.tar.mooring-abcd1234").touch(),
    "a link": lambda at: (at / ".one.tar.mooring-abcd1234").symlink_to(at.parent),
    "with other things in it": lambda at: (at / ".one.tar.mooring-abcd1234" / "mine").mkdir(
        mode=0o700, parents=True
    ),
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_what_is_not_its_own_stays(tmp_path: Path, make: "object") -> None:
    place = tmp_path / "place"
    place.mkdir()
    assert callable(make)
    make(place)
    for entry in place.iterdir():
        if entry.is_dir() and not entry.is_symlink() and any(entry.iterdir()):
            entry.chmod(0o700)
    before = left(place)
    with scratch_directory(place, PREFIX, NAMES):
        assert set(before) < set(left(place))
    assert left(place) == before


def test_one_that_somebody_took_for_a_leftover_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between making it and locking it, another process locks it."""
    real = fcntl.flock
    taken: list[int] = []

    def flock(descriptor: int, how: int) -> None:
        if not taken:
            taken.append(os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY))
            real(taken[0], fcntl.LOCK_EX)
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with scratch_directory(tmp_path, PREFIX, NAMES) as made:
        assert made.is_dir()
        assert len(left(tmp_path)) == 2
    os.close(taken[0])
