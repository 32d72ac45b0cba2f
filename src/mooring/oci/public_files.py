"""The public, world-readable files of the host's /etc, read as the nobody user."""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

ETC = Path("/etc")
# Accounts by name, the dynamic linker, certificates that are trusted, names of things, and what
# common programs do not start without. Never: passwords, keys, other services' configuration.
PUBLIC = (
    *("passwd", "group", "nsswitch.conf", "shells", "login.defs"),
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld-musl-*.path"),
    *("ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ca-certificates.conf", "ca-certificates"),
    *("pki/ca-trust/extracted", "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf"),
    *("crypto-policies", "alternatives", "mime.types", "magic", "magic.mime", "terminfo"),
    *("localtime", "timezone", "locale.alias", "locale.conf", "os-release", "*-release"),
    *("debian_version", "services", "protocols", "rpc", "networks", "ethertypes", "host.conf"),
    *("gai.conf", "netconfig", "iproute2", "inputrc"),
    *("mke2fs.conf", "xattr.conf", "fonts", "perl", "python3*", "java-*"),
)
LARGEST_FILE = 4 << 20
MOST_BYTES = 32 << 20
MOST_PIECES = 20_000
DEEPEST = 8  # directories; certificates are two below

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Piece(msgspec.Struct, frozen=True):
    """One file, directory or link; exactly one of the last three is set, none for a directory."""

    path: str  # below /etc
    content: bytes | None = None
    link: str = ""
    is_executable: bool = False


class Gathered(msgspec.Struct, frozen=True):
    pieces: tuple[Piece, ...]
    is_all: bool  # False: there was more than is taken


def gather(kept: Sequence[str], etc: Path = ETC) -> Gathered:
    """Every public piece of `etc` that this thread may read; directories before what is in them.

    `kept` are directories of the host that containers see: a link that leads there stays a link,
    any other is followed. What cannot be read is passed over.
    """
    pieces: list[Piece] = []
    left = MOST_BYTES
    for piece in _walk(tuple(kept), etc):
        left -= len(piece.content or b"")
        if left < 0 or len(pieces) == MOST_PIECES:
            return Gathered(tuple(pieces), is_all=False)
        pieces.append(piece)
    return Gathered(tuple(pieces), is_all=True)


def _walk(kept: tuple[str, ...], etc: Path) -> Iterator[Piece]:
    told: set[str] = set()
    for pattern in PUBLIC:
        for path in _matching(etc, pattern):
            name = str(path.relative_to(etc))
            for above in reversed(Path(name).parents[:-1]):
                if str(above) not in told:
                    told.add(str(above))
                    yield Piece(str(above))
            if name not in told:
                told.add(name)
                yield from _pieces(name, path, kept, etc, DEEPEST)


def _matching(etc: Path, pattern: str) -> list[Path]:
    try:
        return sorted(etc.glob(pattern))
    except OSError:  # not world-readable on this machine
        return []


def _pieces(name: str, path: Path, kept: tuple[str, ...], etc: Path, depth: int) -> Iterator[Piece]:
    try:
        if path.is_symlink() and _stays(path, kept, etc):
            yield Piece(name, link=str(path.readlink()))
        elif path.is_dir():
            below = sorted(os.listdir(path)) if depth else ()
            yield Piece(name)
            for inner in below:
                yield from _pieces(f"{name}/{inner}", path / inner, kept, etc, depth - 1)
        else:
            yield from _file(name, path)
    except OSError:
        return  # not world-readable, or just removed


def _stays(link: Path, kept: tuple[str, ...], etc: Path) -> bool:
    """Whether a link shows the same in a container."""
    leads_to = Path(os.path.realpath(link))
    if any(leads_to.is_relative_to(directory) for directory in kept):
        return True
    if not leads_to.is_relative_to(etc):
        return False
    below = leads_to.relative_to(etc)
    return any(above.match(pattern) for above in (below, *below.parents) for pattern in PUBLIC)


def _file(name: str, path: Path) -> Iterator[Piece]:
    opened = os.open(path, _READ)
    with os.fdopen(opened, "rb") as file:
        found = os.fstat(opened)
        if stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST_FILE:
            content = file.read(LARGEST_FILE)
            yield Piece(name, content=content, is_executable=bool(found.st_mode & 0o111))
