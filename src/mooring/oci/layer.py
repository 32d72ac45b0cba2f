"""One layer, from wherever its bytes are into a directory, its digests checked on the way."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import assert_never

import msgspec

from mooring.oci import tar
from mooring.oci.archive import Blob
from mooring.oci.directory import DirectoryEntries
from mooring.oci.refused import ImageRefused
from mooring.oci.stream import Hashed, Stream, ahead, decompressed
from mooring.oci.unpack import Unpacked, unpack
from mooring.oci.whiteout import read_as_layer

_USUAL = "sha256"


def _any(_: int) -> None:
    """As many as there are."""


class Made(msgspec.Struct, frozen=True):
    digest: str
    unpacked: Unpacked


class BlobLayer(msgspec.Struct, frozen=True):
    """A layer of an image."""

    blob: Blob
    blob_digest: str  # as it is stored; empty: unknown
    digest: str  # decompressed
    count: Callable[[int], None] = _any  # called with decompressed bytes; may refuse them


class RootLayer(msgspec.Struct, frozen=True):
    """A whole root file system in a tar archive."""

    blob: Blob


class DirectoryLayer(msgspec.Struct, frozen=True):
    """A whole root file system in a directory."""

    root: int  # its descriptor


class MadeLayer(msgspec.Struct, frozen=True):
    """One that had to be unpacked to see what it is."""

    directory: Path
    made: Made


Layer = BlobLayer | RootLayer | DirectoryLayer | MadeLayer


def known_digest(layer: Layer) -> str:
    """What is known before it is read; may be empty."""
    match layer:
        case BlobLayer():
            return layer.digest
        case MadeLayer():
            return layer.made.digest
        case RootLayer() | DirectoryLayer():
            return ""
        case _:
            assert_never(layer)


def make(
    layer: BlobLayer | RootLayer | DirectoryLayer, directory: Path, wrote: Callable[[int], None]
) -> Made:
    """Unpack it into an empty directory.

    Raises: ImageRefused, OSError when it cannot be read; what is in the directory is rubbish then.
    """
    match layer:
        case BlobLayer():
            return _make_blob(layer, directory, wrote)
        case RootLayer():
            with _hashed_stream(decompressed(layer.blob.chunks()), _USUAL) as (stream, plain):
                unpacked = unpack(tar.entries(stream), directory, wrote)
                stream.drain()
            return Made(plain.digest, unpacked)
        case DirectoryLayer():
            found = DirectoryEntries(layer.root)
            unpacked = unpack(found, directory, wrote)
            return Made(found.digest, unpacked)
        case _:
            assert_never(layer)


def _make_blob(layer: BlobLayer, directory: Path, wrote: Callable[[int], None]) -> Made:
    stored = Hashed(layer.blob.chunks(), _algorithm(layer.blob_digest or layer.digest))
    # One that is not compressed has one digest, which need not be found out twice.
    is_plain = layer.blob_digest in ("", layer.digest)
    source: Iterable[bytes] = layer.blob.chunks() if is_plain else stored
    chunks = _counted(decompressed(source), layer.count)
    with _hashed_stream(chunks, _algorithm(layer.digest)) as (stream, plain):
        unpacked = unpack(read_as_layer(tar.entries(stream)), directory, wrote)
        stream.drain()
    if not is_plain and stored.digest != layer.blob_digest:
        raise _damaged(layer.blob_digest, stored.digest)
    if plain.digest != layer.digest:
        raise _damaged(layer.digest, plain.digest)
    return Made(layer.digest, unpacked)


def _counted(chunks: Iterable[bytes], count: Callable[[int], None]) -> Iterator[bytes]:
    for chunk in chunks:
        count(len(chunk))
        yield chunk


@contextmanager
def _hashed_stream(chunks: Iterable[bytes], algorithm: str) -> Iterator[tuple[Stream, Hashed]]:
    hashed = Hashed(chunks, algorithm)
    with ahead(hashed) as made:
        yield Stream(made), hashed


def _algorithm(digest: str) -> str:
    return digest.partition(":")[0]


def _damaged(expected: str, found: str) -> ImageRefused:
    return ImageRefused(f"it is damaged: a layer is {found} instead of {expected}")
