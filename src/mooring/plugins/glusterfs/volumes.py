"""The glusterfs provisioner, deleter and expander: volumes of a Gluster cluster, made by heketi.

The Service of a volume is made before the volume itself: it is the record that one may have been
begun. Where it is there already, a volume with this claim's name is looked for, and no second one
is made.
"""

from collections.abc import Awaitable, Sequence
from typing import TypeVar

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.errors import AlreadyExists, ApiError, ConnectionLost, NotFound
from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.endpoints import Endpoints
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.service import Service
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Annotation
from mooring.plugins import rest
from mooring.plugins.contract import Order, PluginError, VolumeError
from mooring.plugins.glusterfs.gids import Gids
from mooring.plugins.glusterfs.heketi import Heketi, HeketiVolume, Manager
from mooring.plugins.glusterfs.mount import NAME, find_source
from mooring.plugins.glusterfs.parameters import GlusterParameters, read_parameters
from mooring.plugins.provisioning import (
    GIB,
    SEE_LOG,
    check_claim,
    check_uid,
    find_class,
    made_volume,
    read_secret,
    rounded_up,
)

_log = log.get("mooring.plugins.glusterfs")

MODES = (AccessMode.ONCE, AccessMode.READ_ONLY_MANY, AccessMode.MANY)
MADE_BY = "heketi-dynamic-provisioner"
VOLUME_ID = "gluster.kubernetes.io/heketi-volume-id"
TYPE = "gluster.org/type"
DESCRIPTION = "Gluster-Internal: Dynamically provisioned PV"
MADE_FOR = "gluster.kubernetes.io/provisioned-for-pvc"
KEY, PREFIX = "key", "vol_"
_PORT = {"port": 1, "protocol": "TCP"}

T = TypeVar("T")


class GlusterVolumes:
    """`Provisioner`, `Deleter` and `Expandable` of the contract."""

    takes_mount_options = True

    def __init__(self, client: Client, clock: Clock, ask: rest.Ask = rest.ask) -> None:
        self._client = client
        self._clock = clock
        self._ask = rest.few_at_once(ask)
        self._gids = Gids()

    def check(self) -> None:
        """What there is to refuse depends on the class."""

    async def provision(self, order: Order) -> Doc:
        claim = order.claim
        check_claim(claim, MODES)
        check_uid(claim)
        if claim.spec.volume_mode is VolumeMode.BLOCK:
            raise PluginError(f"{NAME} does not support block volume provisioning")
        wanted = read_parameters(order.storage_class.parameters)
        heketi = await self._heketi(wanted)
        endpoints = Key(claim.namespace, _endpoints_name(wanted, claim))
        try:
            volume = await self._make(heketi, order, wanted, endpoints)
        except PluginError as error:
            raise PluginError(f"failed to create volume: {error}") from error
        source = {
            "endpoints": endpoints.name,
            "endpointsNamespace": endpoints.namespace,
            "path": volume.name,
        }
        made = made_volume(claim, MODES, f"{volume.size}Gi", {"glusterfs": source}, MADE_BY)
        made["metadata"]["annotations"] |= {
            Annotation.OWNER_GROUP: str(volume.gid),
            TYPE: "file",
            "Description": DESCRIPTION,
            VOLUME_ID: volume.id,
        }
        return made

    async def delete(self, volume: Volume) -> None:
        source = find_source(VolumeUse(volume=volume))
        if source is None:
            raise PluginError("spec.PersistentVolume.Spec.Glusterfs is nil")
        id = _id_of(volume, source.path)
        heketi = await self._heketi(await self._parameters(volume))
        try:
            await heketi.delete(id)
        except PluginError as error:
            _log.warning("a volume could not be deleted", volume=volume.name, error=error)
            raise PluginError(f"failed to delete volume: {SEE_LOG}") from error
        claim = volume.spec.claim_ref
        if claim is None:
            raise PluginError("ClaimRef is nil")
        self._gids.free(volume.storage_class, claim.uid)
        await self._forget(Key(claim.namespace, source.endpoints), claim.name)

    async def grow(self, use: VolumeUse, new_bytes: int, old_bytes: int) -> int:
        """By what is missing of the size that heketi tells, so it can be asked again.

        Only an expansion that goes on unseen, after a kill, is added to a second time: the volume
        becomes larger than it was asked to be.
        """
        source = find_source(use)
        if use.volume is None or source is None:
            raise VolumeError("only persistent volumes grow")
        wanted = rounded_up(new_bytes, GIB)
        try:
            id = _id_of(use.volume, source.path)
            heketi = await self._heketi(await self._parameters(use.volume))
            return GIB * await _grown(heketi, id, source.path, wanted)
        except PluginError as error:
            raise VolumeError(str(error)) from error

    def needs_node_growth(self, use: VolumeUse) -> bool:
        return False

    async def _make(
        self, heketi: Heketi, order: Order, wanted: GlusterParameters, endpoints: Key
    ) -> HeketiVolume:
        name = _name(wanted, order.claim)
        volume = None
        if not await self._record(endpoints, order.claim):
            volume = await _asked("look for a volume", heketi.find(name))
        is_new = volume is None
        if volume is None:
            volume = await _asked("create volume", heketi.create(await self._wish(order, wanted)))
        self._gids.keep(order.storage_class.name, order.claim.uid, volume.gid)
        addresses = await _asked("get cluster nodes", heketi.addresses(volume.cluster))
        try:
            await self._make_endpoints(endpoints, order.claim, addresses)
        except ApiError as error:
            if is_new:  # another binder may have given away what was found
                await self._undo(heketi, volume, endpoints, order.claim)
            raise PluginError(f"failed to create endpoint/service {endpoints}: {error}") from error
        except ConnectionLost as error:
            raise PluginError(str(error)) from error
        return volume

    async def _wish(self, order: Order, wanted: GlusterParameters) -> Doc:
        try:
            volumes = (await self._client.list(Volume)).items
        except (ApiError, ConnectionLost) as error:
            raise PluginError(f"failed to get gidTable: {error}") from error
        between = range(wanted.gid_min, wanted.gid_max + 1)
        gid = self._gids.take(order.storage_class.name, order.claim.uid, volumes, between)
        wish: Doc = {
            "size": rounded_up(order.claim.requested.bytes_ceil(), GIB),
            "name": _name(wanted, order.claim),
            "durability": wanted.durability,
            "gid": gid,
            "snapshot": {"enable": True, "factor": wanted.snap_factor},
        }
        if wanted.clusters:
            wish["clusters"] = list(wanted.clusters)
        if wanted.volume_options:
            wish["glustervolumeoptions"] = list(wanted.volume_options)
        return wish

    async def _record(self, key: Key, claim: Claim) -> bool:
        """Whether this try is the first for the claim."""
        try:
            await self._client.create(Service, _called(Service, key, claim, {"ports": [_PORT]}))
        except AlreadyExists:
            return False
        except (ApiError, ConnectionLost) as error:
            raise PluginError(f"failed to create endpoint/service {key}: {error}") from error
        return True

    async def _make_endpoints(self, key: Key, claim: Claim, addresses: Sequence[str]) -> None:
        subset = {"addresses": [{"ip": address} for address in addresses], "ports": [_PORT]}
        document = _called(Endpoints, key, claim, None) | {"subsets": [subset]}
        try:
            await self._client.create(Endpoints, document)
        except AlreadyExists:
            return

    async def _undo(
        self, heketi: Heketi, volume: HeketiVolume, endpoints: Key, claim: Claim
    ) -> None:
        """A volume that nobody could mount; nothing is in it yet."""
        try:
            await heketi.delete(volume.id)
        except PluginError as error:
            _log.warning("a volume is left for the next try", volume=volume.name, error=error)
            return
        await self._forget(endpoints, claim.name)

    async def _forget(self, key: Key, claim: str) -> None:
        """What is left of it harms nobody. What was not made for the claim is not ours to delete:
        a volume may name any service.
        """
        for kind in (Endpoints, Service):
            try:
                found = await self._client.get(kind, key)
                if found.metadata.labels.get(MADE_FOR) == claim:
                    await self._client.delete(found)
            except NotFound:
                continue
            except (ApiError, ConnectionLost) as error:
                _log.warning("endpoints are left", key=key, error=error)

    async def _parameters(self, volume: Volume) -> GlusterParameters:
        return read_parameters((await find_class(self._client, volume)).parameters)

    async def _heketi(self, wanted: GlusterParameters) -> Heketi:
        key = wanted.key
        if wanted.secret is not None:
            try:
                entries = await read_secret(self._client, wanted.secret, NAME)
            except PluginError as error:
                raise PluginError(f"failed to get secret {wanted.secret}: {error}") from error
            if not entries:
                raise PluginError("empty secret map")
            key = entries.get(KEY) or next(iter(entries.values()))
        return Heketi(Manager(wanted.url, wanted.user, key), self._ask, self._clock)


