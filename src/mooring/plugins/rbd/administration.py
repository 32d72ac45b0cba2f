"""What is done to images in the cluster itself, as its administrator. All of it blocks.

Always true:

- An image that is there already is taken for the one that was asked for: its name is the claim's.
- An image that somebody has open is not removed.
- A key is in no argument, and in no file that a kill could leave: commands read it from memory.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from mooring.errors import HostError
from mooring.host import command
from mooring.host.command import Finished
from mooring.plugins import ceph, ceph_values
from mooring.plugins.contract import PluginError
from mooring.plugins.provisioning import MIB
from mooring.plugins.rbd.image import RbdImage

REMOVE_SECONDS = 3600.0  # it goes through all objects of the image
MISSING, EXISTS = 2, 17  # how `rbd` ends: the number of the error
WATCHER = "watcher="
_OUTPUT_SHOWN = 1000


class ImageOptions(msgspec.Struct, frozen=True):
    image_format: str
    features: tuple[str, ...]


class _Info(msgspec.Struct):
    size: int


def run_long(*argv: str) -> Finished:
    return command.run(argv, seconds=REMOVE_SECONDS)


class Administration:
    def __init__(self, run: ceph.Run = ceph.run, run_long: ceph.Run = run_long) -> None:
        self._run = run
        self._run_long = run_long

    def create(self, image: RbdImage, key: str, mib: int, options: ImageOptions) -> int:
        """The size in MiB; of one that was made before, that which it has, and at least `mib`.

        Raises: PluginError.
        """
        argv = ["create", image.image, "--size", str(mib)]
        rest = ["--image-format", options.image_format]
        if options.image_format != "1":  # nothing between the commas: no feature at all
            rest += ["--image-feature", ",".join(options.features)]
        ended = self._as_admin(self._run, image, key, argv, rest)
        if ended.code == EXISTS:
            return self.grow(image, key, mib)
        if ended.code:
            raise PluginError(f"failed to create rbd image: {_why(ended)}")
        return mib

    def remove(self, image: RbdImage, key: str) -> None:
        """Gone already is a success. Raises: PluginError."""
        ended = self._as_admin(self._run, image, key, ["status", image.image])
        if ended.code == MISSING:
            return
        if ended.code:
            raise PluginError(_error(ended))
        if WATCHER in ended.output:
            raise PluginError(
                f"rbd image {image.spec} is still being used, rbd output: {_shown(ended.output)}"
            )
        ended = self._as_admin(self._run_long, image, key, ["rm", image.image])
        if ended.code not in (0, MISSING):
            raise PluginError(_error(ended))

    def grow(self, image: RbdImage, key: str, mib: int) -> int:
        """The new size in MiB; an image never shrinks. Raises: PluginError."""
        has = self._size(image, key)
        if has >= mib:
            return has
        ended = self._as_admin(self._run, image, key, ["resize", image.image, "--size", str(mib)])
        if ended.code:
            raise PluginError(f"rbd resize failed, {_error(ended)}")
        return mib

    def _size(self, image: RbdImage, key: str) -> int:
        ended = self._as_admin(self._run, image, key, ["info", image.image], ["--format=json"])
        if ended.code:
            raise PluginError(f"rbd info failed, {_error(ended)}")
        # Both streams are in the output, and warnings come before the answer.
        told = ended.output[max(ended.output.find("{"), 0) :]
        try:
            return msgspec.json.decode(told, type=_Info).size // MIB
        except msgspec.DecodeError as error:
            text = f"parse rbd info output failed: {_shown(ended.output)}, {error}"
            raise PluginError(f"rbd info failed, error: {text}") from error

    def _as_admin(
        self,
        run: ceph.Run,
        image: RbdImage,
        key: str,
        argv: Sequence[str],
        rest: Sequence[str] = (),
    ) -> Finished:
        who = ("--pool", image.pool, "--id", image.user, "-m", ",".join(image.monitors))
        try:
            with _in_memory(ceph_values.keyring(image.user, key)) as path:
                return run("rbd", *argv, *who, "-k", path, *rest)
        except HostError as error:
            raise PluginError(str(error)) from error


@contextmanager
def _in_memory(content: str) -> Iterator[str]:
    """The path of a file that is on no disk, and that our own processes alone can open."""
    handle = os.memfd_create("keyring", os.MFD_CLOEXEC)
    try:
        os.fchmod(handle, 0o600)
        os.write(handle, content.encode())
        yield f"/proc/{os.getpid()}/fd/{handle}"
    finally:
        os.close(handle)


def _why(ended: Finished) -> str:
    return f"{ended.status}, command output: {_shown(ended.output)}"


def _error(ended: Finished) -> str:
    return f"error {ended.status}, rbd output: {_shown(ended.output)}"


def _shown(output: str) -> str:
    return output.strip()[-_OUTPUT_SHOWN:]
