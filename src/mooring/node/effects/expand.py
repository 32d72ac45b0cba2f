"""The node's part of volume expansion, after the back end has grown.

The state machine, and its record in the claim, is in `mooring.model.expansion`.
"""

from pathlib import Path
from typing import assert_never

from mooring import log
from mooring.client.contract import Part
from mooring.errors import ApiError, Conflict, ConnectionLost, HostError, StillRunning
from mooring.model import expansion
from mooring.model.claim import Claim, ClaimStatus
from mooring.model.event import EventType
from mooring.model.expansion import NodeMove
from mooring.model.keys import Key
from mooring.model.quantity import Quantity
from mooring.model.storage_terms import VolumeMode
from mooring.model.timestamp import to_seconds
from mooring.model.volume import Volume
from mooring.node.actual import ActualVolume, PodState
from mooring.node.context import NodeContext
from mooring.node.desired import WantedBy, WantedVolume
from mooring.node.effects.events import FAILED_MAP, FAILED_MOUNT
from mooring.node.effects.mount_attempt import MountAttempt, Reach
from mooring.plugins.contract import (
    GrowthRequest,
    Infeasible,
    Mounter,
    NodeExpandable,
    NotStarted,
    NotSupported,
    StillInUse,
    Uncertain,
    VolumeError,
)
from mooring.reconcile.recorder import reference_to

SUCCEEDED = "FileSystemResizeSuccessful"
FAILED = "FileSystemResizeFailed"
FAILED_IN_USE = "VolumeResizeFailed"

_log = log.get("mooring.node.effects")


async def grow_while_mounting(attempt: MountAttempt, reach: Reach) -> None:
    """Before the pod may start: a volume that has grown meanwhile grows here too.

    Raises: MooringError, after an event; the pod's entry then stays uncertain.
    """
    here = attempt.get_here()
    if not _is_behind(attempt.wanted, here):
        return
    is_block = attempt.use.mode is VolumeMode.BLOCK
    reason = FAILED_MAP if is_block else FAILED_MOUNT
    step = "MapVolume.MarkVolumeAsMounted" if is_block else "MountVolume.Setup"
    with attempt.recorded(reason, f"{step} failed while expanding volume"):
        await _grow(attempt, here, reach)


async def grow_in_use(context: NodeContext, wanted: WantedVolume, here: ActualVolume) -> None:
    """Grow a volume under the pods that use it.

    Raises: MooringError, after an event; NotStarted, without one, when it is not the node's turn.
    """
    by, reach = _find_writer(wanted, here)
    attempt = MountAttempt.of(context, wanted, by)
    with attempt.recorded(FAILED_IN_USE, "NodeExpandVolume.NodeExpandVolume failed"):
        await _grow(attempt, here, reach)
    grown = attempt.get_here()
    if _is_behind(wanted, grown) and not grown.refuses_growth:
        raise NotStarted("the claim does not say that it is the node's turn to grow")


def _is_behind(wanted: WantedVolume, here: ActualVolume) -> bool:
    return bool(here.size) and wanted.capacity > here.size


def _find_writer(wanted: WantedVolume, here: ActualVolume) -> tuple[WantedBy, Reach]:
    for uid, mount in here.pods.items():
        by = wanted.pods.get(uid)
        if by is None or by.use.read_only or mount.reach is None:
            continue
        if mount.state is PodState.MOUNTED:
            return by, mount.reach
    raise NotStarted("no pod that writes has the volume mounted")


async def _grow(attempt: MountAttempt, here: ActualVolume, reach: Reach) -> None:
    plugin = attempt.context.registry.find_node_expandable(attempt.use)
    volume = attempt.use.volume
    if plugin is None or volume is None or not plugin.needs_node_growth(attempt.use):
        return
    if volume.spec.claim_ref is not None:
        await _Growth(attempt, plugin, volume, here, reach).run(volume.spec.claim_ref.key)


