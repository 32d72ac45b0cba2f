"""Provisioning, in this order: record the intent, CreateVolume, create the PersistentVolume."""

from collections.abc import Callable
from typing import assert_never

from mooring import log
from mooring.csi.volume import Volume as Made
from mooring.errors import AlreadyExists
from mooring.model.claim import Claim
from mooring.model.csi_translation.contract import TranslationError
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.steps import Emit, Fail
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation, Finalizer
from mooring.reconcile.apply import NotNow, apply
from mooring.reconcile.worker import Again, Settled, Verdict
from mooring.sidecars.finalizers import adding, has_finalizer, removing
from mooring.sidecars.provisioner.context import ProvisionerContext
from mooring.sidecars.provisioner.decide import reply
from mooring.sidecars.provisioner.draft import Draft, volume_name
from mooring.sidecars.provisioner.effects.owning import Owning
from mooring.sidecars.provisioner.effects.preparing import Populated, Preparing
from mooring.sidecars.provisioner.effects.protecting import SourceProtection
from mooring.sidecars.provisioner.effects.settling import Settling
from mooring.sidecars.provisioner.memory import INFEASIBLE_SECONDS, Unsaved
from mooring.sidecars.provisioner.plan import (
    FAILED,
    INTENT,
    PROVISIONING,
    SUCCEEDED,
    BecomeOwner,
    ClaimPlan,
    ClaimStep,
    Close,
    Later,
    Provision,
    ReleaseSource,
    Settle,
)
from mooring.sidecars.provisioner.record import VolumeRequest, encode, find_request
from mooring.sidecars.provisioner.volume_document import document
from mooring.sidecars.provisioner.waiting_reason import Then, WaitingReason
from mooring.sidecars.writing import patch_newest

_log = log.get("mooring.provisioner")

POPULATED = "Assuming an external populator will provision the volume"


