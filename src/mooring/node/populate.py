"""From a pod to the volumes it wants: names resolved, claims followed, plugins found."""

import asyncio
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from mooring.client.contract import T
from mooring.errors import ApiError, ConnectionLost
from mooring.model import quantity
from mooring.model.claim import Claim
from mooring.model.expansion import ResizeStatus, find_resize_status
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.pod import Pod
from mooring.model.pod_resources import EPHEMERAL_STORAGE, total_limit
from mooring.model.pod_volume import PodVolume
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.node.claims import (
    check_claim,
    check_mode,
    check_volume,
    unusable_claim,
    use_of_claim,
    used_names,
)
from mooring.node.context import NodeContext
from mooring.node.desired import WantedBy, WantedVolume
from mooring.node.migrated import in_driver_terms
from mooring.node.reads import SharedReads
from mooring.plugins.contract import (
    Attachable,
    DeviceMountable,
    NodeExpandable,
    Plugin,
    VolumeError,
)
from mooring.plugins.unique_name import unique_name

READS_AT_ONCE = 16  # claims and volumes asked for at the same time, for all pods together
MOST_ERRORS = 11  # reported for one pod


class Resolved(msgspec.Struct, frozen=True):
    """One name in the pod, and what it stands for."""

    outer: str
    plugin: Plugin
    wanted: WantedVolume
    claim: Claim | None = None  # that leads to the volume, as it was read

    @property
    def name(self) -> str:
        """Unique on this node."""
        return self.wanted.name

    @property
    def claimed(self) -> int:
        """The bytes that the claim's owner has been given."""
        return 0 if self.claim is None else self.claim.capacity.bytes_ceil()

    @property
    def may_grow_here(self) -> bool:
        return isinstance(self.plugin, NodeExpandable) and not self.wanted.use.read_only

    @property
    def must_grow_here(self) -> bool:
        """The resizer has just made it the node's turn."""
        status = None if self.claim is None else find_resize_status(self.claim.status)
        return status is ResizeStatus.NODE_PENDING

    @property
    def wants_remount(self) -> bool:
        return self.plugin.wants_remount(self.wanted.use)


class Populated(msgspec.Struct, frozen=True):
    """What became of a pod's names; each error is a sentence."""

    volumes: tuple[Resolved, ...]
    errors: tuple[str, ...]


