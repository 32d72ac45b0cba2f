"""A claim: its class and its volume, by the binder's own decision; then the pods that use it."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from mooring.controllers.binding.decide.claim import choose_default, decide_claim, find_mismatch
from mooring.controllers.binding.decide.explained import unregistered
from mooring.controllers.binding.decide.match import is_free, is_reserved_for, selector_of
from mooring.controllers.binding.plan import AssignClass, Plan, Provision, Reason
from mooring.controllers.binding.view import ClaimView, Plugins
from mooring.controllers.binding.volume_index import VolumeIndex
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_migration import DRIVERS
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.snapshot import Snapshot
from mooring.model.steps import Emit
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume, VolumePhase
from mooring.model.wellknown import Plugin
from mooring.why.answer import CandidateGroup, Ref, State, Step
from mooring.why.claim_fixes import fix_unbound
from mooring.why.deletion import explain_deletion
from mooring.why.expansion import explain_expansion
from mooring.why.found import (
    NOTHING,
    Found,
    grouped,
    link,
    newest_event,
    ref,
    reporter,
)
from mooring.why.modification import explain_modification
from mooring.why.refusal import who_acts, with_meaning
from mooring.why.world import World

BINDER = "the PV controller"
_BINDER_EVENTS = "persistentvolume-controller"
_FAILED = frozenset({"ProvisioningFailed", "FailedBinding", "ProvisioningCleanupFailed"})
_WAITS = frozenset({Reason.WAIT_FOR_FIRST_CONSUMER, Reason.WAIT_FOR_POD_SCHEDULED})


def explain_claim(world: World, claim: Claim, now: datetime) -> Found:
    """Claim, class and volume; the pods are left to the caller."""
    found = explain_deletion(world, claim, now)
    asked = ", ".join(claim.spec.access_modes)
    words = f"asks for {claim.requested} ({asked})"
    if claim.is_bound:
        words = f"is Bound to volume {claim.spec.volume_name}"
    born = claim.metadata.creation_timestamp
    found = found.plus(link(Step.CLAIM, claim, State.DONE, words, since=born))
    view = view_of(world, claim)
    try:
        plan = decide_claim(view)
    except ValueError as error:
        return found.plus(_invalid_selector(claim, str(error)))
    if claim.is_bound and view.volume is not None and not plan.steps:
        found = found.plus(_class_link(world, claim, view, State.DONE))
        return found.plus(_bound(claim, view.volume)).plus(
            explain_expansion(world, claim, users_of(world, claim), now).plus(
                explain_modification(world, claim)
            )
        )
    candidates = candidates_of(world, claim)
    unbound = _judge(world, view, plan)
    fixes = Found(fixes=fix_unbound(world, view, plan))
    return (
        found.plus(_source_link(world, claim, now))
        .plus(unbound)
        .plus(fixes)
        .plus(Found(candidates=candidates))
    )


def view_of(world: World, claim: Claim) -> ClaimView:
    """The picture that the binder would decide on. Volumes that were not read do not fit."""
    name = claim.storage_class
    chosen = world.find(StorageClass, Key("", name)) if name else None
    delayed = chosen is not None and not chosen.binds_at_once
    asked_for = claim.spec.volume_name
    volume = world.find(Volume, Key("", asked_for)) if asked_for else None
    index = world.once("volumes", _volume_index)
    try:
        match = None if asked_for else index.find(claim, delayed=delayed)
        by_hand = match is None and not asked_for and not delayed
        too_small = index.find_too_small(claim) if by_hand else None
    except ValueError:
        match = too_small = None
    return ClaimView(
        claim=claim,
        volume=volume,
        match=match,
        too_small=too_small,
        storage_class=chosen,
        default_class=None if claim.has_class else choose_default(world.all(StorageClass)),
        unscheduled_pods=_unscheduled_pods(world, claim) if delayed else (),
        registered=None if chosen is None else registered_besides(world, chosen.provisioner),
    )


def users_of(world: World, claim: Claim) -> list[Pod]:
    return world.once("users", _users_by_claim).get(claim.key, [])


def _users_by_claim(world: World) -> Mapping[Key, list[Pod]]:
    found: defaultdict[Key, list[Pod]] = defaultdict(list)
    for pod in world.all(Pod):
        for key in set(pod.claim_keys()):
            found[key].append(pod)
    return found


def _volume_index(world: World) -> VolumeIndex:
    index = VolumeIndex()
    for each in world.all(Volume):
        index.put(each)
    return index


def _unscheduled_pods(world: World, claim: Claim) -> tuple[str, ...]:
    users = users_of(world, claim)
    return tuple(sorted(p.name for p in users if not (p.is_scheduled or p.is_terminated)))


def registered_besides(world: World, provisioner: str) -> frozenset[str] | None:
    """The provisioners that are registered; None: this is one of them, or that is not known."""
    if not provisioner or provisioner == Plugin.NO_PROVISIONER:
        return None
    if CsiDriver in world.unseen or CsiNode in world.unseen:
        return None
    plugins = Plugins().provision
    known = {driver.name for driver in world.all(CsiDriver)}
    known |= {d.name for node in world.all(CsiNode) for d in node.spec.drivers or ()}
    if provisioner in known or provisioner in plugins or provisioner in DRIVERS:
        return None
    return frozenset(known | plugins)


def candidates_of(world: World, claim: Claim) -> tuple[CandidateGroup, ...]:
    """Why each volume that was read does not fit."""
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for volume in world.all(Volume):
        if why := why_not(claim, volume):
            reasons[why].append(volume.name)
    return grouped(Volume.resource.kind, reasons)


def why_not(claim: Claim, volume: Volume) -> str:
    """Empty: it fits."""
    reference = volume.spec.claim_ref
    if volume.name == claim.spec.volume_name and is_reserved_for(volume, claim):
        return ""
    if volume.status.phase is VolumePhase.RELEASED:
        return "it is Released: it still names the claim that was deleted"
    if volume.status.phase is VolumePhase.FAILED:
        return "it is Failed: it could not be reclaimed"
    if reference is not None and not is_reserved_for(volume, claim):
        return "it has a claim already" if reference.uid else "it is reserved for another claim"
    if (mismatch := find_mismatch(claim, volume)) is not None:
        return "it is being deleted" if volume.is_deleting else mismatch
    try:
        if not selector_of(claim).matches(volume.metadata.labels):
            return "the claim's selector does not match its labels"
    except ValueError as error:
        return f"the claim's selector cannot be used: {error}"
    if reference is None and not is_free(volume):
        return f"its phase is {volume.status.phase}"
    return ""


# the links


def _bound(claim: Claim, volume: Volume) -> Found:
    size = f"{volume.size}, {volume.status.phase}"
    if volume.is_deleting:
        words = f"it is being deleted while it is bound ({size})"
        return link(Step.VOLUME, volume, State.WAITING, words, who="whoever deletes the claim")
    return link(Step.VOLUME, volume, State.DONE, f"it is bound to the claim ({size})")


def _class_link(world: World, claim: Claim, view: ClaimView, state: State) -> Found:
    name = claim.storage_class
    if not name:
        return link(Step.CLASS, claim, State.SKIPPED, "the claim names no class")
    about = Ref(StorageClass.resource.kind, name)
    chosen = view.storage_class
    if chosen is None and not world.is_known(StorageClass, Key("", name)):
        return link(
            Step.CLASS, about, State.UNKNOWN, "the class could not be read", source=ref(claim)
        )
    if chosen is None and state is State.DONE:
        words = f"there is no StorageClass {name}; a bound claim needs none"
        return link(Step.CLASS, about, state, words, source=ref(claim))
    if chosen is None:
        words = f"the claim names class {name}, and there is no such StorageClass"
        return link(
            Step.CLASS, about, State.BROKEN, words, source=ref(claim), who="an administrator"
        )
    how = "binds at once" if chosen.binds_at_once else "waits for the first pod"
    if not chosen.provisions:
        how = f"its volumes are made by hand; {how}"
    else:
        how = f"provisioner {chosen.provisioner}; {how}"
    if view.registered is not None and state is not State.DONE:
        words = unregistered(chosen.provisioner, view.registered)
        return link(Step.CLASS, chosen, State.BROKEN, words, who="an administrator")
    return link(Step.CLASS, chosen, State.DONE, how)


def _judge(world: World, view: ClaimView, plan: Plan) -> Found:
    """What the binder would do now, as links of class and volume."""
    claim = view.claim
    found = _class_link(world, claim, view, State.WAITING)
    emitted = next((step for step in plan.steps if isinstance(step, Emit)), None)
    ordered = next((step for step in plan.steps if isinstance(step, Provision)), None)
    born = claim.metadata.creation_timestamp
    if ordered is not None:
        return found.plus(_provisioning(world, view, ordered))
    if view.volume is None and claim.spec.volume_name:
        return found.plus(_missing_volume(world, view))
    if emitted is not None:
        state = State.WAITING if emitted.reason in _WAITS else State.BROKEN
        if plan.because == "nobody makes volumes of its class" and found.first_trouble:
            words = "no volume fits, and none can be made"
            return found.plus(link(Step.VOLUME, claim, State.SKIPPED, words))
        who = "the scheduler" if view.unscheduled_pods else "whoever makes a pod or a volume"
        about = view.volume or claim
        return found.plus(
            link(Step.VOLUME, about, state, emitted.message, source=ref(claim), since=born, who=who)
        )
    if any(isinstance(step, AssignClass) for step in plan.steps) and view.default_class:
        words = f"the default class {view.default_class.name} is about to be assigned"
        return found.plus(link(Step.CLASS, claim, State.WAITING, words, since=born, who=BINDER))
    words = f"{plan.because}; the binding is about to be written"
    return found.plus(link(Step.VOLUME, claim, State.WAITING, words, since=born, who=BINDER))


def _missing_volume(world: World, view: ClaimView) -> Found:
    claim, name = view.claim, view.claim.spec.volume_name
    about = Ref(Volume.resource.kind, name)
    if not world.is_known(Volume, Key("", name)):
        words = f"the claim names volume {name}, which could not be read"
        return link(Step.VOLUME, about, State.UNKNOWN, words, source=ref(claim))
    words = f"the claim names volume {name}, and there is no such PersistentVolume"
    if claim.is_bind_completed:
        words = f"{words}: it was bound to it, and the data is lost unless the volume comes back"
    return link(Step.VOLUME, about, State.BROKEN, words, source=ref(claim), who="an administrator")


def _provisioning(world: World, view: ClaimView, ordered: Provision) -> Found:
    claim = view.claim
    born = claim.metadata.creation_timestamp
    maker = ordered.plugin or ordered.provisioner
    who = f"the provisioner {maker}"
    said = newest_event(world, claim, _FAILED)
    if said is not None and not ordered.plugin and reporter(said) == _BINDER_EVENTS:
        said = None  # what it thinks now is decided here
    working = newest_event(world, claim, {"Provisioning", "ExternalProvisioning"})
    if view.registered is not None:
        words = "no volume fits, and nobody is registered who would make one"
        return link(Step.VOLUME, claim, State.SKIPPED, words, since=born)
    if said is not None:
        words = f"{reporter(said)} says: {with_meaning(said.message)}"
        return link(
            Step.VOLUME,
            claim,
            State.BROKEN,
            words,
            since=said.first_timestamp or born,
            who=who_acts(said.message, who),
            source=ref(said),
        )
    where = f" for node {claim.selected_node}" if claim.selected_node else ""
    words = f"{who} is asked to make a volume{where}, and has not finished"
    source = ref(working) if working is not None else ref(claim)
    return link(Step.VOLUME, claim, State.WAITING, words, since=born, who=who, source=source)


def _invalid_selector(claim: Claim, why: str) -> Found:
    words = f"its selector cannot be used: {why}"
    return link(Step.VOLUME, claim, State.BROKEN, words, who="whoever made the claim")


def _source_link(world: World, claim: Claim, now: datetime) -> Found:
    """What a claim that is not bound is to be filled from."""
    data = claim.spec.data_source or claim.spec.data_source_ref
    if data is None:
        return NOTHING
    key = Key(data.namespace or claim.namespace, data.name)
    about = Ref(data.kind, key.name, key.namespace)
    if data.kind == Snapshot.resource.kind:
        snapshot = world.find(Snapshot, key)
        if snapshot is not None:
            from mooring.why.snapshot import explain_snapshot

            return explain_snapshot(world, snapshot, now)
        if not world.is_known(Snapshot, key):
            words = f"the claim is to be made from {about}, which could not be read"
            return link(Step.SNAPSHOT, about, State.UNKNOWN, words, source=ref(claim))
        words = f"the claim is to be made from {about}, and there is no such snapshot"
        return link(Step.SNAPSHOT, about, State.BROKEN, words, source=ref(claim))
    if data.kind == Claim.resource.kind:
        source = world.find(Claim, key)
        if source is None and world.is_known(Claim, key):
            words = f"the claim is to be a copy of {about}, and there is no such claim"
            return link(Step.CLAIM, about, State.BROKEN, words, source=ref(claim))
    return NOTHING
