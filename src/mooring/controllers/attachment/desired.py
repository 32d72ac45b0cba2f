"""What pods want: volumes, for each the nodes it has to be attached to, and there the pods.

Every pod that is on a node and not over counts, whatever that node is: whether anything is attached
there is for `decide` to say. A pod wants its volume as long as it exists, even when the claim is
lost meanwhile; only a driver that attaches nothing ends that earlier.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from mooring.controllers.attachment.resolve import AttachableVolume, NotAttached, NotKnown, Resolved
from mooring.model.pod import Pod

Changed = Callable[[str], None]
"""Called with the name of a volume whose desired state has changed."""

NOBODY: Mapping[str, Pod] = {}


class _Wishes(msgspec.Struct, frozen=True):
    """Of one pod, by the names of its volumes."""

    pod: Pod
    volumes: Mapping[str, Resolved]

    def attachable(self) -> Iterable[AttachableVolume]:
        """Each once, though the pod may have two names for it."""
        found = (one for one in self.volumes.values() if isinstance(one, AttachableVolume))
        return {one.name: one for one in found}.values()


class Desired:
    def __init__(self, changed: Changed) -> None:
        self._changed = changed
        self._pods: dict[str, _Wishes] = {}  # by uid
        self._volumes: dict[str, AttachableVolume] = {}  # as known last
        self._wanted: dict[str, dict[str, dict[str, Pod]]] = {}  # by volume, node, uid

    def want(self, pod: Pod, volumes: Mapping[str, Resolved]) -> None:
        """The pod, which is on a node, has these volumes; said again, it brings news."""
        before = self._pods.get(pod.uid)
        if before is not None:
            kept = before.volumes
            volumes = {
                name: kept.get(name, one) if isinstance(one, NotKnown) else one
                for name, one in volumes.items()
            }
        wishes = self._pods[pod.uid] = _Wishes(pod, volumes)
        now = {one.name for one in wishes.attachable()}
        for one in before.attachable() if before is not None else ():
            if one.name not in now:
                self._leave(one.name, pod)
        for one in wishes.attachable():
            self._join(one, pod)

    def drop(self, uid: str) -> None:
        """The pod is over, or gone."""
        wishes = self._pods.pop(uid, None)
        if wishes is not None:
            for one in wishes.attachable():
                self._leave(one.name, wishes.pod)

    def find(self, volume: str) -> AttachableVolume | None:
        return self._volumes.get(volume)

    def nodes_of(self, volume: str) -> Iterable[str]:
        return self._wanted.get(volume, {})

    def pods_on(self, volume: str, node: str) -> Mapping[str, Pod]:
        return self._wanted.get(volume, {}).get(node, NOBODY)

    def pods(self) -> Iterator[Pod]:
        return (wishes.pod for wishes in self._pods.values())

    def pairs(self) -> Iterator[tuple[AttachableVolume, str]]:
        """Every volume with every node it is wanted on."""
        for volume, nodes in self._wanted.items():
            for node in nodes:
                yield self._volumes[volume], node

    def drivers_by_node(self) -> Iterator[tuple[str, str]]:
        """The node and the driver of every CSI volume of every pod."""
        for wishes in self._pods.values():
            for one in wishes.volumes.values():
                if isinstance(one, AttachableVolume):
                    yield wishes.pod.spec.node_name, one.csi.driver
                elif isinstance(one, NotAttached):
                    yield wishes.pod.spec.node_name, one.driver

    def _join(self, volume: AttachableVolume, pod: Pod) -> None:
        nodes = self._wanted.setdefault(volume.name, {})
        there = nodes.setdefault(pod.spec.node_name, {})
        is_news = pod.uid not in there or self._volumes.get(volume.name) != volume
        there[pod.uid] = pod
        self._volumes[volume.name] = volume
        if is_news:
            self._changed(volume.name)

    def _leave(self, volume: str, pod: Pod) -> None:
        nodes = self._wanted[volume]
        there = nodes[pod.spec.node_name]
        there.pop(pod.uid, None)
        if not there:
            del nodes[pod.spec.node_name]
        if not nodes:
            del self._wanted[volume]
            del self._volumes[volume]
        self._changed(volume)
