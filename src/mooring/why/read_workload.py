"""Reading what an explanation of a workload or of a namespace needs."""

import asyncio

from mooring.client.contract import Scope
from mooring.model.claim import Claim
from mooring.model.deployment import Deployment
from mooring.model.keys import Key
from mooring.model.namespace import Namespace
from mooring.model.pod import Pod
from mooring.model.pod_owner import PodOwner
from mooring.model.replica_set import ReplicaSet
from mooring.model.snapshot import Snapshot
from mooring.why.read import Reading, read_pod
from mooring.why.read_pointed import read_webhooks
from mooring.why.workload import is_ready, makers_of, pods_of


async def read_workload(
    reading: Reading, kind: type[PodOwner] | type[Deployment], key: Key
) -> None:
    scope = Scope(namespace=key.namespace)
    wanted: list[type[PodOwner]] = [ReplicaSet] if kind is Deployment else []
    it = await reading.get(kind, key)
    if it is None:
        return
    await asyncio.gather(
        reading.list(Pod, scope),
        *(reading.list(each, scope) for each in wanted),
    )
    makers = makers_of(reading.world(), it)
    await asyncio.gather(*(reading.events(maker) for maker in makers))
    await read_webhooks(reading)
    waiting = [pod for pod in pods_of(reading.world(), makers) if not is_ready(pod)]
    if waiting:
        await read_pod(reading, waiting[0].key)


async def read_namespace(reading: Reading, key: Key) -> None:
    it = await reading.get(Namespace, key)
    if it is None or not it.is_deleting:
        return
    scope = Scope(namespace=it.name)
    await asyncio.gather(*(reading.list(kind, scope) for kind in (Claim, Pod, Snapshot)))
