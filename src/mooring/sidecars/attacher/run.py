"""The attacher of one driver at work: attachments wake it, and what they wait for."""

import asyncio
from typing import Final

from mooring import log
from mooring.csi.capability import ControllerCapability
from mooring.csi.cause import because_of
from mooring.csi.outcome import Done
from mooring.model.attachment import Attachment
from mooring.model.backoff import Backoff
from mooring.model.csi_node import CsiNode
from mooring.model.csi_translation.contract import TranslationError
from mooring.model.csi_translation.translate import repair_handle
from mooring.model.keys import Key
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, lasting, serve
from mooring.sidecars.attacher.caches import BY_ATTACHER, BY_NODE, Caches
from mooring.sidecars.attacher.decide import decide_attachment, decide_volume
from mooring.sidecars.attacher.effects import Effects
from mooring.sidecars.attacher.plan import finalizer_of
from mooring.sidecars.attacher.view import AttachmentView, VolumeView, wakes
from mooring.sidecars.driver import Driver
from mooring.sidecars.finalizers import has_finalizer
from mooring.sidecars.indexes import BY_VOLUME
from mooring.sidecars.options import SidecarOptions
from mooring.sidecars.writing import ConflictBackoff

_log = log.get("mooring.attacher")

WORKERS = 100  # a driver that hangs in one call must not hold up the others
VOLUME_WORKERS = 10
CALL_SECONDS = 15.0
COMPARE_SECONDS = 60.0
RETRY: Final = Backoff(first=1.0, cap=300.0)


def watch(loops: Loops, _options: SidecarOptions) -> None:
    """Ask for all informers that attachers share."""
    Caches(loops)


def build(loops: Loops, driver: Driver, options: SidecarOptions) -> "Attacher":
    """The attacher of one driver."""
    fs_type = options.provisioner.default_fs_type
    attacher = Attacher(loops, driver, Caches(loops), fs_type)
    queues = {
        f"{driver.name}/attachments": attacher.queue,
        f"{driver.name}/attached_volumes": attacher.volumes_queue,
    }
    loops.add(attacher.run, queues)
    return attacher


