import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.capability import find_mismatch, flags_of, read_use, read_uses
from mooring.driver.records import AccessType, Blank, Use, VolumeRecord
from mooring.driver.refusal import INVALID
from tests.unit.driver.calls import Mode, a_capability, refused

READ = {
    "without a file system it is ext4": (
        a_capability(),
        Use(AccessType.MOUNT, Mode.SINGLE_NODE_WRITER, "ext4"),
    ),
    "with one it is that": (
        a_capability(fs_type="btrfs"),
        Use(AccessType.MOUNT, Mode.SINGLE_NODE_WRITER, "btrfs"),
    ),
    "a block device has none": (
        a_capability(Mode.SINGLE_NODE_MULTI_WRITER, is_block=True),
        Use(AccessType.BLOCK, Mode.SINGLE_NODE_MULTI_WRITER),
    ),
    "readers of many nodes only read": (
        a_capability(Mode.MULTI_NODE_READER_ONLY),
        Use(AccessType.MOUNT, Mode.MULTI_NODE_READER_ONLY, "ext4", is_read_only=True),
    ),
    "readers of one node only read": (
        a_capability(Mode.SINGLE_NODE_READER_ONLY, is_block=True),
        Use(AccessType.BLOCK, Mode.SINGLE_NODE_READER_ONLY, is_read_only=True),
    ),
}


@pytest.mark.parametrize(("given", "then"), READ.values(), ids=READ)
def test_what_a_capability_means(given: csi.VolumeCapability, then: Use) -> None:
    assert read_use(given) == then


REFUSED = {
    "writers on many nodes": (a_capability(Mode.MULTI_NODE_MULTI_WRITER), "MULTI_NODE_MULTI"),
    "one writer of many nodes": (a_capability(Mode.MULTI_NODE_SINGLE_WRITER), "one machine"),
    "no access mode": (a_capability(Mode.UNKNOWN), "access mode"),
    "an unknown file system": (a_capability(fs_type="vfat"), "'vfat'"),
    "a path for a file system": (a_capability(fs_type="../ext4"), "../ext4"),
    "no access type": (
        csi.VolumeCapability(access_mode=Mode(mode=Mode.SINGLE_NODE_WRITER)),
        "access type",
    ),
    "an access mode of a later specification": (
        csi.VolumeCapability.FromString(b"\x12\x00\x1a\x02\x08\x63"),
        "99",
    ),
    "a flag that binds something else": (a_capability(flags=("bind",)), "'bind'"),
    "a flag that changes another mount": (a_capability(flags=("noatime,remount",)), "'remount'"),
    "a flag that shares the mount": (a_capability(flags=("make-rshared",)), "make-rshared"),
    "more flags than the specification has": (a_capability(flags=("x" * 5000,)), "4096"),
}


@pytest.mark.parametrize(("given", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(given: csi.VolumeCapability, words: str) -> None:
    with refused(INVALID, words):
        read_use(given)


def test_flags_are_told_apart_and_not_told() -> None:
    secret = a_capability(flags=("password=hunter2",))
    use = read_use(secret)
    assert flags_of(secret) == ("password=hunter2",)
    assert "hunter2" not in repr(use)
    assert use != read_use(a_capability(flags=("password=other",)))
    assert use == read_use(secret)


def test_no_capabilities_at_all_are_refused() -> None:
    with refused(INVALID, "volume_capabilities"):
        read_uses([])


def a_volume(access_type: AccessType, fs_type: str = "") -> VolumeRecord:
    return VolumeRecord("vol-1", "data", access_type, fs_type, 1 << 30, {}, None, Blank())


MISMATCHES = {
    "a device cannot be mounted": (a_capability(), a_volume(AccessType.BLOCK), "block, not mount"),
    "a file system is no device": (
        a_capability(is_block=True),
        a_volume(AccessType.MOUNT, "ext4"),
        "mount, not block",
    ),
    "one file system is not another": (
        a_capability(fs_type="xfs"),
        a_volume(AccessType.MOUNT, "ext4"),
        "ext4, not xfs",
    ),
    "the same is the same": (a_capability(), a_volume(AccessType.MOUNT, "ext4"), ""),
}


@pytest.mark.parametrize(("given", "volume", "then"), MISMATCHES.values(), ids=MISMATCHES)
def test_what_fits_a_volume(given: csi.VolumeCapability, volume: VolumeRecord, then: str) -> None:
    told = find_mismatch(read_use(given), volume)
    assert told.endswith(then)
    assert bool(told) == bool(then)
