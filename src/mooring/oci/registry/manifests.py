"""From a name to the documents of one image: its index, its manifest, its configuration.

Every document is verified by the digest that it is asked for by; what a tag leads to is known by
the digest of the bytes that came.
"""

import hashlib
from collections.abc import Sequence

import msgspec

from mooring.oci import manifest
from mooring.oci.manifest import Configuration, Descriptor, Manifest
from mooring.oci.reference import Reference
from mooring.oci.registry.connection import Connection
from mooring.oci.registry.errors import PullFailed

MOST_MANIFEST = 4 << 20  # bytes, as registries have it
MOST_CONFIGURATION = 4 << 20
_MOST_NESTED = 4  # indexes in indexes
_ACCEPTED = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)


class _Kind(msgspec.Struct, frozen=True, rename="camel"):
    schema_version: int = 0
    media_type: str = ""


class RemoteImage(msgspec.Struct, frozen=True):
    """An image as a registry describes it: nothing of its layers is here yet."""

    digests: tuple[str, ...]  # of its index, of its manifest
    layers: tuple[Descriptor, ...]  # the lowest first
    document: bytes  # its configuration
    configuration: Configuration

    @property
    def id(self) -> str:
        return f"sha256:{hashlib.sha256(self.document).hexdigest()}"


class Top(msgspec.Struct, frozen=True):
    """What a name leads to at this moment."""

    digest: str
    described: Manifest


async def find_top(connection: Connection, reference: Reference) -> Top:
    """Raises: PullFailed."""
    asked = reference.digest or reference.tag
    document = await _fetch(connection, asked)
    algorithm = reference.digest.partition(":")[0] or "sha256"
    found = f"{algorithm}:{hashlib.new(algorithm, document).hexdigest()}"
    if reference.digest and found != reference.digest:
        raise PullFailed(f"{connection.endpoint.url} has sent {found} instead of {asked}")
    return Top(found, understood(document))


async def describe(connection: Connection, top: Top, architecture: str) -> RemoteImage:
    """The image for this machine. Raises: PullFailed, ImageRefused."""
    digests, described = [top.digest], top.described
    while described.manifests is not None:
        if len(digests) == _MOST_NESTED:
            raise PullFailed("its indexes are nested too deep")
        chosen = manifest.pick_platform(described.manifests, architecture)
        _check(chosen, MOST_MANIFEST, "a manifest")
        document = await _fetch(connection, chosen.digest)
        _verify(document, chosen, connection)
        digests.append(chosen.digest)
        described = understood(document)
    if described.config is None or described.layers is None:
        raise PullFailed("its manifest has no configuration and layers: it is no image")
    _check(described.config, MOST_CONFIGURATION, "its configuration")
    async with connection.get(f"blobs/{described.config.digest}", {}) as response:
        document = await connection.read(response, MOST_CONFIGURATION, "its configuration")
    _verify(document, described.config, connection)
    configuration = manifest.read(document, Configuration, "configuration")
    manifest.check(configuration, len(described.layers))
    _check_layers(described.layers)
    return RemoteImage(tuple(digests), described.layers, document, configuration)


def understood(document: bytes) -> Manifest:
    """Raises: PullFailed, ImageRefused."""
    kind = manifest.read(document, _Kind, "manifest")
    if kind.schema_version != 2:
        raise PullFailed(
            f"its manifest is of schema {kind.schema_version}, which is no longer pulled: "
            "push it again with a newer tool"
        )
    read = manifest.read(document, Manifest, "manifest")
    if read.manifests is not None and (read.layers is not None or read.config is not None):
        raise PullFailed("its manifest is an image and an index at once, and could mean two images")
    return read


async def _fetch(connection: Connection, name: str) -> bytes:
    async with connection.get(f"manifests/{name}", {"Accept": _ACCEPTED}) as response:
        return await connection.read(response, MOST_MANIFEST, "its manifest")


def _verify(document: bytes, expected: Descriptor, connection: Connection) -> None:
    algorithm, _, digits = expected.digest.partition(":")
    if len(document) != expected.size or hashlib.new(algorithm, document).hexdigest() != digits:
        raise PullFailed(
            f"{connection.endpoint.url} has sent something else instead of {expected.digest}"
        )


def _check(one: Descriptor, most: int, what: str) -> None:
    manifest.check_digest(one.digest)
    if not 0 <= one.size <= most:
        raise PullFailed(f"{what} has {one.size} bytes, and {most} are the most that is read")


def _check_layers(layers: Sequence[Descriptor]) -> None:
    for layer in layers:
        manifest.check_digest(layer.digest)
        if layer.size < 0:
            raise PullFailed("a layer has less than no bytes")
