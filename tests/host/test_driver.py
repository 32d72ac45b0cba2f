"""The bundled driver with real loop devices, file systems and mounts."""

import os
from pathlib import Path
from typing import Any

import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.backends import device
from mooring.driver.backends.filesystem import grows_mounted
from mooring.driver.refusal import ABORTED, EXISTS, NOT_FOUND, PRECONDITION
from mooring.driver.settings import MIB
from mooring.errors import HostError
from mooring.host.mount import Mounts
from tests.host.conftest import NeedsTool
from tests.host.disks import Disks
from tests.host.driver_life import SIZES, Machine, a_machine
from tests.unit.driver.calls import Mode, a_capability, refused

EVERY_TYPE = [pytest.param(fs_type, id=fs_type) for fs_type in SIZES]


@pytest.fixture
def machine(place: Path, mounts: Mounts) -> Machine:
    return a_machine(place, mounts)


@pytest.fixture
def fs_type(
    request: pytest.FixtureRequest, needs_tool: NeedsTool, needs_filesystem: NeedsTool
) -> str:
    name: str = getattr(request, "param", "ext4")
    needs_tool(f"mkfs.{name}")
    needs_filesystem(name)
    return name


def a_stage(volume_id: str, at: Path) -> csi.NodeStageVolumeRequest:
    return csi.NodeStageVolumeRequest(
        volume_id=volume_id, staging_target_path=str(at), volume_capability=a_capability()
    )


@pytest.mark.parametrize("fs_type", EVERY_TYPE, indirect=True)
class TestFileSystems:
    def test_what_was_written_is_there_the_next_time(self, machine: Machine, fs_type: str) -> None:
        volume = machine.made(fs_type)
        for life in ("first", "second"):
            machine.stage(volume, fs_type=fs_type)
            target = machine.publish(volume, fs_type=fs_type)
            with (target / "file").open("a") as file:
                file.write(life)
            machine.put_away(volume)
            assert not target.exists()
            assert machine.devices() == []
        machine.stage(volume, fs_type=fs_type)
        target = machine.publish(volume, fs_type=fs_type)
        assert (target / "file").read_text() == "firstsecond"
        machine.put_away(volume)
        machine.driver.delete(volume)

    def test_a_snapshot_of_a_mounted_volume_is_whole(self, machine: Machine, fs_type: str) -> None:
        volume = machine.made(fs_type)
        machine.stage(volume, fs_type=fs_type)
        target = machine.publish(volume, fs_type=fs_type)
        (target / "file").write_text("before")  # in memory, as far as the driver knows
        snapshot = machine.driver.snap(volume)
        (target / "file").write_text("after")
        restored = machine.driver.make(
            "restored", size=0, fs_type=fs_type, snapshot_id=snapshot.snapshot_id
        ).volume_id
        other = machine.place / "other"
        other.mkdir()
        # Both at once: two file systems with one identity would be refused, or worse.
        machine.stage(restored, other, fs_type=fs_type)
        assert (other / "file").read_text() == "before"
        (other / "file").write_text("restored")
        assert (target / "file").read_text() == "after"
        machine.unstage(restored, other)
        machine.put_away(volume)

    def test_a_clone_that_is_larger_has_a_larger_file_system(
        self, machine: Machine, fs_type: str
    ) -> None:
        volume = machine.made(fs_type)
        machine.stage(volume, fs_type=fs_type)
        (machine.staging / "file").write_text("here")
        before = os.statvfs(machine.staging).f_blocks
        size = 2 * SIZES[fs_type]
        clone = machine.driver.make("clone", size=size, fs_type=fs_type, volume_id=volume).volume_id
        machine.unstage(volume)
        machine.stage(clone, fs_type=fs_type)
        assert (machine.staging / "file").read_text() == "here"
        assert os.statvfs(machine.staging).f_blocks > before * 1.7
        machine.unstage(clone)

    def test_grown_while_nobody_uses_it(self, machine: Machine, fs_type: str) -> None:
        volume = machine.made(fs_type)
        machine.stage(volume, fs_type=fs_type)
        before = os.statvfs(machine.staging).f_blocks
        machine.unstage(volume)
        assert machine.driver.expand(volume, 2 * SIZES[fs_type]).node_expansion_required
        machine.stage(volume, fs_type=fs_type)
        assert os.statvfs(machine.staging).f_blocks > before * 1.7
        assert machine.expand(volume, machine.staging) == 2 * SIZES[fs_type]
        machine.unstage(volume)

    def test_grown_while_it_is_used(self, machine: Machine, fs_type: str) -> None:
        volume = machine.made(fs_type)
        machine.stage(volume, fs_type=fs_type)
        target = machine.publish(volume, fs_type=fs_type)
        (target / "file").write_text("here")
        before = os.statvfs(target).f_blocks
        machine.driver.expand(volume, 2 * SIZES[fs_type])
        if grows_mounted(fs_type):
            for _ in range(2):
                assert machine.expand(volume, target) == 2 * SIZES[fs_type]
            assert os.statvfs(target).f_blocks > before * 1.7
        else:
            with refused(PRECONDITION, "CAP_SYS_RESOURCE"):
                machine.expand(volume, target)
        assert (target / "file").read_text() == "here"
        machine.put_away(volume)

    def test_a_reader_finds_what_was_restored_and_cannot_write(
        self, machine: Machine, fs_type: str
    ) -> None:
        volume = machine.made(fs_type)
        machine.stage(volume, fs_type=fs_type)
        (machine.staging / "file").write_text("here")
        snapshot = machine.driver.snap(volume).snapshot_id
        machine.unstage(volume)
        size = 2 * SIZES[fs_type]
        many: dict[str, Any] = {"mode": Mode.MULTI_NODE_READER_ONLY, "fs_type": fs_type}
        copy = machine.driver.make("copy", size=size, snapshot_id=snapshot, **many).volume_id
        machine.stage(copy, **many)
        for name in ("one", "two"):
            target = machine.publish(copy, name, **many)
            assert (target / "file").read_text() == "here"
            with pytest.raises(OSError, match="Read-only"):
                (target / "file").write_text("changed")
            assert not machine.stats(copy, target).volume_condition.abnormal
        machine.put_away(copy, "one", "two")

    def test_an_empty_volume_for_readers_is_an_empty_file_system(
        self, machine: Machine, fs_type: str
    ) -> None:
        volume = machine.made(fs_type)
        machine.stage(volume, mode=Mode.SINGLE_NODE_READER_ONLY, fs_type=fs_type)
        with pytest.raises(OSError, match="Read-only"):
            (machine.staging / "file").touch()
        machine.unstage(volume)


