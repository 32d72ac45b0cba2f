"""A copy is brought up to date by what has changed, and stays as sparse as its source."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mooring.driver.backends import image
from mooring.driver.backends.catching_up import catch_up

KIB = 1 << 10
SIZE = 1024 * KIB

writes = st.lists(
    st.tuples(
        st.integers(0, SIZE - 1), st.integers(1, 200 * KIB), st.sampled_from([b"\0", b"a", b"b"])
    ),
    max_size=8,
)


def write(path: Path, edits: list[tuple[int, int, bytes]]) -> None:
    with path.open("r+b") as file:
        for at, length, what in edits:
            file.seek(at)
            file.write(what * min(length, SIZE - at))


def caught_up(source: Path, target: Path) -> int:
    read, written = os.open(source, os.O_RDONLY), os.open(target, os.O_RDWR)
    try:
        return catch_up(read, written, lambda: None)
    finally:
        os.close(read)
        os.close(written)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(before=writes, after=writes)
def test_it_ends_as_its_source_whatever_was_written(
    tmp_path: Path, before: list[tuple[int, int, bytes]], after: list[tuple[int, int, bytes]]
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for path in (source, target):
        path.unlink(missing_ok=True)
    image.create(source, SIZE)
    write(source, before)
    image.copy(source, target, SIZE)
    write(source, after)
    caught_up(source, target)
    assert target.read_bytes() == source.read_bytes()
    assert caught_up(source, target) == 0


def test_it_is_as_sparse_as_its_source(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    image.create(source, 1 << 40)
    write(source, [(512 * KIB, 64 * KIB, b"a")])
    image.copy(source, target, 1 << 40)
    write(source, [(0, 64 * KIB, b"b")])
    write(target, [(256 * KIB, 64 * KIB, b"c")])  # what was trimmed since
    assert caught_up(source, target) == 128 * KIB
    assert image.allocated_bytes(target) <= image.allocated_bytes(source)


def test_it_is_given_up_when_told_so(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for path in (source, target):
        image.create(path, SIZE)
    write(source, [(0, 10, b"a")])

    def enough() -> None:
        raise InterruptedError

    read, written = os.open(source, os.O_RDONLY), os.open(target, os.O_RDWR)
    try:
        with pytest.raises(InterruptedError):
            catch_up(read, written, enough)
    finally:
        os.close(read)
        os.close(written)
