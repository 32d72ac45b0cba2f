"""What a volume is called on a node: once for all pods that share it, or once per pod."""

from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import Attachable, DeviceMountable, Plugin, VolumeError


def unique_name(plugin: Plugin, use: VolumeUse, pod_uid: str) -> str:
    """`<plugin>/<what is behind it>` for what is attached or mounted once for all pods.

    Anything else is the pod's own: `<plugin>/<pod uid>-<name>`.

    Raises: VolumeError when the plugin cannot say what is behind it.
    """
    if not is_shared(plugin, use):
        return f"{plugin.name}/{pod_uid}-{use.name}"
    if not (behind := plugin.volume_name(use)):
        raise VolumeError(
            f'failed to GetVolumeName from volumePlugin for volumeSpec "{use.name}" err=<nil>'
        )
    return f"{plugin.name}/{behind}"


def is_shared(plugin: Plugin, use: VolumeUse) -> bool:
    """Whether one attachment, or one mount of the device, serves all pods."""
    if isinstance(plugin, DeviceMountable) and plugin.can_mount_device(use):
        return True
    return isinstance(plugin, Attachable) and plugin.can_attach(use)


def split(name: str) -> tuple[str, str]:
    """The plugin's name, and the rest.

    Raises: VolumeError when it is no unique name.
    """
    first, _, rest = name.partition("/")
    second, slash, volume = rest.partition("/")
    if not slash:
        raise VolumeError(f"cannot split volume unique name {name} to plugin/volume components")
    return f"{first}/{second}", volume