@pytest.mark.usefixtures("fs_type")
class TestStaging:
    def test_is_repeated_and_refused_in_another_way(self, machine: Machine) -> None:
        volume = machine.made("ext4")
        for _ in range(3):
            machine.stage(volume)
        assert len(machine.devices()) == 1
        with refused(EXISTS, "in another way"):
            machine.stage(volume, flags=("noatime",))
        other = machine.place / "other"
        other.mkdir()
        with refused(PRECONDITION, "staged already"):
            machine.stage(volume, other)
        machine.unstage(volume, other)
        with refused(PRECONDITION, "staged"):
            machine.driver.delete(volume)
        for _ in range(2):
            machine.unstage(volume)

    def test_of_what_is_not_there(self, machine: Machine) -> None:
        with refused(NOT_FOUND):
            machine.stage("../../x")
        machine.unstage("../../x")
        machine.unpublish("../../x")

    def test_as_what_it_is_not(self, machine: Machine) -> None:
        volume = machine.made("ext4")
        with refused(PRECONDITION, "not xfs"):
            machine.stage(volume, fs_type="xfs")
        with refused(PRECONDITION, "not block"):
            machine.stage(volume, is_block=True)

    def test_that_fails_leaves_nothing_and_can_be_tried_again(self, machine: Machine) -> None:
        volume = machine.made("ext4")
        with pytest.raises(HostError) as caught:
            machine.stage(volume, flags=("password=hunter2",))
        assert "hunter2" not in str(caught.value)
        assert machine.devices() == []
        machine.driver.delete(volume)
        volume = machine.made("ext4")
        machine.stage(volume)
        machine.unstage(volume)

    def test_where_something_else_is_mounted(self, machine: Machine, mounts: Mounts) -> None:
        mounts.mount("tmpfs", machine.staging, "tmpfs")
        volume = machine.made("ext4")
        with refused(PRECONDITION, "mount point of tmpfs"):
            machine.stage(volume)
        machine.unstage(volume)
        assert mounts.is_mount_point(machine.staging)
        assert machine.devices() == []

    def test_finds_its_device_after_a_restart(self, machine: Machine) -> None:
        volume = machine.made("ext4")
        machine.stage(volume)
        target = machine.publish(volume)
        (target / "file").write_text("here")
        before = machine.devices()
        machine.start()
        machine.stage(volume)
        machine.publish(volume)
        assert (machine.devices(), (target / "file").read_text()) == (before, "here")
        machine.start()
        machine.put_away(volume)
        assert machine.devices() == []

    def test_mount_flags_are_in_force(self, machine: Machine) -> None:
        volume = machine.made("ext4")
        flags = ("noexec,nodiratime", "commit=7")
        machine.stage(volume, flags=flags)
        target = machine.publish(volume, flags=flags)
        entry = Mounts().table().find(target)
        assert entry is not None
        assert {"noexec", "nodiratime"} <= set(entry.options)
        assert "commit=7" in entry.super_options
        machine.put_away(volume)

    def test_what_is_mounted_elsewhere_is_not_mounted_a_second_time(
        self, machine: Machine, mounts: Mounts
    ) -> None:
        volume = machine.made("ext4")
        machine.stage(volume)
        elsewhere = machine.target("elsewhere")
        elsewhere.mkdir()
        mounts.bind(machine.staging, elsewhere)
        before = machine.devices()
        machine.unstage(volume)
        with refused(ABORTED, "another mount namespace"):
            machine.driver.snap(volume)
        (elsewhere / "file").write_text("the same file system")
        machine.driver.NodeStageVolume(a_stage(volume, machine.staging))
        assert (machine.staging / "file").read_text() == "the same file system"
        mounts.unmount(elsewhere)
        assert machine.devices() == before
        mounts.bind(machine.staging, elsewhere)
        machine.unstage(volume)
        with refused(PRECONDITION, "still in use"):
            machine.driver.delete(volume)
        assert machine.driver.image(volume).exists()
        assert (elsewhere / "file").read_text() == "the same file system"
        mounts.unmount(elsewhere)
        assert machine.devices() == []
        machine.driver.delete(volume)


