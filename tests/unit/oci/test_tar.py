"""Tar archives, as others write them, and as nobody should."""

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.oci.entry import EntryType, LayerEntry
from mooring.oci.refused import ImageRefused
from mooring.oci.stream import Stream
from mooring.oci.tar import BLOCK, entries
from tests.fakes.image_archives import Member, a_directory, a_file, a_link, a_tar

FORMATS = {
    "ustar": tarfile.USTAR_FORMAT,
    "GNU": tarfile.GNU_FORMAT,
    "pax": tarfile.PAX_FORMAT,
}


def read(archive: bytes) -> list[tuple[LayerEntry, bytes]]:
    """All entries with what is in them."""
    return [(entry, content(entry)) for entry in entries(Stream([archive]))]


def content(entry: LayerEntry) -> bytes:
    chunks = list(entry.body)
    whole = bytearray(entry.size)
    for offset, chunk in chunks:
        whole[offset : offset + len(chunk)] = chunk
    return bytes(whole)


def changed(archive: bytes, fields: Mapping[int, bytes]) -> bytes:
    """The first header with other fields, and a checksum that fits them."""
    block = bytearray(archive[:BLOCK])
    for at, value in fields.items():
        block[at : at + len(value)] = value
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + archive[BLOCK:]


@pytest.mark.parametrize("tar_format", FORMATS.values(), ids=FORMATS)
def test_all_that_is_told_of_an_entry(tar_format: int) -> None:
    long = "d/" + "e" * 90 + "/f" + "g" * 60
    archive = a_tar(
        a_directory("./d/", 0o1777),
        a_file("d/f", "text", mode=0o4755, uid=1234, gid=65534, mtime=1_600_000_000),
        a_link("d/l", "../../etc"),
        Member("d/h", "hardlink", target="d/f"),
        Member("pipe", "fifo", mode=0o600),
        Member("null", "character", device=(1, 3)),
        Member("sda", "block", device=(8, 0)),
        a_file(long, "deep"),
        tar_format=tar_format,
    )
    found = read(archive)
    assert [("/".join(entry.parts), entry.kind) for entry, _ in found] == [
        ("d", EntryType.DIRECTORY),
        ("d/f", EntryType.FILE),
        ("d/l", EntryType.SYMLINK),
        ("d/h", EntryType.HARDLINK),
        ("pipe", EntryType.FIFO),
        ("null", EntryType.DEVICE),
        ("sda", EntryType.DEVICE),
        (long, EntryType.FILE),
    ]
    file, link = found[1][0], found[2][0]
    assert (file.mode, file.uid, file.gid) == (0o4755, 1234, 65534)
    assert file.mtime_ns == 1_600_000_000 * 10**9
    assert found[0][0].mode == 0o1777
    assert link.target == "../../etc"
    assert [data for _, data in found if data] == [b"text", b"deep"]


@pytest.mark.parametrize("tar_format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names_of_any_length_and_any_bytes(tar_format: int) -> None:
    odd = "n\n" + "x" * 200 + "/\u00e9\udcff" + "y" * 200
    with io.BytesIO() as written:
        with tarfile.open(fileobj=written, mode="w", format=tar_format) as archive:
            info = tarfile.TarInfo(odd)
            info.type, info.linkname = tarfile.SYMTYPE, "t" * 300
            archive.addfile(info)
        entry, _ = read(written.getvalue())[0]
    assert "/".join(entry.parts) == odd
    assert entry.target == "t" * 300
    assert "\n" not in entry.name


def test_what_pax_alone_can_tell() -> None:
    archive = a_tar(
        a_file(
            "f",
            "text",
            uid=3_000_000,
            pax={
                "SCHILY.xattr.user.note": "a=b\nc",
                "SCHILY.xattr.security.capability": "x",
                "mtime": "1600000000.123456789",
                "comment": "skipped",
            },
        ),
        a_file("g", "next"),
    )
    (first, _), (second, data) = read(archive)
    assert first.uid == 3_000_000
    assert first.mtime_ns == 1_600_000_000_123_456_789
    assert first.xattrs == {"user.note": b"a=b\nc", "security.capability": b"x"}
    assert (second.xattrs, second.mtime_ns, data) == ({}, 10**18, b"next")


def test_a_global_header_is_passed_over() -> None:
    with io.BytesIO() as written:
        with tarfile.open(
            fileobj=written, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"comment": "all"}
        ) as archive:
            archive.addfile(tarfile.TarInfo("f"))
        assert [entry.parts for entry, _ in read(written.getvalue())] == [("f",)]


