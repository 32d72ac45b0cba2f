"""What is to be done about a volume: protected while it is bound, deleted when it is released.

Always true of a plan:
- A volume of another driver or node, or of an unknown policy, is left alone.
- `DeleteBehind` is of a volume that is Released, with policy Delete, attached nowhere, and not one
  whose object was deleted while we did not hold it.
- The object is removed (`DeleteObject`, `Unprotect`) only after the driver's volume: later in the
  plan, or when this process saw the driver delete it. A volume that the policy retains loses our
  finalizer.
- `Protect` is of a bound volume that is not being deleted.
- A failure is recorded as an event, and nothing else is done.
"""

from mooring.model.csi_translation.contract import TranslationError
from mooring.model.csi_translation.translate import translate, translate_class
from mooring.model.event import EventType
from mooring.model.reference import SecretReference
from mooring.model.steps import Emit, Fail, plan
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.sidecars.provisioner import secret_templates
from mooring.sidecars.provisioner.plan import (
    FAILED_DELETE,
    DeleteBehind,
    DeleteObject,
    Protect,
    Unprotect,
    VolumePlan,
)
from mooring.sidecars.provisioner.secret_templates import Subject, find_secret
from mooring.sidecars.provisioner.view import VolumeView
from mooring.sidecars.provisioner.waiting_reason import WaitingReason

_KEEPING = (ReclaimPolicy.RETAIN, ReclaimPolicy.RECYCLE)


def decide_volume(view: VolumeView) -> VolumePlan:
    volume = view.volume
    if not view.is_ours:
        return plan("it is another's")
    if view.is_deleted_behind:
        return _decide_deleted(view)
    policy = volume.spec.reclaim_policy
    if policy in _KEEPING:
        if view.is_protected:
            return plan("what is behind it stays", Unprotect(volume))
        return plan("it is kept")
    if policy is not ReclaimPolicy.DELETE:
        return plan("nobody knows what its policy means")
    if not volume.is_released:
        if volume.is_bound and not volume.is_deleting and not view.is_protected:
            return plan("it must not go before what is behind it", Protect(volume))
        return plan("it is in use")
    if volume.is_deleting and not view.is_protected:
        return plan("it was deleted before")
    return _decide_released(view)


def _decide_deleted(view: VolumeView) -> VolumePlan:
    if not view.volume.is_deleting:
        return plan("what is behind it is gone", DeleteObject(view.volume))
    if view.is_protected:
        return plan("what is behind it is gone", Unprotect(view.volume))
    return plan("others hold it")


def _decide_released(view: VolumeView) -> VolumePlan:
    volume = view.volume
    translated = translate(volume)
    if translated is None or translated.spec.csi is None:
        return _fails(volume, "invalid CSI PV")
    if view.attached_to:
        where = f"is still attached to node {view.attached_to}"
        return _fails(volume, f"persistentvolume {volume.name} {where}")
    try:
        secret = find_deletion_secret(view)
    except WaitingReason as error:
        return _fails(volume, f"failed to get secretreference for volume {volume.name}: {error}")
    behind = DeleteBehind(volume, translated.spec.csi.volume_handle, secret)
    then = Unprotect(volume) if volume.is_deleting else DeleteObject(volume)
    return plan("nobody needs it", behind, then)


def find_deletion_secret(view: VolumeView) -> SecretReference | None:
    """What the volume says; one that is older than those annotations: what its class says.

    Raises: WaitingReason.
    """
    volume, annotations = view.volume, view.volume.metadata.annotations
    name = annotations.get(Annotation.DELETION_SECRET_NAME)
    namespace = annotations.get(Annotation.DELETION_SECRET_NAMESPACE)
    if name is not None and namespace is not None:
        return SecretReference(name, namespace) if name and namespace else None
    claim = volume.spec.claim_ref
    if view.storage_class is None or claim is None:
        return None
    subject = Subject(volume.name, claim.namespace, claim.name)
    try:
        parameters = translate_class(view.storage_class).parameters
    except TranslationError as error:
        raise WaitingReason(f"failed to translate storage class: {error}") from error
    return find_secret(secret_templates.PROVISIONER, parameters, subject)


def _fails(volume: Volume, why: str) -> VolumePlan:
    return plan(why, Emit(volume, EventType.WARNING, FAILED_DELETE, why), Fail(why))
