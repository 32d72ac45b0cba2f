"""The documents in an archive of images, and which of its images is meant. No file is read here."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from mooring.oci.contract import ImageConfig
from mooring.oci.reference import Reference, is_digest, parse
from mooring.oci.refused import ImageRefused, shown

INDEX = "index.json"  # of an OCI layout
LAYOUT = "oci-layout"
MANIFEST = "manifest.json"  # of a docker archive
_MOST_LAYERS = 500  # that overlay can stack
_FULL_NAME = "io.containerd.image.name"
_REF_NAME = "org.opencontainers.image.ref.name"
_ARCHITECTURES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "arm",
    "armv6l": "arm",
    "i686": "386",
}

D = TypeVar("D")


class Platform(msgspec.Struct, frozen=True):
    architecture: str = ""
    os: str = ""
    variant: str = ""


class Descriptor(msgspec.Struct, frozen=True):
    digest: str
    size: int
    platform: Platform | None = None
    annotations: Mapping[str, str] | None = None

    @property
    def path(self) -> str:
        """Of its content in a layout."""
        return f"blobs/{self.digest.replace(':', '/')}"


class Manifest(msgspec.Struct, frozen=True):
    """A manifest has a configuration and layers, an index has manifests."""

    config: Descriptor | None = None
    layers: tuple[Descriptor, ...] | None = None
    manifests: tuple[Descriptor, ...] | None = None


class Run(msgspec.Struct, frozen=True, rename="pascal"):
    entrypoint: tuple[str, ...] | None = None
    cmd: tuple[str, ...] | None = None
    env: tuple[str, ...] | None = None
    user: str | None = None
    working_dir: str | None = None
    stop_signal: str | None = None


class RootFs(msgspec.Struct, frozen=True):
    diff_ids: tuple[str, ...] | None = None


class Configuration(msgspec.Struct, frozen=True):
    architecture: str = ""
    os: str = ""
    config: Run | None = None
    rootfs: RootFs = RootFs()

    @property
    def diff_ids(self) -> tuple[str, ...]:
        """The digests of its layers, decompressed, the lowest first."""
        return self.rootfs.diff_ids or ()

    def to_run(self) -> ImageConfig:
        run = self.config or Run()
        return ImageConfig(
            entrypoint=run.entrypoint or (),
            command=run.cmd or (),
            environment=run.env or (),
            user=run.user or "",
            working_dir=run.working_dir or "",
            stop_signal=run.stop_signal or "",
        )


class Saved(msgspec.Struct, frozen=True, rename="pascal"):
    """One image of a docker archive."""

    config: str
    layers: tuple[str, ...]
    repo_tags: tuple[str, ...] | None = None


def read(document: bytes, kind: type[D], called: str) -> D:
    """Raises: ImageRefused."""
    try:
        return msgspec.json.decode(document, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ImageRefused(f"its {called} cannot be understood: {error}") from error


def architecture_of(machine: str) -> str:
    """What images call the machines of this kind."""
    return _ARCHITECTURES.get(machine, machine)


def check(configuration: Configuration, layers: int) -> None:
    """Raises: ImageRefused when it cannot be run, or its layers cannot be checked."""
    if configuration.os not in ("", "linux"):
        raise ImageRefused(f"it is for {shown(configuration.os)}, and cannot run on Linux")
    if layers != len(configuration.diff_ids):
        raise ImageRefused(
            f"it has {layers} layers, and its configuration tells of {len(configuration.diff_ids)}"
        )
    if layers > _MOST_LAYERS:
        raise ImageRefused(f"it has {layers} layers, and overlay stacks {_MOST_LAYERS} at most")
    for digest in configuration.diff_ids:
        check_digest(digest)


def check_digest(digest: str) -> None:
    """Raises: ImageRefused when nothing can be checked by it."""
    if not is_digest(digest):
        raise ImageRefused(f"it has a digest that cannot be checked: {shown(digest)}")


def pick_saved(saved: Sequence[Saved], wanted: Reference) -> Saved:
    """The image of a docker archive that is meant. Raises: ImageRefused."""
    if len(saved) == 1:
        return saved[0]
    for image in saved:
        if any(_is_called(tag, wanted) for tag in image.repo_tags or ()):
            return image
    raise _several(tag for image in saved for tag in image.repo_tags or ())


def pick_top(found: Sequence[Descriptor], wanted: Reference, architecture: str) -> Descriptor:
    """The image of an OCI layout that is meant. Raises: ImageRefused."""
    if wanted.digest:
        exact = [one for one in found if one.digest == wanted.digest]
        return exact[0] if exact else _pick(found, architecture)
    called = [one for one in found if _is_annotated(one, wanted)] or list(found)
    return _pick(called, architecture)


def pick_platform(found: Sequence[Descriptor], architecture: str) -> Descriptor:
    """One image for this machine, of one that there is for several. Raises: ImageRefused."""
    fitting = _fitting(found, architecture)
    plain = [one for one in fitting if one.platform is None or not one.platform.variant]
    return (plain or fitting)[0] if fitting else _pick(found, architecture)


def _pick(found: Sequence[Descriptor], architecture: str) -> Descriptor:
    fitting = _fitting(found, architecture)
    if len(fitting) == 1:
        return fitting[0]
    images = [one for one in found if not _is_no_image(one)]
    if len(images) == 1:
        return images[0]
    if not images:
        raise ImageRefused("there is no image in it")
    if not fitting and all(one.platform for one in images):
        has = sorted({one.platform.architecture for one in images if one.platform})
        raise ImageRefused(f"it is for {shown(', '.join(has))}, and this machine is {architecture}")
    raise _several(_name_of(one) for one in images)


def _fitting(found: Sequence[Descriptor], architecture: str) -> list[Descriptor]:
    return [
        one
        for one in found
        if one.platform and (one.platform.os, one.platform.architecture) == ("linux", architecture)
    ]


def _is_no_image(one: Descriptor) -> bool:
    """What is signed and attested beside an image is said to be for a machine called unknown."""
    return one.platform is not None and one.platform.architecture == "unknown"


def _is_annotated(one: Descriptor, wanted: Reference) -> bool:
    notes = one.annotations or {}
    if _FULL_NAME in notes:
        return _is_called(notes[_FULL_NAME], wanted)
    name = notes.get(_REF_NAME, "")
    return name == wanted.tag or _is_called(name, wanted)


def _is_called(name: str, wanted: Reference) -> bool:
    try:
        return parse(name) == wanted
    except ImageRefused:
        return False


def _name_of(one: Descriptor) -> str:
    notes = one.annotations or {}
    return notes.get(_FULL_NAME) or notes.get(_REF_NAME) or one.digest


def _several(names: Iterable[str]) -> ImageRefused:
    listed = shown(", ".join(sorted(names))) or "images without names"
    return ImageRefused(f"it holds several images, import them by their names: {listed}")