TOLD = {
    "a slash at the end": (a_tar(a_file("d")), {0: b"d/"}, "kind", EntryType.DIRECTORY),
    "the oldest type is a file": (a_tar(a_file("f")), {156: b"\0"}, "kind", EntryType.FILE),
    "a contiguous file is a file": (a_tar(a_file("f")), {156: b"7"}, "kind", EntryType.FILE),
    "a number in binary": (a_tar(a_file("f")), {108: b"\x80\0\0\0\0\x01\0\0"}, "uid", 65536),
    "a time before 1970": (a_tar(a_file("f")), {136: b"\xff" * 12}, "mtime_ns", -(10**9)),
    "a time that is beyond all clocks": (
        a_tar(a_file("f")), {136: b"\x80" + b"\x7f" * 11}, "mtime_ns", 2**40 * 10**9,
    ),
    "a number without its end": (a_tar(a_file("f")), {100: b"00000755"}, "mode", 0o755),
    "a mode with a type in it": (a_tar(a_file("f")), {100: b"0104755\0"}, "mode", 0o4755),
    "an empty number": (a_tar(a_file("f")), {108: bytes(8)}, "uid", 0),
}  # fmt: skip


@pytest.mark.parametrize(("archive", "fields", "what", "told"), TOLD.values(), ids=TOLD)
def test_told(archive: bytes, fields: Mapping[int, bytes], what: str, told: object) -> None:
    assert getattr(read(changed(archive, fields))[0][0], what) == told


def test_a_body_that_nobody_reads_is_skipped() -> None:
    archive = a_tar(a_file("a", "x" * 5000), a_file("b", "y"))
    assert [entry.parts for entry in entries(Stream([archive]))] == [("a",), ("b",)]


def test_half_of_a_body_may_be_read() -> None:
    archive = a_tar(a_file("a", "x" * 3_000_000), a_file("b", "y"))
    names = []
    for entry in entries(Stream([archive])):
        names.append(entry.parts)
        next(entry.body, None)
    assert names == [("a",), ("b",)]


@pytest.mark.parametrize("archive", [b"", bytes(1024), bytes(512)])
def test_an_empty_archive(archive: bytes) -> None:
    assert read(archive) == []


def test_the_two_empty_blocks_may_be_missing() -> None:
    archive = a_tar(a_file("a", "x"))[: 2 * BLOCK]
    assert [entry.parts for entry, _ in read(archive)] == [("a",)]


