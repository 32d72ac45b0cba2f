"""Bytes in order: decompressed, hashed, read ahead."""

import bz2
import gzip
import hashlib
import importlib.util
import lzma
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mooring.oci.refused import ImageRefused
from mooring.oci.stream import (
    PIECE,
    FileReader,
    Hashed,
    Reader,
    Stream,
    ahead,
    compression,
    decompressed,
    section,
)

PLAIN = b"".join(b"%d " % number for number in range(400_000))  # some pieces of it
ZSTD = b"\x28\xb5\x2f\xfd"

WAYS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 1),
    "bzip2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
}


def in_chunks(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [7, 1 << 16, 1 << 30])
@pytest.mark.parametrize(("name", "pack"), WAYS.items(), ids=WAYS)
def test_decompressed(name: str, pack: Callable[[bytes], bytes], size: int) -> None:
    packed = pack(PLAIN[:50_000]) if size == 7 else pack(PLAIN)
    assert compression(packed) == name
    given = list(decompressed(in_chunks(packed, max(size, 6))))
    assert b"".join(given) == (PLAIN[:50_000] if size == 7 else PLAIN)
    assert max(map(len, given)) <= PIECE


@pytest.mark.parametrize("pack", WAYS.values(), ids=WAYS)
def test_several_in_a_row_are_one(pack: Callable[[bytes], bytes]) -> None:
    packed = pack(b"one ") + pack(b"two ") + pack(b"three")
    assert b"".join(decompressed([packed])) == b"one two three"


@pytest.mark.parametrize("pack", WAYS.values(), ids=WAYS)
def test_zeros_at_the_end_are_no_matter(pack: Callable[[bytes], bytes]) -> None:
    assert b"".join(decompressed([pack(b"one"), bytes(5000), bytes(20)])) == b"one"


@pytest.mark.parametrize("pack", WAYS.values(), ids=WAYS)
def test_cut_short(pack: Callable[[bytes], bytes]) -> None:
    with pytest.raises(ImageRefused, match="ends in the middle"):
        b"".join(decompressed([pack(PLAIN)[:-20]]))


@pytest.mark.parametrize("pack", WAYS.values(), ids=WAYS)
def test_damaged(pack: Callable[[bytes], bytes]) -> None:
    packed = pack(PLAIN)
    half = len(packed) // 2
    with pytest.raises(ImageRefused, match="is damaged"):
        b"".join(decompressed([packed[:half] + bytes(100) + packed[half + 100 :]]))


def test_rubbish_after_the_end() -> None:
    with pytest.raises(ImageRefused, match="is damaged"):
        b"".join(decompressed([gzip.compress(b"one") + b"two"]))


def test_a_bomb_is_never_in_memory_as_a_whole() -> None:
    bomb = gzip.compress(bytes(100 * PIECE), 1)
    sizes = [len(piece) for piece in decompressed([bomb])]
    assert max(sizes) <= PIECE
    assert sum(sizes) == 100 * PIECE


@pytest.mark.parametrize("data", [b"", b"not compressed", b"\x1f"])
def test_what_is_not_compressed_is_passed_on(data: bytes) -> None:
    assert compression(data) == ""
    assert b"".join(decompressed([data] if data else [])) == data


def test_zstd_without_a_module_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    assert compression(ZSTD) == "zstd"
    with pytest.raises(ImageRefused, match=r"install backports\.zstd"):
        b"".join(decompressed([ZSTD]))


def test_zstd() -> None:
    program = shutil.which("zstd")
    if program is None:
        pytest.skip("needs the program zstd, which is not installed")
    if all(importlib.util.find_spec(name) is None for name in ("compression", "backports")):
        pytest.skip("needs zstd in Python: 3.14, or backports.zstd")
    packed = b"".join(
        subprocess.run([program, "-c"], input=plain, capture_output=True, check=True).stdout  # noqa: S603  zstd
        for plain in (PLAIN, b"more")
    )
    assert b"".join(decompressed(in_chunks(packed, 1 << 16))) == PLAIN + b"more"
    with pytest.raises(ImageRefused, match="ends in the middle"):
        b"".join(decompressed([packed[:-3]]))


def test_a_hash_is_of_all_that_passed() -> None:
    hashed = Hashed(in_chunks(PLAIN, 1000), "sha256")
    assert b"".join(hashed) == PLAIN
    assert hashed.digest == f"sha256:{hashlib.sha256(PLAIN).hexdigest()}"


def test_ahead_gives_the_same_in_the_same_order() -> None:
    with ahead(in_chunks(PLAIN, 1000)) as chunks:
        assert b"".join(chunks) == PLAIN


def test_ahead_tells_what_went_wrong_where_it_did() -> None:
    def failing() -> Iterator[bytes]:
        yield b"one"
        raise ImageRefused("no more")

    with ahead(failing()) as chunks:
        assert next(chunks) == b"one"
        with pytest.raises(ImageRefused, match="no more"):
            next(chunks)


def test_ahead_left_early_leaves_no_thread() -> None:
    before = threading.active_count()
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield b"x"

    with ahead(endless()) as chunks:
        next(chunks)
    assert threading.active_count() == before
    assert taken < 1000


@pytest.fixture(params=["stream", "file"])
def reader(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reader]:
    """Of 1000 bytes."""
    data = bytes(range(250)) * 4
    if request.param == "stream":
        yield Stream(in_chunks(data, 7))
        return
    path = tmp_path / "data"
    path.write_bytes(data)
    descriptor = os.open(path, os.O_RDONLY)
    yield FileReader(descriptor)
    os.close(descriptor)


def test_reading(reader: Reader) -> None:
    assert reader.exactly(4) == bytes((0, 1, 2, 3))
    reader.skip(246)
    assert reader.exactly(300) == bytes(range(250)) + bytes(range(50))
    reader.skip(450)
    assert bytes(reader.some(10)) == b""


@pytest.mark.parametrize("act", [lambda r: r.exactly(1001), lambda r: r.skip(1001)])
def test_reading_over_the_end(reader: Reader, act: Callable[[Reader], object]) -> None:
    with pytest.raises(ImageRefused, match="ends in the middle"):
        act(reader)


def test_a_section_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"0123456789")
    descriptor = os.open(tmp_path / "data", os.O_RDONLY)
    try:
        assert b"".join(section(descriptor, 2, 3)) == b"234"
        with pytest.raises(ImageRefused, match="ends in the middle"):
            b"".join(section(descriptor, 8, 3))
    finally:
        os.close(descriptor)