@pytest.mark.usefixtures("fs_type")
class TestPublishing:
    def test_is_repeated_and_refused_in_another_way(self, machine: Machine) -> None:
        volume = machine.made("ext4")
        machine.stage(volume)
        for _ in range(3):
            machine.publish(volume)
        assert len(Mounts().table().below(machine.target())) == 1
        with refused(EXISTS, "in another way"):
            machine.publish(volume, readonly=True)
        with refused(PRECONDITION, "published already"):
            machine.publish(volume, "other")
        with refused(PRECONDITION, "still published"):
            machine.unstage(volume)
        for _ in range(2):
            machine.unpublish(volume)
        machine.unstage(volume)

    def test_at_many_targets_some_for_reading(self, machine: Machine) -> None:
        many: dict[str, Any] = {"mode": Mode.SINGLE_NODE_MULTI_WRITER}
        volume = machine.driver.make(**many).volume_id
        machine.stage(volume, **many)
        writer = machine.publish(volume, "writer", **many)
        reader = machine.publish(volume, "reader", readonly=True, **many)
        (writer / "file").write_text("here")
        assert (reader / "file").read_text() == "here"
        with pytest.raises(OSError, match="Read-only"):
            (reader / "file").write_text("changed")
        machine.put_away(volume, "writer", "reader")

    def test_before_it_is_staged(self, machine: Machine) -> None:
        volume = machine.made("ext4")
        with refused(PRECONDITION, "not staged"):
            machine.publish(volume)
        request = csi.NodePublishVolumeRequest(volume_id=volume, target_path="/x")
        request.volume_capability.mount.SetInParent()
        request.volume_capability.access_mode.mode = Mode.SINGLE_NODE_WRITER
        with refused(PRECONDITION, "staging_target_path"):
            machine.driver.NodePublishVolume(request)
        assert not machine.target().exists()

    def test_over_somebody_elses_mount(self, machine: Machine, mounts: Mounts) -> None:
        volume = machine.made("ext4")
        machine.stage(volume)
        machine.target().mkdir()
        mounts.mount("tmpfs", machine.target(), "tmpfs")
        with refused(PRECONDITION, "tmpfs"):
            machine.publish(volume)
        with refused(PRECONDITION, "is not"):
            machine.unpublish(volume)
        assert mounts.is_mount_point(machine.target())
        machine.unstage(volume)

    def test_where_a_link_leads_elsewhere(self, machine: Machine) -> None:
        volume = machine.made("ext4")
        machine.stage(volume)
        elsewhere = machine.target("elsewhere")
        elsewhere.mkdir()
        machine.target().symlink_to(elsewhere)
        with pytest.raises(HostError):
            machine.publish(volume)
        assert Mounts().table().below(elsewhere) == ()
        machine.target().unlink()
        machine.unpublish(volume)
        machine.unstage(volume)


