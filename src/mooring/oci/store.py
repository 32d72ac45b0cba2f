"""The images of this machine, below one directory.

    images.json        which there are (index.py)
    layers/<digest>/   files of a layer, as overlay takes them; never changed once they are there
    tmp/               what is being made
    lock               held while any of it is changed

An image exists from the moment that `images.json` names it, and all of it is on disk before. An
import that is killed before that leaves files in `tmp` and `layers`, which the next change removes.
An image that containers still use loses its names, but stays until they use it no more.
"""

import ctypes
import fcntl
import os
import platform
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path

import msgspec

from mooring import log
from mooring.errors import HostError
from mooring.host import tree
from mooring.host.refusal import reason
from mooring.oci import index as index_file
from mooring.oci import layer as layers
from mooring.oci.contract import StoredImage
from mooring.oci.in_use import images_in_use
from mooring.oci.index import Catalogue, Image, Index, StoredLayer, visible
from mooring.oci.layer import Layer, MadeLayer
from mooring.oci.manifest import architecture_of
from mooring.oci.reference import Reference, parse
from mooring.oci.refused import ImageRefused, shown
from mooring.oci.source import ImportSource, Wish, opened

Say = Callable[[str], None]
OpenSource = Callable[[Wish], AbstractContextManager[ImportSource]]
_Stamp = tuple[int, int, int]

_log = log.get("mooring.oci.store")

_PRIVATE = 0o700
_TOLD_EVERY = 256 << 20  # bytes
_UNITS = ("B", "kB", "MB", "GB", "TB")
_SCRATCH = "source"
_DRAFT = "images.json"
_NO_SUCH = "there is no such image; `mooring image ls` shows those there are"
_libc = ctypes.CDLL(None, use_errno=True)


class Removed(msgspec.Struct, frozen=True):
    names: tuple[str, ...]
    is_in_use: bool  # the image has lost its last name, and stays for containers


