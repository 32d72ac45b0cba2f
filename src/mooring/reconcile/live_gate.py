"""The one gate before anything outside the API is destroyed: it asks the server, not a cache.

Every DeleteVolume, DeleteSnapshot, DeleteVolumeGroupSnapshot and ControllerUnpublishVolume, and
every removal of a volume's data passes through here as the last thing before the call. The objects
that the decision rests on are read anew, `model/may_destroy.py` and `model/may_delete_snapshot.py`
compare them with what was seen, and the log says what they were. What cannot be read is not
permission. Between the answer to the last read and the call nothing is waited
for; that moment is all that is left.
"""

from collections.abc import Iterable
from typing import TypeVar

from mooring import log
from mooring.client.contract import Client, T
from mooring.errors import ApiError, NotFound
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_node import CsiNode
from mooring.model.group_snapshot import GroupSnapshot, GroupSnapshotContent
from mooring.model.keys import Key
from mooring.model.may_delete_snapshot import (
    GroupSnapshotOrder,
    SnapshotOrder,
    may_delete_group_snapshot,
    may_delete_snapshot,
)
from mooring.model.may_destroy import (
    DetachOrder,
    Go,
    Handle,
    Kept,
    Shared,
    Stay,
    Verdict,
    VolumeOrder,
    may_delete_provisioned,
    may_delete_unsaved,
    may_destroy,
    may_detach,
    may_move,
)
from mooring.model.snapshot import Snapshot, SnapshotContent
from mooring.model.volume import Volume

_log = log.get("mooring.gate")

V = TypeVar("V", bound=Go | Stay | Kept | Shared)

MOST_SIBLINGS = 20  # attachments or volumes that share one handle; more are not read one by one
TOO_MANY = Stay("too many objects share its handle to look at each", is_for_people=True)


class LiveGate:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def volume(
        self, order: VolumeOrder, siblings: Iterable[Key] = ()
    ) -> tuple[Verdict, Volume | None]:
        """May what is behind the volume go? With the volume as it is now.

        `siblings` are other volumes that may stand for the same storage. Raises: ConnectionLost.
        """
        others = list(siblings)
        live: Volume | None = None
        try:
            if len(others) > MOST_SIBLINGS:
                return self._say("volume", order.volume.key, TOO_MANY), None
            found = [each for key in others if (each := await self._find(Volume, key))]
            reference = order.volume.spec.claim_ref
            claim = None if reference is None else await self._find(Claim, reference.key)
            live = await self._find(Volume, order.volume.key)
            verdict = may_destroy(order, live, claim, found)
        except ApiError as error:
            verdict = _unknown(error)
        return self._say("volume", order.volume.key, verdict), live

    async def made(self, handle: Handle, asked_for: Claim) -> Verdict | Kept:
        """May a volume go that a driver made, or may have made, for a claim without being asked to
        keep it? Every volume of the cluster is listed: not for what happens often.

        Raises: ConnectionLost.
        """
        verdict: Verdict | Kept
        try:
            claim = await self._find(Claim, asked_for.key)
            listing = await self._client.list(Volume)
            verdict = may_delete_provisioned(handle, asked_for, claim, listing.items)
        except ApiError as error:
            verdict = _unknown(error)
        return self._say("made for claim", asked_for.key, verdict)

    async def untold(self, made: Volume) -> Verdict | Kept:
        """May what a plugin made go, as the API would not take the volume? Every volume is listed.

        Raises: ConnectionLost.
        """
        verdict: Verdict | Kept
        try:
            verdict = may_delete_unsaved(made, (await self._client.list(Volume)).items)
        except ApiError as error:
            verdict = _unknown(error)
        return self._say("made here", made.key, verdict)

    async def detach(self, order: DetachOrder, siblings: Iterable[Key] = ()) -> Verdict | Shared:
        """May the volume be taken from the node, as its attachment is deleted?

        `siblings` are other attachments of the volume. Raises: ConnectionLost.
        """
        others = list(siblings)
        verdict: Verdict | Shared
        try:
            if len(others) > MOST_SIBLINGS:
                return self._say("attachment", order.attachment.key, TOO_MANY)
            found = [each for key in others if (each := await self._find(Attachment, key))]
            live = await self._find(Attachment, order.attachment.key)
            verdict = may_detach(order, live, found)
        except ApiError as error:
            verdict = _unknown(error)
        return self._say("attachment", order.attachment.key, verdict)

    async def snapshot(self, order: SnapshotOrder, siblings: Iterable[Key] = ()) -> Verdict:
        """May the snapshot be deleted from the storage system?

        `siblings` are other contents that may stand for it. Raises: ConnectionLost.
        """
        others, key = list(siblings), order.content.key
        try:
            if len(others) > MOST_SIBLINGS:
                return self._say("snapshot content", key, TOO_MANY)
            found = [each for other in others if (each := await self._find(SnapshotContent, other))]
            of = order.content.spec.volume_snapshot_ref.key
            snapshot = await self._find(Snapshot, of)
            live = await self._find(SnapshotContent, key)
            verdict = may_delete_snapshot(order, live, snapshot, found)
        except ApiError as error:
            verdict = _unknown(error)
        return self._say("snapshot content", key, verdict)

    async def group_snapshot(
        self, order: GroupSnapshotOrder, siblings: Iterable[Key] = ()
    ) -> Verdict:
        """As `snapshot`, of a group."""
        others, key, kind = list(siblings), order.content.key, GroupSnapshotContent
        try:
            if len(others) > MOST_SIBLINGS:
                return self._say("group snapshot content", key, TOO_MANY)
            found = [each for other in others if (each := await self._find(kind, other))]
            of = order.content.spec.volume_group_snapshot_ref.key
            snapshot = await self._find(GroupSnapshot, of)
            verdict = may_delete_group_snapshot(order, await self._find(kind, key), snapshot, found)
        except ApiError as error:
            verdict = _unknown(error)
        return self._say("group snapshot content", key, verdict)

    async def move(self, order: DetachOrder, node_id: str) -> Verdict:
        """May the volume be taken from a node that is called `node_id` by now, to be attached there
        again? Raises: ConnectionLost."""
        try:
            node = Key("", order.attachment.spec.node_name)
            csi_node = await self._find(CsiNode, node)
            live = await self._find(Attachment, order.attachment.key)
            verdict = may_move(order, live, csi_node, node_id)
        except ApiError as error:
            verdict = _unknown(error)
        return self._say("attachment", order.attachment.key, verdict)

    async def _find(self, kind: type[T], key: Key) -> T | None:
        try:
            return await self._client.get(kind, key)
        except NotFound:
            return None

    def _say(self, what: str, key: Key, verdict: V) -> V:
        match verdict:
            case Go(saw):
                _log.info("may be destroyed", what=what, key=key, saw=saw)
            case Stay(because):
                _log.warning("not destroyed", what=what, key=key, because=because)
            case Kept(because):
                _log.warning("kept by another", what=what, key=key, because=because)
            case Shared(by):
                _log.info("not detached: shared", what=what, key=key, by=by)
        return verdict


def _unknown(error: ApiError) -> Stay:
    return Stay(f"it could not be looked at: {error}", is_for_people=True)
