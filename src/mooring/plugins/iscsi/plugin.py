"""The plugin that serves iSCSI disks."""

from pathlib import Path

from msgspec.structs import replace

from mooring.errors import ApiError, ConnectionLost
from mooring.host.scsi import ScsiTree
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import NotStarted, VolumeError
from mooring.plugins.disk_mounts import FormatAndMount, really
from mooring.plugins.disk_plugin import DiskPlugin, find_mapped, find_mounted
from mooring.plugins.iscsi import records
from mooring.plugins.iscsi.attach import IscsiDisks
from mooring.plugins.iscsi.chap import DISCOVERY, SESSION, Chap, ChapRecords, chosen
from mooring.plugins.iscsi.disk import (
    NAME,
    IscsiDisk,
    find_source,
    get_source,
    global_map,
    global_mount,
    is_read_only,
)
from mooring.plugins.iscsi.sessions import Sessions, iscsiadm
from mooring.plugins.volume_host import Host


class _Disks:
    """`Disks`: nodes log in by themselves."""

    def __init__(self, host: Host, disks: IscsiDisks) -> None:
        self._host = host
        self._disks = disks

    def has(self, use: VolumeUse) -> bool:
        return find_source(use) is not None

    def fs_type(self, use: VolumeUse) -> str:
        return get_source(use).fs_type

    def is_read_only(self, use: VolumeUse) -> bool:
        return is_read_only(use)

    def global_mount(self, use: VolumeUse) -> Path:
        return global_mount(self._host.layout, IscsiDisk.of(use))

    def global_map(self, use: VolumeUse) -> Path:
        return global_map(self._host.layout, IscsiDisk.of(use))

    async def attach(self, use: VolumeUse, pod: Pod, directory: Path) -> str:
        return await self._disks.attach(IscsiDisk.of(use), directory, await self._chap(use, pod))

    async def detach(self, directory: Path) -> None:
        await self._disks.detach(directory)

    async def _chap(self, use: VolumeUse, pod: Pod) -> Chap:
        """Raises: NotStarted while the secret is not there; VolumeError."""
        source = get_source(use)
        if not (source.chap_auth_discovery or source.chap_auth_session):
            return Chap()
        if source.secret_ref is None:
            raise VolumeError("CHAP enabled but secret not specified")
        key = Key(source.secret_ref.namespace or pod.namespace, source.secret_ref.name)
        try:
            secret = await self._host.objects.secret(key)
        except (ApiError, ConnectionLost) as error:
            raise NotStarted(f"couldn't get secret {key}: {error}") from error
        plain = {name: value.reveal() for name, value in secret.data.items()}
        return Chap(
            chosen(DISCOVERY, plain) if source.chap_auth_discovery else {},
            chosen(SESSION, plain) if source.chap_auth_session else {},
        )


class Iscsi(DiskPlugin):
    name = NAME

    def __init__(
        self,
        host: Host,
        sessions: Sessions | None = None,
        scsi: ScsiTree | None = None,
        how: FormatAndMount = really,
    ) -> None:
        """Without further arguments it works on this machine."""
        disks = IscsiDisks(host, sessions or Sessions(iscsiadm, ChapRecords()), scsi or ScsiTree())
        super().__init__(host, _Disks(host, disks), how)

    def volume_name(self, use: VolumeUse) -> str:
        source = get_source(use)
        return f"{source.target_portal}:{source.iqn}:{source.lun}"

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        known = records.every(self._host.layout)
        place = find_mounted(self._host, NAME, name, pod_uid, known)
        return _rebuilt(place, name, VolumeMode.FILESYSTEM)

    def rebuild_block(self, name: str, pod_uid: str) -> VolumeUse:
        known = records.every(self._host.layout)
        place = find_mapped(self._host, NAME, name, pod_uid, known)
        return _rebuilt(place, name, VolumeMode.BLOCK)


def _rebuilt(directory: Path, name: str, mode: VolumeMode) -> VolumeUse:
    """Raises: VolumeError."""
    disk = records.find(directory)
    if disk is None:
        raise VolumeError(f"{directory} does not tell which disk it is for")
    known = "" if "/" in name else name
    disk = replace(disk, vol_name=known or disk.vol_name or directory.name)
    spec = VolumeSpec(iscsi=disk.source(), volume_mode=mode)
    return VolumeUse(volume=Volume(metadata=ObjectMeta(name=disk.vol_name), spec=spec))
