"""A bound claim that asks for more than it has."""

import re
from collections.abc import Iterable, Iterator, Sequence
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
from mooring.why.refusal import code_of, who_acts, with_meaning
from mooring.why.template import find_template
from mooring.why.world import World

_FAILED = frozenset({"VolumeResizeFailed", "FileSystemResizeFailed"})
_SLACK = 1 << 20  # bytes above the capacity: a request must stay above it
_DENIED = re.compile(r"CAP_SYS_RESOURCE|Permission denied to resize filesystem")
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
    running = [pod for pod in users if _is_running(pod)]
    if status in _INFEASIBLE or error is not None:
        message = "" if error is None else error.message
        told = f": {with_meaning(message)}" if message else ""
        why = (
            ", as its file system may not grow while it is mounted" if _is_mounted(message) else ""
        )
        words = f"{asked}; growing it failed ({status or 'tried again'}){why}{told}"
        moment = None if error is None else error.last_transition_time
        who = _who_acts(message, running, who)
        found = link(Step.EXPANSION, claim, State.BROKEN, words, since=moment, who=who)
        return found.plus(Found(fixes=tuple(_fixes(claim, running, message))))
    failed = newest_event(world, claim, _FAILED)
    if failed is not None:
        words = f"{asked}; {reporter(failed)} says: {with_meaning(failed.message)}"
        who = _who_acts(failed.message, running, who)
        found = link(Step.EXPANSION, claim, State.BROKEN, words, source=ref(failed), who=who)
        return found.plus(Found(fixes=tuple(_fixes(claim, running, failed.message))))
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


def _is_running(pod: Pod) -> bool:
    return pod.is_scheduled and not pod.is_finished and not pod.is_deleting


def _is_in_use(message: str) -> bool:
    """A driver does not grow the volume while it is in use."""
    return code_of(message) == "FailedPrecondition"


def _is_mounted(message: str) -> bool:
    """The node itself may not grow the file system while it is mounted: every try fails."""
    return not code_of(message) and bool(_DENIED.search(message))


def _who_acts(message: str, running: Sequence[Pod], otherwise: str) -> str:
    if _is_mounted(message):
        return "an administrator"
    if _is_in_use(message) and running:
        return f"whoever runs pod {', '.join(pod.name for pod in running[:3])}"
    return who_acts(message, otherwise)


def _fixes(claim: Claim, running: Sequence[Pod], message: str) -> Iterator[Fix]:
    if _is_mounted(message):
        yield from _unmounted(running)
        return  # a smaller size is no easier
    if _is_in_use(message):
        yield from _without_users(running)
    yield from _give_up(claim)


def _without_users(running: Iterable[Pod]) -> Iterator[Fix]:
    """A volume that is not to be grown while it is in use: its pods end, and come again."""
    why = "the driver refused to grow the volume as it is used now, and may while no pod uses it"
    for pod in running:
        if pod.metadata.find_controller() is not None:
            yield Fix(kubectl("delete", ref(pod)), f"ends pod {pod.name}, which is replaced: {why}")
        else:
            yield Fix(recreated(ref(pod)), f"makes pod {pod.name} anew: {why}")


def _unmounted(running: Sequence[Pod]) -> Iterator[Fix]:
    """The file system is grown by hand, between the end of the pods and their return."""
    back: list[str] = []
    for pod in running:
        ended = f"ends pod {pod.name}, so that its file system can be grown while it is not mounted"
        maker = find_template(pod)
        if pod.metadata.find_controller() is None:
            saved = f"{pod.name}.yaml"
            keep = f"{kubectl('get', ref(pod), '-o', 'yaml')} > {saved}"
            yield Fix(f"{keep} && {kubectl('delete', ref(pod))}", f"{ended}; it is kept in a file")
            back.append(f"kubectl create -f {saved}")
        elif maker is not None and maker.kind != "DaemonSet":
            yield Fix(kubectl("scale", maker, "--replicas=0"), ended)
            back.append(kubectl("scale", maker, "--replicas=VALUE"))
    where = f"on machine {running[0].spec.node_name}, " if running else ""
    told = f"{where}when the volume is detached, put the device, or the file behind it, for DEVICE"
    again = ", and bring the pod back" if back else "; the next pod finds it grown"
    told = f"{told}: grows its file system (ext4){again}"
    yield Fix(" && ".join(("e2fsck -f DEVICE", "resize2fs DEVICE", *dict.fromkeys(back))), told)


def _give_up(claim: Claim) -> Iterator[Fix]:
    """The least request that the API takes while a growth has failed: above the capacity."""
    size = quantity.from_bytes(claim.capacity.bytes_ceil() + _SLACK)
    if claim.requested <= size:
        return
    patch = f'{{"spec":{{"resources":{{"requests":{{"storage":"{size}"}}}}}}}}'
    command = kubectl("patch", ref(claim), "-p", patch)
    yield Fix(command, f"gives up {claim.requested}: the least that may be asked for is {size}")
