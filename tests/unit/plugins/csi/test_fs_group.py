"""Who gives files to a pod's group."""

import pytest

from mooring.csi.capability import NodeCapability
from mooring.model.csi_driver import FsGroupPolicy
from mooring.model.storage_terms import AccessMode
from mooring.model.volume_use import VolumeUse
from mooring.plugins.csi.fs_group import mount_group, node_gives_to_group
from tests.unit.plugins.csi.world import a_persistent_use, an_inline_use

BY_DEFAULT, FILE, NONE = (
    FsGroupPolicy.BY_ACCESS_AND_FS_TYPE,
    FsGroupPolicy.FILE,
    FsGroupPolicy.NONE,
)
DELEGATES = frozenset({NodeCapability.VOLUME_MOUNT_GROUP})
ONCE, MANY = a_persistent_use(), a_persistent_use(AccessMode.MANY)

WALKS = {
    "a file system that one node writes to": (BY_DEFAULT, ONCE, "ext4", False, True),
    "or one pod": (BY_DEFAULT, a_persistent_use(AccessMode.ONCE_POD), "ext4", False, True),
    "one such mode among others is enough": (
        BY_DEFAULT,
        a_persistent_use(AccessMode.MANY, AccessMode.ONCE),
        "ext4",
        False,
        True,
    ),
    "not what many nodes write to": (BY_DEFAULT, MANY, "ext4", False, False),
    "not without a file system's name": (BY_DEFAULT, ONCE, "", False, False),
    "inline volumes are the pod's own": (BY_DEFAULT, an_inline_use(), "ext4", False, True),
    "nothing that is only read": (FILE, ONCE, "ext4", True, False),
    "whatever it is, if the driver says File": (FILE, MANY, "", False, True),
    "nothing, if the driver says None": (NONE, ONCE, "ext4", False, False),
    "a policy that is new to us is the default one": (
        FsGroupPolicy("Newer"),
        ONCE,
        "",
        False,
        False,
    ),
}


@pytest.mark.parametrize(
    ("policy", "use", "fs_type", "read_only", "expected"), WALKS.values(), ids=WALKS
)
def test_the_node_walks(
    policy: FsGroupPolicy, use: VolumeUse, fs_type: str, *, read_only: bool, expected: bool
) -> None:
    assert node_gives_to_group(policy, use, fs_type, read_only=read_only) is expected


def test_a_driver_that_can_mounts_for_the_group() -> None:
    assert mount_group(DELEGATES, 2000) == "2000"
    assert mount_group(DELEGATES, 0) == "0"
    assert mount_group(DELEGATES, None) == ""
    assert mount_group(frozenset(), 2000) == ""
