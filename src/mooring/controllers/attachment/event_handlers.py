"""What wakes the AttachDetach controller: pods, claims and volumes say what is wanted where,
attachments and nodes how far it is.

Nothing is taken in before all informers are synced: a pod that has not arrived yet must not lose
its volume.
"""

from collections.abc import Callable
from typing import Final

from mooring.client.contract import T
from mooring.controllers.attachment.actual import Act, Actual, Memory
from mooring.controllers.attachment.caches import Informers
from mooring.controllers.attachment.departures import Departures
from mooring.controllers.attachment.desired import Desired
from mooring.controllers.attachment.flex import FlexAttachments
from mooring.controllers.attachment.rebuild import find_owner
from mooring.controllers.attachment.resolve import (
    AttachableVolume,
    NoCsi,
    NotAttached,
    NotKnown,
    Resolved,
    needs_attaching,
    resolve_claimed,
    resolve_inline,
)
from mooring.controllers.attachment.status import NodeReports
from mooring.model.attachment import Attachment, AttachmentStatus
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.volume import Volume
from mooring.plugins.csi.attachment_name import find_csi_name
from mooring.plugins.csi.attachment_wait import NotYet, judge_attach
from mooring.reconcile.informer import Informer
from mooring.reconcile.pods_by_claim import index_by_claim, pods_using
from mooring.reconcile.poison import shielded
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.reflector import AT_ONCE
from mooring.reconcile.turn import Turn

_BY_VOLUME: Final = "attachments by volume"


