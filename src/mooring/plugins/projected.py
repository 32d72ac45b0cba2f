"""projected: files of several sources in one directory, in memory only, kept up to date."""

from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume, ProjectedSource
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import MountRequest, VolumeError
from mooring.plugins.empty_dir import wrapped_scratch
from mooring.plugins.payload import Files, get_mode
from mooring.plugins.projections import Projections
from mooring.plugins.volume_host import Host
from mooring.plugins.written import WrittenMounter, mounter_in_memory

NAME = "kubernetes.io/projected"


class ProjectedUnmounter:
    def __init__(self, host: Host, name: str, pod_uid: str) -> None:
        self._scratch = wrapped_scratch(host, NAME, name, pod_uid)
        self._objects = host.objects
        self._pod_uid = pod_uid
        self.path = self._scratch.path

    async def tear_down(self) -> None:
        await self._scratch.tear_down()
        await self._objects.forget_tokens(self._pod_uid)


class ProjectedPlugin:
    name = NAME
    takes_mount_options = False

    def __init__(self, host: Host) -> None:
        self._host = host

    def supports(self, use: VolumeUse) -> bool:
        return use.inline is not None and use.inline.projected is not None

    def volume_name(self, use: VolumeUse) -> str:
        _source(use)
        return use.name

    def wants_remount(self, use: VolumeUse) -> bool:
        return True

    def mounter(self, use: VolumeUse, pod: Pod) -> WrittenMounter:
        source = _source(use)

        async def gather(request: MountRequest) -> Files:
            mode = get_mode(source.default_mode)
            projections = Projections(self._host.objects, pod, mode, request)
            return await projections.gather(source.sources or ())

        return mounter_in_memory(self._host, NAME, use, pod, gather)

    def unmounter(self, name: str, pod_uid: str) -> ProjectedUnmounter:
        return ProjectedUnmounter(self._host, name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        return VolumeUse(inline=PodVolume(name=name, projected=ProjectedSource()))


def _source(use: VolumeUse) -> ProjectedSource:
    if use.inline is None or use.inline.projected is None:
        raise VolumeError("spec does not reference a projected volume type")
    return use.inline.projected
