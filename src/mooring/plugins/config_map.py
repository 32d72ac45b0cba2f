"""configMap: the entries of a config map as files, on disk, kept up to date."""

from mooring.model.config_map import ConfigMap
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.pod_volume import ConfigMapSource, PodVolume
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import MountRequest, VolumeError
from mooring.plugins.empty_dir import ScratchDirectory, wrapped_scratch
from mooring.plugins.medium import ON_DISK
from mooring.plugins.payload import Choice, Files, ask, choose, chosen_files
from mooring.plugins.volume_host import Host, NodeObjects
from mooring.plugins.written import WrittenMounter

NAME = "kubernetes.io/configmap"

_COMPLAINT = "configmap references non-existent config key"


async def config_map_files(objects: NodeObjects, key: Key, choice: Choice) -> Files:
    """Raises: Incomplete."""
    missing = ConfigMap() if choice.is_optional else None
    found = await ask(objects.config_map(key), if_missing=missing)
    return chosen_files(_entries(found), choice, _COMPLAINT)


def _entries(config_map: ConfigMap) -> dict[str, bytes]:
    texts = {key: text.encode() for key, text in config_map.data.items()}
    return {**texts, **config_map.binary_data}  # the API keeps their keys apart


class ConfigMapPlugin:
    name = NAME
    takes_mount_options = False

    def __init__(self, host: Host) -> None:
        self._host = host

    def supports(self, use: VolumeUse) -> bool:
        return use.inline is not None and use.inline.config_map is not None

    def volume_name(self, use: VolumeUse) -> str:
        return f"{use.name}/{_source(use).name}"

    def wants_remount(self, use: VolumeUse) -> bool:
        return True

    def mounter(self, use: VolumeUse, pod: Pod) -> WrittenMounter:
        source = _source(use)

        async def gather(_: MountRequest) -> Files:
            choice = choose(source, source.default_mode)
            key = Key(pod.namespace, source.name)
            return await config_map_files(self._host.objects, key, choice)

        scratch = self.unmounter(use.name, pod.uid)
        return WrittenMounter(scratch, ON_DISK, use.name, pod, gather)

    def unmounter(self, name: str, pod_uid: str) -> ScratchDirectory:
        return wrapped_scratch(self._host, NAME, name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        return VolumeUse(inline=PodVolume(name=name, config_map=ConfigMapSource()))


def _source(use: VolumeUse) -> ConfigMapSource:
    if use.inline is None or use.inline.config_map is None:
        raise VolumeError("Spec does not reference a ConfigMap volume type")
    return use.inline.config_map
