"""What a provisioner knows of claims beyond their objects; nothing in here has to outlive it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.clock import Clock
from mooring.csi.topology import TopologyRequirement
from mooring.model.claim import Claim
from mooring.model.storage_class import StorageClass

INFEASIBLE_SECONDS = 300.0


class Unsaved(msgspec.Struct, frozen=True):
    """A volume that exists, and has no PersistentVolume yet."""

    volume_id: str
    document: Mapping[str, Any]


class _Pause(msgspec.Struct, frozen=True):
    until: float
    class_uid: str


class Memory:
    def __init__(self, clock: Clock) -> None:
        self.open: dict[str, Claim] = {}  # by uid: the driver was asked, and nothing is settled
        self.classes: dict[str, StorageClass] = {}  # by the claim's uid: the class of its request
        self.unsaved: dict[str, Unsaved] = {}  # by the claim's uid
        self.waiting: set[str] = set()  # uids of claims that wait for other objects
        self._topologies: dict[str, TopologyRequirement | None] = {}
        self._paused: dict[str, _Pause] = {}
        self._clock = clock

    def topology_sent(self, uid: str) -> tuple[TopologyRequirement | None] | None:
        """The topology requirement that was sent: a repetition must send the same one."""
        return (self._topologies[uid],) if uid in self._topologies else None

    def remember_topology(self, uid: str, topology: TopologyRequirement | None) -> None:
        self._topologies[uid] = topology

    def pause(self, uid: str, class_uid: str) -> None:
        self._paused[uid] = _Pause(self._clock.monotonic() + INFEASIBLE_SECONDS, class_uid)

    def paused_seconds(self, uid: str, class_uid: str) -> float:
        """The remaining back-off; a recreated class starts anew."""
        pause = self._paused.get(uid)
        if pause is None or pause.class_uid != class_uid:
            return 0.0
        return max(0.0, pause.until - self._clock.monotonic())

    def settled(self, uid: str) -> None:
        """Nothing runs in the driver: the next request may be another."""
        self.open.pop(uid, None)
        self.classes.pop(uid, None)
        self.unsaved.pop(uid, None)
        self._topologies.pop(uid, None)

    def forget(self, uid: str) -> None:
        """The claim is gone, and nothing is left of it."""
        self.settled(uid)
        self._paused.pop(uid, None)
        self.waiting.discard(uid)
