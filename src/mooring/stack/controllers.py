"""The controllers of a cluster, built on one client and sharing their informers."""

import asyncio
import random
from collections.abc import Iterable
from typing import Final, Protocol, TypeVar

import msgspec
from prometheus_client.registry import Collector

from mooring.client.contract import EVERYTHING, Client
from mooring.clock import Clock
from mooring.controllers.attachment import run as attachment
from mooring.controllers.attachment.view import Policy
from mooring.controllers.binding import run as binding
from mooring.controllers.binding.caches import Informers as BindingInformers
from mooring.controllers.binding.contract import Deleter, InTreePlugins, Provisioner
from mooring.controllers.binding.recycle import (
    HOST_PATH_DEADLINE,
    NFS_DEADLINE,
    Deadline,
    PodRecycler,
)
from mooring.controllers.binding.recycler_template import DEFAULT_TEMPLATE
from mooring.controllers.ephemeral import run as ephemeral
from mooring.controllers.expansion import run as expansion
from mooring.controllers.protection import run as protection
from mooring.controllers.replication import run as replication
from mooring.model.attachment import Attachment
from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.replication_controller import ReplicationController
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Plugin
from mooring.reconcile.informer import Informer
from mooring.reconcile.metrics import LoopMetrics
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.stack.together import Together

T = TypeVar("T", bound=ApiObject)


class HostPath(Provisioner, Deleter, Protocol):
    """Who makes and deletes hostPath volumes."""


class Recycling(msgspec.Struct, frozen=True):
    """How released volumes are wiped."""

    nfs: Deadline = NFS_DEADLINE
    host_path: Deadline = HOST_PATH_DEADLINE
    nfs_pod: Doc = msgspec.field(default_factory=lambda: DEFAULT_TEMPLATE)
    host_path_pod: Doc = msgspec.field(default_factory=lambda: DEFAULT_TEMPLATE)


AS_KUBERNETES = Recycling()


class Part(Protocol):
    """One controller. The informers that feed its queue are shared."""

    @property
    def queue(self) -> KeyedQueue[Key]: ...

    async def run(self) -> None: ...


class Controllers:
    """All controllers; `run` runs them until cancelled, and if one dies all stop."""

    name: Final = "controllers"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        chance: random.Random,
        host_path: HostPath,
        recycling: Recycling = AS_KUBERNETES,
        detaching: Policy = attachment.AS_KUBERNETES,
    ) -> None:
        self._client = client
        self._clock = clock
        self._chance = chance
        self._loops = LoopMetrics()
        self._informers: list[Informer[ApiObject]] = []
        self._recorders: list[Recorder] = []
        self._parts: list[Part] = []
        volumes, claims = self._informer(Volume), self._informer(Claim)
        pods, nodes = self._informer(Pod), self._informer(Node)
        classes = self._informer(StorageClass)
        binder = binding.Binder(
            client,
            clock,
            BindingInformers(volumes, claims, classes, pods, nodes),
            self._recorder(binding.COMPONENT),
            _plugins(client, host_path, recycling),
        )
        self._add("claims", binder)  # upstream has a second queue for volumes
        attributes = self._informer(AttributesClass)
        told = self._recorder(protection.COMPONENT)
        claim_protection = protection.ClaimProtection(client, clock, told, claims, pods)
        self._add(claim_protection.queue_name, claim_protection)
        volume_protection = protection.VolumeProtection(client, clock, volumes)
        self._add(volume_protection.queue_name, volume_protection)
        class_protection = protection.ClassProtection(client, clock, attributes, volumes, claims)
        self._add(class_protection.queue_name, class_protection)
        told = self._recorder(ephemeral.COMPONENT)
        ephemerals = ephemeral.EphemeralVolumes(client, clock, told, pods, claims)
        self._add(ephemerals.queue_name, ephemerals)
        told = self._recorder(expansion.COMPONENT)
        expander = expansion.Expansion(client, clock, told, claims, volumes)
        self._add(expander.queue_name, expander)
        drivers, attachments = self._informer(CsiDriver), self._informer(Attachment)
        known = attachment.Informers(pods, nodes, claims, volumes, drivers, attachments)
        told = self._recorder(attachment.COMPONENT)
        attacher = attachment.AttachDetach(client, clock, told, known, detaching)
        self._add(attacher.queue_name, attacher)
        self._loops.add_queue(attacher.nodes_queue_name, attacher.nodes_queue)
        counted = Together((binder.metrics, attacher.metrics))  # they share a family
        told = self._recorder(replication.COMPONENT)
        replicated = self._informer(ReplicationController)
        replicas = replication.Replication(client, clock, told, replicated, pods)
        self._add(replicas.queue_name, replicas)
        self._collectors = (self._loops, counted, ephemerals.counts)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for recorder in self._recorders:
                tasks.create_task(recorder.run())
            for informer in self._informers:
                tasks.create_task(informer.run())
            for part in self._parts:
                tasks.create_task(part.run())

    async def synced(self) -> None:
        for informer in self._informers:
            await informer.synced.wait()

    def collectors(self) -> Iterable[Collector]:
        return self._collectors

    def _informer(self, kind: type[T]) -> Informer[T]:
        informer = Informer(self._client, kind, EVERYTHING, self._clock, self._chance)
        self._informers.append(informer)  # type: ignore[arg-type]  # run alike, whatever the kind
        self._loops.add_informer(kind.resource.plural, informer.counts)
        return informer

    def _recorder(self, component: str) -> Recorder:
        recorder = Recorder(self._client, self._clock, self._chance, component)
        self._recorders.append(recorder)
        self._loops.add_recorder(component, recorder.counts)
        return recorder

    def _add(self, queue_name: str, part: Part) -> None:
        self._parts.append(part)
        self._loops.add_queue(queue_name, part.queue)


def _plugins(client: Client, host_path: HostPath, recycling: Recycling) -> InTreePlugins:
    return InTreePlugins(
        provisioners={Plugin.HOST_PATH: host_path},
        deleters={Plugin.HOST_PATH: host_path},
        recyclers={
            Plugin.HOST_PATH: PodRecycler(client, recycling.host_path, recycling.host_path_pod),
            Plugin.NFS: PodRecycler(client, recycling.nfs, recycling.nfs_pod),
        },
    )
