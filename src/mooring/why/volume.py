"""A persistent volume: free, bound, released or failed, by the binder's own decision."""

from datetime import datetime

from mooring.controllers.binding.decide.volume import decide_volume
from mooring.controllers.binding.plan import Delete
from mooring.controllers.binding.view import VolumeView
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume, VolumePhase
from mooring.why.answer import Fix, Ref, State, Step
from mooring.why.attachment import explain_attachment_state
from mooring.why.claim import explain_claim
from mooring.why.deletion import explain_deletion
from mooring.why.found import Found, kubectl, link, newest_event, ref, reporter
from mooring.why.world import World


def explain_volume(world: World, volume: Volume, now: datetime) -> Found:
    reference = volume.spec.claim_ref
    claim = None if reference is None else world.find(Claim, reference.key)
    if claim is not None and reference is not None and reference.uid not in {"", claim.uid}:
        claim = None
    found = explain_deletion(world, volume, now)
    if reference is not None and claim is None and not world.is_known(Claim, reference.key):
        about = Ref(Claim.resource.kind, reference.name, reference.namespace)
        words = f"its claim {reference.key} could not be read"
        found = found.plus(link(Step.CLAIM, about, State.UNKNOWN, words, source=ref(volume)))
    else:
        found = found.plus(_phase(world, volume, claim, now))
    for attachment in world.all(Attachment):
        if attachment.volume_name == volume.name:
            found = found.plus(explain_attachment_state(world, attachment, now))
    return found


def _phase(world: World, volume: Volume, claim: Claim | None, now: datetime) -> Found:
    plan = decide_volume(VolumeView(volume, claim))
    moment = volume.metadata.creation_timestamp
    said = newest_event(world, volume, {"VolumeFailedDelete", "VolumeFailedRecycle"})
    if volume.status.phase is VolumePhase.FAILED or said is not None:
        told = volume.status.message or "it could not be reclaimed"
        words = f"it is {volume.status.phase}: {told}"
        source = ref(volume)
        if said is not None:
            words, source = f"{reporter(said)} says: {said.message}", ref(said)
        who = f"the provisioner {volume.provisioned_by}".strip()
        found = link(Step.VOLUME, volume, State.BROKEN, words, who=who, source=source)
        return found.plus(Found(fixes=(_retain(volume), _forget(volume))))
    if claim is not None and claim.is_bound and claim.spec.volume_name == volume.name:
        words = f"it is bound to claim {claim.key}"
        return link(Step.VOLUME, volume, State.DONE, words, since=moment)
    if volume.is_released and claim is None:
        is_deleted = any(isinstance(step, Delete) for step in plan.steps)
        return _released(volume, is_deleted=is_deleted)
    if claim is not None:
        words = f"it is reserved for claim {claim.key}; {plan.because}"
        found = link(Step.VOLUME, volume, State.WAITING, words, since=moment)
        return found if claim.is_bound else found.plus(explain_claim(world, claim, now))
    reference = volume.spec.claim_ref
    if reference is not None:
        words = f"it is reserved for claim {reference.key}, which does not exist"
        found = link(Step.VOLUME, volume, State.WAITING, words, since=moment)
        return found.plus(Found(fixes=(_forget(volume),)))
    words = f"it is {volume.status.phase}: {plan.because}"
    return link(Step.VOLUME, volume, State.DONE, words, since=moment)


def _released(volume: Volume, *, is_deleted: bool) -> Found:
    policy = volume.spec.reclaim_policy
    gone = volume.spec.claim_ref
    words = f"it is Released: its claim {gone.key if gone else ''} was deleted"
    if policy == ReclaimPolicy.DELETE and is_deleted:
        who = f"the provisioner {volume.provisioned_by}".strip()
        return link(Step.VOLUME, volume, State.WAITING, f"{words}; it is being deleted", who=who)
    words = f"{words}, and its reclaim policy is {policy}: it stays until somebody decides"
    found = link(Step.VOLUME, volume, State.BROKEN, words, who="an administrator")
    told = "deletes the object; what is on the storage stays there"
    return found.plus(Found(fixes=(_forget(volume), Fix(kubectl("delete", ref(volume)), told))))


def _forget(volume: Volume) -> Fix:
    patch = '[{"op":"remove","path":"/spec/claimRef"}]'
    command = kubectl("patch", ref(volume), "--type=json", "-p", patch)
    return Fix(command, "makes it Available for another claim; what is on it stays on it")


def _retain(volume: Volume) -> Fix:
    patch = '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'
    return Fix(kubectl("patch", ref(volume), "-p", patch), "ends the attempts to delete it")
