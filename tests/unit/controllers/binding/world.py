"""A cluster without an API: volumes, claims and classes in dicts, changed by the steps of plans.

`pass_claim` and `pass_volume` are one look of the binder at one object; `settle` looks at all of
them until nothing changes any more, and carries out the slow operations in between.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from msgspec.structs import replace

from mooring.controllers.binding.decide.bind import unbind
from mooring.controllers.binding.decide.claim import choose_default, decide_claim
from mooring.controllers.binding.decide.match import find_free, find_reserved, rank, selector_of
from mooring.controllers.binding.decide.reclaim import (
    External,
    InTree,
    Nobody,
    fail,
    find_deleter,
    find_holder,
    is_released,
)
from mooring.controllers.binding.decide.volume import decide_volume
from mooring.controllers.binding.plan import (
    AssignClass,
    Delete,
    Plan,
    Provision,
    Reason,
    Recycle,
    SaveClaim,
    SaveVolume,
    Step,
    Wake,
)
from mooring.controllers.binding.view import ClaimView, Plugins, Provisioning, VolumeView
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.reference import ClaimRef
from mooring.model.steps import Emit, Fail
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import STORAGE
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.wellknown import Annotation

MOST_ROUNDS = 20
Stored = TypeVar("Stored", Volume, Claim)


@dataclass
class World:
    volumes: dict[str, Volume] = field(default_factory=dict)
    claims: dict[Key, Claim] = field(default_factory=dict)
    classes: dict[str, StorageClass] = field(default_factory=dict)
    unscheduled: tuple[str, ...] = ()
    plugins: Plugins = field(default_factory=Plugins)
    provisioning: Provisioning = Provisioning.ON
    events: list[tuple[str, str, str]] = field(default_factory=list)
    started: list[Step] = field(default_factory=list)
    woken: list[Key] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    destroyed: list[Volume] = field(default_factory=list)
    versions: Iterator[int] = field(default_factory=lambda: count(2))

    def copy(self) -> "World":
        """Another world of the same objects; they are immutable."""
        return World(
            dict(self.volumes),
            dict(self.claims),
            dict(self.classes),
            self.unscheduled,
            self.plugins,
        )

    def objects(self) -> tuple[dict[str, Volume], dict[Key, Claim]]:
        """All that is left when versions are forgotten."""
        volumes = {name: _unversioned(volume) for name, volume in self.volumes.items()}
        return volumes, {key: _unversioned(claim) for key, claim in self.claims.items()}

    # looking

    def look_at_claim(self, key: Key) -> Plan:
        claim = self.claims[key]
        storage_class = self.classes.get(claim.storage_class)
        delayed = storage_class is not None and not storage_class.binds_at_once
        match: Volume | None = None
        if not claim.spec.volume_name:
            match = find_reserved(claim, self.volumes.values())
            if match is None and not delayed:
                match = find_free(
                    claim, selector_of(claim), sorted(self.volumes.values(), key=rank)
                )
        view = ClaimView(
            claim=claim,
            volume=self.volumes.get(claim.spec.volume_name),
            match=match,
            storage_class=storage_class,
            default_class=choose_default(self.classes.values()),
            unscheduled_pods=self.unscheduled,
            plugins=self.plugins,
            provisioning=self.provisioning,
        )
        return decide_claim(view)

    def look_at_volume(self, name: str) -> Plan:
        volume = self.volumes[name]
        reference = volume.spec.claim_ref
        claim = None if reference is None else self.claims.get(reference.key)
        if claim is not None and reference is not None and claim.uid != reference.uid:
            claim = None
        named_by = self._named_by(name)
        return decide_volume(VolumeView(volume, claim, named_by=named_by))

    def _named_by(self, name: str) -> Claim | None:
        bound = [
            claim
            for claim in self.claims.values()
            if claim.spec.volume_name == name and claim.is_bind_completed
        ]
        return min(bound, key=lambda claim: claim.key, default=None)

    # acting

    def pass_claim(self, key: Key) -> None:
        self.apply(self.look_at_claim(key).steps)

    def pass_volume(self, name: str) -> None:
        self.apply(self.look_at_volume(name).steps)

    def settle(self) -> None:
        for _ in range(MOST_ROUNDS):
            before = self.objects()
            for key in list(self.claims):
                self.pass_claim(key)
            for name in list(self.volumes):
                self.pass_volume(name)
            orders, self.started = self.started, []
            for order in orders:
                self.carry_out(order)
            if self.objects() == before:
                return
        raise AssertionError("this world never settles")

    def apply(self, steps: Iterable[Step]) -> None:
        for step in steps:
            match step:
                case SaveVolume(seen, wanted):
                    assert self.volumes[seen.name] is seen, "a write over somebody else's"
                    self.volumes[seen.name] = self._versioned(wanted)
                case SaveClaim(seen, wanted) | AssignClass(seen, wanted):
                    assert self.claims[seen.key] is seen, "a write over somebody else's"
                    self.claims[seen.key] = self._versioned(wanted)
                case Emit(_, kind, reason, message):
                    self.events.append((kind.value, str(reason), message))
                case Provision() | Delete() | Recycle():
                    self.started.append(step)
                case Wake(key):
                    self.woken.append(key)
                case Fail(message):
                    self.failures.append(message)

    def carry_out(self, order: Step) -> None:
        """The slow operations, when all goes well."""
        match order:
            case Provision(key, uid, _, provisioner, plugin):
                claim = self.claims.get(key)
                if claim is not None and claim.uid == uid:
                    self._provision(claim, provisioner, plugin)
            case Delete(name):
                volume = self.volumes.get(name)
                if volume is not None and self._is_released(volume):
                    self._delete(volume)
            case Recycle(name):
                volume = self.volumes.get(name)
                if volume is not None and self._is_released(volume):
                    self.apply(unbind(volume, volume))
            case _:
                raise AssertionError(f"not an operation: {order}")

    def _provision(self, claim: Claim, provisioner: str, plugin: str) -> None:
        keys = (Annotation.PROVISIONER, Annotation.PROVISIONER_BETA)
        annotations = {**claim.metadata.annotations, **dict.fromkeys(keys, provisioner)}
        claim = replace(claim, metadata=replace(claim.metadata, annotations=annotations))
        self.claims[claim.key] = self._versioned(claim)
        name = f"pvc-{claim.uid}"
        if plugin and name not in self.volumes:
            made = {Annotation.PROVISIONED_BY: plugin, Annotation.BOUND_BY_CONTROLLER: "yes"}
            self.volumes[name] = Volume(
                metadata=ObjectMeta(name=name, uid=name, annotations=made, resource_version="1"),
                spec=VolumeSpec(
                    capacity={STORAGE: str(claim.requested)},
                    access_modes=claim.spec.access_modes,
                    claim_ref=ClaimRef.to(claim),
                    storage_class_name=claim.storage_class,
                    reclaim_policy=self.classes[claim.storage_class].reclaim_policy,
                ),
            )

    def _is_released(self, volume: Volume) -> bool:
        reference = volume.spec.claim_ref
        claim = None if reference is None else self.claims.get(reference.key)
        holder = find_holder(volume, self._named_by(volume.name))
        return holder is None and is_released(volume, claim)

    def _delete(self, volume: Volume) -> None:
        match find_deleter(volume, self.plugins):
            case InTree():
                self.destroyed.append(self.volumes.pop(volume.name))
            case External():
                pass
            case Nobody(message):
                self.apply(fail(volume, volume, Reason.VOLUME_FAILED_DELETE, message))

    def _versioned(self, it: Stored) -> Stored:
        metadata = replace(it.metadata, resource_version=str(next(self.versions)))
        return replace(it, metadata=metadata)


def _unversioned(it: Stored) -> Stored:
    return replace(it, metadata=replace(it.metadata, resource_version=""))


def world(*objects: Volume | Claim | StorageClass, unscheduled: tuple[str, ...] = ()) -> World:
    made = World(unscheduled=unscheduled)
    for it in objects:
        match it:
            case Volume():
                made.volumes[it.name] = it
            case Claim():
                made.claims[it.key] = it
            case StorageClass():
                made.classes[it.name] = it
    return made


def tell_volume(volume: Volume) -> str:
    """`Bound ref=c/u BBC`: the phase, whom it names, who chose that."""
    words: list[str] = [str(volume.status.phase)]
    if (reference := volume.spec.claim_ref) is not None:
        words.append(f"ref={reference.name}/{reference.uid or '-'}")
    if volume.is_bound_by_controller:
        words.append("BBC")
    return " ".join(words)


def tell_claim(claim: Claim) -> str:
    """`Bound pv 1Gi BBC DONE`: the phase, its volume, what it has, its marks."""
    words: list[str] = [str(claim.status.phase)]
    words += filter(None, (claim.spec.volume_name, claim.status.capacity.get(STORAGE, "")))
    words += ["BBC"] * claim.is_bound_by_controller + ["DONE"] * claim.is_bind_completed
    return " ".join(words)
