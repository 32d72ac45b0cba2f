"""The quobyte provisioner and deleter, by Quobyte's API.

A volume is called after its claim, and looked for before it is made. Quobyte's volumes have no size
of their own: a quota stands for it, if the class wants one. They do not grow, as in Kubernetes.
"""

from collections.abc import Mapping

import msgspec

from mooring import log
from mooring.client.contract import Client
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.removed_source import QuobyteSource
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.plugins import rest
from mooring.plugins.contract import Order, PluginError
from mooring.plugins.provisioning import (
    GIB,
    SEE_LOG,
    check_claim,
    check_uid,
    find_class,
    made_volume,
    read_secret,
    rounded_up,
    unknown_option,
    volume_name,
)
from mooring.plugins.quobyte.api import Account, QuobyteApi, QuobyteRefused
from mooring.plugins.quobyte.mount import NAME, find_source

_log = log.get("mooring.plugins.quobyte")

MODES = (AccessMode.ONCE, AccessMode.READ_ONLY_MANY, AccessMode.MANY)
MADE_BY = "quobyte-dynamic-provisioner"
CONFIG, TENANT, SECRET_NAMESPACE = "BASE", "DEFAULT", "default"
_KNOWN = {
    *("registry", "user", "group", "quobytetenant", "quobyteconfig", "createquota"),
    *("adminsecretname", "adminsecretnamespace", "quobyteapiserver"),
}


class QuobyteParameters(msgspec.Struct, frozen=True):
    registry: str
    user: str
    group: str
    tenant: str
    config: str
    has_quota: bool


class QuobyteVolumes:
    """`Provisioner` and `Deleter` of the contract."""

    takes_mount_options = True

    def __init__(self, client: Client, ask: rest.Ask = rest.ask) -> None:
        self._client = client
        self._ask = rest.few_at_once(ask)

    def check(self) -> None:
        """What there is to refuse depends on the class."""

    async def provision(self, order: Order) -> Doc:
        claim, parameters = order.claim, order.storage_class.parameters
        check_claim(claim, MODES)
        check_uid(claim)
        if claim.spec.volume_mode is VolumeMode.BLOCK:
            raise PluginError(f"{NAME} does not support block volume provisioning")
        wanted = read_parameters(parameters)
        api = await self._api(parameters)
        name, size = volume_name(claim), claim.requested.bytes_ceil()
        try:
            await _make(api, wanted, name, size)
        except PluginError as error:
            _log.warning("a volume could not be made", volume=name, error=error)
            raise PluginError(f"CreateVolume failed: {SEE_LOG}") from error
        source = {
            "registry": wanted.registry,
            "volume": name,
            "user": wanted.user,
            "group": wanted.group,
            "tenant": wanted.tenant,
        }
        given = {"quobyte": {field: value for field, value in source.items() if value}}
        return made_volume(claim, MODES, f"{rounded_up(size, GIB)}Gi", given, MADE_BY)

    async def delete(self, volume: Volume) -> None:
        """Of a volume that is gone the API says no more than of one that it refuses to show.

        So that is a failure, and told: nobody takes data for deleted that is still there.
        """
        source = find_source(VolumeUse(volume=volume))
        if source is None:
            raise PluginError("spec.PersistentVolume.Spec.Quobyte is nil")
        api = await self._api((await find_class(self._client, volume)).parameters)
        try:
            await api.delete(await _find(api, source))
        except PluginError as error:
            _log.warning("a volume could not be deleted", volume=volume.name, error=error)
            raise PluginError(f"DeleteVolume failed: {SEE_LOG}") from error

    async def _api(self, parameters: Mapping[str, str]) -> QuobyteApi:
        """Raises: PluginError."""
        given = {key.lower(): value for key, value in parameters.items()}
        url = given.get("quobyteapiserver", "")
        if not url:
            raise PluginError(
                "Quobyte API server missing or malformed: must be a http(s)://host:port pair or "
                "multiple pairs separated by commas"
            )
        where = Key(
            given.get("adminsecretnamespace", SECRET_NAMESPACE), given.get("adminsecretname", "")
        )
        entries = await read_secret(self._client, where, NAME)
        for name in ("user", "password"):
            if name not in entries:
                raise PluginError(f'Missing "{name}" in secret {where}')
        account = Account(url, entries["user"], entries["password"])
        return QuobyteApi(account, self._ask)


def read_parameters(parameters: Mapping[str, str]) -> QuobyteParameters:
    """Raises: PluginError."""
    for key in parameters:
        if key.lower() not in _KNOWN:
            raise unknown_option(key, NAME)
    given = {key.lower(): value for key, value in parameters.items()}
    registry = given.get("registry", "")
    if not all(_is_pair(pair) for pair in registry.split(",")):
        raise PluginError(
            "Quobyte registry missing or malformed: must be a host:port pair or multiple pairs "
            "separated by commas"
        )
    return QuobyteParameters(
        registry,
        given.get("user", ""),
        given.get("group", ""),
        given.get("quobytetenant", TENANT),
        given.get("quobyteconfig", CONFIG),
        given.get("createquota", "").lower() == "true",
    )


async def _make(api: QuobyteApi, wanted: QuobyteParameters, name: str, size: int) -> None:
    """Raises: PluginError."""
    tenant = await api.tenant(wanted.tenant)
    try:
        volume = await api.volume(name, tenant)  # made before, and never told
    except QuobyteRefused:
        wish = {
            "name": name,
            "root_user_id": wanted.user,
            "root_group_id": wanted.group,
            "configuration_name": wanted.config,
            "tenant_id": tenant,
        }
        volume = await api.create(wish)
    if wanted.has_quota:
        await api.set_quota(volume, size)


async def _find(api: QuobyteApi, source: QuobyteSource) -> str:
    return await api.volume(source.volume, await api.tenant(source.tenant))


def _is_pair(pair: str) -> bool:
    host, colon, port = pair.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    return bool(colon and port) and (is_bracketed or ":" not in host)
