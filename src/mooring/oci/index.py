"""Which images there are: one file, read again when it has changed, replaced whole.

What is not in it does not exist: a directory of a layer that it does not name is rubbish.
"""

import os
from collections.abc import Sequence, Set
from pathlib import Path
from types import MappingProxyType

import msgspec

from mooring.oci.contract import ImageConfig, StoredImage
from mooring.oci.reference import Reference, parse
from mooring.oci.refused import ImageRefused

_VERSION = 1
_SHORTEST = 12  # digits of an id that stand for all of it, as tables show them
_HEXADECIMAL = frozenset("0123456789abcdef")


class _Version(msgspec.Struct, frozen=True):
    version: int


class StoredLayer(msgspec.Struct, frozen=True):
    size: int  # bytes of its files
    hides_below: bool = False  # of the layers under it nothing is seen


class Image(msgspec.Struct, frozen=True):
    layers: tuple[str, ...]  # hexadecimal digits of their digests, the topmost first
    config: ImageConfig
    digests: tuple[str, ...] = ()  # by which registries know it


class Index(msgspec.Struct, frozen=True):
    layers: dict[str, StoredLayer] = {}
    images: dict[str, Image] = {}  # by id
    names: dict[str, str] = {}  # -> id; an image without is there as long as it is in use
    version: int = _VERSION
    pulled: tuple[str, ...] = ()  # names whose images came from a registry, and may come again

    def with_image(
        self, name: Reference, image_id: str, image: Image, layers: dict[str, StoredLayer]
    ) -> "Index":
        """The image under a name, which another may have had before; as an imported one."""
        known = self.images.get(image_id)
        if known is not None:
            both = dict.fromkeys((*known.digests, *image.digests))
            image = msgspec.structs.replace(image, digests=tuple(both))
        return msgspec.structs.replace(
            self,
            layers={**self.layers, **layers},
            images={**self.images, image_id: image},
            names={**self.names, str(name): image_id},
            pulled=tuple(one for one in self.pulled if one != str(name)),
        )

    def with_pulled(self, name: Reference) -> "Index":
        """The image of that name is one that came from a registry."""
        return msgspec.structs.replace(self, pulled=(*self.pulled, str(name)))

    def without(self, names: Sequence[str]) -> "Index":
        kept = {name: image for name, image in self.names.items() if name not in names}
        pulled = tuple(name for name in self.pulled if name not in names)
        return msgspec.structs.replace(self, names=kept, pulled=pulled)

    def without_rubbish(self, in_use: Set[str]) -> "Index":
        """Images live while they have a name or are in use, layers while they have an image."""
        living = in_use | set(self.names.values())
        images = {key: image for key, image in self.images.items() if key in living}
        needed = {layer for image in images.values() for layer in image.layers}
        layers = {key: layer for key, layer in self.layers.items() if key in needed}
        return msgspec.structs.replace(self, layers=layers, images=images)


class Catalogue:
    """An index, ready to be asked."""

    def __init__(self, index: Index, layers: Path) -> None:
        self.index = index
        self._names: dict[str, list[str]] = {}
        for name, image_id in sorted(index.names.items()):
            self._names.setdefault(image_id, []).append(name)
        self.images = MappingProxyType(
            {image_id: self._stored(image_id, layers) for image_id in index.images}
        )

    def find(self, reference: str) -> StoredImage | None:
        """By name, by id, or by the beginning of an id."""
        try:
            found = self._find_by_name(parse(reference))
        except ImageRefused:
            found = None
        return found or self._find_by_id(reference.removeprefix("sha256:"))

    def _find_by_name(self, wanted: Reference) -> StoredImage | None:
        image_id = self.index.names.get(str(wanted))
        if image_id is None and wanted.digest:
            image_id = next((key for key in self.images if self._is_known_as(key, wanted)), None)
        return None if image_id is None else self.images[image_id]

    def _is_known_as(self, image_id: str, wanted: Reference) -> bool:
        return wanted.digest in self.index.images[image_id].digests and any(
            parse(name).repository == wanted.repository for name in self._names.get(image_id, ())
        )

    def _find_by_id(self, digits: str) -> StoredImage | None:
        if len(digits) < _SHORTEST or not _HEXADECIMAL.issuperset(digits):
            return None
        found = [key for key in self.images if key.startswith(f"sha256:{digits}")]
        return self.images[found[0]] if len(found) == 1 else None

    def _stored(self, image_id: str, layers: Path) -> StoredImage:
        image, known, pulled = self.index.images[image_id], self.index.layers, self.index.pulled
        return StoredImage(
            id=image_id,
            names=tuple(self._names.get(image_id, ())),
            layers=tuple(layers / layer for layer in image.layers),
            config=image.config,
            size=sum(known[layer].size for layer in image.layers),
            pulled_names=tuple(name for name in self._names.get(image_id, ()) if name in pulled),
            digests=image.digests,
        )


def visible(layers: tuple[str, ...], known: dict[str, StoredLayer]) -> tuple[str, ...]:
    """The layers that overlay is to stack, the topmost first, of those of an image, lowest first.

    Overlay refuses to have one twice; the lower one adds nothing that the upper one does not say
    again. And it does not look whether a root is opaque: what is under such a one is left out.
    """
    stack: list[str] = []
    for layer in reversed(layers):
        if layer not in stack:
            stack.append(layer)
        if known[layer].hides_below:
            break
    return tuple(stack)


def read(path: Path) -> Index:
    """A missing one is empty. Raises: ImageRefused when it cannot be understood, OSError."""
    try:
        written = path.read_bytes()
    except FileNotFoundError:
        return Index()
    try:
        if msgspec.json.decode(written, type=_Version).version != _VERSION:
            raise ImageRefused(f"{path} is of a newer Mooring: use that one")
        return msgspec.json.decode(written, type=Index)
    except msgspec.DecodeError as error:
        raise ImageRefused(
            f"{path} is damaged: move it away and import all images again ({error})"
        ) from error


def write(path: Path, index: Index, draft: Path) -> None:
    """Replace it, for good; `draft` is a file beside it. Raises: OSError."""
    with draft.open("xb") as file:
        file.write(msgspec.json.encode(index))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
