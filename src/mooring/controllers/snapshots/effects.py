"""Carrying out plans: patches of what was decided about, and the gate before a deletion."""

from typing import TypeVar, assert_never

import msgspec

from mooring import log
from mooring.client.contract import Client, Part
from mooring.clock import Clock
from mooring.controllers.snapshots.decide.deletion import is_restored
from mooring.controllers.snapshots.informers import SnapshotInformers
from mooring.controllers.snapshots.names import points_back
from mooring.controllers.snapshots.plan import (
    AskServer,
    Change,
    ChangeStatus,
    Create,
    DeleteContent,
    DeleteMember,
    GroupReason,
    Owner,
    Plan,
    Reason,
    Write,
)
from mooring.controllers.snapshots.status import failed
from mooring.errors import AlreadyExists, ApiError, Conflict, NotFound
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.group_snapshot import GroupSnapshot
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.snapshot import DeletionPolicy, Snapshot, SnapshotContent
from mooring.model.steps import Emit
from mooring.model.timestamp import to_seconds
from mooring.reconcile.apply import NotNow, apply
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import PASSING

_log = log.get("mooring.snapshots")

T = TypeVar("T", bound=ApiObject)


class Effects:
    def __init__(
        self, client: Client, clock: Clock, recorder: Recorder, informers: SnapshotInformers
    ) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._informers = informers

    async def perform(self, plan: Plan) -> None:
        """Each write builds on the one before; the first that is refused ends it.

        Repeated: what exists is not made again. Raises: ApiError, ConnectionLost, NotNow.
        """
        newest: dict[tuple[str, Key], ApiObject] = {}
        for step in plan.steps:
            if isinstance(step, Emit):
                apply(step, self._recorder)
                continue
            try:
                await self._write(step, newest)
            except (Conflict, NotFound):
                raise  # written or deleted meanwhile: no event, only another look
            except ApiError as error:
                await self._report(step, error)
                raise
        if plan.steps:
            _log.info("snapshots written", steps=len(plan.steps), because=plan.because)

    async def _write(
        self, step: Write | AskServer, newest: dict[tuple[str, Key], ApiObject]
    ) -> None:
        match step:
            case Change(of):
                seen = _newest(of, newest)
                _keep(newest, await self._patch(seen, _main(step, seen), Part.MAIN))
            case ChangeStatus(of, status):
                seen = _newest(of, newest)
                _keep(newest, await self._patch(seen, {"status": status}, Part.STATUS))
            case Create(kind, doc):
                await self._create(kind, doc)
            case DeleteContent():
                await self._delete(step)
            case DeleteMember(snapshot):
                try:
                    await self._client.delete(snapshot)
                except NotFound:
                    _log.info("a member is gone already", snapshot=snapshot.key)
            case AskServer():
                raise ValueError("answer this first, then decide again")
            case other:
                assert_never(other)

    async def _patch(self, seen: ApiObject, change: Doc, part: Part) -> ApiObject:
        written = await self._client.patch(seen, change, part)
        self._informers.fold(written)
        return written

    async def _create(self, kind: type[T], doc: Doc) -> None:
        """What exists under its name is read; whether it is right is decided in the next pass."""
        try:
            made = await self._client.create(kind, doc)
        except AlreadyExists:
            metadata = doc["metadata"]
            made = await self._client.get(
                kind, Key(metadata.get("namespace", ""), metadata["name"])
            )
            self._informers.fold(made)
            raise NotNow(f"{made.key} exists already") from None
        self._informers.fold(made)

    async def _delete(self, step: DeleteContent) -> None:
        """Asks the server, not a cache, and waits for nothing between its answer and the deletion.

        Raises: NotNow when the live objects do not ask for it.
        """
        content, owner = step.content, step.owner
        alive = await self._client.get(type(owner), owner.key)
        self._informers.fold(alive)
        try:
            live = await self._client.get(type(content), content.key)
        except NotFound:
            return  # as it should be
        self._informers.fold(live)
        if why := _find_objection(step, live, alive):
            _log.warning("a content is not deleted", content=content.key, because=why)
            raise NotNow(why)
        _log.info("deleting a content", content=live.key, uid=live.uid, of=alive.key)
        try:
            await self._client.delete(live)
        except NotFound:
            return

    async def _report(self, step: Write | AskServer, error: ApiError) -> None:
        reported = _failure(step, error)
        if reported is None or isinstance(error, PASSING):
            return
        apply(reported, self._recorder)
        if not isinstance(step, Create):
            return
        now = to_seconds(self._clock.now())
        status = failed(step.owner, reported.message, now, is_unready=True)
        seen = self._informers.find(step.owner)
        if status and seen is not None:
            await self._patch(seen, {"status": status}, Part.STATUS)


