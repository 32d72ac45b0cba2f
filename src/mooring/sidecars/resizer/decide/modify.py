"""What is to be done about a claim that asks for another VolumeAttributesClass than it has.

Always true of a plan:

- Only a bound claim is touched, whose volume is this driver's and points back at it.
- Which class is being applied is recorded before the driver is asked, and its answer on the volume
  before the claim: cut off anywhere, the next pass asks the same again, and ends the same.
- A class that may be in the making is kept until the driver has answered, whatever the claim asks
  for meanwhile.
- A class of another driver, or one that is not there, is not applied; the claim hears of it, and is
  looked at again when a class of that name comes.
"""

from mooring.csi.outcome import Code, Done, Outcome, Refused, Uncertain
from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim
from mooring.model.event import EventType
from mooring.model.modification import NO_ANSWER, ModifyState, find_state, is_answered, is_told_of
from mooring.model.modification import find_target as find_recorded
from mooring.model.reference import SecretReference
from mooring.model.steps import Emit, Fail, plan
from mooring.model.volume import Volume
from mooring.model.volume_source import CsiSource
from mooring.model.wellknown import Annotation, Parameter
from mooring.sidecars.resizer.plan import (
    MODIFIED,
    MODIFY_CANCELED,
    MODIFY_FAILED,
    Cancel,
    Complete,
    Later,
    MarkModifyFailed,
    MarkModifyInfeasible,
    MarkPending,
    Modify,
    ModifyPlan,
    NameClass,
    RejectClass,
)
from mooring.sidecars.resizer.view import ClaimView, find_source, is_bound_to


def decide_modify(view: ClaimView) -> ModifyPlan:
    claim, volume = view.claim, view.volume
    if volume is None:
        return plan("its volume is not known yet")
    source = find_source(view.driver, claim, volume)
    if source is None or not is_bound_to(claim, volume):
        return plan("its volume is not this driver's, or points elsewhere")
    wanted = claim.spec.volume_attributes_class_name or ""
    state = find_state(claim.status)
    if state is None and wanted == (claim.status.current_volume_attributes_class_name or ""):
        return plan("it has the class that it asks for")
    if state is not None and not state.is_known:
        return plan("somebody is at work on it in a way that nobody here knows")
    if not view.abilities.modifies:
        words = f"CSI driver {view.driver} does not support VolumeAttributesClass"
        return plan("the driver cannot change volumes", _failed(claim, words))
    is_begun = state is ModifyState.IN_PROGRESS
    if not wanted and not is_begun:
        if state is None and not is_told_of(claim.status):
            return plan("nothing is asked for, or under way")
        canceled = Emit(claim, EventType.NORMAL, MODIFY_CANCELED, "Cancelled modify.")
        return plan("it asks for none any more", Cancel(claim), canceled)
    if is_begun and (not wanted or not is_answered(claim.status)):
        return _decide_kept(view, volume, source, find_recorded(claim.status))
    return _decide_wanted(view, volume, source, wanted)


def _decide_kept(view: ClaimView, volume: Volume, source: CsiSource, name: str) -> ModifyPlan:
    """Of a class that the driver may be applying."""
    trouble = _find_trouble(view.driver, name, view.target_class)
    if trouble or view.target_class is None:
        return plan(trouble, _failed(view.claim, trouble))
    return _modify("it may be in the making", view, volume, source, view.target_class)


def _decide_wanted(view: ClaimView, volume: Volume, source: CsiSource, name: str) -> ModifyPlan:
    attributes = view.wanted_class
    trouble = _find_trouble(view.driver, name, attributes)
    if attributes is None:
        return plan(trouble, MarkPending(view.claim), _failed(view.claim, trouble))
    if trouble:
        rejected = RejectClass(view.claim, name, trouble)
        return plan(trouble, rejected, _failed(view.claim, trouble))
    pause = view.class_pause
    if pause is not None and pause.class_uid == attributes.uid:
        return plan("the driver found it impossible", Later(pause.seconds))
    return _modify("it asks for another class", view, volume, source, attributes)


def _modify(
    because: str, view: ClaimView, volume: Volume, source: CsiSource, attributes: AttributesClass
) -> ModifyPlan:
    parameters = dict(attributes.parameters)
    if view.extra_modify_metadata:
        parameters |= {
            Parameter.CLAIM_NAME: view.claim.name,
            Parameter.CLAIM_NAMESPACE: view.claim.namespace,
            Parameter.VOLUME_NAME: volume.name,
        }
    secret = find_secret(volume, source)
    handle = source.volume_handle
    step = Modify(view.claim, volume, attributes, handle, parameters, secret)
    return plan(because, step)


def decide_modified(
    step: Modify, claim: Claim, volume: Volume, outcome: Outcome[None]
) -> ModifyPlan:
    """What the driver's answer to `step` means; claim and volume as they are by now."""
    name = step.attributes.name
    match outcome:
        case Done():
            words = f"external resizer modified volume {claim.name} with vac {name} successfully"
            done = Emit(claim, EventType.NORMAL, MODIFIED, words)
            return plan("it has changed", NameClass(volume, name), Complete(claim, name), done)
        case Refused(Code.INVALID_ARGUMENT, message):
            label = Code.INVALID_ARGUMENT.label
            mark = MarkModifyInfeasible(claim, label, message, step.attributes.uid)
            return plan("the driver finds it impossible", mark, _failed(claim, outcome.text))
        case Refused(code, message):
            label = Code.UNKNOWN.label if code is None else code.label
            failed = MarkModifyFailed(claim, label, message, is_final=True)
            told = _failed(claim, outcome.text)
            return plan("the driver refuses", failed, told, Fail(outcome.text))
        case Uncertain(code, message):
            label = NO_ANSWER if code is None else code.label
            doubted = MarkModifyFailed(claim, label, message, is_final=False)
            words = f"{outcome.text}. Still modifying to VAC {name}"
            return plan("it may still be changing", doubted, _failed(claim, words), Fail(words))


def find_secret(volume: Volume, source: CsiSource) -> SecretReference | None:
    """The one for changes, by the volume's annotations; else that for growing."""
    notes = volume.metadata.annotations
    name = notes.get(Annotation.MODIFY_SECRET_NAME)
    namespace = notes.get(Annotation.MODIFY_SECRET_NAMESPACE)
    if name and namespace:
        return SecretReference(name, namespace)
    return source.controller_expand_secret_ref


def _find_trouble(driver: str, name: str, found: AttributesClass | None) -> str:
    if found is None:
        return f'VAC "{name}" does not exist.'
    if found.driver_name != driver:
        return (
            f"VAC {name} referenced in PVC is for driver {found.driver_name}"
            f" which does not match driver name {driver}"
        )
    return ""


def _failed(claim: Claim, words: str) -> Emit:
    return Emit(claim, EventType.WARNING, MODIFY_FAILED, words)
