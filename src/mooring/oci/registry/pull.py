"""One pull: where the image is, its documents, its layers into files, and all of it into the store.

Whatever goes wrong, and whenever it is cancelled, nothing of it is left but layers that other
images share; a layer that is here already is not fetched again.
"""

import asyncio
import os
import platform
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

from mooring import log
from mooring.clock import Clock
from mooring.host.blocking import in_thread, taking, within_own
from mooring.host.refusal import reason
from mooring.oci.archive import Blob
from mooring.oci.contract import StoredImage
from mooring.oci.layer import BlobLayer
from mooring.oci.manifest import Descriptor, architecture_of
from mooring.oci.reference import Reference
from mooring.oci.refused import ImageRefused
from mooring.oci.registry import manifests
from mooring.oci.registry.blobs import BlobDownload
from mooring.oci.registry.connection import Connection, http_session
from mooring.oci.registry.endpoints import RegistryEndpoint, endpoints
from mooring.oci.registry.errors import Denied, NotThere, PullFailed, Unreachable
from mooring.oci.registry.logins import Keyring
from mooring.oci.registry.manifests import RemoteImage, Top
from mooring.oci.registry.settings import PullSettings
from mooring.oci.registry.staging import Staging, StagingDirectory
from mooring.oci.source import ImportSource

_log = log.get("mooring.oci.registry")

_SPARE_PERCENT = 5  # of the disk, which a pull leaves free
_UNPACK_SECONDS = 600.0  # without progress, before unpacking is given up
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class Store(Protocol):
    """`store.ImageStore`, as far as a pull needs it. Every call blocks."""

    def find(self, reference: str) -> StoredImage | None: ...

    def has_layer(self, digest: str) -> bool: ...

    def add_pulled(
        self, wanted: Reference, image: ImportSource, say: Callable[[str], None]
    ) -> StoredImage: ...


class Progress:
    """How far a pull is; changed while it goes on."""

    def __init__(self) -> None:
        self.total = 0  # bytes of the layers that are fetched
        self.came = 0
        self.layers = 0  # that are fetched
        self.is_unpacking = False

    def count(self, more: int) -> None:
        self.came += more


