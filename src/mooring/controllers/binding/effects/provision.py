"""Provisioning a volume for a claim: by a plugin of this process, or an external provisioner."""

from typing import Any, NoReturn

import msgspec
from msgspec.structs import replace

from mooring.controllers.binding.context import BinderContext
from mooring.controllers.binding.decide.bind import YES, without
from mooring.controllers.binding.decide.explained import unregistered
from mooring.controllers.binding.effects.writes import Writes
from mooring.controllers.binding.metrics import PROVISION
from mooring.controllers.binding.plan import Provision, Reason
from mooring.errors import AlreadyExists, ApiError, ConnectionLost, MooringError, NotFound
from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.keys import Key
from mooring.model.may_destroy import Kept, Stay
from mooring.model.node import Node
from mooring.model.reference import ClaimRef
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation, Finalizer
from mooring.model.wire import read_document
from mooring.plugins.contract import Deleter, Order, PluginError, Provisioner
from mooring.reconcile.live_gate import LiveGate

TRIES = 5
PAUSE_SECONDS = 10.0


class ProvisionOperation:
    """The operation `provision-<claim>[<uid>]`."""

    def __init__(self, context: BinderContext) -> None:
        self._context = context
        self._client = context.client
        self._clock = context.clock
        self._caches = context.caches
        self._plugins = context.plugins
        self._metrics = context.metrics
        self._gate = LiveGate(context.client)

    async def run(self, order: Provision) -> None:
        """Raises: MooringError when it must be tried again."""
        claim = self._caches.claims.get(order.claim)
        storage_class = self._caches.classes.get(Key("", order.storage_class))
        if claim is None or claim.uid != order.uid or claim.spec.volume_name:
            return  # it is not needed any more
        if storage_class is None:
            return
        subject = str(claim.key)
        writes = Writes(self._context, claim.key)
        self._metrics.began(subject, order.provisioner, PROVISION)
        try:
            if order.plugin:
                await self._in_tree(order, claim, storage_class, writes)
            else:
                await self._external(order.provisioner, claim, writes)
        except MooringError:
            self._metrics.failed(subject, PROVISION)
            raise

    async def _external(self, provisioner: str, claim: Claim, writes: Writes) -> None:
        """The annotations are the request; the provisioner of that name makes the volume."""
        try:
            claim = await self._ask(provisioner, claim, writes)
        except (ApiError, ConnectionLost) as error:
            self._complain(claim, f"Error saving claim: {error}")
            raise
        message = (
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}'"
            " or manually by the system administrator. If volume creation is delayed, please verify"
            " that the provisioner is running and correctly registered."
        )
        registered = self._caches.registered_besides(provisioner)
        if registered is not None:
            message = f"{message} {unregistered(provisioner, registered)}"
        self._context.record(claim, EventType.NORMAL, Reason.EXTERNAL_PROVISIONING, message)

    async def _in_tree(
        self, order: Provision, claim: Claim, storage_class: StorageClass, writes: Writes
    ) -> None:
        if claim.spec.data_source is not None:
            self._refuse(
                claim,
                f'plugin "{order.plugin}" is not a CSI plugin. '
                "Only CSI plugin can provision a claim with a datasource",
            )
        claim = await self._ask(order.provisioner, claim, writes)
        name = f"pvc-{claim.uid}"
        if await self._find_volume(name) is not None:
            return
        provisioner = self._plugins.provisioners[order.plugin]
        wanted = Order(name, claim, storage_class)
        wanted = replace(wanted, node=self._check(provisioner, wanted))
        made = await self._make(provisioner, order.plugin, wanted, writes)
        volume = _finished(made, order.plugin, wanted)
        if (refusal := await self._create(volume)) is not None:
            await self._give_up(volume, order.plugin, claim, refusal)
            return
        message = f"Successfully provisioned volume {name} using {order.plugin}"
        self._context.record(claim, EventType.NORMAL, Reason.PROVISIONING_SUCCEEDED, message)

    def _check(self, provisioner: Provisioner, wanted: Order) -> Node | None:
        """Whether it can be done at all; returns the node it is for."""
        claim, storage_class = wanted.claim, wanted.storage_class
        if storage_class.mount_options and not provisioner.takes_mount_options:
            self._refuse(
                claim,
                "Mount options are not supported by the provisioner but StorageClass "
                f'"{storage_class.name}" has mount options '
                f"[{' '.join(storage_class.mount_options)}]",
            )
        if not storage_class.reclaim_policy.is_known:
            policy = f'an unknown reclaimPolicy "{storage_class.reclaim_policy}"'
            self._refuse(claim, f'StorageClass "{storage_class.name}" has {policy}')
        try:
            provisioner.check()
        except PluginError as error:
            self._refuse(claim, f"Failed to create provisioner: {error}")
        if Annotation.SELECTED_NODE not in claim.metadata.annotations:
            return None
        node = self._caches.nodes.get(Key("", claim.selected_node))
        if node is None:
            missing = f'node "{claim.selected_node}" not found'
            self._refuse(claim, f"Failed to get target node: {missing}")
        return node

    async def _make(
        self, provisioner: Provisioner, plugin: str, wanted: Order, writes: Writes
    ) -> Doc:
        began = self._clock.monotonic()
        try:
            made = await provisioner.provision(wanted)
        except PluginError as error:
            self._metrics.called(plugin, "volume_provision", self._since(began), ok=False)
            await self._ask_for_another_node(wanted.claim, writes)
            name = wanted.storage_class.name
            self._complain(
                wanted.claim, f'Failed to provision volume with StorageClass "{name}": {error}'
            )
            raise
        self._metrics.called(plugin, "volume_provision", self._since(began), ok=True)
        return made

    async def _create(self, volume: Doc) -> ApiError | ConnectionLost | None:
        """Create the PersistentVolume; returns the last refusal if that fails."""
        refusal: ApiError | ConnectionLost | None = None
        for _ in range(TRIES):
            try:
                await self._client.create(Volume, volume)
            except AlreadyExists:
                return None  # an answer got lost, or another binder was quicker
            except (ApiError, ConnectionLost) as error:
                refusal = error
                await self._clock.sleep(PAUSE_SECONDS)
            else:
                return None
        return refusal

    async def _give_up(
        self, volume: Doc, plugin: str, claim: Claim, refusal: ApiError | ConnectionLost
    ) -> None:
        """Delete the provisioned volume, unless a PersistentVolume refers to it."""
        if await self._find_volume(volume["metadata"]["name"]) is not None:
            return
        about = f"for claim {claim.key}: {refusal}. Deleting the volume."
        self._complain(claim, f"Error creating provisioned PV object {about}")
        deleter = self._plugins.deleters.get(plugin)
        if deleter is not None:
            await self._clean_up(deleter, read_document(volume, Volume), claim)

    async def _clean_up(self, deleter: Deleter, volume: Volume, claim: Claim) -> None:
        failure: PluginError | None = None
        for attempt in range(TRIES):
            if attempt:
                await self._clock.sleep(PAUSE_SECONDS)
            verdict = await self._gate.untold(volume)
            if isinstance(verdict, Kept):
                return
            if isinstance(verdict, Stay):
                failure = PluginError(verdict.because)
                continue
            try:
                await deleter.delete(volume)
            except PluginError as error:
                failure = error
            else:
                return
        message = (
            f"Error cleaning provisioned volume for claim {claim.key}: {failure}. "
            "Please delete manually."
        )
        self._context.record(claim, EventType.WARNING, Reason.PROVISIONING_CLEANUP_FAILED, message)

    async def _ask(self, provisioner: str, claim: Claim, writes: Writes) -> Claim:
        """Name the external provisioner in the claim's annotation."""
        if claim.metadata.annotations.get(Annotation.PROVISIONER) == provisioner:
            return claim
        names = (Annotation.PROVISIONER, Annotation.PROVISIONER_BETA)
        annotations = {**claim.metadata.annotations, **dict.fromkeys(names, provisioner)}
        wanted = replace(claim, metadata=replace(claim.metadata, annotations=annotations))
        return await writes.save_claim(claim, wanted, "somebody makes its volume")

    async def _ask_for_another_node(self, claim: Claim, writes: Writes) -> None:
        """The scheduler chooses anew when the annotation is gone; a race is the next try's."""
        if Annotation.SELECTED_NODE not in claim.metadata.annotations:
            return
        kept = without(claim.metadata.annotations, Annotation.SELECTED_NODE)
        wanted = replace(claim, metadata=replace(claim.metadata, annotations=kept))
        try:
            await writes.save_claim(claim, wanted, "no volume for that node")
        except (ApiError, ConnectionLost):
            return

    async def _find_volume(self, name: str) -> Volume | None:
        try:
            return await self._client.get(Volume, Key("", name))
        except NotFound:
            return None

    def _refuse(self, claim: Claim, message: str) -> NoReturn:
        self._complain(claim, message)
        raise PluginError(message)

    def _complain(self, claim: Claim, message: str) -> None:
        self._context.record(claim, EventType.WARNING, Reason.PROVISIONING_FAILED, message)

    def _since(self, began: float) -> float:
        return self._clock.monotonic() - began


def _finished(made: Doc, plugin: str, wanted: Order) -> Doc:
    """What the plugin made, as the volume of this claim."""
    storage_class = wanted.storage_class
    metadata: dict[str, Any] = {"name": wanted.name, **made.get("metadata", {})}
    metadata["annotations"] = {
        **metadata.get("annotations", {}),
        Annotation.BOUND_BY_CONTROLLER: YES,
        Annotation.PROVISIONED_BY: plugin,
    }
    if storage_class.reclaim_policy is ReclaimPolicy.DELETE:
        metadata["finalizers"] = [Finalizer.IN_TREE_PROVISIONER]
    spec = {
        **made["spec"],
        "claimRef": msgspec.to_builtins(ClaimRef.to(wanted.claim)),
        "storageClassName": wanted.claim.storage_class,
        "persistentVolumeReclaimPolicy": storage_class.reclaim_policy.value,
    }
    if storage_class.mount_options:
        spec["mountOptions"] = list(storage_class.mount_options)
    return {**made, "metadata": metadata, "spec": spec}
