"""Reading tar archives: ustar, pax and GNU, as they come from docker, GNU tar, bsdtar and others.

Python's `tarfile` is not used. It reads a pax header of any size into memory and keeps every entry
it has seen, so that a few hostile megabytes of gzip end the process; and what it extracts with its
`data` filter loses what layers need (owners, setuid, xattrs, links that leave the root).
"""

import os
import re
from collections.abc import Iterator, Mapping

import msgspec

from mooring.oci.entry import Body, EntryType, LayerEntry, split_name
from mooring.oci.refused import ImageRefused, shown
from mooring.oci.stream import PIECE, Reader

BLOCK = 512
_MOST_SPECIAL = 1 << 20  # bytes of a pax header or a long name, as in Go's archive/tar
_MOST_SEGMENTS = 100_000  # of one sparse file
_MOST_SECONDS = 1 << 40
_MOST_BYTES = 2**63 - 1  # of any file
_LAST_ID = 2**32 - 2  # the one after it means "leave it" to chown(2)
_XATTR = "SCHILY.xattr."
_SPARSE = "GNU.sparse."
_TIME = re.compile(r"(-?)([0-9]{1,20})(?:\.([0-9]*))?")
_EMPTY = bytes(BLOCK)

_KINDS = {
    b"0": EntryType.FILE,
    b"\0": EntryType.FILE,
    b"7": EntryType.FILE,  # contiguous files are treated as plain ones
    b"S": EntryType.FILE,  # sparse, as old GNU tar has it
    b"1": EntryType.HARDLINK,
    b"2": EntryType.SYMLINK,
    b"3": EntryType.DEVICE,
    b"4": EntryType.DEVICE,
    b"5": EntryType.DIRECTORY,
    b"D": EntryType.DIRECTORY,  # with a list of its files, from an incremental backup
    b"6": EntryType.FIFO,
}
_OF_ALL = b"g"  # a pax header for all entries that follow: comments, in practice
_LABEL = b"V"

Segments = tuple[tuple[int, int], ...]  # (offset, length) of what is no hole


class _Header(msgspec.Struct, frozen=True):
    """One block, as it stands."""

    block: bytes
    type: bytes
    size: int

    def name(self) -> str:
        name = _text(self.block[:100])
        prefix = _text(self.block[345:500]) if self.block[257:263] == b"ustar\0" else ""
        return f"{prefix}/{name}" if prefix else name


class _Special(msgspec.Struct):
    """What the entries before an entry say of it."""

    pax: Mapping[str, bytes] = {}
    long_name: str | None = None
    long_link: str | None = None


class _Data:
    """The bytes of an entry, and the number of unread ones."""

    def __init__(self, reader: Reader, size: int) -> None:
        self._reader = reader
        self.left = size

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise ImageRefused("the map of a sparse file is longer than the file")
        self.left -= count
        return self._reader.exactly(count)

    def chunks(self, segments: Segments) -> Body:
        for start, length in segments:
            offset, end = start, start + length
            while offset < end:
                some = self._reader.some(min(PIECE, end - offset))
                if not some:
                    raise ImageRefused("it ends in the middle of a file")
                self.left -= len(some)
                yield offset, some
                offset += len(some)

    def skip(self) -> None:
        self._reader.skip(self.left)


def entries(reader: Reader) -> Iterator[LayerEntry]:
    """All entries of an archive, in its order. What is left of a body is skipped.

    Raises: ImageRefused when it is no tar archive, is cut short, or says what cannot be.
    """
    special = _Special()
    while (header := _next_header(reader)) is not None:
        if header.type in (b"x", b"X", b"L", b"K"):
            _read_special(header, reader, special)
        elif header.type in (_OF_ALL, _LABEL):
            reader.skip(_padded(header.size))
        else:
            kind = _KINDS.get(header.type)
            if kind is None:
                raise ImageRefused(
                    f"{shown(header.name())} is of type {header.type!r}, which is not understood"
                )
            size = _size(header, special.pax)
            has_data = kind is EntryType.FILE or header.type == b"D"
            data = _Data(reader, size if has_data else 0)
            yield _entry(header, kind, special, data, reader)
            data.skip()
            if has_data:
                reader.skip(-size % BLOCK)
            special = _Special()


