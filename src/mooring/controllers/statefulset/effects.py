"""Carrying out plans for stateful sets: claims and pods are written, with events."""

from typing import assert_never

import msgspec

from mooring import log
from mooring.client.contract import Client, Part
from mooring.controllers.owned_pods.effects import PodEffects, PodWords
from mooring.controllers.owned_pods.plan import Adopt, CreatePods, DeletePod, Release
from mooring.controllers.revisions.effects import RevisionEffects
from mooring.controllers.revisions.plan import (
    AdoptRevision,
    CreateRevision,
    DeleteRevision,
    RaiseRevision,
)
from mooring.controllers.statefulset.informers import Informers
from mooring.controllers.statefulset.plan import (
    CreateClaim,
    GrowClaim,
    LabelPod,
    Plan,
    Reason,
    SaveStatus,
    SetClaimOwners,
    Step,
)
from mooring.errors import ApiError, Conflict, NotFound
from mooring.model.claim import Claim
from mooring.model.event import EventType
from mooring.model.pod_owner import PodOwner
from mooring.model.stateful_set import StatefulSet, StatefulSetStatus
from mooring.model.steps import Emit
from mooring.reconcile.apply import apply
from mooring.reconcile.recorder import Recorder, reference_to

_log = log.get("mooring.statefulset")


class StatefulSetWords(PodWords):
    def created(self, owner: PodOwner, pod: str) -> str:
        return f"Create Pod {pod} in StatefulSet {owner.name} successful"

    def not_created(self, owner: PodOwner, pod: str, error: ApiError) -> str:
        return f"Create Pod {pod} in StatefulSet {owner.name} failed error: {error}"

    def deleted(self, owner: PodOwner, pod: str) -> str:
        return f"Delete Pod {pod} in StatefulSet {owner.name} successful"

    def not_deleted(self, owner: PodOwner, pod: str, error: ApiError) -> str:
        return f"Delete Pod {pod} in StatefulSet {owner.name} failed error: {error}"


class Effects:
    def __init__(self, client: Client, recorder: Recorder, informers: Informers) -> None:
        self._client = client
        self._recorder = recorder
        self._informers = informers
        self._pods = PodEffects(client, recorder, informers.pods, StatefulSetWords())
        self._revisions = RevisionEffects(client, informers.revisions)

    @property
    def doomed(self) -> frozenset[str]:
        """The uids of pods whose deletion was asked for, though that is not seen yet."""
        return frozenset(self._pods.doomed)

    async def perform(self, plan: Plan) -> None:
        """In order, up to the first step that fails.

        Raises: what the API said; try again later.
        """
        for step in plan.steps:
            if not await self._step(step):
                return

    async def _step(self, step: Step) -> bool:
        """Whether there is any point in going on."""
        match step:
            case Adopt() | Release() | CreatePods() | DeletePod():
                return await self._pods.perform(step)
            case CreateRevision() | RaiseRevision() | AdoptRevision() | DeleteRevision():
                await self._revisions.perform(step)
            case SaveStatus(seen, status):
                written = {"status": _written(seen.status, status)}
                saved = await self._client.patch(seen, written, Part.STATUS)
                self._informers.sets.fold(saved)
            case CreateClaim():
                await self._create_claim(step)
            case SetClaimOwners():
                await self._set_owners(step)
            case GrowClaim():
                await self._grow(step)
            case LabelPod():
                await self._label(step)
            case Emit():
                apply(step, self._recorder)
            case other:
                assert_never(other)
        return True

    async def _create_claim(self, step: CreateClaim) -> None:
        set_, name = step.set, step.document["metadata"]["name"]
        try:
            made = await self._client.create(Claim, step.document)
        except ApiError as error:
            where = f"Claim {name} for Pod {step.pod_name} in StatefulSet {set_.name}"
            self._warn(set_, Reason.FAILED_CREATE, f"Create {where} failed error: {error}")
            raise
        self._informers.claims.fold(made)
        said = f"Create Claim {name} Pod {step.pod_name} in StatefulSet {set_.name} success"
        self._record(set_, "SuccessfulCreate", said)
        _log.info("claim made", claim=made.key, stateful_set=set_.name)

    async def _set_owners(self, step: SetClaimOwners) -> None:
        """The set is asked for first: a claim is not handed to a pod because a cache is late."""
        await self._check_unchanged(step.set)
        change = {"metadata": {"ownerReferences": list(step.owners)}}
        try:
            self._informers.claims.fold(await self._client.patch(step.claim, change))
        except NotFound:
            return
        _log.info("owners of a claim set", claim=step.claim.key, stateful_set=step.set.name)

    async def _grow(self, step: GrowClaim) -> None:
        set_, claim = step.set, step.claim
        await self._check_unchanged(set_)
        change = {"spec": {"resources": {"requests": {"storage": step.storage}}}}
        try:
            self._informers.claims.fold(await self._client.patch(claim, change))
        except NotFound:
            return
        except Conflict:
            raise
        except ApiError as error:
            self._warn(set_, Reason.REFUSED, f"Claim {claim.name} cannot grow: {error}")
            raise
        before = claim.spec.resources.requests.get("storage", "0")
        said = f"Claim {claim.name} grows from {before} to {step.storage}"
        self._record(set_, Reason.GROWING, said)

    async def _label(self, step: LabelPod) -> None:
        set_, name = step.set, step.pod.name
        try:
            change = {"metadata": {"labels": step.labels}}
            self._informers.pods.fold(await self._client.patch(step.pod, change))
        except NotFound:
            return
        self._record(
            set_, "SuccessfulUpdate", f"Update Pod {name} in StatefulSet {set_.name} successful"
        )

    async def _check_unchanged(self, seen: StatefulSet) -> None:
        """Raises: Conflict when the set is gone, going, or wants something else by now."""
        try:
            live = await self._client.get(StatefulSet, seen.key)
        except NotFound as error:
            raise Conflict(f"StatefulSet {seen.key} is gone") from error
        is_same = live.uid == seen.uid and live.metadata.generation == seen.metadata.generation
        if not is_same or live.is_deleting:
            raise Conflict(f"StatefulSet {seen.key} has changed")

    def _record(self, about: StatefulSet, reason: str, message: str) -> None:
        self._recorder.record(reference_to(about), EventType.NORMAL.value, reason, message)

    def _warn(self, about: StatefulSet, reason: str, message: str) -> None:
        self._recorder.record(reference_to(about), EventType.WARNING.value, reason, message)


def _written(seen: StatefulSetStatus, wanted: StatefulSetStatus) -> dict[str, object]:
    """The whole status: a merge has to say what became zero or went away, or it would stay."""
    said: dict[str, object] = msgspec.to_builtins(wanted)
    gone = msgspec.to_builtins(seen).items()
    return said | {k: 0 if isinstance(v, int) else None for k, v in gone if k not in said}
