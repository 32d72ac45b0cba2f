"""Settling: unwanted volumes that may exist are found, and deleted unless an object uses them.

CreateVolume is repeated, as nearly as possible with the same request, to learn the volume's handle.
Parts of that request may be gone by now: the class, the node, the secret, the source. Then it is
sent without them; a volume that such a call creates is deleted like one that it finds.
"""

from mooring import log
from mooring.csi.outcome import Done
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.volume import Volume as Made
from mooring.model.claim import Claim
from mooring.model.event import EventType
from mooring.model.may_destroy import Go, Kept, Stay
from mooring.model.steps import Emit
from mooring.model.storage_class import StorageClass
from mooring.reconcile.apply import NotNow, apply
from mooring.reconcile.live_gate import LiveGate
from mooring.sidecars.provisioner.context import ProvisionerContext
from mooring.sidecars.provisioner.decide import reply
from mooring.sidecars.provisioner.effects.preparing import Preparing
from mooring.sidecars.provisioner.plan import FAILED
from mooring.sidecars.provisioner.waiting_reason import WaitingReason

_log = log.get("mooring.provisioner")

CLEANUP_TRIES = 5


class Settling:
    def __init__(self, context: ProvisionerContext, preparing: Preparing) -> None:
        self._gate = LiveGate(context.client)
        self._recorder = context.recorder
        self._driver = context.driver
        self._options = context.options
        self._memory = context.memory
        self._preparing = preparing

    async def settle(self, claim: Claim, storage_class: StorageClass | None) -> None:
        """After: no volume was left behind for the claim without a PersistentVolume.

        Raises: NotNow when that is not certain; ConnectionLost.
        """
        found = await self._find_made(claim, storage_class)
        if found is None:
            return
        volume_id, secrets = found
        match await self._gate.made((self._driver.name, volume_id), claim):
            case Stay(because):
                raise self._failure(claim, f"volume {volume_id} not deleted: {because}")
            case Kept(because, is_left_behind):
                if is_left_behind:
                    self._warn(claim, f"volume {volume_id} is left behind: {because}")
            case Go():
                await self._delete(claim, volume_id, secrets)

    async def clean_up(self, claim: Claim, made: Made, secrets: Secrets) -> str:
        """Delete a volume that is not as it was asked for; returns why it is still there."""
        verdict = await self._gate.made((self._driver.name, made.volume_id), claim)
        if not isinstance(verdict, Go):
            return verdict.because
        why = ""
        for _ in range(CLEANUP_TRIES):
            outcome = await self._driver.calls.delete(
                made.volume_id, secrets, within=self._options.call_seconds
            )
            if isinstance(outcome, Done):
                return ""
            why = outcome.text
        return why

    async def _delete(self, claim: Claim, volume_id: str, secrets: Secrets) -> None:
        outcome = await self._driver.calls.delete(
            volume_id, secrets, within=self._options.call_seconds
        )
        if not isinstance(outcome, Done):
            raise self._failure(claim, outcome.text)
        _log.info("volume of a deleted claim deleted", claim=claim.key, volume=volume_id)

    async def _find_made(
        self, claim: Claim, storage_class: StorageClass | None
    ) -> tuple[str, Secrets] | None:
        """The volume's id and the secrets to delete it with; None: there is none, for certain."""
        try:
            remade = await self._preparing.prepare_again(claim, storage_class)
        except WaitingReason as error:
            self._memory.waiting.add(claim.uid)
            raise self._failure(claim, str(error)) from error
        for gap in remade.gaps:
            self._warn(claim, f"a volume may exist for a claim that needs none; asking {gap}")
        draft = remade.draft
        self._memory.remember_topology(claim.uid, draft.request.topology)
        secrets = draft.request.secrets or NO_SECRETS
        unsaved = self._memory.unsaved.get(claim.uid)
        if unsaved is not None:
            return unsaved.volume_id, secrets
        outcome = await self._driver.calls.create(draft.request, within=self._options.call_seconds)
        match reply.judge_settling(draft, outcome, is_as_before=not remade.gaps):
            case reply.Good(made) | reply.Unfit(made):
                return made.volume_id, secrets
            case reply.Maybe(why):
                raise self._failure(claim, why)
            case reply.Never():
                return None

    def _failure(self, claim: Claim, why: str) -> NotNow:
        self._warn(claim, why)
        return NotNow(why)

    def _warn(self, claim: Claim, why: str) -> None:
        apply(Emit(claim, EventType.WARNING, FAILED, why), self._recorder)
