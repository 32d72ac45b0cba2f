"""Making a claim this node's: it is named as selected, if it has the room and the source."""

from mooring import log
from mooring.csi.capability import ControllerCapability
from mooring.csi.outcome import Done
from mooring.errors import ApiError, Conflict
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.snapshot import Snapshot, SnapshotContent
from mooring.model.storage_class import StorageClass
from mooring.model.wellknown import Annotation, Label
from mooring.reconcile.worker import Again, Settled, Verdict
from mooring.sidecars.provisioner.context import ProvisionerContext
from mooring.sidecars.provisioner.effects.preparing import in_driver_terms
from mooring.sidecars.provisioner.parameters import for_driver
from mooring.sidecars.provisioner.sources import SourceKind, find_source
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
        node = self._driver.node_name
        if not await self._has_source(claim):
            return Again(self._turns.missed(claim.uid))
        if not await self._has_room(claim, storage_class):
            _log.info("no room here for a claim", claim=claim.key, node=node)
            return Again(self._turns.missed(claim.uid))
        selected = {"annotations": {Annotation.SELECTED_NODE: node}}
        try:
            written = await self._client.patch(claim, {"metadata": selected})
        except Conflict:  # another node was first, or somebody else wrote: the watch will say
            return Again(self._turns.missed(claim.uid))
        self._caches.claims.fold(written)
        return Settled()

    async def _has_source(self, claim: Claim) -> bool:
        """Whether what it is to be filled from is here; in doubt yes, as of the room."""
        try:
            source = find_source(claim)
        except WaitingReason:
            return True
        if source is None or source.kind is SourceKind.OTHER:
            return True
        if source.kind is SourceKind.CLAIM:
            found = self._caches.claims.get(source.key)
            volume = self._caches.find_volume(found.spec.volume_name) if found else None
            return volume is None or self._driver.reaches(volume)
        try:
            snapshot = await self._client.get(Snapshot, source.key)
            content = await self._client.get(SnapshotContent, Key("", snapshot.content_name))
        except ApiError:
            return True
        labelled = content.metadata.labels.get(Label.SNAPSHOT_MANAGED_BY)
        return labelled in (None, self._driver.node_name)

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
