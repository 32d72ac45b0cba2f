import pytest

from mooring.sidecars.provisioner.parameters import find_fs_type, for_driver
from mooring.sidecars.provisioner.waiting_reason import WaitingReason

KEY = "csi.storage.k8s.io/fstype"
FS_TYPES = {
    "none named, none by default": ({}, "", ""),
    "none named, one by default": ({}, "ext4", "ext4"),
    "named": ({KEY: "xfs"}, "ext4", "xfs"),
    "named the old way, in any case": ({"FsType": "xfs"}, "", "xfs"),
    "an empty one is none": ({KEY: ""}, "ext4", "ext4"),
}


@pytest.mark.parametrize(("parameters", "default", "expected"), FS_TYPES.values(), ids=FS_TYPES)
def test_a_file_system(parameters: dict[str, str], default: str, expected: str) -> None:
    assert find_fs_type(parameters, default) == expected


def test_a_file_system_named_twice_is_refused() -> None:
    with pytest.raises(WaitingReason, match='with both "fstype" and'):
        find_fs_type({"fstype": "xfs", KEY: "xfs"}, "")


def test_drivers_do_not_see_keys_that_are_ours() -> None:
    ours = {KEY: "xfs", "csi.storage.k8s.io/node-expand-secret-name": "n"}
    theirs = {"fstype": "xfs", "csiProvisionerSecretName": "n", "kind": "ssd"}
    assert for_driver(ours | theirs) == theirs


def test_a_key_that_looks_like_ours_is_refused() -> None:
    with pytest.raises(WaitingReason) as refused:
        for_driver({"csi.storage.k8s.io/colour": "blue"})
    assert str(refused.value) == (
        "failed to strip CSI Parameters of prefixed keys: found unknown parameter key"
        ' "csi.storage.k8s.io/colour" with reserved namespace csi.storage.k8s.io/'
    )
