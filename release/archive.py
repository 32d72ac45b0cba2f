"""Tar archives that are the same, byte for byte, whenever the same files go in."""

import gzip
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import msgspec


class Entry(msgspec.Struct, frozen=True):
    """A file, a directory or a link, as it stands in an archive."""

    name: str
    content: bytes = b""
    mode: int = 0o644
    link: str = ""
    is_directory: bool = False


def directory(name: str, mode: int = 0o755) -> Entry:
    return Entry(name, mode=mode, is_directory=True)


def link(name: str, to: str) -> Entry:
    return Entry(name, mode=0o777, link=to)


def tar(entries: Iterable[Entry], epoch: int) -> bytes:
    """In the order of their names, which puts a directory before what is in it."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in sorted(entries, key=lambda entry: entry.name):
            info = tarfile.TarInfo(entry.name)
            info.mode, info.mtime = entry.mode, epoch
            if entry.is_directory:
                info.type = tarfile.DIRTYPE
            elif entry.link:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
            else:
                info.size = len(entry.content)
            archive.addfile(info, io.BytesIO(entry.content))
    return written.getvalue()


def compressed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def below(root: Path, prefix: str) -> list[Entry]:
    """The files of a directory of ours, with plain modes; compiled Python is left out."""
    found = []
    for path in root.rglob("*"):
        name = f"{prefix}{path.relative_to(root)}"
        if "__pycache__" in path.parts:
            continue
        if path.is_dir():
            found.append(directory(name))
        else:
            mode = 0o755 if path.stat().st_mode & 0o111 else 0o644
            found.append(Entry(name, path.read_bytes(), mode))
    return found


def entries_of(stream: IO[bytes]) -> list[Entry]:
    """What an archive of somebody else holds: files, directories and links."""
    found = []
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for info in archive:
            name = info.name.removeprefix("./").strip("/")
            if name in ("", "."):
                continue
            if info.isdir():
                found.append(directory(name, info.mode))
            elif info.issym():
                found.append(link(name, info.linkname))
            elif info.islnk():
                raise ValueError(f"a hard link, which no package has had so far: {name}")
            else:
                content = archive.extractfile(info)
                assert content is not None, name
                found.append(Entry(name, content.read(), info.mode))
    return found
