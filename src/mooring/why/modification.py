"""A bound claim that asks for another VolumeAttributesClass than its volume has."""

from difflib import get_close_matches

from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim
from mooring.model.condition import find_condition
from mooring.model.keys import Key
from mooring.model.modification import ModifyCondition, ModifyState, find_state, is_open
from mooring.model.volume import Volume
from mooring.why.answer import Fix, Ref, State, Step
from mooring.why.found import NOTHING, Found, kubectl, link, ref
from mooring.why.refusal import who_acts, with_meaning
from mooring.why.world import World

LIKE = 0.6


def explain_modification(world: World, claim: Claim) -> Found:
    if not claim.is_bound or not is_open(claim):
        return NOTHING
    volume = world.find(Volume, Key("", claim.spec.volume_name))
    csi = None if volume is None else volume.spec.csi
    driver = "its driver" if csi is None else f"driver {csi.driver}"
    wanted = claim.spec.volume_attributes_class_name or ""
    has = claim.status.current_volume_attributes_class_name or "none"
    asked = f"the claim asks for the VolumeAttributesClass {wanted or 'none'} and has {has}"
    chosen = world.find(AttributesClass, Key("", wanted)) if wanted else None
    if wanted and chosen is None and world.is_known(AttributesClass, Key("", wanted)):
        about = Ref(AttributesClass.resource.kind, wanted)
        words = f"{asked}, and there is no such VolumeAttributesClass"
        found = link(
            Step.MODIFICATION, about, State.BROKEN, words, source=ref(claim), who="an administrator"
        )
        return found.plus(Found(fixes=_instead(world, claim, csi.driver if csi else "")))
    who = f"the resizer of {driver}"
    error = find_condition(claim.status.conditions, ModifyCondition.ERROR)
    if error is not None:
        words = f"{asked}; that failed: {with_meaning(error.message)}"
        moment, who = error.last_transition_time, who_acts(error.message, who)
        found = link(Step.MODIFICATION, claim, State.BROKEN, words, since=moment, who=who)
        return found.plus(Found(fixes=_instead(world, claim, csi.driver if csi else "")))
    state = find_state(claim.status)
    how = "has begun" if state is ModifyState.IN_PROGRESS else "has not begun"
    words = f"{asked}; the change {how}"
    return link(Step.MODIFICATION, claim, State.WAITING, words, who=who)


def _instead(world: World, claim: Claim, driver: str) -> tuple[Fix, ...]:
    """A class of a like name, then the one that it has."""
    wanted = claim.spec.volume_attributes_class_name or ""
    has = claim.status.current_volume_attributes_class_name
    names = [
        each.name
        for each in world.all(AttributesClass)
        if each.driver_name == driver and each.name not in {wanted, has}
    ]
    fixes = []
    for name in get_close_matches(wanted, names, n=1, cutoff=LIKE):
        told = f"asks for the VolumeAttributesClass {name} instead"
        fixes.append(Fix(_patched(claim, f'"{name}"'), told))
    if has:
        fixes.append(Fix(_patched(claim, f'"{has}"'), f"asks for {has} again, which it has"))
    return tuple(fixes)


def _patched(claim: Claim, name: str) -> str:
    patch = f'{{"spec":{{"volumeAttributesClassName":{name}}}}}'
    return kubectl("patch", ref(claim), "-p", patch)
