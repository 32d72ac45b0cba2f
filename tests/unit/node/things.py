"""Volumes and pods of a node, as small as they can be."""

from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.model.pod_volume import EmptyDirSource, PodVolume
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.node.actual import ActualVolume, DeviceState, PodMount, PodState
from mooring.node.desired import WantedBy, WantedVolume

NAME = "kubernetes.io/local-volume/pv"
PLUGIN = "kubernetes.io/local-volume"

FILES = VolumeUse(volume=Volume(metadata=ObjectMeta(name="pv")))
BLOCK = VolumeUse(
    volume=Volume(metadata=ObjectMeta(name="pv"), spec=VolumeSpec(volume_mode=VolumeMode.BLOCK))
)
SCRATCH = VolumeUse(inline=PodVolume(name="scratch", empty_dir=EmptyDirSource()))


def a_pod(uid: str = "p1") -> Pod:
    return Pod(metadata=ObjectMeta(name=uid, namespace="default", uid=uid))


def wanted_by(uid: str = "p1", use: VolumeUse = FILES) -> WantedBy:
    return WantedBy(a_pod(uid), use, frozenset({"data"}), since=0.0)


def a_wanted(
    *uids: str,
    use: VolumeUse = FILES,
    is_attachable: bool = False,
    reported_in_use: bool = False,
    capacity: int = 0,
    selinux_label: str = "",
) -> WantedVolume:
    return WantedVolume(
        NAME,
        PLUGIN,
        use,
        is_attachable=is_attachable,
        is_device_mountable=True,
        reported_in_use=reported_in_use,
        capacity=capacity,
        selinux_label=selinux_label,
        pods={uid: wanted_by(uid, use) for uid in uids},
    )


def a_mount(
    uid: str = "p1",
    state: PodState = PodState.MOUNTED,
    use: VolumeUse = FILES,
    *,
    wants_remount: bool = False,
) -> PodMount:
    return PodMount(uid, use, state, wants_remount=wants_remount)


def an_actual(
    *mounts: PodMount,
    use: VolumeUse = FILES,
    device: DeviceState = DeviceState.MOUNTED,
    size: int = 0,
    selinux_label: str = "",
) -> ActualVolume:
    return ActualVolume(
        NAME,
        PLUGIN,
        use,
        device=device,
        size=size,
        selinux_label=selinux_label,
        pods={mount.pod_uid: mount for mount in mounts},
    )
