"""Where everything is below a node's root directory: the same places as in Kubernetes.

A node that takes over the directory of a kubelet, or gives it back, finds its volumes there.
"""

from pathlib import Path

import msgspec

PODS = "pods"
VOLUMES = "volumes"
DEVICES = "volumeDevices"
SUBPATHS = "volume-subpaths"
MOUNTS = "mounts"  # in a plugin's own directory
DIRECTORY_MODE = 0o750


def escaped(plugin: str) -> str:
    """A plugin's name as one path element."""
    return plugin.replace("/", "~")


def unescaped(element: str) -> str:
    return element.replace("~", "/")


class Layout(msgspec.Struct, frozen=True):
    """Paths only: nothing here looks at the disk."""

    root: Path

    @property
    def pods(self) -> Path:
        return self.root / PODS

    @property
    def plugins(self) -> Path:
        return self.root / "plugins"

    @property
    def registrations(self) -> Path:
        """Where drivers put the sockets by which they register."""
        return self.root / "plugins_registry"

    def pod(self, pod_uid: str) -> Path:
        return self.pods / pod_uid

    def volumes(self, pod_uid: str) -> Path:
        return self.pod(pod_uid) / VOLUMES

    def volume(self, pod_uid: str, plugin: str, name: str) -> Path:
        """What the pod's containers see of the volume."""
        return self.volumes(pod_uid) / escaped(plugin) / name

    def devices(self, pod_uid: str) -> Path:
        return self.pod(pod_uid) / DEVICES

    def device_link(self, pod_uid: str, plugin: str, name: str) -> Path:
        """A link to the device of a block volume."""
        return self.devices(pod_uid) / escaped(plugin) / name

    def pod_plugin(self, pod_uid: str, plugin: str, name: str) -> Path:
        """What a plugin remembers of a volume of the pod: its `ready` file."""
        return self.pod(pod_uid) / "plugins" / escaped(plugin) / name

    def subpaths(self, pod_uid: str) -> Path:
        return self.pod(pod_uid) / SUBPATHS

    def subpath(self, pod_uid: str, volume: str, container: str, index: int) -> Path:
        """Where one volumeMount with a subPath is bound for its container."""
        return self.subpaths(pod_uid) / volume / container / str(index)

    def plugin(self, plugin: str) -> Path:
        """A plugin's own directory; its name is not escaped here, so it is two levels deep."""
        return self.plugins / plugin

    def global_mount(self, plugin: str, name: str) -> Path:
        """Where a device is mounted once, for all pods."""
        return self.plugin(plugin) / MOUNTS / name

    def global_map(self, plugin: str, name: str) -> Path:
        """Where the device of a block volume is bound, one file per pod."""
        return self.plugin(plugin) / DEVICES / name
