"""What is to be done about a claim that asks for more than it has.

Always true of a plan:

- Only a bound claim is touched, whose volume is this driver's and points back at it.
- That growing begins is recorded before the driver is asked, and its answer on the volume before
  the claim: cut off anywhere, the next pass asks the same again, and ends the same.
- Where a secret is missing, or the request cannot be put together, nothing is recorded.
- A volume's recorded size never shrinks, but for a driver without a back end to grow: there it was
  a promise, which the node could not keep.
- An answer with a smaller size than asked for is the driver's mistake, and not recorded.
- That the node has to follow is kept on the volume, in the same write as its size, until it has.
"""

from mooring.csi.capability import (
    Block,
    Mount,
    UnsupportedModes,
    VolumeCapability,
    combined_mode,
)
from mooring.csi.outcome import Code, Done, Outcome, Refused, Uncertain
from mooring.csi.requests import Expanded, ExpandVolume
from mooring.csi.volume import CapacityRange
from mooring.model import quantity
from mooring.model.claim import Claim
from mooring.model.csi_translation.translate import translate
from mooring.model.event import EventType
from mooring.model.expansion import ResizeStatus, find_resize_status
from mooring.model.quantity import Quantity
from mooring.model.steps import Emit, Fail, plan
from mooring.model.storage_terms import STORAGE, VolumeMode
from mooring.model.volume import Volume
from mooring.model.volume_source import CsiSource
from mooring.model.wellknown import Annotation
from mooring.sidecars.resizer.decide.target import find_target
from mooring.sidecars.resizer.plan import (
    NODE_REQUIRED,
    RESIZE_FAILED,
    RESIZED,
    AwaitNode,
    Expand,
    Finish,
    ForgetBefore,
    GrowVolume,
    Later,
    MarkResizeFailed,
    MarkResizeInfeasible,
    ResizePlan,
    ResizeStep,
)
from mooring.sidecars.resizer.view import ClaimView, find_source, is_bound_to

_RECOVERING = (ResizeStatus.NODE_INFEASIBLE, ResizeStatus.CONTROLLER_IN_PROGRESS)
_INFEASIBLE = (Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.OUT_OF_RANGE)


def decide_resize(view: ClaimView) -> ResizePlan:
    claim, volume = view.claim, view.volume
    if volume is None:
        return plan("its volume is not known yet")
    source = find_source(view.driver, claim, volume)
    if source is None or not is_bound_to(claim, volume):
        return plan("its volume is not this driver's, or points elsewhere")
    if claim.requested <= claim.capacity:
        if _has_node_followed(claim, volume):
            return plan("the node has followed", ForgetBefore(volume))
        return plan("it has what it asks for")
    if not (view.abilities.expands or view.abilities.node_expands):
        words = f"CSI driver {view.driver} does not support volume expansion"
        return plan("the driver cannot grow volumes", _failed(claim, words))
    size = find_target(view, volume)
    if size is None:
        return plan("a node is going to finish")
    if view.size_pause is not None and view.size_pause.size == size:
        return plan("the driver found it impossible", Later(view.size_pause.seconds))
    return _decide_expand(view, volume, source, size)


def _decide_expand(
    view: ClaimView, volume: Volume, source: CsiSource, size: Quantity
) -> ResizePlan:
    claim = view.claim
    if not view.abilities.expands:
        lowers = find_resize_status(claim.status) in _RECOVERING
        step = Expand(claim, volume, size, None, None, lowers)
        return plan("only the node has to grow it", step)
    if view.use.is_in_the_way and view.use.is_used is not False:
        if view.use.is_used is None:
            return plan("its pods are not known yet", Fail("pods that use it are not known yet"))
        words = (
            f"Unable to expand {claim.key} because CSI driver {view.driver} only supports"
            " offline expansion and volume is currently in-use"
        )
        return plan("its pods have to end first", _failed(claim, words))
    try:
        request = _request(view, volume, source, size)
    except UnsupportedModes as error:
        words = _words(volume, view.driver, str(error))
        return plan(str(error), _failed(claim, words), Fail(words))
    secret = source.controller_expand_secret_ref
    return plan("it asks for more", Expand(claim, volume, size, request, secret))


