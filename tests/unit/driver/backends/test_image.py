import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mooring.driver.backends import image
from mooring.errors import KernelRefused

KIB = 1024
BLOCK = 64 * KIB  # more than any file system's, so that holes stay holes


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    extents=st.dictionaries(st.integers(0, 40), st.binary(min_size=1, max_size=100), max_size=6),
    more=st.integers(0, 3),
)
def test_a_copy_has_the_same_bytes_and_the_same_holes(
    tmp_path: Path, extents: dict[int, bytes], more: int
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.unlink(missing_ok=True)
    target.unlink(missing_ok=True)
    size = 41 * BLOCK
    image.create(source, size)
    with source.open("r+b") as file:
        for number, content in extents.items():
            file.seek(number * BLOCK)
            file.write(content)
    image.copy(source, target, size + more * BLOCK)
    assert target.read_bytes() == source.read_bytes() + bytes(more * BLOCK)
    assert image.allocated_bytes(target) <= len(extents) * BLOCK


def test_a_copy_without_sharing_has_nothing_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "")

    monkeypatch.setattr("fcntl.ioctl", refuse)
    (tmp_path / "source").write_bytes(b"bytes")
    assert image.copy(tmp_path / "source", tmp_path / "target", 5) == 0
    assert (tmp_path / "target").read_bytes() == b"bytes"


def test_an_image_is_for_its_owner_alone(tmp_path: Path) -> None:
    image.create(tmp_path / "a", 4096)
    image.copy(tmp_path / "a", tmp_path / "b", 4096)
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in "ab"} == {0o600}


def test_an_image_is_never_made_over_another(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"bytes")
    for make in (
        lambda: image.create(tmp_path / "a", 4096),
        lambda: image.copy(tmp_path / "a", tmp_path / "a", 4096),
    ):
        with pytest.raises(KernelRefused) as caught:
            make()
        assert caught.value.errno == errno.EEXIST
    assert (tmp_path / "a").read_bytes() == b"bytes"


def test_growing_never_shrinks(tmp_path: Path) -> None:
    image.create(tmp_path / "a", 8192)
    image.grow(tmp_path / "a", 4096)
    assert (tmp_path / "a").stat().st_size == 8192
    image.grow(tmp_path / "a", 16384)
    assert (tmp_path / "a").stat().st_size == 16384


def test_allocating_keeps_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a"
    image.create(path, 1 << 20)
    with path.open("r+b") as file:
        file.seek(5000)
        file.write(b"bytes")
    before = path.read_bytes()
    image.allocate(path)
    assert image.allocated_bytes(path) >= 1 << 20
    assert path.read_bytes() == before


def test_more_than_is_free_is_not_even_tried_to_allocate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> int:
        pytest.fail("it would take all there is")

    monkeypatch.setattr(image, "_fallocate", never)
    monkeypatch.setattr(image, "_free_bytes", lambda _: 8191)
    image.create(tmp_path / "a", 8192)
    with pytest.raises(KernelRefused) as caught:
        image.allocate(tmp_path / "a")
    assert caught.value.errno == errno.ENOSPC


def test_blanking_puts_zeros_in_its_place_even_after_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "image"
    path.write_bytes(b"half a file system")
    (tmp_path / "image.blank").write_bytes(b"of a blanking that was cut")
    image.blank(path, 4096)
    assert path.read_bytes() == bytes(4096)
    assert os.listdir(tmp_path) == ["image"]
