"""Carrying out what was decided about a VolumeGroupSnapshotContent."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, assert_never

import msgspec

from mooring import log
from mooring.csi.outcome import Done, Refused, Uncertain
from mooring.csi.requests import CreateGroupSnapshot, GroupMembers
from mooring.csi.secrets import Secrets
from mooring.csi.volume import GroupSnapshot
from mooring.errors import NotFound
from mooring.model.group_snapshot import GroupSnapshotContent
from mooring.model.keys import Key
from mooring.model.may_delete_snapshot import GroupSnapshotOrder
from mooring.model.may_destroy import Stay
from mooring.model.wellknown import Annotation, Finalizer
from mooring.reconcile.apply import NotNow
from mooring.reconcile.live_gate import LiveGate
from mooring.reconcile.worker import Again, Settled, Verdict
from mooring.sidecars.one_by_one import OneByOne
from mooring.sidecars.snapshotter import plan as words
from mooring.sidecars.snapshotter.caches import BY_HANDLE, GroupCaches, Handle
from mooring.sidecars.snapshotter.context import SnapshotterContext
from mooring.sidecars.snapshotter.decide.reply import (
    Foreign,
    Good,
    Unfit,
    group_status,
    is_proof,
    judge_group,
)
from mooring.sidecars.snapshotter.effects.content import POLLS
from mooring.sidecars.snapshotter.effects.writer import Words, Writer, quoted
from mooring.sidecars.snapshotter.plan import (
    Close,
    CreateFails,
    CreateGroup,
    DeleteFails,
    DeleteGroup,
    GroupPlan,
    GroupStep,
    LookUpGroup,
    Release,
)

_log = log.get("mooring.snapshotter")

WORDS: Final = Words(
    finalizer=Finalizer.GROUP_SNAPSHOT_CONTENT,
    being_created=Annotation.GROUP_SNAPSHOT_BEING_CREATED,
    creation_failed=words.GROUP_CREATION_FAILED,
    update_failed=words.GROUP_UPDATE_FAILED,
    delete_failed=words.GROUP_DELETE_FAILED,
    failed_to_create="Failed to create group snapshot",
    failed_to_update="Failed to check and update group snapshot content",
    cleared=dict.fromkeys(("volumeGroupSnapshotHandle", "readyToUse", "creationTime", "error")),
)


class GroupEffects:
    def __init__(self, context: SnapshotterContext, caches: GroupCaches) -> None:
        self._clock = context.clock
        self._driver = context.driver
        self._call_seconds = context.options.call_seconds
        self._groups = caches.contents
        self._contents = context.caches.contents
        self._gate = LiveGate(context.client)
        self._busy = OneByOne()
        self._polls: dict[str, int] = {}  # by uid: how often it was not ready
        self._writer: Writer[GroupSnapshotContent] = Writer(
            context.client, context.clock, context.recorder, caches.contents, WORDS
        )

    async def perform(self, content: GroupSnapshotContent, plan: GroupPlan) -> Verdict:
        """Raises: ApiError, ConnectionLost, NotNow."""
        verdict: Verdict = Settled()
        with suppress(NotFound):  # the object is gone, and the request with it
            for step in plan.steps:
                verdict = await self._perform(content, step)
        return verdict

    def forget(self, uid: str) -> None:
        self._polls.pop(uid, None)

    async def _perform(self, content: GroupSnapshotContent, step: GroupStep) -> Verdict:
        match step:
            case Close():
                await self._writer.close(content)
            case Release():
                await self._writer.release(content)
            case CreateFails(message):
                await self._writer.create_fails(content, message)
            case DeleteFails(message):
                self._writer.delete_fails(content, message)
            case CreateGroup():
                return await self._create(content, step)
            case LookUpGroup():
                return await self._look_up(content, step)
            case DeleteGroup():
                await self._delete(content, step)
            case other:
                assert_never(other)
        return Settled()

    # taking it

    async def _create(self, content: GroupSnapshotContent, step: CreateGroup) -> Verdict:
        secrets = await self._writer.secrets_to_create(content, step.secret)
        request = msgspec.structs.replace(step.request, secrets=secrets)
        if step.record is not None:
            await self._writer.record(content, step.record)
        outcome = await self._driver.groups.create(request, within=self._call_seconds)
        if isinstance(outcome, Refused | Uncertain):
            if is_proof(outcome, after_doubt=content.is_being_created):
                await self._writer.close(content)
            await self._writer.create_fails(content, _not_taken(request, outcome))
        told = outcome.value
        match judge_group(request, told, self._others(content, told)):
            case Good():
                pass
            case Foreign(why):
                await self._writer.close(content)
                await self._writer.create_fails(content, why)
            case Unfit(why):
                await self._undo(content, told, secrets, why)
        await self._writer.say(content, group_status(content, told, self._clock.now()))
        await self._writer.close(content)
        _log.info("group snapshot taken", content=content.name, handle=told.group_snapshot_id)
        return self._poll(content, told)

    async def _undo(
        self, content: GroupSnapshotContent, told: GroupSnapshot, secrets: Secrets, why: str
    ) -> None:
        """Delete what the driver made for this content and nobody has heard of: the record still
        stands, and while it does the group is asked for again. Raises: NotNow."""
        group = GroupMembers(
            told.group_snapshot_id, tuple(each.snapshot_id for each in told.snapshots)
        )
        outcome = await self._driver.groups.delete(group, secrets, within=self._call_seconds)
        if isinstance(outcome, Done):
            await self._writer.close(content)
        else:
            why = f"{why}; it is not deleted yet: {outcome.text}"
        await self._writer.create_fails(content, why)

    # asking about it

    async def _look_up(self, content: GroupSnapshotContent, step: LookUpGroup) -> Verdict:
        secrets = await self._writer.secrets_to_create(content, step.secret)
        outcome = await self._driver.groups.get(step.group, secrets, within=self._call_seconds)
        handle = step.group.group_snapshot_id
        if isinstance(outcome, Refused | Uncertain):
            why = f"failed to get group snapshot {handle}: {quoted(outcome.text)}"
            await self._writer.create_fails(content, why)
        told = outcome.value
        members = {each.snapshot_id for each in told.snapshots}
        if told.group_snapshot_id != handle or members != set(step.group.snapshot_ids):
            why = f"the driver answered with group {told.group_snapshot_id}"
            known = f"instead of {handle} with [{' '.join(step.group.snapshot_ids)}]"
            await self._writer.create_fails(
                content, f"{why} with [{' '.join(sorted(members))}] {known}"
            )
        await self._writer.say(content, group_status(content, told, self._clock.now()))
        return self._poll(content, told)

    def _poll(self, content: GroupSnapshotContent, told: GroupSnapshot) -> Verdict:
        if told.ready_to_use:
            self.forget(content.uid)
            return Settled()
        times = self._polls[content.uid] = self._polls.get(content.uid, 0) + 1
        return Again(POLLS.delay(times))

    # deleting it

    async def _delete(self, content: GroupSnapshotContent, step: DeleteGroup) -> None:
        secrets = await self._writer.secrets_to_delete(content, step.secret)
        handle = step.group.group_snapshot_id
        order = GroupSnapshotOrder(
            content, handle, step.group.snapshot_ids, Finalizer.GROUP_SNAPSHOT_CONTENT
        )
        async with self._busy.alone(handle):
            verdict = await self._gate.group_snapshot(order, self._siblings(content, handle))
            if isinstance(verdict, Stay):
                if verdict.is_for_people:
                    why = f"Failed to delete group snapshot: {verdict.because}"
                    self._writer.delete_fails(content, why)
                raise NotNow(verdict.because)
            outcome = await self._driver.groups.delete(
                step.group, secrets, within=self._call_seconds
            )
        if not isinstance(outcome, Done):
            self._writer.delete_fails(content, f"Failed to delete group snapshot: {outcome.text}")
        _log.info("group snapshot deleted", content=content.name, handle=handle)
        await self._writer.clear(content)
        await self._writer.release(content)

    def _siblings(self, content: GroupSnapshotContent, handle: str) -> list[Key]:
        found = self._groups.by_index(BY_HANDLE, Handle(self._driver.name, handle))
        return [other.key for other in found if other.key != content.key]

    def _others(self, content: GroupSnapshotContent, told: GroupSnapshot) -> Iterator[str]:
        """Contents that have the handle of the group, or of a member of it."""
        name = self._driver.name
        for group in self._groups.by_index(BY_HANDLE, Handle(name, told.group_snapshot_id)):
            if group.uid != content.uid:
                yield f"volumegroupsnapshotcontent {group.name}"
        for each in told.snapshots:
            for other in self._contents.by_index(BY_HANDLE, Handle(name, each.snapshot_id)):
                if not other.is_member:
                    yield f"volumesnapshotcontent {other.name}"


def _not_taken(request: CreateGroupSnapshot, failure: Refused | Uncertain) -> str:
    volumes = " ".join(request.source_volume_ids)
    return f"failed to take group snapshot of the volumes [{volumes}]: {quoted(failure.text)}"
