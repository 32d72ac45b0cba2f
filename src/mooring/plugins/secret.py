"""secret: the entries of a secret as files, in memory only, kept up to date."""

from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume, SecretSource
from mooring.model.secret import Secret
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import MountRequest, VolumeError
from mooring.plugins.empty_dir import ScratchDirectory, wrapped_scratch
from mooring.plugins.payload import Choice, Files, ask, choose, chosen_files
from mooring.plugins.volume_host import Host, NodeObjects
from mooring.plugins.written import WrittenMounter, mounter_in_memory

NAME = "kubernetes.io/secret"

_COMPLAINT = "references non-existent secret key"


async def secret_files(objects: NodeObjects, key: Key, choice: Choice) -> Files:
    """Raises: Incomplete."""
    missing = Secret() if choice.is_optional else None
    found = await ask(objects.secret(key), if_missing=missing)
    entries = {name: value.reveal() for name, value in found.data.items()}
    return chosen_files(entries, choice, _COMPLAINT)


class SecretPlugin:
    name = NAME
    takes_mount_options = False

    def __init__(self, host: Host) -> None:
        self._host = host

    def supports(self, use: VolumeUse) -> bool:
        return use.inline is not None and use.inline.secret is not None

    def volume_name(self, use: VolumeUse) -> str:
        return _source(use).secret_name

    def wants_remount(self, use: VolumeUse) -> bool:
        return True

    def mounter(self, use: VolumeUse, pod: Pod) -> WrittenMounter:
        source = _source(use)

        async def gather(_: MountRequest) -> Files:
            choice = choose(source, source.default_mode)
            key = Key(pod.namespace, source.secret_name)
            return await secret_files(self._host.objects, key, choice)

        return mounter_in_memory(self._host, NAME, use, pod, gather)

    def unmounter(self, name: str, pod_uid: str) -> ScratchDirectory:
        return wrapped_scratch(self._host, NAME, name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        return VolumeUse(inline=PodVolume(name=name, secret=SecretSource(secret_name=name)))


def _source(use: VolumeUse) -> SecretSource:
    if use.inline is None or use.inline.secret is None:
        raise VolumeError("Spec does not reference a Secret volume type")
    return use.inline.secret
