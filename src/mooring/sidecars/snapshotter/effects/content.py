"""Carrying out what was decided about a VolumeSnapshotContent."""

from contextlib import suppress
from typing import Final, NoReturn, assert_never

import msgspec

from mooring import log
from mooring.csi.capability import ControllerCapability
from mooring.csi.outcome import Code, Done, Outcome, Refused, Uncertain
from mooring.csi.requests import ListSnapshots
from mooring.csi.secrets import Secrets
from mooring.csi.volume import Snapshot
from mooring.errors import NotFound
from mooring.model.backoff import Backoff
from mooring.model.keys import Key
from mooring.model.may_delete_snapshot import SnapshotOrder
from mooring.model.may_destroy import Stay
from mooring.model.snapshot import SnapshotContent
from mooring.model.wellknown import Annotation, Finalizer
from mooring.reconcile.apply import NotNow
from mooring.reconcile.live_gate import LiveGate
from mooring.reconcile.worker import Again, Settled, Verdict
from mooring.sidecars.one_by_one import OneByOne
from mooring.sidecars.snapshotter import plan as words
from mooring.sidecars.snapshotter.caches import BY_HANDLE, Handle
from mooring.sidecars.snapshotter.context import SnapshotterContext
from mooring.sidecars.snapshotter.decide.reply import (
    Foreign,
    Good,
    Unfit,
    is_proof,
    judge_snapshot,
    snapshot_status,
    unfit_status,
)
from mooring.sidecars.snapshotter.effects.writer import Words, Writer, quoted
from mooring.sidecars.snapshotter.plan import (
    Close,
    Create,
    CreateFails,
    Delete,
    DeleteFails,
    LookUp,
    MarkReady,
    Plan,
    Release,
    Step,
)

_log = log.get("mooring.snapshotter")

POLLS: Final = Backoff(first=1.0, cap=10.0)
"""How often a driver is asked whether a snapshot is ready by now."""

WORDS: Final = Words(
    finalizer=Finalizer.SNAPSHOT_CONTENT,
    being_created=Annotation.SNAPSHOT_BEING_CREATED,
    creation_failed=words.CREATION_FAILED,
    update_failed=words.UPDATE_FAILED,
    delete_failed=words.DELETE_FAILED,
    failed_to_create="Failed to create snapshot",
    failed_to_update="Failed to check and update snapshot content",
    cleared=dict.fromkeys(("snapshotHandle", "readyToUse", "creationTime", "restoreSize")),
)