class Puller:
    """Pulls images into one store."""

    def __init__(self, store: Store, directory: Path, settings: PullSettings, clock: Clock) -> None:
        """`directory` is that of the images."""
        self._store = store
        self._directory = directory
        self._staging = Staging(directory / "pulls")
        self._settings = settings
        self._clock = clock
        self._unpacking = asyncio.Lock()  # the store takes in one at a time

    async def pull(self, reference: Reference, keyring: Keyring, progress: Progress) -> StoredImage:
        """After: the image is here, under this name, and is what the registry has now.

        Raises: PullFailed, ImageRefused, HostError.
        """
        if os.geteuid() != 0:
            raise PullFailed("pulling an image needs root: its files have owners of their own")
        try:
            async with http_session(self._settings.layers_at_once) as session:
                asking = [
                    Connection(session, endpoint, login, self._settings)
                    for endpoint in endpoints(reference, self._settings)
                    for login in keyring.find(endpoint.host, endpoint.repository) or (None,)
                ]
                return await self._pull_from(asking, reference, progress)
        except OSError as error:
            raise PullFailed(f"cannot keep it: {reason(error.errno or 0)}") from error

    async def sweep(self) -> None:
        """Remove what pulls of killed processes have left."""
        try:
            await in_thread(self._staging.sweep)
        except OSError as error:
            _log.warning("rubbish of pulls stays", because=reason(error.errno or 0))

    async def _pull_from(
        self, asking: list[Connection], reference: Reference, progress: Progress
    ) -> StoredImage:
        """A mirror that fails midway is done without."""
        connection, top = await self._find(asking, reference)
        try:
            known = await in_thread(self._find_same, reference, top)
            if known is not None:
                return known
            remote = await manifests.describe(connection, top, _architecture())
            return await self._fetch(connection, reference, remote, progress)
        except PullFailed as error:
            if not connection.endpoint.is_mirror:
                raise
            _log.warning("a mirror failed", image=reference, because=error)
        own = [one for one in asking if not one.endpoint.is_mirror]
        return await self._pull_from(own, reference, progress)

    async def _find(self, asking: list[Connection], reference: Reference) -> tuple[Connection, Top]:
        """The first that has it. Raises: PullFailed, of the registry rather than of a mirror."""
        failed: list[tuple[RegistryEndpoint, PullFailed]] = []
        for connection in asking:
            if any(_answers_for(one, error, connection.endpoint) for one, error in failed):
                continue
            try:
                return connection, await manifests.find_top(connection, reference)
            except PullFailed as error:
                failed.append((connection.endpoint, error))
        raise _worst(failed)

    def _find_same(self, reference: Reference, top: Top) -> StoredImage | None:
        """What is here under that name, if it is what the registry has."""
        found = self._store.find(str(reference))
        if found is None or top.digest not in found.digests:
            return None
        return found if str(reference) in found.pulled_names else None

    async def _fetch(
        self, connection: Connection, reference: Reference, remote: RemoteImage, progress: Progress
    ) -> StoredImage:
        wanted = await in_thread(self._missing, remote)
        self._check_size(remote, wanted)
        room = await in_thread(self._room, wanted)
        progress.came = 0
        progress.total = sum(layer.size for layer in wanted.values())
        progress.layers = len(wanted)
        directory = StagingDirectory(self._staging)
        unpacking = _Unpacking(min(self._settings.most_unpacked, room))
        try:
            made = await in_thread(directory.make)
            await self._download(connection, wanted, made, progress)
            async with self._unpacking:
                progress.is_unpacking = True
                return await self._unpack(
                    reference, self._source(remote, made, unpacking), unpacking
                )
        finally:
            await in_thread(directory.remove)

    def _missing(self, remote: RemoteImage) -> Mapping[str, Descriptor]:
        """The layers that are not here, by digest: one that is there twice comes once."""
        pairs = zip(remote.layers, remote.configuration.diff_ids, strict=True)
        return {layer.digest: layer for layer, digest in pairs if not self._store.has_layer(digest)}

    def _check_size(self, remote: RemoteImage, wanted: Mapping[str, Descriptor]) -> None:
        size, most = sum(layer.size for layer in wanted.values()), self._settings.most_packed
        if size > most:
            raise PullFailed(
                f"its layers have {size} bytes, and maxImageSize of --image-config allows {most}"
            )

    def _room(self, wanted: Mapping[str, Descriptor]) -> int:
        """How many bytes the layers may have when they are unpacked. Raises: PullFailed."""
        size = sum(layer.size for layer in wanted.values())
        self._directory.mkdir(0o700, parents=True, exist_ok=True)
        disk = os.statvfs(self._directory)
        free = disk.f_bavail * disk.f_frsize
        spare = disk.f_blocks * disk.f_frsize * _SPARE_PERCENT // 100
        if size > free - spare:
            raise PullFailed(
                f"its layers have {size} bytes, and of the {free} that are free for images "
                f"{spare} stay so: remove images, or pods that use them"
            )
        return free - spare - size

    async def _download(
        self,
        connection: Connection,
        wanted: Mapping[str, Descriptor],
        made: Path,
        progress: Progress,
    ) -> None:
        slots = asyncio.Semaphore(self._settings.layers_at_once)
        download = BlobDownload(connection, self._settings, self._clock, progress.count)

        async def fetch(layer: Descriptor) -> None:
            async with slots:
                await download.run(layer, made / _file_name(layer.digest))

        try:
            async with asyncio.TaskGroup() as tasks:
                for layer in wanted.values():
                    tasks.create_task(fetch(layer))
        except ExceptionGroup as group:
            first = group.exceptions[0]
            raise first from None

    def _source(self, remote: RemoteImage, made: Path, unpacking: "_Unpacking") -> ImportSource:
        pairs = zip(remote.layers, remote.configuration.diff_ids, strict=True)
        return ImportSource(
            what="image of a registry",
            layers=tuple(
                BlobLayer(
                    Blob(partial(_open, made / _file_name(layer.digest)), 0, layer.size),
                    layer.digest,
                    digest,
                    unpacking.count,
                )
                for layer, digest in pairs
            ),
            id=remote.id,
            configuration=remote.configuration,
            digests=remote.digests,
        )

    async def _unpack(
        self, reference: Reference, source: ImportSource, unpacking: "_Unpacking"
    ) -> StoredImage:
        with within_own(f"pull {reference}"), taking(_UNPACK_SECONDS):
            call = in_thread(self._store.add_pulled, reference, source, _silent)
            task = asyncio.create_task(call)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            unpacking.stop()
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # retrieved: nobody waits for it
            raise


class _Unpacking:
    """Counts decompressed bytes, and ends it when they are too many or nobody waits any more."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._most = most
        self._stopped = threading.Event()

    def count(self, more: int) -> None:
        """Raises: ImageRefused."""
        self._left -= more
        if self._left < 0:
            raise ImageRefused(
                f"it has more than {self._most} bytes when it is unpacked, which is all that the "
                "disk, and maxUnpackedImageSize of --image-config, have room for"
            )
        if self._stopped.is_set():
            raise ImageRefused("it is not wanted any more")

    def stop(self) -> None:
        self._stopped.set()


def _answers_for(failed: RegistryEndpoint, error: PullFailed, asked: RegistryEndpoint) -> bool:
    """Whether it need not be asked after that: the same server, and no question of who asks."""
    if isinstance(error, Denied):
        return False
    if failed.url == asked.url:
        return True
    return failed.host == asked.host and not isinstance(error, Unreachable)


def _worst(failed: list[tuple[RegistryEndpoint, PullFailed]]) -> PullFailed:
    own = [error for endpoint, error in failed if not endpoint.is_mirror]
    telling = [error for error in own if isinstance(error, Denied | NotThere)]
    return (telling or own)[-1]


def _file_name(digest: str) -> str:
    return digest.replace(":", "-")


def _open(path: Path) -> int:
    try:
        return os.open(path, _READ)
    except FileNotFoundError:  # it was here when the pull began
        raise ImageRefused("a layer that was here has been removed meanwhile: pull again") from None


def _silent(_: str) -> None:
    """Events tell of pulls."""


def _architecture() -> str:
    return architecture_of(platform.machine())
