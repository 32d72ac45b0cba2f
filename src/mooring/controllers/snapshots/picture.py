"""Pictures of snapshots and claims, from the caches or, where that decides, from the server."""

from mooring.client.contract import Client, Scope
from mooring.clock import Clock
from mooring.controllers.snapshots.informers import (
    BY_CLAIM,
    BY_HANDLE,
    RESTORING,
    SnapshotInformers,
)
from mooring.controllers.snapshots.names import content_names, find_group_owner, points_back
from mooring.controllers.snapshots.view import (
    ClaimView,
    Classes,
    ContentMode,
    Evidence,
    FoundContent,
    SnapshotView,
    Source,
    Uses,
)
from mooring.errors import NotFound
from mooring.model.claim import Claim
from mooring.model.group_snapshot import GroupSnapshot
from mooring.model.keys import Key
from mooring.model.snapshot import Snapshot, SnapshotContent
from mooring.model.timestamp import to_seconds
from mooring.model.volume import Volume


class Pictures:
    def __init__(
        self, client: Client, clock: Clock, informers: SnapshotInformers, mode: ContentMode
    ) -> None:
        self._client = client
        self._clock = clock
        self._known = informers
        self._mode = mode

    def snapshot(
        self, snapshot: Snapshot, evidence: Evidence = Evidence.CACHE, recorded: str = ""
    ) -> SnapshotView:
        content = self._find_content(snapshot)
        claim = self._find_claim(snapshot)
        name = snapshot.spec.volume_snapshot_class_name
        volume = None if claim is None else self._known.volumes.get(Key("", claim.spec.volume_name))
        siblings = () if content is None else self._find_siblings(content)
        restoring = tuple(
            claim.key for claim in self._known.claims.by_index(RESTORING, snapshot.key)
        )
        group = self._find_owner(snapshot)
        joined = None if content is None else self._find_joined(snapshot, content)
        return SnapshotView(
            snapshot,
            to_seconds(self._clock.now()),
            FoundContent(content, evidence, siblings),
            Source(claim, volume, self._find_node(volume)),
            Classes(
                self._known.classes.get(Key("", name)) if name else None,
                tuple(each for each in self._known.classes.all() if each.is_default),
            ),
            Uses(restoring, group, joined, recorded),
            self._mode,
        )

    async def ask_for_snapshot(self, snapshot: Snapshot, recorded: str = "") -> SnapshotView:
        """With what the server knows of its contents and its group. Raises: ApiError."""
        for name in content_names(snapshot):
            try:
                self._known.fold(await self._client.get(SnapshotContent, Key("", name)))
            except NotFound:
                continue
        return self.snapshot(snapshot, Evidence.SERVER, recorded)

    async def ask_for_group(self, snapshot: Snapshot) -> None:
        """Where groups may not be served, or are not known yet. Raises: ApiError."""
        owner = find_group_owner(snapshot)
        if owner is None:
            return
        try:
            key = Key(snapshot.namespace, owner.name)
            self._known.fold(await self._client.get(GroupSnapshot, key))
        except NotFound:
            return

    def claim(self, claim: Claim) -> ClaimView:
        snapshots = self._known.snapshots.by_index(BY_CLAIM, claim.key)
        return ClaimView(claim, tuple(snapshots), Evidence.CACHE)

    async def ask_for_claim(self, claim: Claim) -> ClaimView:
        """With the snapshots that the server lists. Raises: ApiError."""
        listing = await self._client.list(Snapshot, Scope(namespace=claim.namespace))
        return ClaimView(claim, tuple(listing.items), Evidence.SERVER)

    def _find_content(self, snapshot: Snapshot) -> SnapshotContent | None:
        """One that points back, else the first that there is."""
        found = [
            content
            for name in content_names(snapshot)
            if (content := self._known.contents.get(Key("", name))) is not None
        ]
        own = (content for content in found if points_back(content, snapshot))
        return next(own, found[0] if found else None)

    def _find_claim(self, snapshot: Snapshot) -> Claim | None:
        name = snapshot.spec.source.persistent_volume_claim_name
        return self._known.claims.get(Key(snapshot.namespace, name)) if name else None

    def _find_node(self, volume: Volume | None) -> str:
        """The first node, by name, that the volume can be used on; empty: on all, or none."""
        affinity = None if volume is None else volume.spec.node_affinity
        if self._known.nodes is None or affinity is None or affinity.required is None:
            return ""
        fitting = (
            node.name
            for node in self._known.nodes.all()
            if affinity.required.matches(node.metadata.labels, {"metadata.name": node.name})
        )
        return min(fitting, default="")

    def _find_siblings(self, content: SnapshotContent) -> tuple[SnapshotContent, ...]:
        if not content.snapshot_handle:
            return ()
        handle = (content.spec.driver, content.snapshot_handle)
        found = self._known.contents.by_index(BY_HANDLE, handle)
        return tuple(each for each in found if each.uid != content.uid)

    def _find_owner(self, snapshot: Snapshot) -> GroupSnapshot | None:
        owner = find_group_owner(snapshot)
        if owner is None:
            return None
        group = self._known.groups.get(Key(snapshot.namespace, owner.name))
        return group if group is not None and group.uid == owner.uid else None

    def _find_joined(self, snapshot: Snapshot, content: SnapshotContent) -> GroupSnapshot | None:
        """The group whose handle the driver has reported for this snapshot."""
        handle = content.status.volume_group_snapshot_handle if content.status else None
        if not handle:
            return None
        for found in self._known.group_contents.by_index(BY_HANDLE, (content.spec.driver, handle)):
            reference = found.spec.volume_group_snapshot_ref
            group = self._known.groups.get(reference.key)
            if (
                group is not None
                and group.uid == reference.uid
                and group.namespace == snapshot.namespace
                and not group.is_deleting
            ):
                return group
        return None