class ContentEffects:
    def __init__(self, context: SnapshotterContext) -> None:
        self.unlisted: set[str] = set()  # by uid: the driver does not list their snapshots
        self._clock = context.clock
        self._driver = context.driver
        self._call_seconds = context.options.call_seconds
        self._contents = context.caches.contents
        self._gate = LiveGate(context.client)
        self._busy = OneByOne()
        self._polls: dict[str, int] = {}  # by uid: how often it was not ready
        self._writer: Writer[SnapshotContent] = Writer(
            context.client, context.clock, context.recorder, self._contents, WORDS
        )

    async def perform(self, content: SnapshotContent, plan: Plan) -> Verdict:
        """Raises: ApiError, ConnectionLost, NotNow."""
        verdict: Verdict = Settled()
        with suppress(NotFound):  # the object is gone, and the request with it
            for step in plan.steps:
                verdict = await self._perform(content, step)
        return verdict

    def forget(self, uid: str) -> None:
        self._polls.pop(uid, None)
        self.unlisted.discard(uid)

    async def _perform(self, content: SnapshotContent, step: Step) -> Verdict:
        match step:
            case Close():
                await self._writer.close(content)
            case Release():
                await self._writer.release(content)
            case CreateFails(message):
                await self._writer.create_fails(content, message)
            case DeleteFails(message):
                self._writer.delete_fails(content, message)
            case Create():
                return await self._create(content, step)
            case LookUp():
                return await self._look_up(content, step)
            case MarkReady(handle):
                await self._mark_ready(content, handle)
            case Delete():
                await self._delete(content, step)
            case other:
                assert_never(other)
        return Settled()

    # taking it

    async def _create(self, content: SnapshotContent, step: Create) -> Verdict:
        secrets = await self._writer.secrets_to_create(content, step.secret)
        request = msgspec.structs.replace(step.request, secrets=secrets)
        if step.record is not None:
            await self._writer.record(content, step.record)
        outcome = await self._driver.snapshots.create(request, within=self._call_seconds)
        if not isinstance(outcome, Done):
            return await self._not_created(content, step, outcome)
        told = outcome.value
        match judge_snapshot(content, told, self._find_twin(content, told.snapshot_id)):
            case Good():
                pass
            case Foreign(why):
                await self._writer.close(content)
                await self._writer.create_fails(content, why)
            case Unfit(why):
                kept = unfit_status(content, told, self._clock.now())
                await self._writer.say(content, kept)
                await self._writer.close(content)
                await self._writer.create_fails(content, why)
        await self._writer.say(content, snapshot_status(content, told, self._clock.now()))
        if told.ready_to_use or not step.is_repeated:
            await self._writer.close(content)
        _log.info("snapshot taken", content=content.name, handle=told.snapshot_id)
        return self._poll(content, told)

    async def _not_created(
        self, content: SnapshotContent, step: Create, failure: Refused | Uncertain
    ) -> NoReturn:
        """After a certain no, nothing is being created; else the record stands. Raises: NotNow."""
        after_doubt = content.is_being_created and not content.snapshot_handle
        if is_proof(failure, after_doubt=after_doubt):
            await self._writer.close(content)
        volume, text = step.request.source_volume_id, quoted(failure.text)
        await self._writer.create_fails(
            content, f"failed to take snapshot of the volume {volume}: {text}"
        )

    # asking about it

    async def _look_up(self, content: SnapshotContent, step: LookUp) -> Verdict:
        secrets = await self._writer.secrets_to_create(content, step.secret)
        outcome = await self._find(step.handle, secrets)
        if not isinstance(outcome, Done):
            why = f"failed to list snapshot {step.handle}: {quoted(outcome.text)}"
            await self._writer.create_fails(content, why)
        told = outcome.value
        if told is None:
            missing = f"can not find snapshot for snapshotID {step.handle}"
            if not content.is_static and not content.is_member:
                self.unlisted.add(content.uid)  # next, it is asked for by its name
                raise NotNow(missing)
            await self._writer.create_fails(content, missing)
        if isinstance(judged := judge_snapshot(content, told, ""), Foreign | Unfit):
            await self._writer.create_fails(content, judged.why)
        await self._writer.say(content, snapshot_status(content, told, self._clock.now()))
        return self._poll(content, told)

    async def _find(self, handle: str, secrets: Secrets) -> Outcome[Snapshot | None]:
        calls, within = self._driver.snapshots, self._call_seconds
        if self._driver.abilities.can(ControllerCapability.GET_SNAPSHOT):
            got = await calls.get(handle, secrets, within=within)
            if isinstance(got, Refused) and got.code is Code.NOT_FOUND:
                return Done(None)
            return Done(got.value) if isinstance(got, Done) else got
        which = ListSnapshots(snapshot_id=handle, secrets=secrets)
        listed = await calls.list_all(which, within=within)
        if not isinstance(listed, Done):
            return listed
        return Done(next((each for each in listed.value if each.snapshot_id == handle), None))

    async def _mark_ready(self, content: SnapshotContent, handle: str) -> None:
        now = self._clock.now()
        told = Snapshot(handle, "", now, 0, ready_to_use=True)
        await self._writer.say(content, snapshot_status(content, told, now))

    def _poll(self, content: SnapshotContent, told: Snapshot) -> Verdict:
        if told.ready_to_use:
            self.forget(content.uid)
            return Settled()
        times = self._polls[content.uid] = self._polls.get(content.uid, 0) + 1
        return Again(POLLS.delay(times))

    # deleting it

    async def _delete(self, content: SnapshotContent, step: Delete) -> None:
        secrets = await self._writer.secrets_to_delete(content, step.secret)
        order = SnapshotOrder(content, step.handle, Finalizer.SNAPSHOT_CONTENT)
        async with self._busy.alone(step.handle):
            verdict = await self._gate.snapshot(order, self._siblings(content, step.handle))
            if isinstance(verdict, Stay):
                if verdict.is_for_people:
                    why = f"Failed to delete snapshot: {verdict.because}"
                    self._writer.delete_fails(content, why)
                raise NotNow(verdict.because)
            outcome = await self._driver.snapshots.delete(
                step.handle, secrets, within=self._call_seconds
            )
        if not isinstance(outcome, Done):
            self._writer.delete_fails(content, f"Failed to delete snapshot: {outcome.text}")
        _log.info("snapshot deleted", content=content.name, handle=step.handle)
        await self._writer.clear(content)
        await self._writer.release(content)

    def _siblings(self, content: SnapshotContent, handle: str) -> list[Key]:
        """Other contents of the same snapshot, as far as the cache knows."""
        found = self._contents.by_index(BY_HANDLE, Handle(self._driver.name, handle))
        return [other.key for other in found if other.key != content.key]

    def _find_twin(self, content: SnapshotContent, handle: str) -> str:
        """Another content of the same snapshot; empty: there is none."""
        found = self._contents.by_index(BY_HANDLE, Handle(self._driver.name, handle))
        return next((other.name for other in found if other.uid != content.uid), "")
