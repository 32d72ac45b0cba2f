"""Wiping a volume by a pod that mounts it and removes everything in it."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from mooring.client.contract import Change, ChangeType, Client, Doc, Scope
from mooring.controllers.binding.contract import PluginError, Tell
from mooring.controllers.binding.plan import EventType
from mooring.errors import AlreadyExists, ApiError, ConnectionLost, NotFound
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.pod import Pod, PodPhase
from mooring.model.volume import Volume

NAMESPACE = "default"
IMAGE = "registry.k8s.io/build-image/debian-base:bookworm-v1.0.6"
SCRUB = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1'
_GIB = 2**30


class Deadline(msgspec.Struct, frozen=True):
    """How long a recycler pod may take: so many seconds for each whole Gi, but not too few."""

    minimum: int
    per_gib: int

    def seconds(self, volume: Volume) -> int:
        return max(self.minimum, volume.size.bytes_ceil() // _GIB * self.per_gib)


NFS_DEADLINE = Deadline(minimum=300, per_gib=30)
HOST_PATH_DEADLINE = Deadline(minimum=60, per_gib=30)


class PodRecycler:
    def __init__(self, client: Client, deadline: Deadline) -> None:
        self._client = client
        self._deadline = deadline

    async def recycle(self, volume: Volume, tell: Tell) -> None:
        """Run the pod to its end; it is deleted in any case. Raises: PluginError."""
        document = recycler_pod(volume, self._deadline.seconds(volume))
        key = Key(NAMESPACE, document["metadata"]["name"])
        scope = Scope(namespace=NAMESPACE, fields=f"metadata.name={key.name}")
        version = (await self._client.list(Pod, scope)).version
        async with self._client.watch(Pod, version, scope) as changes:
            pod = await self._create(document, key)
            mirror = asyncio.create_task(self._mirror(key, version, tell))
            try:
                await _wait_for_end(changes)
            except PluginError as error:
                raise PluginError(f"failed to recycle volume: {error}") from error
            finally:
                mirror.cancel()
                await asyncio.wait({mirror})
                await self._delete(pod)

    async def _create(self, document: Doc, key: Key) -> Pod:
        try:
            return await self._client.create(Pod, document)
        except AlreadyExists:
            await self._delete(await self._client.get(Pod, key))
            raise PluginError("old recycler pod found, will retry later") from None
        except (ApiError, ConnectionLost) as error:
            raise PluginError(f"unexpected error creating recycler pod:  {error}") from error

    async def _delete(self, pod: Pod) -> None:
        try:
            await self._client.delete(pod)
        except NotFound:
            return
        except (ApiError, ConnectionLost) as error:
            raise PluginError(f"failed to delete recycler pod: {error}") from error

    async def _mirror(self, key: Key, version: str, tell: Tell) -> None:
        """Show on the volume what happens to the pod, as long as that can be seen."""
        scope = Scope(namespace=key.namespace, fields=f"involvedObject.name={key.name}")
        try:
            async with self._client.watch(Event, version, scope) as changes:
                async for change in changes:
                    if change.type is ChangeType.ADDED:
                        warns = change.object.type == EventType.WARNING
                        kind = EventType.WARNING if warns else EventType.NORMAL
                        tell(kind, change.object.message)
        except (ApiError, ConnectionLost):
            return


async def _wait_for_end(changes: AsyncIterator[Change[Pod]]) -> None:
    async for change in changes:
        pod = change.object
        if change.type is ChangeType.BOOKMARK:
            continue
        if change.type is ChangeType.DELETED:
            raise PluginError("recycler pod was deleted")
        if pod.status.phase is PodPhase.SUCCEEDED:
            return
        if pod.status.phase is PodPhase.FAILED:
            raise PluginError(pod.status.message or "pod failed, pod.Status.Message unknown")
    raise PluginError("recycler pod watch channel had been closed")


def recycler_pod(volume: Volume, seconds: int) -> Doc:
    source: Doc = {}
    if volume.spec.nfs is not None:
        source["nfs"] = msgspec.to_builtins(volume.spec.nfs)
    elif volume.spec.host_path is not None:
        source["hostPath"] = {"path": volume.spec.host_path.path}
    return {
        "metadata": {"name": f"recycler-for-{volume.name}", "namespace": NAMESPACE},
        "spec": {
            "activeDeadlineSeconds": seconds,
            "restartPolicy": "Never",
            "volumes": [{"name": "vol", **source}],
            "containers": [
                {
                    "name": "pv-recycler",
                    "image": IMAGE,
                    "command": ["/bin/sh"],
                    "args": ["-c", SCRUB],
                    "volumeMounts": [{"name": "vol", "mountPath": "/scrub"}],
                }
            ],
        },
    }
