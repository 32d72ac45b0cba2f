"""The controllers of a cluster, built on one client and sharing their informers."""

import asyncio
import random
import socket
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
import uvloop

from mooring.client.connect import connect
from mooring.client.contract import EVERYTHING, Client
from mooring.clock import Clock, RealClock
from mooring.controllers.binding import run as binding
from mooring.controllers.binding.caches import Informers as BindingInformers
from mooring.controllers.binding.contract import InTreePlugins
from mooring.controllers.binding.host_path import HostPathPlugin, HostPathProvisioning
from mooring.controllers.binding.recycle import (
    HOST_PATH_DEADLINE,
    NFS_DEADLINE,
    PodRecycler,
)
from mooring.controllers.ephemeral import run as ephemeral
from mooring.controllers.expansion import run as expansion
from mooring.controllers.protection import run as protection
from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Plugin
from mooring.reconcile.informer import Informer
from mooring.reconcile.lease import LeaderElection
from mooring.reconcile.recorder import Recorder
from mooring.stack.stopping import stop_asked

LEASE = Key("kube-system", "mooring-controllers")

T = TypeVar("T", bound=ApiObject)


class Wanted(msgspec.Struct, frozen=True):
    """What the command line asks for."""

    kubeconfig: Path | None = None
    leader_elect: bool = True
    host_path_provisioner: bool = False  # for development: volumes on the controllers' own machine


def run_controllers(wanted: Wanted, say: Callable[[str], None]) -> None:
    """Run until SIGTERM or SIGINT; `say` is told when this process leads."""
    uvloop.run(_until_stopped(wanted, say))


async def _until_stopped(wanted: Wanted, say: Callable[[str], None]) -> None:
    clock = RealClock()
    stop = stop_asked()
    async with connect(wanted.kubeconfig, clock) as client, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(_elected(client, clock, wanted, say))
        await stop.wait()
        running.cancel()


async def _elected(
    client: Client, clock: Clock, wanted: Wanted, say: Callable[[str], None]
) -> None:
    chance = random.SystemRandom()

    async def lead() -> None:
        say("mooring controllers are running")
        await Controllers(client, clock, chance, wanted).run()

    if not wanted.leader_elect:
        await lead()
        return
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    await LeaderElection(client, clock, chance, LEASE, identity).run(lead)


class Controllers:
    """All controllers; `run` runs them until cancelled, and if one dies all stop."""

    def __init__(self, client: Client, clock: Clock, chance: random.Random, wanted: Wanted) -> None:
        self._client = client
        self._clock = clock
        self._chance = chance
        self._informers: list[Informer[ApiObject]] = []
        self._recorders: list[Recorder] = []
        volumes, claims = self._informer(Volume), self._informer(Claim)
        pods, nodes = self._informer(Pod), self._informer(Node)
        classes = self._informer(StorageClass)
        self._binder = binding.Binder(
            client,
            clock,
            BindingInformers(volumes, claims, classes, pods, nodes),
            self._recorder(binding.COMPONENT),
            _plugins(client, wanted),
        )
        self._protected = protection.Informers(
            claims, volumes, self._informer(AttributesClass), pods
        )
        self._protection_recorder = self._recorder(protection.COMPONENT)
        self._ephemeral = ephemeral.EphemeralVolumes(
            client, clock, self._recorder(ephemeral.COMPONENT), pods, claims
        )
        self._expansion = expansion.Expansion(
            client, clock, self._recorder(expansion.COMPONENT), claims, volumes
        )

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for recorder in self._recorders:
                tasks.create_task(recorder.run())
            for informer in self._informers:
                tasks.create_task(informer.run())
            tasks.create_task(self._binder.run())
            tasks.create_task(self._ephemeral.run())
            tasks.create_task(self._expansion.run())
            tasks.create_task(
                protection.run(
                    self._client, self._clock, self._protection_recorder, self._protected
                )
            )

    def _informer(self, kind: type[T]) -> Informer[T]:
        informer = Informer(self._client, kind, EVERYTHING, self._clock, self._chance)
        self._informers.append(informer)  # type: ignore[arg-type]  # run alike, whatever the kind
        return informer

    def _recorder(self, component: str) -> Recorder:
        recorder = Recorder(self._client, self._clock, self._chance, component)
        self._recorders.append(recorder)
        return recorder


def _plugins(client: Client, wanted: Wanted) -> InTreePlugins:
    mode = HostPathProvisioning.ON if wanted.host_path_provisioner else HostPathProvisioning.OFF
    host_path = HostPathPlugin(Path(tempfile.gettempdir()), mode)
    return InTreePlugins(
        provisioners={Plugin.HOST_PATH: host_path},
        deleters={Plugin.HOST_PATH: host_path},
        recyclers={
            Plugin.HOST_PATH: PodRecycler(client, HOST_PATH_DEADLINE),
            Plugin.NFS: PodRecycler(client, NFS_DEADLINE),
        },
    )
