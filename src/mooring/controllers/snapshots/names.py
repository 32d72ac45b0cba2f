"""The names of what this controller makes, and whose an object is, as upstream defines them."""

from hashlib import sha256

from mooring.model.group_snapshot import GroupSnapshot, GroupSnapshotContent
from mooring.model.meta import ApiObject, OwnerReference
from mooring.model.reference import ObjectReference
from mooring.model.snapshot import Snapshot, SnapshotContent

_SNAPSHOT, _CONTENT = "snapshot-", "snapcontent-"


def find_group_owner(snapshot: Snapshot) -> OwnerReference | None:
    """The group that it is a member of, whatever version of the API the reference has."""
    of = GroupSnapshot.resource
    for owner in snapshot.metadata.owner_references:
        if owner.kind == of.kind and owner.api_version.partition("/")[0] == of.group:
            return owner
    return None


def content_name(snapshot: Snapshot) -> str:
    """The content that is made for it, or by its group for a member."""
    if find_group_owner(snapshot) is not None and snapshot.name.startswith(_SNAPSHOT):
        return _CONTENT + snapshot.name.removeprefix(_SNAPSHOT)
    return _CONTENT + snapshot.uid


def content_names(snapshot: Snapshot) -> tuple[str, ...]:
    """All contents that may be its own, the likeliest first."""
    named = snapshot.spec.source.volume_snapshot_content_name
    made = () if named else (content_name(snapshot),)
    return tuple(dict.fromkeys(name for name in (snapshot.content_name, named, *made) if name))


def group_content_name(group: GroupSnapshot) -> str:
    return f"groupsnapcontent-{group.uid}"


def group_content_names(group: GroupSnapshot) -> tuple[str, ...]:
    named = group.spec.source.volume_group_snapshot_content_name
    made = () if named else (group_content_name(group),)
    return tuple(dict.fromkeys(name for name in (group.content_name, named, *made) if name))


def member_name(group: GroupSnapshot, volume_handle: str) -> str:
    return _SNAPSHOT + _hashed(group, volume_handle)


def member_content_name(group: GroupSnapshot, volume_handle: str) -> str:
    return _CONTENT + _hashed(group, volume_handle)


def _hashed(group: GroupSnapshot, volume_handle: str) -> str:
    return sha256((group.uid + volume_handle).encode()).hexdigest()


def reference_of(content: SnapshotContent | GroupSnapshotContent) -> ObjectReference:
    """What the content says that it belongs to."""
    if isinstance(content, SnapshotContent):
        return content.spec.volume_snapshot_ref
    return content.spec.volume_group_snapshot_ref


def points_back(content: SnapshotContent | GroupSnapshotContent, owner: ApiObject) -> bool:
    """Whether the content belongs to this very object, by its uid."""
    reference = reference_of(content)
    return reference.key == owner.key and reference.uid == owner.uid


def names_it(content: SnapshotContent | GroupSnapshotContent, owner: ApiObject) -> bool:
    """Whether the content belongs to it, or is reserved for it by name."""
    reference = reference_of(content)
    return reference.key == owner.key and reference.uid in {"", owner.uid}