REFUSED = {
    "no archive": (b"#!/bin/sh\n" + b"x" * 2000, "no tar archive"),
    "a file shorter than a header": (b"hello", "ends in the middle"),
    "a header that was tampered with": (b"x" + a_tar(a_file("f"))[1:], "checksum is wrong"),
    "an end in the middle of a file": (a_tar(a_file("f", "x" * 2000))[:1500], "ends in the middle"),
    "an end in the filling of a file": (a_tar(a_file("f", "x"))[:700], "ends in the middle"),
    "a way out of the root": (a_tar(a_file("a/../../b")), "leads out of its root: a/../../b"),
    "the parent itself": (a_tar(a_file("..")), "leads out of its root"),
    "a zero byte in a name": (a_tar(a_file("f", pax={"path": "a\0b"})), "zero byte"),
    "a zero byte in a link": (a_tar(a_file("f", pax={"linkpath": "a\0b"})), "zero byte"),
    "a zero byte in an attribute's name": (
        a_tar(a_file("f", pax={"SCHILY.xattr.user.a\0b": "c"})), "pax header",
    ),
    "a name longer than a path": (a_tar(a_file("d/" * 2049 + "f")), "longer name"),
    "a type that nobody knows": (changed(a_tar(a_file("f")), {156: b"M"}), "type b'M'"),
    "a negative size": (
        changed(a_tar(a_file("f")), {124: b"\xff" * 12}), "the number -1",
    ),
    "a size that is no number": (changed(a_tar(a_file("f")), {124: b"12x"}), "no number"),
    "a size that no file can have": (
        changed(a_tar(a_file("f")), {124: b"\x80" + b"\x7f" * 11}), "none like it can be",
    ),
    "a size that is not there": (
        changed(a_tar(a_file("f")), {124: b"77777777777\0"}), "ends in the middle",
    ),
    "a real size that no file can have": (
        a_tar(a_file("f", pax={"GNU.sparse.major": "1", "GNU.sparse.minor": "0",
                               "GNU.sparse.realsize": "9" * 20})), "can be no number",
    ),
    "an owner that means no change": (
        changed(a_tar(a_file("f")), {108: b"\x80\0\0\0\xff\xff\xff\xff"}), "uid of 4294967295",
    ),
    "a pax header of a gigabyte": (
        changed(a_tar(a_file("f")), {156: b"x", 124: b"10000000000\0"}), "no honest archive",
    ),
    "a long name of a gigabyte": (
        changed(a_tar(a_file("f")), {156: b"L", 124: b"10000000000\0"}), "no honest archive",
    ),
    "a pax header without a length": (
        changed(a_tar(a_file("f", "nonsense")), {156: b"x"}), "pax header",
    ),
    "a pax record longer than its header": (
        changed(a_tar(a_file("f", "99 path=a\n")), {156: b"x"}), "pax header",
    ),
    "a pax record without an =": (
        changed(a_tar(a_file("f", "7 path\n")), {156: b"x"}), "pax header",
    ),
    "a pax record of no length": (
        changed(a_tar(a_file("f", "0 a=b\n")), {156: b"x"}), "pax header",
    ),
    "a pax time that is none": (a_tar(a_file("f", pax={"mtime": "soon"})), "no time"),
    "a pax owner that is none": (a_tar(a_file("f", pax={"uid": "-1"})), "can be no number"),
    "an old kind of sparse file": (a_tar(a_file("f", pax={"GNU.sparse.map": "0,1"})), "old way"),
    "a map of too many holes": (
        a_tar(a_file("f", "100001\n" + "0" * 600, pax={"GNU.sparse.major": "1",
              "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"})), "too many holes",
    ),
    "a map longer than its file": (
        a_tar(a_file("f", "9" * 512, pax={"GNU.sparse.major": "1",
              "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"})), "longer than the file",
    ),
    "a map of parts that overlap": (
        a_tar(a_file("f", "2\n0\n5\n3\n5\n".ljust(512, "\0") + "x" * 10,
              pax={"GNU.sparse.major": "1", "GNU.sparse.minor": "0",
                   "GNU.sparse.realsize": "20"})), "cannot be understood",
    ),
    "a map that goes over the end": (
        a_tar(a_file("f", "1\n0\n5\n".ljust(512, "\0") + "x" * 5,
              pax={"GNU.sparse.major": "1", "GNU.sparse.minor": "0",
                   "GNU.sparse.realsize": "4"})), "cannot be understood",
    ),
    "a map of more than there is": (
        a_tar(a_file("f", "1\n0\n9\n".ljust(512, "\0") + "x" * 5,
              pax={"GNU.sparse.major": "1", "GNU.sparse.minor": "0",
                   "GNU.sparse.realsize": "9"})), "does not fit",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("archive", "why"), REFUSED.values(), ids=REFUSED)
def test_refused(archive: bytes, why: str) -> None:
    with pytest.raises(ImageRefused, match=why) as refused:
        read(archive)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["/etc/passwd", "//etc/./passwd", "./etc/passwd"])
def test_a_name_is_below_the_root_however_it_begins(name: str) -> None:
    assert read(a_tar(a_file(name)))[0][0].parts == ("etc", "passwd")


@given(
    st.binary(max_size=3000) | st.binary(max_size=300).map(lambda tail: a_tar(a_file("f")) + tail)
)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        found = read(data)
    except ImageRefused:
        return
    assert all(".." not in entry.parts for entry, _ in found)


@given(st.integers(0, 511), st.integers(0, 255))
def test_any_header_is_read_or_refused(at: int, value: int) -> None:
    archive = a_tar(a_file("some/file", "with text"), tar_format=tarfile.GNU_FORMAT)
    told = ""
    try:
        read(changed(archive, {at: bytes([value])}))
    except ImageRefused as refused:
        told = str(refused)
    assert "\n" not in told


Pack = Callable[..., bytes]


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    program = shutil.which("tar")
    if program is None:
        pytest.skip("needs tar, which is not installed")

    def packed(*flags: str) -> bytes:
        argv = [program, *flags, "--sparse", "-C", str(tmp_path), "-cf", "-", "."]
        return subprocess.run(argv, capture_output=True, check=True).stdout  # noqa: S603  tar

    return packed


@pytest.mark.parametrize("flags", [("--format=gnu",), ("--format=pax",)])
@pytest.mark.parametrize("parts", [0, 1, 3, 60])
def test_sparse_files_of_gnu_tar(
    tmp_path: Path, pack: Pack, flags: tuple[str, ...], parts: int
) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        for number in range(parts):
            file.seek((2 * number + 1) * 65536)
            file.write(b"part %d" % number)
        file.truncate(2 * 65536 * (parts + 1))
    (tmp_path / "sparse-too").write_bytes(b"after it")
    packed = pack(*flags)
    assert len(packed) < os.stat(tmp_path / "sparse").st_size * (0.75 if parts else 0.2)
    found = {entry.parts: data for entry, data in read(packed)}
    assert found["sparse",] == (tmp_path / "sparse").read_bytes()
    assert found["sparse-too",] == b"after it"