@pytest.mark.usefixtures("fs_type")
class TestHealth:
    def test_usage_of_a_file_system(self, machine: Machine) -> None:
        volume = machine.made("ext4")
        machine.stage(volume)
        target = machine.publish(volume)
        before = machine.stats(volume, target)
        (target / "file").write_bytes(b"x" * MIB)
        os.sync()
        after = machine.stats(volume, machine.staging)
        assert [usage.unit for usage in after.usage] == [1, 2]
        assert after.usage[0].used - before.usage[0].used == MIB
        assert after.usage[1].used - before.usage[1].used == 1
        assert not after.volume_condition.abnormal
        with refused(NOT_FOUND):
            machine.stats(volume, machine.place)
        machine.put_away(volume)
        with refused(NOT_FOUND):
            machine.stats(volume, target)

    def test_a_file_system_that_turned_read_only_is_abnormal(
        self, machine: Machine, mounts: Mounts
    ) -> None:
        volume = machine.made("ext4")
        machine.stage(volume)
        attached = device.find(machine.driver.image(volume))
        mounts.mount(str(attached), machine.staging, "ext4", ("remount", "ro"))
        condition = machine.stats(volume, machine.staging).volume_condition
        assert (condition.abnormal, "read-only" in condition.message) == (True, True)
        machine.unstage(volume)


@pytest.mark.parametrize("below", ["xfs", "btrfs"])
def test_copies_share_their_blocks_where_the_disk_can(
    below: str, place: Path, mounts: Mounts, disks: Disks, needs_filesystem: NeedsTool
) -> None:
    needs_filesystem(below)
    disk = place / "disk"
    disk.mkdir()
    mounts.mount(str(disks.formatted(below, 1024)), disk, below)
    machine = Machine(disk, mounts)
    volume = machine.made("ext4")
    machine.stage(volume)
    (machine.staging / "file").write_bytes(b"x" * (4 * MIB))
    snapshot = machine.driver.snap(volume)
    shared = machine.driver.core.get_snapshot(snapshot.snapshot_id).shared_bytes
    (machine.staging / "file").write_bytes(b"y" * (4 * MIB))
    machine.unstage(volume)
    copy = machine.driver.make("copy", snapshot_id=snapshot.snapshot_id).volume_id
    machine.stage(copy)
    assert (machine.staging / "file").read_bytes() == b"x" * (4 * MIB)
    machine.unstage(copy)
    assert shared > 4 * MIB
    assert machine.devices() == []
    mounts.unmount(disk)


def test_an_empty_directory_that_is_not_a_target_is_left(machine: Machine) -> None:
    volume = machine.made("ext4")
    machine.target().mkdir()
    machine.unpublish(volume)
    assert machine.target().is_dir()


@pytest.mark.usefixtures("fs_type")
class TestStarting:
    def test_forgets_what_a_reboot_took_away(self, machine: Machine, mounts: Mounts) -> None:
        volume = machine.made("ext4")
        machine.stage(volume)
        target = machine.publish(volume)
        mounts.unmount(target)
        mounts.unmount(machine.staging)
        device.detach_all(machine.driver.image(volume))
        machine.settle()
        machine.start()
        assert not target.exists()
        machine.driver.delete(volume)

    def test_leaves_what_another_namespace_may_have(self, machine: Machine, mounts: Mounts) -> None:
        volume = machine.made("ext4")
        machine.stage(volume)
        target = machine.publish(volume)
        elsewhere = machine.target("elsewhere")
        elsewhere.mkdir()
        mounts.bind(target, elsewhere)
        mounts.unmount(target)
        mounts.unmount(machine.staging)
        machine.start()
        assert target.is_dir()
        assert len(machine.devices()) == 1
        with refused(PRECONDITION):
            machine.driver.delete(volume)
        mounts.unmount(elsewhere)
        machine.put_away(volume)
        machine.driver.delete(volume)

    def test_detaches_devices_that_nobody_staged(self, machine: Machine) -> None:
        volume = machine.made("ext4")
        device.find_or_attach(machine.driver.image(volume))
        assert len(machine.devices()) == 1
        machine.start()
        assert machine.devices() == []