class Populator:
    """Looks at claims and volumes as they are at this moment, not at what a watch has brought."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self._reads: SharedReads[ApiObject] = SharedReads(READS_AT_ONCE)

    async def populate(self, pod: Pod) -> Populated:
        """What the pod wants; a name that fails keeps no other back. Nothing is changed yet."""
        used = used_names(pod)
        outers = [outer for outer in pod.spec.volumes if outer.name in used]
        claimed = [outer for outer in outers if pod.find_claim_name(outer) is not None]
        found = {outer.name: self._inline(pod, outer) for outer in outers if outer not in claimed}
        if claimed:
            followed = await asyncio.gather(*(self._claimed(pod, outer) for outer in claimed))
            found |= {outer.name: one for outer, one in zip(claimed, followed, strict=True)}
        told = [found[outer.name] for outer in outers]
        errors = list(dict.fromkeys(one for one in told if isinstance(one, str)))[:MOST_ERRORS]
        volumes = tuple(one for one in told if isinstance(one, Resolved))
        return Populated(volumes, tuple(sorted(errors)))

    def want(self, pod: Pod, volumes: Sequence[Resolved]) -> None:
        """Put them into the desired picture, and what their claims say into the actual one."""
        outers: dict[str, set[str]] = {}
        for one in volumes:
            outers.setdefault(one.name, set()).add(one.outer)
        for one in {one.name: one for one in volumes}.values():
            self._want(pod, one, outers[one.name])

    def _want(self, pod: Pod, one: Resolved, outers: set[str]) -> None:
        known = self._context.desired.find(one.name)
        before = None if known is None else known.pods.get(pod.uid)
        since = self._context.clock.monotonic()
        if before is not None and not one.wants_remount:
            since = before.since
        use, wanted = one.wanted.use, one.wanted
        if known is not None and use.read_only:  # a read-only use does not grow it
            wanted = replace(wanted, capacity=known.capacity)
        limit = find_size_limit(pod, use)
        by = WantedBy(pod, use, frozenset(outers), since, limit)
        self._context.desired.want(wanted, by)
        self._context.actual.size_known(one.name, one.claimed)

    def _inline(self, pod: Pod, outer: PodVolume) -> Resolved | str:
        try:
            return self._resolved(pod, outer, VolumeUse(inline=outer))
        except VolumeError as error:
            return str(error)

    async def _claimed(self, pod: Pod, outer: PodVolume) -> Resolved | str:
        try:
            claim, volume = await self._follow(pod, outer)
            return self._resolved(pod, outer, use_of_claim(outer, volume), claim)
        except VolumeError as error:
            return str(error)

    async def _follow(self, pod: Pod, outer: PodVolume) -> tuple[Claim, Volume]:
        """Through the claim to its volume. Raises: Unusable."""
        claim_name = pod.find_claim_name(outer) or ""
        try:
            claim = await self._read(Claim, Key(pod.namespace, claim_name))
        except (ApiError, ConnectionLost) as error:
            why = f"failed to fetch PVC from API server: {error}"
            raise unusable_claim(pod, claim_name, why) from error
        volume_name = check_claim(pod, outer, claim)
        try:
            volume = await self._read(Volume, Key("", volume_name))
        except (ApiError, ConnectionLost) as error:
            why = f"failed to fetch PV {volume_name} from API server: {error}"
            raise unusable_claim(pod, claim_name, why) from error
        check_volume(pod, claim, volume)
        return claim, volume

    async def _read(self, kind: type[T], key: Key) -> T:
        found = await self._reads.read((kind, key), lambda: self._context.client.get(kind, key))
        assert isinstance(found, kind)  # noqa: S101  the key says so
        return found

    def _resolved(
        self, pod: Pod, outer: PodVolume, use: VolumeUse, claim: Claim | None = None
    ) -> Resolved:
        use = in_driver_terms(use, pod.namespace)
        check_mode(pod, outer, use)
        try:
            plugin = self._context.registry.find(use)
        except VolumeError as error:
            raise VolumeError(
                f'failed to get Plugin from volumeSpec for volume "{use.name}" err={error}'
            ) from error
        try:
            name = unique_name(plugin, use, pod.uid)
        except VolumeError as error:
            raise VolumeError(
                f'failed to GetUniqueVolumeNameFromSpec for volumeSpec "{use.name}" '
                f'using volume plugin "{plugin.name}" err={error}'
            ) from error
        return Resolved(outer.name, plugin, _wanted(name, plugin, use), claim)


def _wanted(name: str, plugin: Plugin, use: VolumeUse) -> WantedVolume:
    return WantedVolume(
        name,
        plugin.name,
        use,
        is_attachable=isinstance(plugin, Attachable) and plugin.can_attach(use),
        is_device_mountable=isinstance(plugin, DeviceMountable) and plugin.can_mount_device(use),
        capacity=0 if use.volume is None else use.volume.size.bytes_ceil(),
    )


def find_size_limit(pod: Pod, use: VolumeUse) -> int | None:
    """How much a pod may put into a volume on the node's own disk; None: no limit.

    The smaller of what the pod may use of the disk and what the volume says.

    Only for volumes that are files on the disk: emptyDir without a medium, gitRepo, configMap.
    """
    inline = use.inline
    if inline is None:
        return None
    source = inline.empty_dir
    on_disk = source is not None and not source.medium
    if not on_disk and inline.git_repo is None and inline.config_map is None:
        return None
    limits = [total_limit(pod, EPHEMERAL_STORAGE).bytes_ceil()]
    if source is not None and source.size_limit is not None:
        limits.append(quantity.parse(source.size_limit).bytes_ceil())
    return min((limit for limit in limits if limit > 0), default=None)
