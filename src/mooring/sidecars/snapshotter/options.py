"""How a snapshotter does its work; the defaults are those of csi-snapshotter."""

import msgspec


class NamePattern(msgspec.Struct, frozen=True):
    """How a snapshot is called in the storage system: a prefix, and a uid."""

    prefix: str
    uid_length: int = -1  # characters of the uid without dashes; negative: all, with dashes

    def name(self, uid: str) -> str:
        if self.uid_length < 0:
            return f"{self.prefix}-{uid}"
        return f"{self.prefix}-{uid.replace('-', '')[: self.uid_length]}"


class SnapshotterOptions(msgspec.Struct, frozen=True):
    call_seconds: float = 60.0  # how long a driver may take for a call
    names: NamePattern = NamePattern("snapshot")
    group_names: NamePattern = NamePattern("groupsnapshot")
    extra_create_metadata: bool = False  # send the names of snapshot and content


SNAPSHOTTER_AS_UPSTREAM = SnapshotterOptions()
