"""The atomic directory writer, killed or refused at every system call, and watched meanwhile."""

import errno
import itertools
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host import atomic_dir, no_follow, tree
from mooring.host.atomic_dir import FileContent
from tests.fakes.system_calls import SystemCalls

OLD = {name: FileContent(b"old", 0o644) for name in ("both", "d/both", "d/gone", "e/gone")}
NEW = {name: FileContent(b"new", 0o600) for name in ("both", "come", "d/both", "d/come")}


class Killed(BaseException):
    """The process is no more."""


class Fault(Enum):
    KILL = "killed after it"  # and nothing that it would do afterwards happens
    REFUSE = "refused by a full disk"


def strikes(fault: Fault, at: int) -> Callable[[int], Callable[[], None] | None]:
    def die() -> None:
        raise Killed

    def strike(number: int) -> Callable[[], None] | None:
        match fault:
            case Fault.REFUSE if number == at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            case Fault.KILL if number == at:
                return die
            case Fault.KILL if number > at:
                die()
        return None

    return strike


def write_cut(monkeypatch: pytest.MonkeyPatch, directory: Path, fault: Fault, at: int) -> int:
    """Write `NEW`, with a fault at one call; how many calls there were."""
    calls = SystemCalls(strikes(fault, at))
    with monkeypatch.context() as patch:
        calls.install(patch, atomic_dir, tree, no_follow)
        with suppress(Killed, HostError):
            atomic_dir.write(directory, NEW)
    return calls.count


def seen(directory: Path) -> dict[str, bytes]:
    """What can be read now, by all names that either generation has."""
    found = {}
    for name in {*OLD, *NEW}:
        try:
            found[name] = (directory / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
    return found


def contents(payload: dict[str, FileContent]) -> dict[str, bytes]:
    return {name: content.data for name, content in payload.items()}


def assert_one_generation(directory: Path, before: dict[str, FileContent]) -> None:
    found = seen(directory)
    generation = NEW if b"new" in found.values() else before
    assert found.items() <= contents(generation).items()
    if before:
        assert {"both", "d/both"} <= set(found)


def assert_tidy(directory: Path, payload: dict[str, FileContent]) -> None:
    assert seen(directory) == contents(payload)
    current = os.readlink(directory / "..data")
    names = {name.partition("/")[0] for name in payload}
    assert set(os.listdir(directory)) == {"..data", current, *names}


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.value)
@pytest.mark.parametrize("before", [{}, OLD], ids=["the first write", "an update"])
@pytest.mark.parametrize("then", [NEW, OLD], ids=["written again", "rolled back"])
def test_cut_at_every_system_call(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    before: dict[str, FileContent],
    then: dict[str, FileContent],
) -> None:
    at, descriptors = 0, open_descriptors()
    while True:
        at += 1
        directory = tmp_path / str(at)
        directory.mkdir()
        if before:
            atomic_dir.write(directory, before)
        calls = write_cut(monkeypatch, directory, fault, at)
        assert_one_generation(directory, before)
        assert open_descriptors() == descriptors
        atomic_dir.write(directory, then)
        assert_tidy(directory, then)
        if calls < at:
            break
    assert at > 30  # the cuts did meet the calls


def test_a_refused_write_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    atomic_dir.write(tmp_path, OLD)
    before = sorted(os.listdir(tmp_path))
    at = 0
    while True:
        at += 1
        write_cut(monkeypatch, tmp_path, Fault.REFUSE, at)
        if b"new" in seen(tmp_path).values():
            break
        assert sorted(os.listdir(tmp_path)) == before
    assert at > 30  # the cuts did meet the calls


def test_readers_never_see_two_generations_at_once(tmp_path: Path) -> None:
    names = [f"f{number}" for number in range(4)]
    seen_enough = threading.Event()

    def write_on() -> None:
        for number in itertools.count():
            content = FileContent(b"%d" % number, 0o644)
            atomic_dir.write(tmp_path, dict.fromkeys(names, content))
            if seen_enough.is_set():
                return

    atomic_dir.write(tmp_path, dict.fromkeys(names, FileContent(b"first", 0o644)))
    writer = threading.Thread(target=write_on)
    writer.start()
    generations: set[bytes] = set()
    try:
        while len(generations) < 50:
            try:
                found = _read_all(tmp_path / "..data", names)
            except FileNotFoundError:
                continue  # removed under our hands: the next one is there
            assert len(found) == 1
            generations |= found
    finally:
        seen_enough.set()
        writer.join()


def _read_all(data: Path, names: list[str]) -> set[bytes]:
    generation = os.open(data, os.O_RDONLY)
    try:
        return {_read(generation, name) for name in names}
    finally:
        os.close(generation)


def _read(directory: int, name: str) -> bytes:
    with open(os.open(name, os.O_RDONLY, dir_fd=directory), "rb") as file:
        return file.read()
