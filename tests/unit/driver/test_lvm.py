"""Volumes as thin logical volumes: what is ours, what is not, and what a kill leaves."""

from contextlib import suppress
from pathlib import Path

import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.backends.lvm_home import read_home
from mooring.driver.refusal import EXHAUSTED, EXISTS, INVALID, PRECONDITION
from mooring.driver.settings import MIB, DriverSettings, ThinPool, checked
from mooring.errors import HostError, UsageError
from mooring.host.lvm import Lvm, Ran, device_of, is_lvm_name
from tests.fakes.clock import VirtualClock
from tests.fakes.lvm import FakeLvm, FakeVolume, Killed
from tests.unit.driver.calls import Driver, refused

POOL = ThinPool("vg0")


@pytest.fixture
def lvm(monkeypatch: pytest.MonkeyPatch) -> FakeLvm:
    fake = FakeLvm()
    fake.add_group()
    monkeypatch.setattr("mooring.host.lvm.run_lvm", fake)
    return fake


def start(state_dir: Path, pool: ThinPool = POOL) -> Driver:
    return Driver(state_dir, pool=pool)


def recorded(driver: Driver) -> set[str]:
    """The logical volumes that the records name."""
    state = driver.core.state
    images = [state.volumes.image(one.id) for one in state.volumes.all()]
    images += [state.snapshot_image(one) for one in state.all_snapshots()]
    return {image.readlink().name for image in images}


def test_a_volume_is_a_thin_volume_that_says_whose_it_is(lvm: FakeLvm, tmp_path: Path) -> None:
    driver = start(tmp_path)
    volume = driver.make("data", size=15 * MIB)
    home = read_home(tmp_path)
    assert home is not None
    made = lvm.volumes()[volume.volume_id]
    assert (made.pool, made.size, volume.capacity_bytes) == ("pool", 16 * MIB, 16 * MIB)
    assert made.tags == [f"mooring.owner={home.owner}", f"mooring.id={volume.volume_id}"]
    assert driver.image(volume.volume_id).readlink() == Path("/dev/vg0") / volume.volume_id


def test_a_snapshot_and_a_clone_are_thin_snapshots(lvm: FakeLvm, tmp_path: Path) -> None:
    driver = start(tmp_path)
    volume = driver.make("data")
    snapshot = driver.snap(volume.volume_id)
    clone = driver.make("clone", size=32 * MIB, volume_id=volume.volume_id)
    volumes = lvm.volumes()
    assert volumes[snapshot.snapshot_id].origin == volume.volume_id
    assert (volumes[clone.volume_id].origin, volumes[clone.volume_id].size) == (
        volume.volume_id,
        32 * MIB,
    )


LIVES = {
    "a new volume": lambda driver: driver.make("new"),
    "a snapshot": lambda driver: driver.snap(driver.make("data").volume_id),
    "a larger clone": lambda driver: driver.make(
        "clone", size=32 * MIB, volume_id=driver.make("data").volume_id
    ),
    "a growth": lambda driver: driver.expand(driver.make("data").volume_id, 64 * MIB),
    "a deletion": lambda driver: driver.delete(driver.make("data").volume_id),
    "a group": lambda driver: driver.CreateVolumeGroupSnapshot(
        csi.CreateVolumeGroupSnapshotRequest(
            name="g", source_volume_ids=[driver.make(name).volume_id for name in "ab"]
        )
    ),
}


