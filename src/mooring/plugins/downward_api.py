"""downwardAPI: files with fields of the pod, in memory only, kept up to date."""

import posixpath
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from mooring.host.atomic_dir import FileContent
from mooring.host.blocking import in_thread
from mooring.model.pod import Pod
from mooring.model.pod_volume import DownwardFile, DownwardSource, PodVolume
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import MountRequest, VolumeError
from mooring.plugins.downward_values import field_value, resource_value
from mooring.plugins.empty_dir import ScratchDirectory, wrapped_scratch
from mooring.plugins.payload import Files, Incomplete, get_mode
from mooring.plugins.volume_host import Host
from mooring.plugins.written import WrittenMounter, mounter_in_memory

NAME = "kubernetes.io/downward-api"


def downward_files(
    items: Iterable[DownwardFile], pod: Pod, allocatable: Mapping[str, str], mode: int
) -> Files:
    """Not on the event loop: thousands of files may each hold all annotations of a pod.

    Raises: Incomplete with what is wrong with any of them.
    """
    files: dict[str, FileContent] = {}
    texts: list[str] = []
    values: dict[DownwardFile, bytes] = {}  # each is worked out once
    for item in items:
        what = replace(item, path="", mode=None)
        try:
            if (data := values.get(what)) is None:
                values[what] = data = _value(item, pod, allocatable).encode()
        except ValueError as error:
            texts.append(str(error))
            continue
        path = posixpath.normpath(item.path)
        files[path] = FileContent(data, mode if item.mode is None else item.mode)
    if texts:
        raise Incomplete(texts)
    return files


def _value(item: DownwardFile, pod: Pod, allocatable: Mapping[str, str]) -> str:
    if item.field_ref is not None:
        return field_value(pod, item.field_ref.field_path)
    if item.resource_field_ref is not None:
        return resource_value(item.resource_field_ref, pod, allocatable)
    return ""


class DownwardApiPlugin:
    name = NAME
    takes_mount_options = False

    def __init__(self, host: Host) -> None:
        self._host = host

    def supports(self, use: VolumeUse) -> bool:
        return use.inline is not None and use.inline.downward_api is not None

    def volume_name(self, use: VolumeUse) -> str:
        _source(use)
        return use.name

    def wants_remount(self, use: VolumeUse) -> bool:
        return True

    def mounter(self, use: VolumeUse, pod: Pod) -> WrittenMounter:
        source = _source(use)

        async def gather(_: MountRequest) -> Files:
            mode = get_mode(source.default_mode)
            allocatable = self._host.objects.allocatable()
            return await in_thread(downward_files, source.items, pod, allocatable, mode)

        return mounter_in_memory(self._host, NAME, use, pod, gather)

    def unmounter(self, name: str, pod_uid: str) -> ScratchDirectory:
        return wrapped_scratch(self._host, NAME, name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        return VolumeUse(inline=PodVolume(name=name, downward_api=DownwardSource()))


def _source(use: VolumeUse) -> DownwardSource:
    if use.inline is None or use.inline.downward_api is None:
        raise VolumeError("Spec does not reference a DownwardAPI volume type")
    return use.inline.downward_api