class ClaimEffects:
    def __init__(self, context: ProvisionerContext, preparing: Preparing) -> None:
        self._client = context.client
        self._clock = context.clock
        self._recorder = context.recorder
        self._driver = context.driver
        self._options = context.options
        self._caches = context.caches
        self._memory = context.memory
        self._metrics = context.metrics
        self._identity = context.identity
        self._preparing = preparing
        self._owning = Owning(context)
        self._settling = Settling(context, preparing)
        self._sources = SourceProtection(context.client, context.caches)

    async def perform(self, plan: ClaimPlan) -> Verdict:
        """Raises: ApiError, ConnectionLost, NotNow."""
        verdict: Verdict = Settled()
        for step in plan.steps:
            verdict = await self._perform(step)
        return verdict

    async def _perform(self, step: ClaimStep) -> Verdict:
        match step:
            case Provision(claim, storage_class):
                return await self._provision(claim, storage_class)
            case BecomeOwner(claim, storage_class):
                return await self._owning.become_owner(claim, storage_class)
            case Settle(claim, own_class):
                await self._settling.settle(claim, own_class or self._memory.classes.get(claim.uid))
                await self._close(claim)
                self._memory.forget(claim.uid)
            case Close(claim):
                await self._close(claim)
            case ReleaseSource(claim):
                await self._change(
                    claim, lambda newest: {"metadata": removing(newest, Finalizer.CLONE_SOURCE)}
                )
            case Later(seconds):
                return Again(seconds)
            case Emit() | Fail():
                apply(step, self._recorder)
            case other:
                assert_never(other)
        return Settled()

    # a volume for a claim

    async def _provision(self, claim: Claim, storage_class: StorageClass) -> Verdict:
        began = self._clock.monotonic()
        unsaved = self._memory.unsaved.get(claim.uid)
        if unsaved is None:
            words = f'External provisioner is provisioning volume for claim "{claim.key}"'
            self._emit(claim, EventType.NORMAL, PROVISIONING, words)
            answer = await self._ask(claim, storage_class)
            if not isinstance(answer, Unsaved):
                return answer
            unsaved = answer
        await self._save(claim, unsaved)
        self._metrics.provisioned(claim, self._clock.monotonic() - began)
        return Settled()

    async def _ask(self, claim: Claim, storage_class: StorageClass) -> Unsaved | Verdict:
        try:
            draft = await self._preparing.prepare(claim, storage_class)
        except Populated:
            self._emit(claim, EventType.NORMAL, PROVISIONING, POPULATED)
            return Settled()
        except WaitingReason as error:
            return await self._waits(claim, error)
        self._memory.waiting.discard(claim.uid)
        after_doubt = has_finalizer(claim, INTENT) or claim.uid in self._memory.open
        claim = await self._open(claim, draft)
        outcome = await self._driver.calls.create(draft.request, within=self._options.call_seconds)
        may_reschedule = self._driver.abilities.has_topology and bool(claim.selected_node)
        judged = reply.judge_reply(
            draft, outcome, may_reschedule=may_reschedule, after_doubt=after_doubt
        )
        if isinstance(judged, reply.Good):
            try:
                return self._remember(draft, judged.made)
            except TranslationError as error:
                why = f"failed to translate CSI PV to in-tree due to: {error}"
                judged = reply.Unfit(judged.made, f"{why}. Deleting provisioned PV")
        return await self._failed(claim, storage_class, draft, judged)

    async def _failed(
        self,
        claim: Claim,
        storage_class: StorageClass,
        draft: Draft,
        judged: reply.Unfit | reply.Never | reply.NotNow | reply.Elsewhere | reply.Maybe,
    ) -> Verdict:
        why = judged.why
        if isinstance(judged, reply.Unfit):
            left = await self._settling.clean_up(claim, judged.made, draft.request.secrets)
            if left:
                name = draft.request.name
                why = f"{why}. Cleanup of volume {name} failed, volume is orphaned: {left}"
        self._metrics.not_provisioned(claim)
        self._emit(claim, EventType.WARNING, FAILED, why)
        match judged:
            case reply.Never():
                self._memory.pause(claim.uid, storage_class.uid)
                await self._close(claim)
                return Again(INFEASIBLE_SECONDS)
            case reply.Elsewhere():
                await self._close(claim, {Annotation.SELECTED_NODE: None})
                return Settled()
            case reply.NotNow():
                await self._close(claim)
            case reply.Unfit() | reply.Maybe():
                pass  # the record stands: the driver has to be asked again
            case other:
                assert_never(other)
        raise NotNow(why)

    async def _waits(self, claim: Claim, error: WaitingReason) -> Verdict:
        """Nothing was asked of the driver now; what was asked before stands as it did."""
        self._metrics.not_provisioned(claim)
        self._emit(claim, EventType.WARNING, FAILED, str(error))
        if error.then is Then.RESCHEDULE and claim.selected_node:
            forget_node = {"metadata": {"annotations": {Annotation.SELECTED_NODE: None}}}
            await self._change(claim, lambda _: forget_node)
            return Settled()
        self._memory.waiting.add(claim.uid)
        raise NotNow(str(error))

    async def _save(self, claim: Claim, unsaved: Unsaved) -> None:
        """Create the PersistentVolume of a volume that exists; until then nothing else is tried."""
        try:
            written = await self._client.create(Volume, dict(unsaved.document))
            self._caches.volumes.fold(written)
        except AlreadyExists:
            pass  # created before; the response was lost
        self._memory.unsaved.pop(claim.uid, None)
        name = volume_name(claim)
        self._emit(claim, EventType.NORMAL, SUCCEEDED, f"Successfully provisioned volume {name}")
        _log.info("volume provisioned", claim=claim.key, volume=name)

    # the record of an intent

    async def _open(self, claim: Claim, draft: Draft) -> Claim:
        """Before the driver is asked: from here on a volume may exist."""
        if not has_finalizer(claim, INTENT) or find_request(claim) is None:
            claim = await self._client.patch(claim, {"metadata": self._recording(claim, draft)})
            self._caches.claims.fold(claim)
        self._memory.open[claim.uid] = claim
        self._memory.classes[claim.uid] = draft.storage_class
        self._memory.remember_topology(claim.uid, draft.request.topology)
        await self._sources.hold(claim)
        return claim

    def _recording(self, claim: Claim, draft: Draft) -> Doc:
        request = VolumeRequest(
            driver=self._driver.name,
            class_uid=draft.storage_class.uid,
            node=claim.selected_node,
            topology=draft.request.topology,
            secret=draft.references.provisioner,
        )
        held = {} if has_finalizer(claim, INTENT) else adding(claim, INTENT)
        return {**held, "annotations": {Annotation.VOLUME_REQUEST: encode(request)}}

    async def _close(self, claim: Claim, annotations: Doc | None = None) -> None:
        """Remove the finalizer and the record: no volume without a PersistentVolume exists."""
        await self._sources.let_go(claim)

        def change(newest: Claim) -> Doc:
            finalizers = removing(newest, INTENT) if has_finalizer(newest, INTENT) else {}
            noted = dict(annotations or {})
            if Annotation.VOLUME_REQUEST in newest.metadata.annotations:
                noted[Annotation.VOLUME_REQUEST] = None
            metadata = {**finalizers, **({"annotations": noted} if noted else {})}
            return {"metadata": metadata} if metadata else {}

        await self._change(claim, change)
        self._memory.settled(claim.uid)

    async def _change(self, claim: Claim, change: Callable[[Claim], Doc]) -> None:
        """Write what `change` says of the metadata. Raises: ApiError."""
        written = await patch_newest(self._client, claim, change)
        if written is not None:
            self._caches.claims.fold(written)

    def _remember(self, draft: Draft, made: Made) -> Unsaved:
        told = document(draft, made, self._driver, self._options, self._identity)
        unsaved = self._memory.unsaved[draft.claim.uid] = Unsaved(made.volume_id, told)
        return unsaved

    def _emit(self, claim: Claim, kind: EventType, reason: str, message: str) -> None:
        apply(Emit(claim, kind, reason, message), self._recorder)
