"""What the binder knows of the cluster, and the pictures it makes of it for its decisions."""

from collections.abc import Iterable

import msgspec

from mooring.clock import Clock
from mooring.controllers.binding.cache_indexes import (
    NODES_BY_DRIVER,
    add_indexes,
    drivers_on,
    find_named_by,
)
from mooring.controllers.binding.decide.claim import choose_default
from mooring.controllers.binding.view import ClaimView, Plugins, Provisioning
from mooring.controllers.binding.volume_index import VolumeIndex
from mooring.controllers.binding.waiting import WaitingClaims
from mooring.model.claim import Claim
from mooring.model.claim_use import condition_of_use, with_use
from mooring.model.condition import Condition
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_migration import DRIVERS
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.timestamp import to_seconds
from mooring.model.volume import Volume
from mooring.model.wellknown import Plugin
from mooring.reconcile.apply import NotNow
from mooring.reconcile.informer import Informer
from mooring.reconcile.pods_by_claim import pods_using


class Informers(msgspec.Struct, frozen=True):
    """The role runs them; other controllers may share them."""

    volumes: Informer[Volume]
    claims: Informer[Claim]
    classes: Informer[StorageClass]
    pods: Informer[Pod]
    nodes: Informer[Node]
    drivers: Informer[CsiDriver]  # these two for the texts of events alone
    csi_nodes: Informer[CsiNode]

    def needed(
        self,
    ) -> tuple[
        Informer[Volume]
        | Informer[Claim]
        | Informer[StorageClass]
        | Informer[Pod]
        | Informer[Node],
        ...,
    ]:
        return (self.volumes, self.claims, self.classes, self.pods, self.nodes)


class Caches:
    def __init__(
        self,
        informers: Informers,
        plugins: Plugins,
        provisioning: Provisioning,
        use_noted_by: Clock | None = None,
    ) -> None:
        """`use_noted_by`: claims become Bound with their use noted, at the time it shows."""
        self.volumes = informers.volumes
        self.claims = informers.claims
        self.classes = informers.classes
        self.pods = informers.pods
        self.nodes = informers.nodes
        self.drivers = informers.drivers
        self.csi_nodes = informers.csi_nodes
        self.index = VolumeIndex()
        self.waiting = WaitingClaims()
        self.default_class: StorageClass | None = None
        self._plugins = plugins
        self._provisioning = provisioning
        self._use_noted_by = use_noted_by
        add_indexes(self.claims, self.pods, self.volumes)
        self.csi_nodes.add_index(NODES_BY_DRIVER, drivers_on)

    def all_volumes(self) -> Iterable[Volume]:
        return self.volumes.all()

    def all_claims(self) -> Iterable[Claim]:
        return self.claims.all()

    def unit_of(self, volume: Volume) -> Key:
        """The queue key of a volume: that of its claim, else its own."""
        reference = volume.spec.claim_ref
        if reference is None:  # forgotten, perhaps: the claim that has it binds it again
            named_by = find_named_by(self.claims, volume)
            return volume.key if named_by is None else named_by.key
        claim = self.claims.get(reference.key)
        if claim is not None and reference.uid in {"", claim.uid}:
            return reference.key
        return volume.key

    def choose_default_class(self) -> bool:
        """Returns whether the default class is another one now."""
        before, self.default_class = self.default_class, choose_default(self.classes.all())
        return self.default_class != before

    def view_claim(self, claim: Claim) -> ClaimView:
        """Raises: NotNow when the claim's selector makes no sense."""
        name = claim.storage_class
        storage_class = self.classes.get(Key("", name)) if name else None
        delayed = storage_class is not None and not storage_class.binds_at_once
        asked_for = claim.spec.volume_name
        volume = self.volumes.get(Key("", asked_for)) if asked_for else None
        match = None if asked_for else self._find_match(claim, delayed=delayed)
        is_made_by_hand = match is None and not (asked_for or delayed)
        return ClaimView(
            claim=claim,
            volume=volume,
            holder=None if volume is None else self._find_holder(claim, volume),
            match=match,
            too_small=self.index.find_too_small(claim) if is_made_by_hand else None,
            storage_class=storage_class,
            default_class=None if claim.has_class else self.default_class,
            unscheduled_pods=self._unscheduled_pods(claim.key) if delayed else (),
            registered=None if storage_class is None else self._registered_besides(storage_class),
            plugins=self._plugins,
            provisioning=self._provisioning,
            conditions_when_bound=self._conditions_when_bound(claim) if volume or match else None,
        )

    def _conditions_when_bound(self, claim: Claim) -> tuple[Condition, ...] | None:
        """By the cache of pods alone: who notes it from then on sees to what it lacks."""
        clock = self._use_noted_by
        if clock is None or claim.is_bound or claim.is_deleting:
            return None
        use = condition_of_use(claim, pods_using(self.pods, claim.key))
        return with_use(claim, use, to_seconds(clock.now()))

    def _registered_besides(self, storage_class: StorageClass) -> frozenset[str] | None:
        """Only for a plugin of Kubernetes' own: of others their provisioning tells."""
        name = storage_class.provisioner
        return self.registered_besides(name) if name.startswith(Plugin.PREFIX) else None

    def registered_besides(self, provisioner: str) -> frozenset[str] | None:
        """The provisioners that are registered; None if this is one of them, or none is asked for.

        Those are the plugins of this process, and the CSI drivers that the API knows.
        """
        if not provisioner or provisioner == Plugin.NO_PROVISIONER:
            return None
        if not (self.drivers.synced.is_set() and self.csi_nodes.synced.is_set()):
            return None  # nobody knows yet
        if provisioner in DRIVERS or provisioner in self._plugins.provision:
            return None
        if self.drivers.get(Key("", provisioner)) is not None:
            return None
        if self.csi_nodes.by_index(NODES_BY_DRIVER, provisioner):
            return None
        on_nodes = (node.spec.drivers or () for node in self.csi_nodes.all())
        known = {driver.name for drivers in on_nodes for driver in drivers}
        known.update(driver.name for driver in self.drivers.all())
        return frozenset(known | self._plugins.provision)

    def _find_match(self, claim: Claim, *, delayed: bool) -> Volume | None:
        try:
            match = self.index.find(claim, delayed=delayed)
        except ValueError as error:
            raise NotNow(f'error finding PV for claim "{claim.key}": {error}') from error
        if match is not None and (holder := self._find_holder(claim, match)) is not None:
            raise NotNow(f'volume "{match.name}" is to be bound to "{holder.key}" again')
        return match

    def _find_holder(self, claim: Claim, volume: Volume) -> Claim | None:
        """Another claim that was bound to the volume, though the volume has forgotten it."""
        if volume.spec.claim_ref is not None:
            return None
        holder = find_named_by(self.claims, volume)
        return None if holder is None or holder.key == claim.key else holder

    def _unscheduled_pods(self, claim: Key) -> tuple[str, ...]:
        pods = pods_using(self.pods, claim)
        return tuple(
            sorted(pod.name for pod in pods if not (pod.is_scheduled or pod.is_terminated))
        )
