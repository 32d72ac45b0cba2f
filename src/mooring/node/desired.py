"""What the pods of this node want: volumes, and for each the pods that use it.

Entries are immutable; changing one puts another in its place. So a view is taken by looking.
"""

from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from mooring.model.pod import Pod
from mooring.model.volume_use import VolumeUse


class WantedBy(msgspec.Struct, frozen=True):
    """One pod's use of a volume."""

    pod: Pod
    use: VolumeUse
    outer_names: frozenset[str]  # under which the pod's containers name the volume
    since: float  # on the monotonic clock: when it, or news in it, was first asked for
    size_limit: int | None = None  # bytes, where the node has to see to it


class WantedVolume(msgspec.Struct, frozen=True):
    name: str  # unique on this node
    plugin: str
    use: VolumeUse
    is_attachable: bool = False
    is_device_mountable: bool = False
    reported_in_use: bool = False  # the API has acknowledged that this node uses it
    capacity: int = 0  # bytes that the persistent volume promises; 0: not known
    selinux_label: str = ""
    pods: Mapping[str, WantedBy] = msgspec.field(default_factory=dict)  # by uid


Changed = Callable[[str], None]
"""Called with the name of a volume whose desired state has changed."""


class Desired:
    def __init__(self, changed: Changed) -> None:
        self._changed = changed
        self._volumes: dict[str, WantedVolume] = {}
        self._of_pod: dict[str, set[str]] = {}

    def want(self, volume: WantedVolume, by: WantedBy) -> None:
        """`by` wants `volume`, whose own pods do not matter; said again, it brings news.

        What was reported in use stays so, and what need not be attached does not begin to.
        """
        uid = by.pod.uid
        known = self._volumes.get(volume.name)
        pods: dict[str, WantedBy] = {}
        if known is not None:
            pods = dict(known.pods)
            volume = replace(
                volume,
                reported_in_use=known.reported_in_use,
                is_attachable=known.is_attachable and volume.is_attachable,
            )
        pods[uid] = by
        self._of_pod.setdefault(uid, set()).add(volume.name)
        self._put(replace(volume, pods=pods))

    def drop(self, name: str, pod_uid: str) -> None:
        """The pod no longer wants the volume."""
        known = self._volumes.get(name)
        if known is None or pod_uid not in known.pods:
            return
        names = self._of_pod[pod_uid]
        names.discard(name)
        if not names:
            del self._of_pod[pod_uid]
        pods = {uid: by for uid, by in known.pods.items() if uid != pod_uid}
        if pods:
            self._put(replace(known, pods=pods))
        else:
            del self._volumes[name]
            self._changed(name)

    def drop_pod(self, pod_uid: str) -> None:
        for name in tuple(self._of_pod.get(pod_uid, ())):
            self.drop(name, pod_uid)

    def became_unattachable(self, name: str) -> None:
        """Its driver says that it need not be attached after all."""
        known = self._volumes.get(name)
        if known is not None and known.is_attachable:
            self._put(replace(known, is_attachable=False))

    def report_in_use(self, names: frozenset[str]) -> None:
        """The API now lists exactly these as used by this node."""
        for known in tuple(self._volumes.values()):
            if known.reported_in_use != (known.name in names):
                self._put(replace(known, reported_in_use=known.name in names))

    def find(self, name: str) -> WantedVolume | None:
        return self._volumes.get(name)

    def of_pod(self, pod_uid: str) -> Iterator[WantedVolume]:
        return (self._volumes[name] for name in self._of_pod.get(pod_uid, ()))

    def volumes(self) -> Iterator[WantedVolume]:
        return iter(self._volumes.values())

    def _put(self, volume: WantedVolume) -> None:
        self._volumes[volume.name] = volume
        self._changed(volume.name)
