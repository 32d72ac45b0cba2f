"""What an image is made from: recognised by what is in it, not by its name.

An OCI layout or a docker archive is read where it is, file by file; only when it is compressed as a
whole is it unpacked first. Whatever else is a directory or a tar archive is a root file system.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from mooring.oci import manifest
from mooring.oci.archive import (
    Blob,
    DirectoryFiles,
    Files,
    TarFiles,
    find_file,
    get_document,
    get_file,
)
from mooring.oci.layer import BlobLayer, DirectoryLayer, Layer, MadeLayer, RootLayer, make
from mooring.oci.manifest import Configuration, Descriptor, Manifest, Saved
from mooring.oci.reference import Reference
from mooring.oci.refused import ImageRefused, shown
from mooring.oci.stream import compression

_MOST_NESTED = 4  # indexes in indexes
_MAGIC = 8  # bytes that identify the compression of a file


class Wish(msgspec.Struct, frozen=True):
    """Which image is meant, and how to read it."""

    name: Reference
    architecture: str  # of this machine, in the words of images
    scratch: Path  # an empty directory, for what has to be unpacked to be looked at
    wrote: Callable[[int], None]  # called with the number of unpacked bytes


class ImportSource(msgspec.Struct, frozen=True):
    """An image to be."""

    what: str  # for people
    layers: tuple[Layer, ...]  # the lowest first
    id: str = ""  # empty: that of its one layer
    configuration: Configuration = Configuration()
    digests: tuple[str, ...] = ()  # by which registries know it: of its index, of its manifest


@contextmanager
def opened(path: Path, wish: Wish) -> Iterator[ImportSource]:
    """Recognise what is at `path`. Raises: ImageRefused, OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            found = _find_image(DirectoryFiles(descriptor), wish)
            root = ImportSource("root file system", (DirectoryLayer(descriptor),))
            yield _checked(found or root, wish)
        elif not stat.S_ISREG(mode):
            raise ImageRefused("it is neither a file nor a directory")
        elif compression(os.pread(descriptor, _MAGIC, 0)):
            with _opened_compressed(descriptor, wish) as source:
                yield _checked(source, wish)
        else:
            found = _find_image(TarFiles(descriptor), wish)
            root = ImportSource("root file system", (RootLayer(_whole(descriptor)),))
            yield _checked(found or root, wish)
    finally:
        os.close(descriptor)


@contextmanager
def _opened_compressed(descriptor: int, wish: Wish) -> Iterator[ImportSource]:
    """Unpacked, it is a root file system already, or a directory with images in it."""
    made = make(RootLayer(_whole(descriptor)), wish.scratch, wish.wrote)
    root = os.open(wish.scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        found = _find_image(DirectoryFiles(root), wish)
        yield found or ImportSource("root file system", (MadeLayer(wish.scratch, made),))
    finally:
        os.close(root)


def _whole(descriptor: int) -> Blob:
    return Blob(lambda: os.dup(descriptor), 0, os.fstat(descriptor).st_size)


def _checked(source: ImportSource, wish: Wish) -> ImportSource:
    digest = wish.name.digest
    if digest and not source.digests:
        raise ImageRefused(
            f"it is a {source.what}, which has no digest to check: give it a name with a tag"
        )
    if digest and digest not in source.digests:
        raise ImageRefused(f"it is not {digest}, but {source.digests[-1]}")
    return source


def _find_image(files: Files, wish: Wish) -> ImportSource | None:
    if find_file(files, manifest.LAYOUT) and find_file(files, manifest.INDEX):
        return _from_layout(files, wish)
    saved = _find_saved(files)
    return _from_docker(files, saved, wish) if saved else None


def _find_saved(files: Files) -> tuple[Saved, ...]:
    """None of them: a root file system may well have a manifest.json too."""
    if find_file(files, manifest.MANIFEST) is None:
        return ()
    document = get_document(files, manifest.MANIFEST)
    try:
        return manifest.read(document, tuple[Saved, ...], manifest.MANIFEST)
    except ImageRefused:
        return ()


def _from_layout(files: Files, wish: Wish) -> ImportSource:
    index = manifest.read(get_document(files, manifest.INDEX), Manifest, manifest.INDEX)
    chosen = manifest.pick_top(index.manifests or (), wish.name, wish.architecture)
    digests = [chosen.digest]
    described = _manifest(files, chosen)
    while described.manifests is not None:
        if len(digests) == _MOST_NESTED:
            raise ImageRefused("its indexes are nested too deep")
        chosen = manifest.pick_platform(described.manifests, wish.architecture)
        digests.append(chosen.digest)
        described = _manifest(files, chosen)
    if described.config is None or described.layers is None:
        raise ImageRefused("its manifest has no configuration and layers: it is no image")
    document = _verified(files, described.config)
    configuration = manifest.read(document, Configuration, "configuration")
    manifest.check(configuration, len(described.layers))
    layers = tuple(
        BlobLayer(_sized(files, layer), layer.digest, digest)
        for layer, digest in zip(described.layers, configuration.diff_ids, strict=True)
    )
    return ImportSource("OCI layout", layers, _id(document), configuration, tuple(digests))


def _from_docker(files: Files, saved: tuple[Saved, ...], wish: Wish) -> ImportSource:
    image = manifest.pick_saved(saved, wish.name)
    document = get_document(files, image.config)
    configuration = manifest.read(document, Configuration, "configuration")
    manifest.check(configuration, len(image.layers))
    layers = tuple(
        BlobLayer(get_file(files, path), "", digest)
        for path, digest in zip(image.layers, configuration.diff_ids, strict=True)
    )
    return ImportSource("docker archive", layers, _id(document), configuration)


def _id(configuration: bytes) -> str:
    return f"sha256:{hashlib.sha256(configuration).hexdigest()}"


def _manifest(files: Files, descriptor: Descriptor) -> Manifest:
    return manifest.read(_verified(files, descriptor), Manifest, "manifest")


def _verified(files: Files, descriptor: Descriptor) -> bytes:
    manifest.check_digest(descriptor.digest)
    document = get_document(files, descriptor.path)
    algorithm, _, expected = descriptor.digest.partition(":")
    if hashlib.new(algorithm, document).hexdigest() != expected:
        raise ImageRefused(f"it is damaged: {shown(descriptor.path)} is not what its name says")
    return document


def _sized(files: Files, descriptor: Descriptor) -> Blob:
    manifest.check_digest(descriptor.digest)
    found = get_file(files, descriptor.path)
    if found.size != descriptor.size:
        raise ImageRefused(
            f"it is damaged: {descriptor.path} has {found.size} bytes instead of {descriptor.size}"
        )
    return found