def _newest(of: ApiObject, newest: dict[tuple[str, Key], ApiObject]) -> ApiObject:
    return newest.get((of.resource.kind, of.key), of)


def _keep(newest: dict[tuple[str, Key], ApiObject], written: ApiObject) -> None:
    newest[written.resource.kind, written.key] = written


def _main(step: Change, seen: ApiObject) -> Doc:
    """A merge patch: annotations that it does not name stay, whoever wrote them."""
    metadata: Doc = {}
    held = seen.metadata.finalizers
    if step.adds or step.removes:
        kept = [name for name in held if name not in step.removes]
        metadata["finalizers"] = [*kept, *(name for name in step.adds if name not in kept)]
    if step.annotations:
        metadata["annotations"] = dict(step.annotations)
    if step.owner is not None:
        owners = [msgspec.to_builtins(each) for each in seen.metadata.owner_references]
        metadata["ownerReferences"] = [*owners, owner_document(step.owner)]
    change: Doc = {"metadata": metadata} if metadata else {}
    if step.spec:
        change["spec"] = step.spec
    return change


def owner_document(owner: ApiObject) -> Doc:
    return {
        "apiVersion": owner.resource.api_version,
        "kind": owner.resource.kind,
        "name": owner.name,
        "uid": owner.uid,
    }


def _find_objection(step: DeleteContent, live: ApiObject, alive: ApiObject) -> str:
    """Which of the reasons to delete the content no longer holds; empty: all hold."""
    content, owner = step.content, step.owner
    if live.uid != content.uid or not isinstance(live, type(content)):
        return "another content has its name"
    if alive.uid != owner.uid or not alive.is_deleting:
        return "what it belongs to is not being deleted"
    if live.spec.deletion_policy is not DeletionPolicy.DELETE:
        return f"its policy is {live.spec.deletion_policy} now"
    if not points_back(live, alive):
        return "it belongs to another object now"
    if isinstance(alive, Snapshot) and is_restored(alive):
        return "a volume is being restored from it"
    return ""


def _failure(step: Write | AskServer, error: ApiError) -> Emit | None:
    match step:
        case Create(owner=owner):
            what = "group snapshot" if isinstance(owner, GroupSnapshot) else "snapshot"
            words = f"Error creating volume {what} content object for {what} {owner.key}: {error}."
            return _warn(owner, Reason.NOT_POSTED, GroupReason.NOT_POSTED, words)
        case ChangeStatus(of) if isinstance(of, Snapshot | GroupSnapshot):
            what = "GroupSnapshot" if isinstance(of, GroupSnapshot) else "Snapshot"
            words = f"{what} status update failed, {error}"
            return _warn(of, Reason.STATUS_FAILED, GroupReason.STATUS_FAILED, words)
        case Change(of) if isinstance(of, Snapshot | GroupSnapshot):
            what = "group snapshot" if isinstance(of, GroupSnapshot) else "snapshot"
            words = f"Failed to check and update {what}: {error}"
            return _warn(of, Reason.FINALIZER_FAILED, GroupReason.FINALIZER_FAILED, words)
        case DeleteContent(content=content, owner=owner):
            what = "snapshot" if isinstance(content, SnapshotContent) else "group snapshot"
            words = f"Failed to delete {what} content API object: {error}"
            return _warn(owner, Reason.DELETE_FAILED, GroupReason.DELETE_FAILED, words)
        case _:
            return None


def _warn(owner: Owner, reason: str, of_group: str, words: str) -> Emit:
    chosen = of_group if isinstance(owner, GroupSnapshot) else reason
    return Emit(owner, EventType.WARNING, chosen, words)