class Attacher:
    """Serves one driver while `run` runs."""

    def __init__(
        self, loops: Loops, driver: Driver, caches: Caches, default_fs_type: str = ""
    ) -> None:
        client, clock = loops.client, loops.clock
        self.queue: KeyedQueue[Key] = KeyedQueue(clock, RETRY)
        self.volumes_queue: KeyedQueue[Key] = KeyedQueue(clock, RETRY)
        self._clock = clock
        self._driver = driver
        self._caches = caches
        self._default_fs_type = default_fs_type
        self._doubted: set[Key] = set()
        self._outruns = ConflictBackoff()
        attachments, volumes = caches.attachments, caches.volumes
        self._effects = Effects(client, clock, driver, attachments, volumes, CALL_SECONDS)

    async def run(self) -> None:
        await self._caches.synced()
        self._caches.attachments.on_change(self._on_attachment)
        self._caches.volumes.on_change(self._on_volume)
        self._caches.csi_nodes.on_change(self._on_csi_node)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(WORKERS):
                tasks.create_task(serve(self.queue, self.reconcile))
            for _ in range(VOLUME_WORKERS):
                tasks.create_task(serve(self.volumes_queue, self.reconcile_volume))
            if self._can_compare:
                tasks.create_task(lasting("comparing", self._clock, self._compare_for_ever))

    async def reconcile(self, key: Key) -> Verdict:
        attachment = self._caches.attachments.get(key)
        if attachment is None:
            self._doubted.discard(key)
            return Settled()
        view = AttachmentView(
            driver=self._driver.name,
            abilities=self._driver.abilities,
            attachment=attachment,
            volume=self._caches.volumes.get(Key("", attachment.volume_name)),
            csi_node=self._caches.csi_nodes.get(Key("", attachment.spec.node_name)),
            is_doubted=key in self._doubted,
            default_fs_type=self._default_fs_type,
            is_here=self._driver.reaches_node(attachment.spec.node_name),
        )
        performed = self._effects.perform(decide_attachment(view))
        with because_of(attachment):
            verdict = await self._outruns.look_again(key, performed)
        if view.is_doubted and verdict == Settled():
            self._doubted.discard(key)  # not before: it may have to wait for its node
        return verdict

    async def reconcile_volume(self, key: Key) -> Verdict:
        volume = self._caches.volumes.get(key)
        if volume is None:
            return Settled()
        attached = self._caches.attachments.by_index(BY_VOLUME, volume.name)
        is_here = self._driver.reaches(volume)
        view = VolumeView(self._driver.name, volume, bool(attached), is_here)
        performed = self._effects.perform(decide_volume(view))
        return await self._outruns.look_again((Volume, key), performed)

    # what wakes it

    def _on_attachment(self, before: Attachment | None, after: Attachment | None) -> None:
        attachment = after or before
        if attachment is None or not self._serves(attachment):
            return
        if after is None:
            self.volumes_queue.add(Key("", attachment.volume_name))
        elif wakes(before, after):
            self.queue.add(after.key)

    def _on_volume(self, before: Volume | None, after: Volume | None) -> None:
        if after is None:
            return
        if after.is_deleting and has_finalizer(after, finalizer_of(self._driver.name)):
            self.volumes_queue.add(after.key)
        if before is None:
            for attachment in self._caches.attachments.by_index(BY_VOLUME, after.name):
                self._wake(attachment)

    def _on_csi_node(self, before: CsiNode | None, after: CsiNode | None) -> None:
        name = self._driver.name
        if after is None or (before and before.find_driver(name) == after.find_driver(name)):
            return
        for attachment in self._caches.attachments.by_index(BY_NODE, after.name):
            self._wake(attachment)

    def _wake(self, attachment: Attachment) -> None:
        is_settled = attachment.is_attached and not attachment.is_deleting
        if self._serves(attachment) and (not is_settled or attachment.key in self._doubted):
            self.queue.add(attachment.key)

    def _serves(self, attachment: Attachment) -> bool:
        spec = attachment.spec
        return spec.attacher == self._driver.name and self._driver.reaches_node(spec.node_name)

    # comparing with what the driver lists

    @property
    def _can_compare(self) -> bool:
        abilities = self._driver.abilities
        return (
            abilities.attaches
            and abilities.can(ControllerCapability.LIST_VOLUMES)
            and abilities.can(ControllerCapability.LIST_VOLUMES_PUBLISHED_NODES)
        )

    async def _compare_for_ever(self) -> None:
        """Compare with the driver's list periodically: CSI does not report a foreign detach."""
        while True:
            await self._clock.sleep(COMPARE_SECONDS)
            await self.compare()

    async def compare(self) -> None:
        """Doubt every attachment that the driver's list contradicts; without any, ask nothing."""
        before = {
            attachment.key: (attachment.uid, attachment.is_attached)
            for attachment in self._caches.attachments.by_index(BY_ATTACHER, self._driver.name)
            if self._serves(attachment)
        }
        if not before:
            return
        listed = await self._driver.calls.list_all(within=CALL_SECONDS)
        if not isinstance(listed, Done):
            _log.warning("volumes not listed", driver=self._driver.name, because=listed.text)
            return
        published = {
            (state.volume.volume_id, node_id)
            for state in listed.value
            for node_id in state.published_node_ids
        }
        for attachment in self._caches.attachments.by_index(BY_ATTACHER, self._driver.name):
            if before.get(attachment.key) != (attachment.uid, attachment.is_attached):
                continue  # it changed while the list was on its way
            notes = attachment.metadata.annotations
            handle = notes.get(Annotation.HANDLE_AT_ATTACH)
            node = notes.get(Annotation.NODE_ID_AT_ATTACH)
            if not handle or not node:
                continue
            names = {(handle, node), (_in_full(self._driver.name, handle, node), node)}
            if names.isdisjoint(published) == attachment.is_attached:
                _log.warning("the driver contradicts an attachment", attachment=attachment.name)
                self._doubted.add(attachment.key)
                self.queue.add(attachment.key)


def _in_full(driver: str, handle: str, node_id: str) -> str:
    """As the driver lists it: the handle of an in-tree volume may lack what the node id says."""
    try:
        return repair_handle(driver, handle, node_id)
    except TranslationError:
        return handle