def _next_header(reader: Reader) -> _Header | None:
    first = reader.some(BLOCK)
    if not first:
        return None  # without the two empty blocks at the end, which some do not write
    block = bytes(first)
    if len(block) < BLOCK:
        block += reader.exactly(BLOCK - len(block))
    if block == _EMPTY:
        return None
    told = _number(block[148:156])
    blanked = block[:148] + b" " * 8 + block[156:]
    if told != sum(blanked) and told != _signed_sum(blanked):
        raise ImageRefused("it is no tar archive, or damaged: a header's checksum is wrong")
    return _Header(block, block[156:157], _unsigned(block[124:136]))


def _signed_sum(block: bytes) -> int:
    """What writers of old added up, whose characters had signs."""
    return sum(byte - 256 if byte > 127 else byte for byte in block)


def _read_special(header: _Header, reader: Reader, special: _Special) -> None:
    if header.size > _MOST_SPECIAL:
        raise ImageRefused(f"a header of {header.size} bytes: that is no honest archive")
    content = reader.exactly(_padded(header.size))[: header.size]
    if header.type == b"L":
        special.long_name = _text(content)
    elif header.type == b"K":
        special.long_link = _text(content)
    else:
        special.pax = _pax_records(content)


def _entry(
    header: _Header, kind: EntryType, special: _Special, data: _Data, reader: Reader
) -> LayerEntry:
    pax, block = special.pax, header.block
    name = special.long_name if special.long_name is not None else header.name()
    name = _pax_text(pax, "path", name)
    size = data.left
    segments: Segments = ((0, size),)
    if kind is EntryType.FILE and header.type == b"S":
        size, segments = _old_gnu_sparse(block, data, reader)
    elif kind is EntryType.FILE and any(key.startswith(_SPARSE) for key in pax):
        name = _pax_text(pax, f"{_SPARSE}name", name)
        size, segments = _pax_sparse(pax, data)
    if kind is EntryType.FILE and name.endswith("/"):
        kind = EntryType.DIRECTORY  # as it was written before directories had a type
    link = special.long_link if special.long_link is not None else _text(block[157:257])
    return LayerEntry(
        parts=split_name(name),
        kind=kind,
        mode=_unsigned(block[100:108]) & 0o7777,
        uid=_id(pax, "uid", block[108:116]),
        gid=_id(pax, "gid", block[116:124]),
        mtime_ns=_mtime(pax, block[136:148]),
        target=_pax_text(pax, "linkpath", link),
        xattrs={
            key.removeprefix(_XATTR): value for key, value in pax.items() if key.startswith(_XATTR)
        },
        size=size,
        body=data.chunks(segments) if kind is EntryType.FILE else iter(()),
    )


def _pax_records(content: bytes) -> dict[str, bytes]:
    """`<length of all of it> <key>=<value>\\n`, any number of times."""
    records: dict[str, bytes] = {}
    at = 0
    while at < len(content):
        blank = content.find(b" ", at, at + 8)
        digits = content[at:blank] if blank > 0 else b""
        end = at + int(digits) if digits.isdigit() else 0
        if not blank < end <= len(content) or content[end - 1 : end] != b"\n":
            raise ImageRefused("a pax header cannot be understood")
        key, equals, value = content[blank + 1 : end - 1].partition(b"=")
        if not equals:
            raise ImageRefused("a pax header cannot be understood")
        if b"\0" in key:
            raise ImageRefused("a pax header cannot be understood")
        records[os.fsdecode(key)] = value
        at = end
    return records


def _pax_text(pax: Mapping[str, bytes], key: str, otherwise: str) -> str:
    value = pax.get(key)
    if value and b"\0" in value:
        raise ImageRefused(f"a pax header has a zero byte in a {key}")
    return os.fsdecode(value) if value else otherwise


def _pax_number(pax: Mapping[str, bytes], key: str) -> int | None:
    value = pax.get(key)
    if not value:
        return None
    if not value.isdigit() or len(value) > 20 or int(value) > _MOST_BYTES:
        raise ImageRefused(f"a pax header has a {key} that can be no number")
    return int(value)