@pytest.mark.parametrize("is_after", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize("step", range(1, 5))
@pytest.mark.parametrize("life", LIVES.values(), ids=LIVES)
def test_killed_at_any_command_nothing_is_left_and_the_next_try_succeeds(
    life: object,
    step: int,
    is_after: bool,  # noqa: FBT001  a case of the table
    lvm: FakeLvm,
    tmp_path: Path,
) -> None:
    assert callable(life)
    lvm.groups["vg0"]["foreign"] = FakeVolume(8 * MIB, ["theirs"], "pool")
    lvm.kill_at(step, is_after=is_after)
    with suppress(Killed):
        life(start(tmp_path))
    lvm.revive()
    driver = start(tmp_path)
    assert set(lvm.volumes()) - recorded(driver) == {"foreign"}
    life(driver)
    assert set(lvm.volumes()) - recorded(driver) == {"foreign"}
    sizes = {one.id: one.size_bytes for one in driver.core.state.volumes.all()}
    assert {name: lvm.volumes()[name].size for name in sizes} == sizes


def test_what_is_not_ours_is_neither_taken_nor_removed(lvm: FakeLvm, tmp_path: Path) -> None:
    volume_id = start(tmp_path / "elsewhere").make("data").volume_id
    theirs = dict(lvm.volumes())
    driver = start(tmp_path / "here")
    with refused(EXISTS, "left alone"):
        driver.make("data")
    driver.delete(volume_id)
    assert lvm.volumes() == theirs
    assert all("lvremove" not in call for call in lvm.calls)


def test_a_volume_that_lost_its_tags_is_left_alone(lvm: FakeLvm, tmp_path: Path) -> None:
    driver = start(tmp_path)
    volume_id = driver.make("data").volume_id
    lvm.volumes()[volume_id].tags.clear()
    driver.delete(volume_id)
    assert list(lvm.volumes()) == [volume_id]
    assert driver.ids() == []


def test_a_volume_that_is_open_is_deleted_by_a_later_try(lvm: FakeLvm, tmp_path: Path) -> None:
    driver = start(tmp_path)
    volume_id = driver.make("data").volume_id
    opened = False

    def opens_late(argv: tuple[str, ...]) -> Ran:
        if argv[0] == "lvremove":
            lvm.volumes()[volume_id].is_open = not opened
        return FakeLvm.__call__(lvm, argv)

    driver.core.images._lvm._run = opens_late  # type: ignore[attr-defined]
    with pytest.raises(HostError, match="in use"):
        driver.delete(volume_id)
    assert list(lvm.volumes()) == [volume_id]
    opened = True
    driver.delete(volume_id)
    assert lvm.volumes() == {}


def test_two_groups_never_mix(lvm: FakeLvm, tmp_path: Path) -> None:
    lvm.add_group("vg1")
    start(tmp_path).make("data")
    with pytest.raises(UsageError, match=r"is of the pool vg0/pool .*, not of vg1/pool"):
        start(tmp_path, ThinPool("vg1"))
    with pytest.raises(UsageError, match="start with --backend lvm --volume-group vg0"):
        Driver(tmp_path)
    assert list(lvm.volumes("vg1")) == []


def test_a_directory_of_loop_devices_is_not_taken(lvm: FakeLvm, tmp_path: Path) -> None:
    Driver(tmp_path).make("data")
    with pytest.raises(UsageError, match="has volumes of loop devices"):
        start(tmp_path)


NO_POOL = {
    "no such group": (ThinPool("none"), 'Volume group "none" not found'),
    "no such pool": (ThinPool("vg0", "none"), "it has no thin pool none; make one: lvcreate"),
    "several pools": (ThinPool("two"), r"several thin pools \(other, pool\): say --thin-pool"),
    "no pool at all": (ThinPool("empty"), "it has no thin pool; make one: lvcreate"),
    "a pool that gives out old data": (ThinPool("old"), "lvchange --zero y old/pool"),
}


@pytest.mark.parametrize(("pool", "words"), NO_POOL.values(), ids=NO_POOL)
def test_a_pool_that_cannot_be_used_is_refused_with_the_remedy(
    pool: ThinPool, words: str, lvm: FakeLvm, tmp_path: Path
) -> None:
    lvm.add_group("two")
    lvm.groups["two"]["other"] = FakeVolume(MIB, kind="thin-pool")
    lvm.add_group("old")
    lvm.groups["old"]["pool"].zero = ""
    lvm.groups["empty"] = {}
    with pytest.raises(UsageError, match=words):
        start(tmp_path, pool)
    assert read_home(tmp_path) is None


@pytest.mark.parametrize(
    "name", ["", "-L", "--config", "a b", "a;b", "a\nb", "../x", "a/b", ".", "..", "x" * 128]
)
def test_hostile_names_are_refused(name: str) -> None:
    assert not is_lvm_name(name)
    with pytest.raises(UsageError, match="--volume-group"):
        checked(DriverSettings("n1", Path("/nowhere"), pool=ThinPool(name)))


def test_no_word_of_a_request_reaches_a_command(lvm: FakeLvm, tmp_path: Path) -> None:
    driver = start(tmp_path)
    volume = driver.make("--config; rm -rf / $(reboot)")
    driver.snap(volume.volume_id, "-L")
    words = {word for call in lvm.calls for word in call}
    assert not any("reboot" in word or word == "-L" for word in words)


async def test_a_full_pool_is_told_and_gives_nothing(lvm: FakeLvm, tmp_path: Path) -> None:
    clock = VirtualClock()
    driver = Driver(tmp_path, pool=POOL, clock=clock)
    volume = driver.make("data")
    lvm.groups["vg0"]["pool"].data_percent = "100.00"
    await clock.advance(3)
    request = csi.ControllerGetVolumeHealthRequest(volume_id=volume.volume_id)
    told = driver.ControllerGetVolumeHealth(request).volume_health.health_statuses
    assert [(one.reason, "lvextend vg0/pool" in one.message) for one in told] == [
        ("PoolFull", True)
    ]
    storage = driver.NodeGetStorageHealth(csi.NodeGetStorageHealthRequest()).backend_health
    assert [one.reason for one in storage] == ["PoolFull"]
    with refused(EXHAUSTED):
        driver.make("more")


def test_volumes_of_others_in_the_pool_count(lvm: FakeLvm, tmp_path: Path) -> None:
    lvm.groups["vg0"]["theirs"] = FakeVolume(200 * MIB, pool="pool")
    driver = start(tmp_path)
    assert driver.core.room.available_bytes() == 312 * MIB


def test_classes_of_openebs_work_where_they_name_this_group(lvm: FakeLvm, tmp_path: Path) -> None:
    driver = start(tmp_path)
    driver.make("data", parameters={"storage": "lvm", "volgroup": "vg0"})
    with refused(INVALID, "volgroup is 'vg1'"):
        driver.make("other", parameters={"storage": "lvm", "volgroup": "vg1"})
    with refused(INVALID, "a thin pool gives blocks out"):
        driver.make("full", parameters={"provisioning": "full"})


def test_a_device_is_named_as_mounts_name_it() -> None:
    assert device_of("my-vg", "vol-1") == Path("/dev/mapper/my--vg-vol--1")


def test_a_report_that_is_not_understood_is_an_error() -> None:
    with pytest.raises(HostError, match="its report is not understood"):
        Lvm("vg0", lambda _: Ran(0, '{"log": []}')).volumes()


def test_what_a_crash_left_open_goes_with_a_later_start(lvm: FakeLvm, tmp_path: Path) -> None:
    lvm.kill_at(1, is_after=True)
    with suppress(Killed):
        start(tmp_path).make("data")
    lvm.revive()
    (left,) = lvm.volumes().values()
    left.is_open = True
    driver = start(tmp_path)
    assert (driver.ids(), len(lvm.volumes())) == ([], 1)
    left.is_open = False
    start(tmp_path)
    assert lvm.volumes() == {}


def test_a_kernel_that_cannot_suspend_what_is_frozen_is_told_of(
    lvm: FakeLvm, tmp_path: Path
) -> None:
    driver = start(tmp_path)
    volume = driver.make("data")
    target = tmp_path / "making" / "copy" / "image"
    target.parent.mkdir()
    images = driver.core.images

    def refuses(argv: tuple[str, ...]) -> Ran:
        is_cut = "--snapshot" in argv
        return Ran(5, "", "  Failed to suspend thin snapshot origin") if is_cut else lvm(argv)

    with images.copying(driver.image(volume.volume_id), target, 16 * MIB) as copy:
        images._lvm._run = refuses  # type: ignore[attr-defined]
        with refused(PRECONDITION, "stop the pods"):
            copy.catch_up(lambda: None)