def decide_expanded(
    driver: str, step: Expand, claim: Claim, volume: Volume, outcome: Outcome[Expanded]
) -> ResizePlan:
    """What the driver's answer to `step` means; claim and volume as they are by now."""
    match outcome:
        case Done(Expanded(size, _) as expanded):
            if size < step.size.bytes_ceil():
                error = (
                    f"the driver answered with a size of {size} bytes,"
                    f" which is less than the {step.size.bytes_ceil()} asked for"
                )
                words = _words(volume, driver, error)
                mark = MarkResizeFailed(claim, error)
                return plan("the driver is mistaken", mark, _failed(claim, words), Fail(words))
            return _decide_grown(step, claim, volume, expanded)
        case Refused(code, _):
            words = _words(volume, driver, outcome.text)
            if code in _INFEASIBLE:
                impossible = MarkResizeInfeasible(claim, outcome.text, step.size)
                return plan("the driver finds it impossible", impossible, _failed(claim, words))
            in_use = code is Code.FAILED_PRECONDITION
            refused = MarkResizeFailed(claim, outcome.text, in_use)
            return plan("the driver refuses", refused, _failed(claim, words), Fail(words))
        case Uncertain():
            words = _words(volume, driver, outcome.text)
            return plan("it may still be growing", _failed(claim, words), Fail(words))


def _decide_grown(step: Expand, claim: Claim, volume: Volume, expanded: Expanded) -> ResizePlan:
    size = quantity.from_bytes(expanded.capacity_bytes)
    # A driver may say so only once: what was recorded of its first answer counts too.
    remembered = volume.metadata.annotations.get(Annotation.PRE_RESIZE_CAPACITY)
    needs_node = expanded.node_expansion_required or remembered is not None
    recorded = size if step.lowers else max(size, volume.size)
    before = remembered
    if before is None and needs_node:
        before = claim.status.capacity.get(STORAGE, "0")
    steps: list[ResizeStep] = []
    if recorded != volume.size or before != remembered:
        steps.append(GrowVolume(volume, recorded, before))
    if needs_node:
        words = "Require file system resize of volume on node"
        steps += AwaitNode(claim, recorded), Emit(claim, EventType.NORMAL, NODE_REQUIRED, words)
        return plan("the node has to follow", *steps)
    done = Emit(claim, EventType.NORMAL, RESIZED, "Resize volume succeeded")
    return plan("it has grown", *steps, Finish(claim, recorded), done)


def _has_node_followed(claim: Claim, volume: Volume) -> bool:
    return (
        Annotation.PRE_RESIZE_CAPACITY in volume.metadata.annotations
        and claim.capacity >= volume.size
        and find_resize_status(claim.status) is None
    )


def _request(view: ClaimView, volume: Volume, source: CsiSource, size: Quantity) -> ExpandVolume:
    """Raises: UnsupportedModes."""
    spec = (translate(volume) or volume).spec
    access: Mount | Block = Mount(source.fs_type or view.default_fs_type, spec.mount_options)
    if spec.volume_mode is VolumeMode.BLOCK:
        access = Block()
    mode = combined_mode(spec.access_modes, view.abilities.writers)
    return ExpandVolume(
        volume_id=source.volume_handle,
        capacity=CapacityRange(required_bytes=size.bytes_ceil()),
        capability=VolumeCapability(access, mode),
    )


def _failed(claim: Claim, words: str) -> Emit:
    return Emit(claim, EventType.WARNING, RESIZE_FAILED, words)


def _words(volume: Volume, driver: str, error: str) -> str:
    return f'resize volume "{volume.name}" by resizer "{driver}" failed: {error}'