def _size(header: _Header, pax: Mapping[str, bytes]) -> int:
    told = _pax_number(pax, "size")
    return header.size if told is None else told


def _id(pax: Mapping[str, bytes], key: str, field: bytes) -> int:
    told = _pax_number(pax, key)
    found = _unsigned(field) if told is None else told
    if found > _LAST_ID:
        raise ImageRefused(f"an entry has a {key} of {found}, which no user or group can have")
    return found


def _mtime(pax: Mapping[str, bytes], field: bytes) -> int:
    told = pax.get("mtime")
    if not told:
        return _clamped(_number(field)) * 10**9
    found = _TIME.fullmatch(told.decode("ascii", "replace"))
    if found is None:
        raise ImageRefused("a pax header has an mtime that is no time")
    minus, seconds, fraction = found.groups()
    nanoseconds = _clamped(int(seconds)) * 10**9 + int((fraction or "")[:9].ljust(9, "0"))
    return -nanoseconds if minus else nanoseconds


def _clamped(seconds: int) -> int:
    return max(-_MOST_SECONDS, min(_MOST_SECONDS, seconds))


def _old_gnu_sparse(block: bytes, data: _Data, reader: Reader) -> tuple[int, Segments]:
    """The map is in the header, and in further blocks that count as no data."""
    pairs = [block[at : at + 24] for at in range(386, 386 + 4 * 24, 24)]
    more = block[482]
    while more:
        if len(pairs) > _MOST_SEGMENTS:
            raise ImageRefused("a sparse file has too many holes")
        extension = reader.exactly(BLOCK)
        pairs += [extension[at : at + 24] for at in range(0, 21 * 24, 24)]
        more = extension[504]
    segments = [(_unsigned(pair[:12]), _unsigned(pair[12:])) for pair in pairs if pair[:1] != b"\0"]
    return _checked(_unsigned(block[483:495]), segments, data)


def _pax_sparse(pax: Mapping[str, bytes], data: _Data) -> tuple[int, Segments]:
    """Version 1.0: the map is at the beginning of the data, as decimal lines, in whole blocks."""
    version = (pax.get(f"{_SPARSE}major"), pax.get(f"{_SPARSE}minor"))
    size = _pax_number(pax, f"{_SPARSE}realsize")
    if version != (b"1", b"0") or size is None:
        raise ImageRefused("a sparse file is stored in an old way: pack it again without --sparse")
    lines: list[bytes] = []
    rest = b""

    def line() -> int:
        nonlocal rest
        while not lines:
            rest += data.take(BLOCK)
            *whole, rest = rest.split(b"\n")
            lines.extend(reversed(whole))
        text = lines.pop()
        if not text.isdigit() or len(text) > 20:
            raise ImageRefused("the map of a sparse file cannot be understood")
        return int(text)

    count = line()
    if count > _MOST_SEGMENTS:
        raise ImageRefused("a sparse file has too many holes")
    return _checked(size, [(line(), line()) for _ in range(count)], data)


def _checked(size: int, segments: list[tuple[int, int]], data: _Data) -> tuple[int, Segments]:
    end = 0
    for offset, length in segments:
        if offset < end or offset + length > size:
            raise ImageRefused("the map of a sparse file cannot be understood")
        end = offset + length
    if sum(length for _, length in segments) != data.left:
        raise ImageRefused("the map of a sparse file does not fit its data")
    return size, tuple(segments)


def _text(field: bytes) -> str:
    return os.fsdecode(field.partition(b"\0")[0])


def _unsigned(field: bytes) -> int:
    number = _number(field)
    if not 0 <= number <= _MOST_BYTES:
        raise ImageRefused(f"a header has the number {number}, where none like it can be")
    return number


def _number(field: bytes) -> int:
    """Octal digits, or, with the first bit set, two's complement."""
    if field[0] & 0x80:
        return int.from_bytes(
            bytes([field[0] & 0x7F | (field[0] & 0x40) << 1]) + field[1:], signed=True
        )
    digits = field.split(b"\0")[0].strip()
    if not digits:
        return 0
    try:
        return int(digits, 8)
    except ValueError:
        raise ImageRefused("it is no tar archive, or damaged: a header holds no number") from None


def _padded(size: int) -> int:
    return size + -size % BLOCK
