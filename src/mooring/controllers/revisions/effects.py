"""Carrying out steps about ControllerRevisions."""

from typing import assert_never

from mooring import log
from mooring.client.contract import Client, Part
from mooring.controllers.owned_pods.adoption import check_may_adopt
from mooring.controllers.owned_pods.ownership import references_with
from mooring.controllers.revisions.plan import (
    AdoptRevision,
    CreateRevision,
    DeleteRevision,
    RaiseRevision,
    RevisionStep,
)
from mooring.errors import AlreadyExists, Conflict, NotFound
from mooring.model.controller_revision import ControllerRevision
from mooring.model.keys import Key
from mooring.reconcile.informer import Informer

_log = log.get("mooring.revisions")


class RevisionEffects:
    def __init__(self, client: Client, revisions: Informer[ControllerRevision]) -> None:
        self._client = client
        self._revisions = revisions

    async def perform(self, step: RevisionStep) -> None:
        """Raises: what the API said; try again later."""
        match step:
            case CreateRevision():
                await self._create(step)
            case RaiseRevision(seen, number):
                await self._patch(seen, {"revision": number})
            case AdoptRevision(owner, seen):
                await check_may_adopt(self._client, owner)
                owners = references_with(seen, owner)
                await self._patch(seen, {"metadata": {"ownerReferences": owners}})
            case DeleteRevision(seen):
                try:
                    await self._client.delete(seen)
                except NotFound:
                    return
            case other:
                assert_never(other)

    async def _create(self, step: CreateRevision) -> None:
        owner = step.owner
        try:
            made = await self._client.create(ControllerRevision, step.document())
        except AlreadyExists:
            made = await self._client.get(ControllerRevision, Key(owner.namespace, step.name))
            controller = made.metadata.find_controller()
            is_own = controller is not None and controller.uid == owner.uid
            if not is_own or made.data != step.data:
                count = {"status": {"collisionCount": step.collisions + 1}}
                await self._client.patch(owner, count, Part.STATUS)
                raise Conflict(f"the name {step.name} is taken: another is tried") from None
        self._revisions.fold(made)
        _log.info("revision made", revision=made.key, kind=owner.resource.kind, owner=owner.name)

    async def _patch(self, seen: ControllerRevision, change: dict[str, object]) -> None:
        self._revisions.fold(await self._client.patch(seen, change))
