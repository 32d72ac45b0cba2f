"""The rbd provisioner, deleter and expander: images of a Ceph cluster, by the class's secret.

An image is called after its claim. Killed between its making and the write of its volume, the next
try finds it, and makes no second one.

Of each cluster a few images are made, removed or grown at once: commands of a cluster that does not
answer, or long removals, would else take the threads that other volumes need.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

from mooring.client.contract import Client
from mooring.errors import HostError
from mooring.host.blocking import in_thread, taking, within_volume
from mooring.host.bulkhead import LONG_SECONDS
from mooring.model.document import Doc
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.plugins import ceph
from mooring.plugins.contract import Order, PluginError, VolumeError
from mooring.plugins.provisioning import (
    MIB,
    check_claim,
    check_uid,
    find_class,
    made_volume,
    read_secret,
    rounded_up,
    volume_name,
)
from mooring.plugins.rbd.administration import REMOVE_SECONDS, Administration, ImageOptions
from mooring.plugins.rbd.image import NAME, RbdImage, find_source
from mooring.plugins.rbd.parameters import (
    Administrator,
    RbdParameters,
    read_administrator,
    read_parameters,
)
from mooring.plugins.turns import Turns

MADE_BY = "rbd-dynamic-provisioner"
MODES = (AccessMode.ONCE, AccessMode.READ_ONLY_MANY)

P = ParamSpec("P")
T = TypeVar("T")


class _Kind(Enum):
    """Removals take long: the others do not wait for them."""

    CREATE = auto()
    REMOVE = auto()
    GROW = auto()


class RbdVolumes:
    """`Provisioner`, `Deleter` and `Expandable` of the contract."""

    takes_mount_options = True

    def __init__(self, client: Client, administration: Administration | None = None) -> None:
        """Without further arguments it runs this machine's `rbd`."""
        self._client = client
        self._do = administration or Administration()
        self._turns = Turns()

    def check(self) -> None:
        """That there is no `rbd` to run is told by running it."""

    async def provision(self, order: Order) -> Doc:
        claim = order.claim
        check_claim(claim, MODES)
        check_uid(claim)
        wanted = read_parameters(order.storage_class.parameters)
        key = await self._key(wanted.administrator)
        image = RbdImage(
            wanted.pool, volume_name(claim), wanted.monitors, wanted.administrator.user
        )
        options = ImageOptions(wanted.image_format, wanted.features)
        mib = rounded_up(claim.requested.bytes_ceil(), MIB)
        mib = await self._run(_Kind.CREATE, self._do.create, image, key, mib, options)
        is_block = claim.spec.volume_mode is VolumeMode.BLOCK
        source = {"rbd": _source(wanted, image, "" if is_block else wanted.fs_type)}
        return made_volume(claim, MODES, f"{mib}Mi", source, MADE_BY)

    async def delete(self, volume: Volume) -> None:
        image, key = await self._known(volume)
        await self._run(_Kind.REMOVE, self._do.remove, image, key)

    async def grow(self, use: VolumeUse, new_bytes: int, old_bytes: int) -> int:
        if use.volume is None:
            raise VolumeError("only persistent volumes grow")
        try:
            image, key = await self._known(use.volume)
            mib = rounded_up(new_bytes, MIB)
            return MIB * await self._run(_Kind.GROW, self._do.grow, image, key, mib)
        except PluginError as error:
            raise VolumeError(str(error)) from error

    def needs_node_growth(self, use: VolumeUse) -> bool:
        return True

    async def _run(
        self,
        kind: _Kind,
        do: Callable[Concatenate[RbdImage, P], T],
        image: RbdImage,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Raises: PluginError also for a machine that does not answer."""
        seconds = REMOVE_SECONDS if kind is _Kind.REMOVE else LONG_SECONDS
        async with self._turns.of((kind, image.monitors)):
            with within_volume(_place(image)), taking(seconds):
                try:
                    return await in_thread(do, image, *args, **kwargs)
                except HostError as error:
                    raise PluginError(str(error)) from error

    async def _known(self, volume: Volume) -> tuple[RbdImage, str]:
        """The image behind a volume, and the key of who administrates it. Raises: PluginError."""
        use = VolumeUse(volume=volume)
        if find_source(use) is None:
            raise PluginError("spec.PersistentVolumeSource.Spec.RBD is nil")
        try:
            image = RbdImage.of(use)
        except VolumeError as error:
            raise PluginError(str(error)) from error
        made_by = await find_class(self._client, volume)
        administrator = read_administrator(made_by.parameters)
        key = await self._key(administrator)
        return msgspec.structs.replace(image, user=administrator.user), key

    async def _key(self, administrator: Administrator) -> str:
        where = administrator.secret
        try:
            entries = await read_secret(self._client, where, NAME)
            return ceph.chosen_key(entries, where)
        except (PluginError, VolumeError) as error:
            text = f'failed to get admin secret from ["{where.namespace}"/"{where.name}"]: {error}'
            raise PluginError(text) from error


def _place(image: RbdImage) -> str:
    return f"{NAME}/{image.spec}"


def _source(wanted: RbdParameters, image: RbdImage, fs_type: str) -> Doc:
    source: Doc = {
        "monitors": list(image.monitors),
        "image": image.image,
        "pool": image.pool,
        "user": wanted.user,
    }
    if wanted.user_secret is not None:
        named = {"name": wanted.user_secret.name, "namespace": wanted.user_secret.namespace}
        source["secretRef"] = {field: value for field, value in named.items() if value}
    else:
        source["keyring"] = wanted.keyring
    return {**source, "fsType": fs_type} if fs_type else source
