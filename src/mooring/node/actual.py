"""What is on this machine: volumes, and for each the pods that it is mounted for.

A record never claims less than the truth: it says "uncertain" before a call to the outside, and
"not there" only after one that certainly undid or never did it. Entries are immutable; changing
one puts another in its place. So a view is taken by looking.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path

import msgspec
from msgspec.structs import replace

from mooring.model.reference import ObjectReference
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import BlockMapper, Mounter

NOWHERE = Path()


class Attachability(Enum):
    """Whether the volume had to be attached to the node, and is.

    Only what certainly need not be attached is `NO`: everything else is in the node's
    `volumesInUse` as long as anything of it is here, whatever `volumesAttached` says.
    """

    YES = "yes"  # found in `volumesAttached` while it was in `volumesInUse`
    NO = "no"  # it need not be
    UNCERTAIN = "uncertain"  # found on disk; or this node attaches or detaches it itself now


class DeviceState(Enum):
    """Whether the volume is mounted once for all pods."""

    NOT_MOUNTED = "not mounted"
    UNCERTAIN = "uncertain"
    MOUNTED = "mounted"


class PodState(Enum):
    UNCERTAIN = "uncertain"
    MOUNTED = "mounted"


class PodMount(msgspec.Struct, frozen=True):
    """The volume in one pod's directory."""

    pod_uid: str
    use: VolumeUse
    state: PodState
    reach: Mounter | BlockMapper | None = None  # how containers get at it; None: not known any more
    wants_remount: bool = False
    needs_tear_down: bool = False  # was set up once: a set-up that fails does not undo that
    regarding: ObjectReference | None = None  # the pod, for events; None: not known any more
    volume: str = ""  # its unique name; empty: not known any more


class ActualVolume(msgspec.Struct, frozen=True):
    name: str  # unique on this node
    plugin: str
    use: VolumeUse
    attachability: Attachability = Attachability.NO
    device: DeviceState = DeviceState.NOT_MOUNTED
    device_needs_tear_down: bool = False  # was mounted once, as above
    device_path: str = ""
    device_mount_path: Path = NOWHERE
    size: int = 0  # bytes that the claim's owner has; 0: not known
    refuses_growth: bool = False  # not while in use, said the plugin
    growth_failed: bool = False  # certainly, and not yet made good
    selinux_label: str = ""
    pods: Mapping[str, PodMount] = msgspec.field(default_factory=dict)  # by uid

    @property
    def is_attached(self) -> bool:
        """Certainly so."""
        return self.attachability is Attachability.YES


Changed = Callable[[str, str], None]
"""Called with the name of a changed volume, and the pod's uid or ""."""


