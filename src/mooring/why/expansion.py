"""A bound claim that asks for more than it has."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from mooring.controllers.expansion.decide import decide
from mooring.controllers.expansion.view import ClaimView
from mooring.model import quantity
from mooring.model.claim import Claim
from mooring.model.condition import find_condition
from mooring.model.expansion import ResizeCondition, ResizeStatus, find_resize_status
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.why.answer import Fix, State, Step
from mooring.why.found import (
    NOTHING,
    Found,
    kubectl,
    link,
    newest_event,
    recreated,
    ref,
    reporter,
)
from mooring.why.refusal import code_of, with_meaning
from mooring.why.world import World

_FAILED = frozenset({"VolumeResizeFailed", "FileSystemResizeFailed"})
_SLACK = 1 << 20  # bytes above the capacity: a request must stay above it
_INFEASIBLE = frozenset({ResizeStatus.CONTROLLER_INFEASIBLE, ResizeStatus.NODE_INFEASIBLE})


def explain_expansion(world: World, claim: Claim, users: Iterable[Pod], now: datetime) -> Found:
    volume = world.find(Volume, Key("", claim.spec.volume_name))
    if not claim.is_bound or volume is None or claim.requested <= claim.capacity:
        return NOTHING
    plan = decide(ClaimView(claim, volume))
    status = find_resize_status(claim.status)
    asked = f"the claim asks for {claim.requested} and has {claim.capacity}"
    driver = volume.spec.csi.driver if volume.spec.csi is not None else "the volume's plugin"
    who = claim.metadata.annotations.get(Annotation.RESIZER, f"the resizer of {driver}")
    error = find_condition(claim.status.conditions, ResizeCondition.CONTROLLER_ERROR)
    error = error or find_condition(claim.status.conditions, ResizeCondition.NODE_ERROR)
    waits = find_condition(claim.status.conditions, ResizeCondition.FILE_SYSTEM_PENDING)
    begun = find_condition(claim.status.conditions, ResizeCondition.RESIZING)
    if status in _INFEASIBLE or error is not None:
        told = f": {with_meaning(error.message)}" if error is not None and error.message else ""
        words = f"{asked}; growing it failed ({status or 'tried again'}){told}"
        moment = None if error is None else error.last_transition_time
        again = () if error is None else tuple(_without_users(error.message, users))
        return link(Step.EXPANSION, claim, State.BROKEN, words, since=moment, who=who).plus(
            Found(fixes=(*again, _give_up(claim)))
        )
    failed = newest_event(world, claim, _FAILED)
    if failed is not None:
        words = f"{asked}; {reporter(failed)} says: {with_meaning(failed.message)}"
        return link(Step.EXPANSION, claim, State.BROKEN, words, source=ref(failed), who=who).plus(
            Found(fixes=(_give_up(claim),))
        )
    if status is ResizeStatus.NODE_PENDING or waits is not None:
        words = f"{asked}; the volume has grown, its file system grows when a pod runs with it"
        moment = None if waits is None else waits.last_transition_time
        return link(
            Step.EXPANSION, claim, State.WAITING, words, since=moment, who="the kubelet of its pod"
        )
    moment = None if begun is None else begun.last_transition_time
    found = link(
        Step.EXPANSION, claim, State.WAITING, f"{asked}; {plan.because}", since=moment, who=who
    )
    return found.plus(_refused_by_class(world, claim))


def _refused_by_class(world: World, claim: Claim) -> Found:
    chosen = world.find(StorageClass, Key("", claim.storage_class))
    if chosen is None or chosen.allow_volume_expansion:
        return NOTHING
    command = kubectl("patch", ref(chosen), "-p", '{"allowVolumeExpansion":true}')
    return Found(fixes=(Fix(command, f"lets volumes of class {chosen.name} grow"),))


def _without_users(message: str, users: Iterable[Pod]) -> Iterator[Fix]:
    """A volume that is not to be grown while it is in use: its pods end, and come again."""
    if code_of(message) != "FailedPrecondition":
        return
    why = "the driver refused to grow the volume as it is used now, and may while no pod uses it"
    for pod in users:
        if not pod.is_scheduled or pod.is_finished or pod.is_deleting:
            continue
        if pod.metadata.find_controller() is not None:
            yield Fix(kubectl("delete", ref(pod)), f"ends pod {pod.name}, which is replaced: {why}")
        else:
            yield Fix(recreated(ref(pod)), f"makes pod {pod.name} anew: {why}")


def _give_up(claim: Claim) -> Fix:
    """The least request that the API takes while a growth has failed: above the capacity."""
    size = quantity.from_bytes(claim.capacity.bytes_ceil() + _SLACK)
    patch = f'{{"spec":{{"resources":{{"requests":{{"storage":"{size}"}}}}}}}}'
    command = kubectl("patch", ref(claim), "-p", patch)
    return Fix(command, f"gives up {claim.requested}: the least that may be asked for is {size}")