class ImageStore:
    """See `contract.Images`. Reading is cheap, and sees at once what another process changes."""

    def __init__(self, root: Path, containers: Path | None = None) -> None:
        """`containers` is where the records are of those that run from these images."""
        self._root = root
        self._containers = containers
        self._index = root / "images.json"
        self._layers = root / "layers"
        self._tmp = root / "tmp"
        self._read: tuple[_Stamp | None, Catalogue] | None = None

    def find(self, reference: str) -> StoredImage | None:
        """Raises: ImageRefused when the store cannot be read."""
        return self._catalogue().find(reference)

    def list(self) -> Sequence[StoredImage]:
        """By name. Raises: ImageRefused when the store cannot be read."""
        return sorted(self._catalogue().images.values(), key=lambda image: image.names)

    def import_image(self, name: str, source: Path, say: Say) -> StoredImage:
        """Take an image in, under a name that another may have had; `say` gets lines of progress.

        `source` is an OCI layout or a docker archive, or a root file system: file or directory.
        After: it is there for good. Another one that has lost its last name is gone.
        Repeated: changes nothing.
        Raises: ImageRefused when the store is as it was before.
        """
        wanted = parse(name)
        if os.geteuid() != 0:
            raise ImageRefused("importing an image needs root: its files have owners of their own")
        with self._changing(say, f"cannot import {source}"):
            if source.is_dir() and self._root.resolve().is_relative_to(source.resolve()):
                raise ImageRefused(f"the images of this machine are inside of it, in {self._root}")
            return self._take_in(wanted, partial(opened, source), say)

    def add_pulled(self, wanted: Reference, image: ImportSource, say: Say) -> StoredImage:
        """Take in an image whose layers have come from a registry.

        Before: those that `has_layer` denies are in files. After and Raises: as `import_image`.
        """
        with self._changing(say, f"cannot unpack {wanted}"):
            return self._take_in(wanted, lambda _: nullcontext(image), say, is_pulled=True)

    def has_layer(self, digest: str) -> bool:
        """Whether a layer is here, by the digest of it decompressed."""
        return _digits(digest) in self._catalogue().index.layers

    def remove_unused(self, image_ids: Collection[str]) -> Sequence[StoredImage]:
        """Remove those that nothing uses, and that can be pulled again; they are returned.

        What uses them is looked up while nobody else can change the images. Raises: ImageRefused.
        """
        with self._changing(lambda _: None, "cannot remove unused images"):
            before = index_file.read(self._index)
            used = images_in_use(before.images, self._containers)
            known = Catalogue(before, self._layers).images
            going = [known[one] for one in image_ids if one in known and one not in used]
            going = [image for image in going if image.is_pulled]
            after = self._replace(before.without([name for one in going for name in one.names]))
            self._sweep(after)
        return [image for image in going if image.id not in after.images]

    def in_use(self) -> frozenset[str]:
        """The ids of images that containers or volumes use now."""
        return images_in_use(self._catalogue().index.images, self._containers)

    def _take_in(
        self, wanted: Reference, open_source: OpenSource, say: Say, *, is_pulled: bool = False
    ) -> StoredImage:
        """Before: the lock is held."""
        before = index_file.read(self._index)
        self._sweep(before)
        try:
            changed, image_id = self._imported(wanted, open_source, before, say)
            if is_pulled:
                changed = changed.with_pulled(wanted)
            self._sync()
            after = self._replace(changed)
        finally:
            self._sweep(index_file.read(self._index))
        return Catalogue(after, self._layers).images[image_id]

    def remove(self, reference: str) -> Removed:
        """Take a name away, or, by its id, an image with all its names.

        Raises: ImageRefused when there is none.
        """
        failing = f"cannot remove {reference}"
        if self.find(reference) is None:  # without making a store where there is none
            raise ImageRefused(f"{failing}: {_NO_SUCH}")
        with self._changing(lambda _: None, failing):
            before = index_file.read(self._index)
            found = Catalogue(before, self._layers).find(reference)
            if found is None:
                raise ImageRefused(_NO_SUCH)
            names = _names_meant(reference, found)
            self._sweep(before)
            after = self._replace(before.without(names))
            self._sweep(after)
        return Removed(names, found.id in after.images and found.id not in after.names.values())

    def _catalogue(self) -> Catalogue:
        try:
            stamp = self._stamp()
            if self._read is None or self._read[0] != stamp:
                self._read = stamp, Catalogue(index_file.read(self._index), self._layers)
        except OSError as error:
            raise ImageRefused(f"cannot read {self._index}: {reason(error.errno or 0)}") from error
        return self._read[1]

    def _stamp(self) -> _Stamp | None:
        try:
            found = self._index.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    @contextmanager
    def _changing(self, say: Say, failing: str) -> Iterator[None]:
        """Hold the store's lock. Errors are raised with the prefix `failing`."""
        try:
            for directory in (*reversed(self._root.parents), self._root, self._layers, self._tmp):
                directory.mkdir(_PRIVATE, exist_ok=True)  # keys may come to lie beside it
            lock = os.open(self._root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                _take(lock, say)
                yield
            finally:
                os.close(lock)
        except OSError as error:
            raise ImageRefused(f"{failing}: {reason(error.errno or 0)}") from error
        except ImageRefused as error:
            raise ImageRefused(f"{failing}: {error}") from error

    def _imported(
        self, wanted: Reference, open_source: OpenSource, before: Index, say: Say
    ) -> tuple[Index, str]:
        """The index as it is to be."""
        progress = _Progress(say)
        scratch = self._new_directory(_SCRATCH)
        wish = Wish(wanted, architecture_of(platform.machine()), scratch, progress)
        with open_source(wish) as image:
            say(_description(image, wish))
            made: dict[str, StoredLayer] = {}
            order = [
                self._make_layer(layer, number, before, made, progress)
                for number, layer in enumerate(image.layers, 1)
            ]
        if not order:
            raise ImageRefused("it has no layers, and so nothing that could run")
        known = {**before.layers, **made}
        image_id = image.id or f"sha256:{order[0]}"
        stored = Image(visible(tuple(order), known), image.configuration.to_run(), image.digests)
        return before.with_image(wanted, image_id, stored, known), image_id

    def _make_layer(
        self,
        layer: Layer,
        number: int,
        before: Index,
        made: dict[str, StoredLayer],
        progress: "_Progress",
    ) -> str:
        """Its digest; it is among the layers then, and in `made` if it was not before."""
        known = _digits(layers.known_digest(layer))
        if known in before.layers or known in made:
            progress.say(f"layer {number}: there already")
            return known
        if isinstance(layer, MadeLayer):
            directory, result = layer.directory, layer.made
        else:
            directory = self._new_directory(str(number))
            result = layers.make(layer, directory, progress)
        unpacked, digest = result.unpacked, _digits(result.digest)
        without = (
            f", without {_plural(unpacked.devices, 'device node')}" if unpacked.devices else ""
        )
        progress.say(f"layer {number}: {human_size(unpacked.size)}{without}")
        if digest not in before.layers:
            made[digest] = StoredLayer(unpacked.size, unpacked.hides_below)
            directory.rename(self._layers / digest)
        return digest

    def _new_directory(self, name: str) -> Path:
        """For what may become a layer: its mode is that of a root directory."""
        directory = self._tmp / name
        directory.mkdir()
        directory.chmod(0o755)
        return directory

    def _replace(self, index: Index) -> Index:
        """Write the index, without unneeded images, and return it."""
        kept = index.without_rubbish(images_in_use(index.images, self._containers))
        index_file.write(self._index, kept, self._tmp / _DRAFT)
        return kept

    def _sweep(self, index: Index) -> None:
        """Remove what the index does not name."""
        for found in self._layers.iterdir():
            if found.name not in index.layers:
                found.rename(self._tmp / found.name)  # atomically: never half of it
        for found in self._tmp.iterdir():
            try:
                tree.remove_path(found)
            except HostError as error:  # unused by now: the next sweep tries again
                _log.warning("rubbish among the images stays", path=found, because=error)

    def _sync(self) -> None:
        """All that was written is on disk: with one call, not with one for each file."""
        root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if _libc.syncfs(root):
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code))
        finally:
            os.close(root)


class _Progress:
    """Says now and then how far it is; by bytes, since a clock would have to be asked."""

    def __init__(self, say: Say) -> None:
        self.say = say
        self._count = 0
        self._told = 0

    def __call__(self, count: int) -> None:
        self._count += count
        if self._count - self._told >= _TOLD_EVERY:
            self._told = self._count
            self.say(f"{human_size(self._count)} unpacked so far")


def _take(lock: int, say: Say) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("another command is changing the images; waiting for it")
        fcntl.flock(lock, fcntl.LOCK_EX)


def _description(image: ImportSource, wish: Wish) -> str:
    said = f"{image.what}, {_plural(len(image.layers), 'layer')}"
    meant = image.configuration.architecture
    if meant in ("", wish.architecture):
        return said
    return (
        f"{said}, for {shown(meant)}: it may not run on this machine, which is {wish.architecture}"
    )


def _digits(digest: str) -> str:
    return digest.partition(":")[2]


def _names_meant(reference: str, found: StoredImage) -> tuple[str, ...]:
    try:
        name = str(parse(reference))
    except ImageRefused:
        return found.names
    return (name,) if name in found.names else found.names


def human_size(count: int) -> str:
    """Three digits and a unit of a thousand, as docker shows sizes: `4.26MB`."""
    size, unit = float(count), 0
    while size >= 999.5 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.3g}{_UNITS[unit]}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