class AttachDetachEventHandlers:
    def __init__(
        self,
        known: Informers,
        queue: KeyedQueue[Key],
        desired: Desired,
        actual: Actual,
        reports: NodeReports,
        departures: Departures,
        flex: FlexAttachments,
    ) -> None:
        self._known = known
        self._queue = queue
        self._desired = desired
        self._actual = actual
        self._reports = reports
        self._departures = departures
        self._flex = flex
        self._has_begun = False

    def listen(self) -> None:
        """Before `begin`, changes are left to it."""
        known = self._known
        index_by_claim(known.pods)
        known.attachments.add_index(_BY_VOLUME, _volume_of_attachment)
        known.pods.on_change(self._on_pod)
        known.nodes.on_change(self._on_node)
        known.claims.on_change(self._on_claim)
        known.volumes.on_change(self._on_volume)
        known.drivers.on_change(self._on_driver)
        known.attachments.on_change(self._on_attachment)

    async def begin(self) -> None:
        """All is known that was there: take it in. Changes are heard from the first moment on.

        Nothing may be decided before this returns: much of it waits for its slice, so that a large
        cluster does not hold up the event loop.
        """
        self._has_begun = True
        await _in_slices(self._known.nodes, self._meet)
        await _in_slices(self._known.attachments, self._on_attachment)
        await _in_slices(self._known.pods, self._on_pod)

    def _wake(self, volume: str) -> None:
        self._queue.add(Key("", volume))

    def _meet(self, _: Node | None, node: Node | None) -> None:
        if node is not None and not self._reports.serves(node.name):  # else it changed just now
            self._take_over(node)

    def _take_over(self, node: Node) -> None:
        """What others have put on the node's list before us."""
        for name in self._flex.take_over(node):
            self._actual.use(self._actual.learn(name, node.name))
            self._wake(name.unique)
        for volume in self._reports.take_over(node):
            if (csi := find_csi_name(volume)) is not None:
                self._actual.use(self._actual.learn(csi, node.name))
                self._wake(volume)
        for volume in node.status.volumes_in_use:  # may have been taken off the list already
            csi = find_csi_name(volume)
            if csi is not None and csi.is_in_tree:
                self._actual.learn(csi, node.name)
                self._wake(volume)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        if not self._has_begun:
            return
        if after is None:
            if before is not None:
                self._desired.drop(before.uid)
        elif not after.is_scheduled:
            pass
        elif after.is_terminated:
            self._desired.drop(after.uid)
        elif before is None or not before.is_scheduled or before.is_terminated:
            self._want(after)

    def _on_claim(self, before: Claim | None, after: Claim | None) -> None:
        if after is None or not self._has_begun:
            return
        if before is None or _binding(before) != _binding(after):
            self._want_all(after.key)

    def _on_volume(self, before: Volume | None, after: Volume | None) -> None:
        """Pods whose claim came first, and attachments whose volume comes second."""
        if after is None or not self._has_begun:
            return
        if before is not None and before.spec == after.spec:
            return
        if after.spec.claim_ref is not None:
            self._want_all(after.spec.claim_ref.key)
        for attachment in self._known.attachments.by_index(_BY_VOLUME, after.name):
            self._on_attachment(None, attachment)

    def _on_driver(self, before: CsiDriver | None, after: CsiDriver | None) -> None:
        if self._has_begun and needs_attaching(before) != needs_attaching(after):
            for pod in list(self._desired.pods()):
                self._want(pod)

    def on_flex_driver(self, _: str) -> None:
        """It has come, changed or gone; which volumes it serves is known only by asking again."""
        for pod in self._known.pods.all() if self._has_begun else ():
            if pod.is_scheduled and not pod.is_terminated:
                self._want(pod)

    def _on_attachment(self, before: Attachment | None, after: Attachment | None) -> None:
        attachment = before if after is None else after
        if attachment is None or not self._has_begun:
            return
        where = self._actual.find_by_attachment(attachment.name)
        if where is None:
            volume = self._known.volumes.get(Key("", attachment.volume_name))
            csi = find_owner(attachment, volume)
            if csi is None:
                return
            where = self._actual.learn(csi, attachment.spec.node_name)
        if after is None or _tells(before, after, self._actual.memory(where)):
            self._wake(where.volume)

    def _on_node(self, before: Node | None, after: Node | None) -> None:
        if not self._has_begun:
            return
        if after is not None:
            if not self._reports.serves(after.name):
                self._take_over(after)
            if after.is_ready:
                self._departures.forget(after.name)
            self._reports.check(after)
        elif before is not None:
            self._departures.note(before, has_missed=self._known.nodes.is_catching_up)
            self._reports.gone(before.name)
        if before is None or after is None or _standing(before) != _standing(after):
            node = before if after is None else after
            for volume in list(self._actual.volumes_on("" if node is None else node.name)):
                self._wake(volume)
            return
        was, now = before.status.volumes_in_use, after.status.volumes_in_use
        if was != now:
            here = self._actual.volumes_on(after.name)
            for volume in {*was} ^ {*now}:
                if volume in here:
                    self._wake(volume)

    # what pods want

    def _want_all(self, claim: Key) -> None:
        for pod in pods_using(self._known.pods, claim):
            if pod.is_scheduled and not pod.is_terminated:
                self._want(pod)

    def _want(self, pod: Pod) -> None:
        found = {outer.name: self._resolve(pod, outer) for outer in pod.spec.volumes}
        if not all(isinstance(one, NoCsi) for one in found.values()):
            self._desired.want(pod, found)

    def _resolve(self, pod: Pod, outer: PodVolume) -> Resolved:
        claim_name = pod.find_claim_name(outer)
        if claim_name is None:
            found: Resolved = resolve_inline(outer, pod.namespace)
        else:
            claim = self._known.claims.get(Key(pod.namespace, claim_name))
            named = "" if claim is None else claim.spec.volume_name
            volume = self._known.volumes.get(Key("", named))
            found = resolve_claimed(pod, outer, claim, volume)
        if isinstance(found, AttachableVolume) and found.flex is not None:
            attaches = self._flex.attaches(found.csi.driver)
            if attaches is None:
                return NotKnown()
            return found if attaches else NoCsi()
        if isinstance(found, AttachableVolume):
            driver = self._known.drivers.get(Key("", found.csi.driver))
            if not needs_attaching(driver):
                return NotAttached(found.csi.driver)
        return found


async def _in_slices(informer: Informer[T], hear: Callable[[T | None, T | None], None]) -> None:
    """Have every object heard of, as it is when its turn comes."""
    for number, key in enumerate([each.key for each in informer.all()], 1):
        if (now := informer.get(key)) is not None:
            shielded(key, hear, None, now)
        if number % AT_ONCE == 0:
            await Turn()


def _volume_of_attachment(attachment: Attachment) -> tuple[str, ...]:
    return (attachment.volume_name,) if attachment.volume_name else ()


def _tells(before: Attachment | None, after: Attachment, memory: Memory) -> bool:
    """Whether a change of an attachment is news; our own creation of it is not."""
    if before is not None:
        return _answer(before) != _answer(after)
    attempt = memory.attempt
    is_asked = attempt is not None and attempt.act is Act.ATTACH
    return not is_asked or not isinstance(judge_attach(after), NotYet)


def _answer(attachment: Attachment) -> tuple[bool, AttachmentStatus]:
    return attachment.is_deleting, attachment.status


def _binding(claim: Claim) -> tuple[str, str]:
    return claim.status.phase.value, claim.spec.volume_name


def _standing(node: Node) -> tuple[bool, bool, bool]:
    """What of a node decides whether volumes come to it, and are taken from it."""
    return node.is_ready, node.is_out_of_service, node.leaves_attaching_to_controller