class _Growth:
    """One try to grow one volume, on behalf of one of its pods."""

    def __init__(
        self,
        attempt: MountAttempt,
        plugin: NodeExpandable,
        volume: Volume,
        here: ActualVolume,
        reach: Reach,
    ) -> None:
        self._attempt = attempt
        self._context = attempt.context
        self._plugin = plugin
        self._volume = volume
        self._here = here
        self._reach = reach

    async def run(self, key: Key) -> None:
        """As large as the claim says that the node shall make it; which may be no larger."""
        claim = await self._claim(key)
        if self._attempt.use.read_only:
            self._refuse_reader(claim)
            return
        target = expansion.node_target(claim, self._volume)
        move = expansion.decide_node(claim, self._volume)
        match move:
            case NodeMove.WAIT:
                pass
            case NodeMove.DONE:
                self._context.actual.grew(self._here.name, target.bytes_ceil())
            case NodeMove.EXPAND:
                claim = await self._record(claim, expansion.start_on_node(claim.status))
                await self._expand(claim, target, move)
            case NodeMove.EXPAND_UNRECORDED | NodeMove.EXPAND_AGAIN:
                await self._expand(claim, target, move)
            case _:
                assert_never(move)

    async def _claim(self, key: Key) -> Claim:
        try:
            return await self._context.client.get(Claim, key)
        except (ApiError, ConnectionLost) as error:
            text = f"mountVolume.NodeExpandVolume get PVC failed : {error}"
            raise NotStarted(text) from error

    def _refuse_reader(self, claim: Claim) -> None:
        """A read-only volume cannot be grown; it is used at its present size."""
        if claim.capacity < self._volume.size:
            what = "MountVolume.NodeExpandVolume failed"
            self._tell_both(
                claim, EventType.WARNING, FAILED, what, "requested read-only file system"
            )

    async def _expand(self, claim: Claim, target: Quantity, move: NodeMove) -> None:
        try:
            await self._plugin.grow_on_node(self._request(claim, target))
        except (NotStarted, Uncertain, StillRunning):
            raise
        except (VolumeError, HostError) as error:
            if isinstance(error, NotSupported) and move is not NodeMove.EXPAND:
                # The controller has finished: no expansion on the node is required.
                self._context.actual.grew(self._here.name, target.bytes_ceil())
                return
            if move is NodeMove.EXPAND:
                await self._record_failure(claim, target, error)
            if not isinstance(error, StillInUse):
                raise
            self._context.actual.refused_growth(self._here.name)
            return
        if move is not NodeMove.EXPAND_AGAIN:
            await self._record_success(claim, target)
        self._context.actual.grew(self._here.name, target.bytes_ceil())
        what = "MountVolume.NodeExpandVolume succeeded"
        self._tell_both(claim, EventType.NORMAL, SUCCEEDED, what, self._context.own_node.name)

    async def _record_success(self, claim: Claim, target: Quantity) -> None:
        """If that fails, all is done once more: growing what has grown is a success."""
        try:
            await self._record(claim, expansion.finish(claim.status, target))
        except (ApiError, ConnectionLost) as error:
            text = f"mountVolume.NodeExpandVolume update pvc status failed: {error}"
            raise NotStarted(text) from error

    async def _record_failure(
        self, claim: Claim, target: Quantity, failure: VolumeError | HostError
    ) -> None:
        """A size that was given up meanwhile, and has failed before, is not tried for ever."""
        now = to_seconds(self._context.clock.now())
        is_given_up = self._here.growth_failed and expansion.is_request_changed(claim, target)
        if isinstance(failure, Infeasible) or is_given_up:
            status = expansion.refuse_on_node(claim.status, str(failure), now)
        else:
            status = expansion.fail_on_node(claim.status, str(failure), now)
        self._context.actual.growth_failed(self._here.name)
        try:
            await self._record(claim, status)
        except Conflict as error:  # the next try reads what was written, and records its own end
            _log.debug("failed growth not recorded", claim=claim.key, error=error)
        except (ApiError, ConnectionLost) as error:  # the failure itself is the news
            _log.warning("failed growth not recorded", claim=claim.key, error=error)

    async def _record(self, claim: Claim, status: ClaimStatus) -> Claim:
        patch = expansion.status_patch(claim.status, status)
        if not patch:
            return claim
        return await self._context.client.patch(claim, {"status": patch}, Part.STATUS)

    def _request(self, claim: Claim, target: Quantity) -> GrowthRequest:
        return GrowthRequest(
            self._attempt.use,
            new_bytes=target.bytes_ceil(),
            old_bytes=claim.capacity.bytes_ceil(),
            device=self._here.device_path,
            mount_path=_path(self._reach),
            device_mount_path=self._here.device_mount_path,
        )

    def _tell_both(
        self, claim: Claim, kind: EventType, reason: str, what: str, suffix: str
    ) -> None:
        message = f'{what} for volume "{self._attempt.use.name}" {suffix}'
        for regarding in (self._attempt.by.pod, claim):
            self._context.recorder.record(reference_to(regarding), kind, reason, message)


def _path(reach: Reach) -> Path:
    return reach.path if isinstance(reach, Mounter) else reach.pod_device_link()
