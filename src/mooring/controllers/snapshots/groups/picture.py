"""Pictures of groups, from the caches or, where that decides, from the server."""

from mooring.client.contract import Client, Scope
from mooring.clock import Clock
from mooring.controllers.snapshots.groups.view import (
    FoundGroupContent,
    GroupClasses,
    GroupView,
    Member,
)
from mooring.controllers.snapshots.informers import (
    BY_GROUP,
    BY_HANDLE,
    RESTORING,
    SnapshotInformers,
)
from mooring.controllers.snapshots.names import (
    group_content_names,
    member_content_name,
    member_name,
    points_back,
)
from mooring.controllers.snapshots.view import Evidence, Source
from mooring.errors import NotFound
from mooring.model.claim import Claim
from mooring.model.group_snapshot import GroupSnapshot, GroupSnapshotContent, MemberSnapshot
from mooring.model.keys import Key
from mooring.model.snapshot import Snapshot
from mooring.model.timestamp import to_seconds
from mooring.model.volume import Volume
from mooring.model.wellknown import Finalizer


class GroupPictures:
    def __init__(self, client: Client, clock: Clock, informers: SnapshotInformers) -> None:
        self._client = client
        self._clock = clock
        self._known = informers

    def group(
        self,
        group: GroupSnapshot,
        evidence: Evidence = Evidence.CACHE,
        sources: tuple[Source, ...] | None = None,
        recorded: str = "",
    ) -> GroupView:
        name = group.spec.volume_group_snapshot_class_name
        content = self._find_content(group)
        owned = tuple(self._known.snapshots.by_index(BY_GROUP, (group.namespace, group.uid)))
        return GroupView(
            group=group,
            now=to_seconds(self._clock.now()),
            found=FoundGroupContent(content, evidence),
            classes=GroupClasses(
                self._known.group_classes.get(Key("", name)) if name else None,
                tuple(each for each in self._known.group_classes.all() if each.is_default),
            ),
            sources=sources,
            members=() if content is None else self._members(group, content),
            owned=owned,
            restored=tuple(each.key for each in owned if self._is_restored(each)),
            recorded=recorded,
        )

    async def ask_for_group(self, group: GroupSnapshot, recorded: str = "") -> GroupView:
        """With the contents and claims that the server knows. Raises: ApiError."""
        for name in group_content_names(group):
            try:
                self._known.fold(await self._client.get(GroupSnapshotContent, Key("", name)))
            except NotFound:
                continue
        sources: tuple[Source, ...] | None = None
        if not group.is_deleting and self._find_content(group) is None:
            sources = await self._choose(group)
        return self.group(group, Evidence.SERVER, sources, recorded)

    async def _choose(self, group: GroupSnapshot) -> tuple[Source, ...]:
        """The claims that its selector chooses, now, with their volumes."""
        selector = group.spec.source.selector
        if selector is None:
            return ()
        try:
            wanted = selector.selector()
        except ValueError:
            return ()  # it is shown in the refusal
        listing = await self._client.list(Claim, Scope(namespace=group.namespace))
        chosen = (each for each in listing.items if wanted.matches(each.metadata.labels))
        return tuple([Source(claim, await self._volume_of(claim)) for claim in chosen])

    async def _volume_of(self, claim: Claim) -> Volume | None:
        if not claim.spec.volume_name:
            return None
        key = Key("", claim.spec.volume_name)
        known = self._known.volumes.get(key)
        if known is not None:
            return known
        try:
            return await self._client.get(Volume, key)
        except NotFound:
            return None

    def _find_content(self, group: GroupSnapshot) -> GroupSnapshotContent | None:
        found = [
            content
            for name in group_content_names(group)
            if (content := self._known.group_contents.get(Key("", name))) is not None
        ]
        own = (content for content in found if points_back(content, group))
        return next(own, found[0] if found else None)

    def _members(self, group: GroupSnapshot, content: GroupSnapshotContent) -> tuple[Member, ...]:
        if content.status is None or not content.spec.source.volume_handles:
            return ()  # of a group that was made by hand, members are made by hand too
        infos = content.status.volume_snapshot_info_list
        return tuple(self._member(group, content.spec.driver, info) for info in infos)

    def _member(self, group: GroupSnapshot, driver: str, info: MemberSnapshot) -> Member:
        snapshot = Key(group.namespace, member_name(group, info.volume_handle))
        content = Key("", member_content_name(group, info.volume_handle))
        volumes = self._known.volumes.by_index(BY_HANDLE, (driver, info.volume_handle))
        return Member(
            info,
            self._known.snapshots.get(snapshot),
            self._known.contents.get(content),
            volumes[0] if len(volumes) == 1 else None,
        )

    def _is_restored(self, snapshot: Snapshot) -> bool:
        is_held = Finalizer.RESTORE_SOURCE in snapshot.metadata.finalizers
        return is_held or bool(self._known.claims.by_index(RESTORING, snapshot.key))