async def _grown(heketi: Heketi, id: str, path: str, wanted: int) -> int:
    """The new size in GiB. Raises: PluginError."""
    volume = await _asked(f"get volume info {path}", heketi.find_by_id(id))
    if volume is None:
        raise PluginError(f"failed to get volume info {path}: heketi does not have it")
    if volume.size >= wanted:
        return volume.size
    return (await _asked("expand volume", heketi.expand(id, wanted - volume.size))).size


async def _asked(what: str, call: Awaitable[T]) -> T:
    """What the server wrote is for the log alone: classes could have us ask any server."""
    try:
        return await call
    except PluginError as error:
        _log.warning("heketi was asked in vain", to=what, error=error)
        raise PluginError(f"failed to {what}: {SEE_LOG}") from error


def _called(kind: type[ApiObject], key: Key, claim: Claim, spec: Doc | None) -> Doc:
    metadata = {"namespace": key.namespace, "name": key.name, "labels": {MADE_FOR: claim.name}}
    document: Doc = {"apiVersion": "v1", "kind": kind.resource.kind, "metadata": metadata}
    return document if spec is None else {**document, "spec": spec}


def _endpoints_name(wanted: GlusterParameters, claim: Claim) -> str:
    return f"{wanted.endpoints_prefix}-{claim.uid}" if wanted.endpoints_prefix else claim.uid


def _name(wanted: GlusterParameters, claim: Claim) -> str:
    if wanted.name_prefix:
        return f"{wanted.name_prefix}_{claim.namespace}_{claim.name}_{claim.uid}"
    return f"{PREFIX}{claim.uid.replace('-', '')}"


def _id_of(volume: Volume, path: str) -> str:
    """Raises: PluginError."""
    id = volume.metadata.annotations.get(VOLUME_ID) or path.removeprefix(PREFIX)
    if not id:
        raise PluginError("failed to get volumeID: volume ID is empty")
    return id