class Actual:
    def __init__(self, changed: Changed) -> None:
        self._changed = changed
        self._volumes: dict[str, ActualVolume] = {}
        self._of_pod: dict[str, set[str]] = {}

    def attached(self, volume: ActualVolume) -> None:
        """The volume is here, attached if it must be.

        Of a known one the device is news, and that it certainly is attached.
        """
        known = self._volumes.get(volume.name)
        if known is None:
            self._put(volume)
            return
        sure = known.attachability
        if volume.is_attached or sure is Attachability.UNCERTAIN:
            sure = volume.attachability
        device_path = volume.device_path or known.device_path
        if (sure, device_path) != (known.attachability, known.device_path):
            self._put(replace(known, attachability=sure, device_path=device_path))

    def attachment_uncertain(self, volume: ActualVolume) -> None:
        """Before this node attaches or detaches it itself."""
        known = self._volumes.get(volume.name, volume)
        self._put(replace(known, attachability=Attachability.UNCERTAIN))

    def reconstructed(self, volume: ActualVolume, mount: PodMount) -> None:
        """Found on disk after a restart: uncertain in every respect."""
        known = self._volumes.get(volume.name) or _found(volume)
        self._volumes[volume.name] = known
        self._put_pod(known, replace(mount, state=PodState.UNCERTAIN, needs_tear_down=True))

    def device_reconstructed(self, volume: ActualVolume) -> None:
        """Found on disk after a restart: mounted once for all pods, though none may have it."""
        known = self._volumes.get(volume.name)
        if known is None:
            self._put(_found(volume))
        elif known.device is DeviceState.NOT_MOUNTED:
            self.device_fading(volume.name)

    def attachability_known(self, name: str, is_attached: Attachability, device_path: str) -> None:
        """What has been found out about a reconstructed volume; what is certain stays."""
        known = self._volumes.get(name)
        if known is None or known.attachability is not Attachability.UNCERTAIN:
            return
        if not device_path or known.device is not DeviceState.UNCERTAIN:
            device_path = known.device_path
        self._put(replace(known, attachability=is_attached, device_path=device_path))

    def device_uncertain(self, name: str) -> None:
        """Before a call that mounts it, or after one that ended in the dark."""
        self._change(name, device=DeviceState.UNCERTAIN)

    def device_fading(self, name: str) -> None:
        """Before a call that unmounts it."""
        self._change(name, device=DeviceState.UNCERTAIN, device_needs_tear_down=True)

    def device_mounted(self, name: str, device_path: str, mount_path: Path, label: str) -> None:
        known = self._volumes[name]
        self._put(
            replace(
                known,
                device=DeviceState.MOUNTED,
                device_needs_tear_down=True,
                device_path=device_path or known.device_path,
                device_mount_path=mount_path,
                selinux_label=label,
            )
        )

    def device_unmounted(self, name: str) -> None:
        """The device path stays: the volume may be mounted again while it is attached."""
        self._change(
            name,
            device=DeviceState.NOT_MOUNTED,
            device_needs_tear_down=False,
            device_mount_path=NOWHERE,
            selinux_label="",
        )

    def mount_uncertain(self, name: str, mount: PodMount) -> None:
        """Before a call, or after one that ended in the dark."""
        self._put_pod(self._volumes[name], replace(mount, state=PodState.UNCERTAIN))

    def mount_fading(self, name: str, mount: PodMount) -> None:
        """Before a call that takes it away from the pod."""
        fading = replace(mount, state=PodState.UNCERTAIN, wants_remount=False, needs_tear_down=True)
        self._put_pod(self._volumes[name], fading)

    def mounted(self, name: str, mount: PodMount) -> None:
        certain = replace(mount, state=PodState.MOUNTED, wants_remount=False, needs_tear_down=True)
        self._put_pod(self._volumes[name], certain)

    def unmounted(self, name: str, pod_uid: str) -> None:
        known = self._volumes.get(name)
        if known is None or pod_uid not in known.pods:
            return
        names = self._of_pod[pod_uid]
        names.discard(name)
        if not names:
            del self._of_pod[pod_uid]
        pods = {uid: mount for uid, mount in known.pods.items() if uid != pod_uid}
        self._volumes[name] = replace(known, pods=pods)
        self._changed(name, pod_uid)

    def remount(self, name: str, pod_uid: str) -> None:
        """Its content may be out of date: set it up again, while it stays mounted."""
        known = self._volumes.get(name)
        if known is not None and pod_uid in known.pods:
            self._put_pod(known, replace(known.pods[pod_uid], wants_remount=True))

    def size_known(self, name: str, size: int) -> None:
        """Record the size from the claim; for a volume found on disk it is the only source."""
        known = self._volumes.get(name)
        if known is not None and not known.size and size:
            self._put(replace(known, size=size))

    def grew(self, name: str, size: int) -> None:
        self._change(name, size=size, refuses_growth=False, growth_failed=False)

    def refused_growth(self, name: str) -> None:
        self._change(name, refuses_growth=True)

    def growth_failed(self, name: str) -> None:
        self._change(name, growth_failed=True)

    def gone(self, name: str) -> None:
        """Nothing of it is left here. A volume that a pod has stays."""
        known = self._volumes.get(name)
        if known is not None and not known.pods:
            del self._volumes[name]
            self._changed(name, "")

    def find(self, name: str) -> ActualVolume | None:
        return self._volumes.get(name)

    def of_pod(self, pod_uid: str) -> Iterator[ActualVolume]:
        """Mounted for the pod, or perhaps so."""
        return (self._volumes[name] for name in self._of_pod.get(pod_uid, ()))

    def pods(self) -> Iterator[str]:
        return iter(self._of_pod)

    def volumes(self) -> Iterator[ActualVolume]:
        return iter(self._volumes.values())

    def _put(self, volume: ActualVolume) -> None:
        self._volumes[volume.name] = volume
        self._changed(volume.name, "")

    def _put_pod(self, volume: ActualVolume, mount: PodMount) -> None:
        pods = {**volume.pods, mount.pod_uid: mount}
        self._of_pod.setdefault(mount.pod_uid, set()).add(volume.name)
        self._volumes[volume.name] = replace(volume, pods=pods)
        self._changed(volume.name, mount.pod_uid)

    def _change(self, name: str, **fields: object) -> None:
        known = self._volumes.get(name)
        if known is not None:
            self._put(replace(known, **fields))


def _found(volume: ActualVolume) -> ActualVolume:
    return replace(volume, device_needs_tear_down=volume.device is not DeviceState.NOT_MOUNTED)
