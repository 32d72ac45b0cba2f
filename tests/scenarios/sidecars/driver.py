"""A driver at the level of typed calls: what it has, what it was asked, how it answers.

`driver.next("create", Fails(Code.ABORTED))` scripts one call; `After` does the deed first. `Dies`
kills the sidecar that asked: it never hears an answer.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from mooring.csi.capability import ControllerCapability, GroupCapability, PluginService
from mooring.csi.outcome import TABLES, Code, Done, Outcome, Refused, judge
from mooring.csi.requests import AttachVolume, Capacity, CreateVolume, Expanded, ExpandVolume
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.topology import Topology
from mooring.csi.volume import Volume, VolumeState
from mooring.sidecars.driver import Abilities, Driver
from mooring.sidecars.own_node import OwnNode
from tests.scenarios.sidecars.snapshot_driver import FakeGroups, FakeSnapshots

R = TypeVar("R")

NAME = "d.example.com"
ALL = Abilities(
    frozenset({PluginService.CONTROLLER_SERVICE, PluginService.GROUP_CONTROLLER_SERVICE}),
    frozenset(ControllerCapability) - {ControllerCapability.SINGLE_NODE_MULTI_WRITER},
    groups=frozenset(GroupCapability),
)
_RPCS = {
    "create": "CreateVolume",
    "delete": "DeleteVolume",
    "attach": "ControllerPublishVolume",
    "detach": "ControllerUnpublishVolume",
    "expand": "ControllerExpandVolume",
    "modify": "ControllerModifyVolume",
    "list": "ListVolumes",
    "capacity": "GetCapacity",
    "take": "CreateSnapshot",
    "drop": "DeleteSnapshot",
    "get": "GetSnapshot",
    "look": "ListSnapshots",
    "take-group": "CreateVolumeGroupSnapshot",
    "drop-group": "DeleteVolumeGroupSnapshot",
    "get-group": "GetVolumeGroupSnapshot",
}


@dataclass(frozen=True)
class Fails:
    code: Code
    message: str = "scripted"


@dataclass(frozen=True)
class Waits:
    """Nothing is done before the gate opens."""

    gate: asyncio.Event


@dataclass(frozen=True)
class Dies:
    """Nobody hears of this call again."""


@dataclass(frozen=True)
class Makes:
    """A create, or an expand, is answered with this changed."""

    changes: Mapping[str, Any]


@dataclass(frozen=True)
class After:
    """The deed is done, and only then this happens."""

    then: Fails | Dies


Behaviour = Fails | Waits | Dies | Makes | After


@dataclass
class FakeDriver:
    abilities: Abilities = ALL
    volumes: dict[str, Volume] = field(default_factory=dict)  # by id
    names: dict[str, str] = field(default_factory=dict)  # of volumes, to their ids
    attachments: set[tuple[str, str]] = field(default_factory=set)  # volume and node, by id
    calls: list[str] = field(default_factory=list)  # in order, as in `create pvc-1`
    requests: list[CreateVolume | AttachVolume] = field(default_factory=list)
    secrets: list[Secrets] = field(default_factory=list)
    topologies: tuple[Topology, ...] = ()
    room: dict[str, int] = field(default_factory=dict)  # by value of the first segment
    sizes: dict[str, int] = field(default_factory=dict)  # of volumes that were grown, by id
    needs_node: bool = False  # of volumes that grow
    parameters: dict[str, dict[str, str]] = field(default_factory=dict)  # changed, by volume
    overlaps: list[str] = field(default_factory=list)  # volumes that were asked for two things
    busiest: int = 0  # the most calls at once
    running: int = 0
    name: str = NAME
    id_prefix: str = "id-of-"  # of volumes, before their names
    own_node: OwnNode | None = None  # that it reaches alone

    def __post_init__(self) -> None:
        self._queued: dict[str, deque[Behaviour]] = defaultdict(deque)
        self.snapshots = FakeSnapshots(self._play, self.secrets)
        self.groups = FakeGroups(self._play, self.snapshots, self.secrets)
        self._at_work: list[str] = []
        self.grown: list[ExpandVolume] = []

    @property
    def driver(self) -> Driver:
        parts = self, self.snapshots, self.groups
        return Driver(self.name, self.abilities, *parts, own_node=self.own_node)

    def next(self, rpc: str, *behaviours: Behaviour) -> None:
        self._queued[rpc].extend(behaviours)

    def count(self, rpc: str) -> int:
        return sum(call.split()[0] == rpc for call in self.calls)

    def without(self, *capabilities: ControllerCapability) -> None:
        able = self.abilities.controller - set(capabilities)
        self.abilities = msgspec.structs.replace(self.abilities, controller=able)

    def with_topology(self) -> None:
        services = self.abilities.services | {PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS}
        self.abilities = msgspec.structs.replace(self.abilities, services=services)

    async def create(self, volume: CreateVolume, *, within: float) -> Outcome[Volume]:
        self.requests.append(volume)
        self.secrets.append(volume.secrets)
        return await self._play("create", volume.name, lambda: self._create(volume))

    async def delete(
        self, volume_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        self.secrets.append(secrets)
        return await self._play("delete", volume_id, lambda: self._delete(volume_id))

    async def attach(self, volume: AttachVolume, *, within: float) -> Outcome[Mapping[str, str]]:
        self.requests.append(volume)
        self.secrets.append(volume.secrets)
        what = f"{volume.volume_id} {volume.node_id}"
        return await self._play("attach", what, lambda: self._attach(volume))

    async def detach(
        self, volume_id: str, node_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        self.secrets.append(secrets)
        what = f"{volume_id} {node_id}"
        return await self._play("detach", what, lambda: self._detach(volume_id, node_id))

    async def expand(self, volume: ExpandVolume, *, within: float) -> Outcome[Expanded]:
        self.secrets.append(volume.secrets)
        self.grown.append(volume)
        what = f"{volume.volume_id} {volume.capacity.required_bytes / (1 << 30):g}Gi"
        with self._alone(volume.volume_id):
            return await self._play("expand", what, lambda: self._expand(volume))

    async def modify(
        self,
        volume_id: str,
        mutable_parameters: Mapping[str, str],
        secrets: Secrets = NO_SECRETS,
        *,
        within: float,
    ) -> Outcome[None]:
        self.secrets.append(secrets)
        what = " ".join((volume_id, *(f"{k}={v}" for k, v in sorted(mutable_parameters.items()))))
        with self._alone(volume_id):
            return await self._play(
                "modify", what, lambda: self._modify(volume_id, mutable_parameters)
            )

    @contextmanager
    def _alone(self, volume_id: str) -> Iterator[None]:
        if volume_id in self._at_work:
            self.overlaps.append(volume_id)
        self._at_work.append(volume_id)
        try:
            yield
        finally:
            self._at_work.remove(volume_id)

    async def list_all(self, *, within: float) -> Outcome[tuple[VolumeState, ...]]:
        return await self._play("list", "", self._list)

    async def get_capacity(
        self,
        *,
        parameters: Mapping[str, str] | None = None,
        topology: Topology | None = None,
        within: float,
    ) -> Outcome[Capacity]:
        where = next(iter(topology.segments.values()), "") if topology else ""
        return await self._play("capacity", where, lambda: Done(Capacity(self.room.get(where, 0))))

    async def _play(self, rpc: str, what: str, act: Callable[[], Outcome[R]]) -> Outcome[R]:
        self.calls.append(f"{rpc} {what}".strip())
        self.running += 1
        self.busiest = max(self.busiest, self.running)
        try:
            return await self._behave(rpc, act)
        finally:
            self.running -= 1

    async def _behave(self, rpc: str, act: Callable[[], Outcome[R]]) -> Outcome[R]:
        behaviour = self._queued[rpc].popleft() if self._queued[rpc] else None
        match behaviour:
            case None:
                return act()
            case Fails(code, message):
                return judge(TABLES[_RPCS[rpc]], code, message)
            case Waits(gate):
                await gate.wait()
                return act()
            case Dies():
                await asyncio.Event().wait()
                raise AssertionError("nobody hears of this")
            case Makes(changes):
                made = act()
                assert isinstance(made, Done)
                assert isinstance(made.value, msgspec.Struct)
                changed: Any = msgspec.structs.replace(made.value, **changes)
                return Done(changed)
            case After(then):
                act()
                self._queued[rpc].appendleft(then)
                return await self._behave(rpc, act)

    def _create(self, wanted: CreateVolume) -> Outcome[Volume]:
        size = wanted.capacity.required_bytes if wanted.capacity else 0
        known = self.names.get(wanted.name)
        if known is not None:
            return Done(self.volumes[known])
        made = Volume(
            f"{self.id_prefix}{wanted.name}", size, {"made": "here"}, wanted.source, self.topologies
        )
        self.names[wanted.name] = made.volume_id
        self.volumes[made.volume_id] = made
        return Done(made)

    def _delete(self, volume_id: str) -> Outcome[None]:
        if any(volume == volume_id for volume, _ in self.attachments):
            return Refused(Code.FAILED_PRECONDITION, f"{volume_id} is attached")
        self.volumes.pop(volume_id, None)
        self.names = {name: each for name, each in self.names.items() if each != volume_id}
        return Done(None)

    def _attach(self, wanted: AttachVolume) -> Outcome[Mapping[str, str]]:
        self.attachments.add((wanted.volume_id, wanted.node_id))
        return Done({"device": "/dev/x"})

    def _detach(self, volume_id: str, node_id: str) -> Outcome[None]:
        self.attachments.discard((volume_id, node_id))
        return Done(None)

    def _expand(self, wanted: ExpandVolume) -> Outcome[Expanded]:
        size = max(self.sizes.get(wanted.volume_id, 0), wanted.capacity.required_bytes)
        self.sizes[wanted.volume_id] = size
        return Done(Expanded(size, self.needs_node))

    def _modify(self, volume_id: str, parameters: Mapping[str, str]) -> Outcome[None]:
        self.parameters.setdefault(volume_id, {}).update(parameters)
        return Done(None)

    def _list(self) -> Outcome[tuple[VolumeState, ...]]:
        ids = {*self.volumes, *(volume for volume, _ in self.attachments)}
        states = (
            VolumeState(
                Volume(volume_id),
                tuple(node for volume, node in sorted(self.attachments) if volume == volume_id),
            )
            for volume_id in sorted(ids)
        )
        return Done(tuple(states))
