"""Making a claim this node's: it is asked whether it has the room, then named as selected."""

from mooring import log
from mooring.csi.capability import ControllerCapability
from mooring.csi.outcome import Done
from mooring.errors import Conflict
from mooring.model.claim import Claim
from mooring.model.storage_class import StorageClass
from mooring.model.wellknown import Annotation
from mooring.reconcile.worker import Again, Settled, Verdict
from mooring.sidecars.provisioner.context import ProvisionerContext
from mooring.sidecars.provisioner.effects.preparing import in_driver_terms
from mooring.sidecars.provisioner.parameters import for_driver
from mooring.sidecars.provisioner.waiting_reason import WaitingReason

_log = log.get("mooring.provisioner")


class Owning:
    def __init__(self, context: ProvisionerContext) -> None:
        self._client = context.client
        self._driver = context.driver
        self._options = context.options
        self._caches = context.caches
        self._turns = context.turns

    async def become_owner(self, claim: Claim, storage_class: StorageClass) -> Verdict:
        """Raises: ApiError but no Conflict, ConnectionLost."""
        if not await self._has_room(claim, storage_class):
            _log.info("no room here for a claim", claim=claim.key, node=self._driver.node_name)
            return Again(self._turns.missed(claim.uid))
        selected = {"annotations": {Annotation.SELECTED_NODE: self._driver.node_name}}
        try:
            written = await self._client.patch(claim, {"metadata": selected})
        except Conflict:  # another node was first, or somebody else wrote: the watch will say
            return Again(self._turns.missed(claim.uid))
        self._caches.claims.fold(written)
        return Settled()

    async def _has_room(self, claim: Claim, storage_class: StorageClass) -> bool:
        """In doubt yes: then the claim hears of what is wrong when its volume is made."""
        if not self._driver.abilities.can(ControllerCapability.GET_CAPACITY):
            return True
        try:
            parameters = for_driver(in_driver_terms(storage_class).parameters)
        except WaitingReason:
            return True
        outcome = await self._driver.calls.get_capacity(
            parameters=parameters, topology=self._driver.place, within=self._options.call_seconds
        )
        if not isinstance(outcome, Done):
            return True
        room, wanted = outcome.value, claim.requested.bytes_ceil()
        largest = room.maximum_volume_bytes
        return wanted <= room.available_bytes and (largest is None or wanted <= largest)
