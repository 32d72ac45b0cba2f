"""Wiping a volume by a pod that mounts it and removes everything in it."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from mooring.client.contract import Change, ChangeType, Client, Scope
from mooring.controllers.binding.effects.recycler_template import DEFAULT_TEMPLATE, recycler_pod
from mooring.errors import AlreadyExists, ApiError, ConnectionLost, NotFound
from mooring.model.document import Doc
from mooring.model.event import Event, EventType
from mooring.model.keys import Key
from mooring.model.pod import Pod, PodPhase
from mooring.model.volume import Volume
from mooring.plugins.contract import PluginError, TellRecycling

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
    def __init__(
        self, client: Client, deadline: Deadline, template: Doc = DEFAULT_TEMPLATE
    ) -> None:
        """`template` is what `load_template` gives, or the pod that upstream runs."""
        self._client = client
        self._deadline = deadline
        self._template = template

    async def recycle(self, volume: Volume, tell: TellRecycling) -> None:
        """Run the pod to its end; it is deleted in any case. Raises: PluginError."""
        document = recycler_pod(self._template, volume, self._deadline.seconds(volume))
        key = Key(document["metadata"]["namespace"], document["metadata"]["name"])
        scope = Scope(namespace=key.namespace, fields=f"metadata.name={key.name}")
        version = (await self._client.list(Pod, scope)).version
        async with self._client.watch(Pod, version, scope) as changes:
            pod = await self._create(document, key)
            mirror = asyncio.create_task(self._mirror(key, version, tell))
            try:
                await _wait_for_end(key.name, changes)
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
            await self._delete_old(key)
            raise PluginError("old recycler pod found, will retry later") from None
        except (ApiError, ConnectionLost) as error:
            raise PluginError(f"unexpected error creating recycler pod:  {error}") from error

    async def _delete_old(self, key: Key) -> None:
        """Delete a pod of that name, whether an old recycler or one made to block it."""
        try:
            await self._client.delete(await self._client.get(Pod, key))
        except NotFound:
            return
        except (ApiError, ConnectionLost) as error:
            raise PluginError(f"failed to delete old recycler pod {key}: {error}") from error

    async def _delete(self, pod: Pod) -> None:
        try:
            await self._client.delete(pod)
        except NotFound:
            return
        except (ApiError, ConnectionLost) as error:
            raise PluginError(f"failed to delete recycler pod: {error}") from error

    async def _mirror(self, key: Key, version: str, tell: TellRecycling) -> None:
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


async def _wait_for_end(name: str, changes: AsyncIterator[Change[Pod]]) -> None:
    async for change in changes:
        pod = change.object
        if change.type in (ChangeType.BOOKMARK, ChangeType.UNREADABLE):
            continue
        if change.type is ChangeType.DELETED:
            raise PluginError("recycler pod was deleted")
        if pod.status.phase is PodPhase.SUCCEEDED:
            return
        if pod.status.phase is PodPhase.FAILED:
            raise PluginError(pod.status.message or "pod failed, pod.Status.Message unknown")
    raise PluginError(f'recycler pod "{name}" watch channel had been closed')
