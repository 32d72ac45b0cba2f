"""In which order mounts are undone, and which of them may be taken out of sight."""

import threading
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.errors import HostError
from mooring.host import mount_calls
from mooring.host.mountinfo import MountEntry, MountTable
from mooring.upkeep import unmounting
from mooring.upkeep.unmounting import may_detach, unmount_entries, unmount_order


def entry(number: int, parent: int, fs_type: str = "ext4") -> MountEntry:
    return MountEntry(number, parent, (8, 1), "/", f"/m{number}", (), (), fs_type, "/dev/x", ())


def ids(groups: list[list[MountEntry]]) -> list[list[int]]:
    return [[one.id for one in group] for group in groups]


ORDERS = {
    "nothing": ((), []),
    "side by side, the newest first": (((1, 0), (2, 0), (3, 0)), [[3, 2, 1]]),
    "one in another": (((1, 0), (2, 1)), [[2], [1]]),
    "three deep beside a single one": (((1, 0), (2, 1), (3, 2), (4, 0)), [[4, 3], [2], [1]]),
    "moved below a later one": (((1, 2), (2, 0)), [[1], [2]]),
}


@pytest.mark.parametrize(("given", "wanted"), ORDERS.values(), ids=ORDERS)
def test_order(given: tuple[tuple[int, int], ...], wanted: list[list[int]]) -> None:
    assert ids(unmount_order([entry(*one) for one in given])) == wanted


@st.composite
def forests(draw: st.DrawFn) -> list[MountEntry]:
    size = draw(st.integers(0, 20))
    entries = [entry(n, draw(st.integers(0, n - 1))) for n in range(1, size + 1)]
    return draw(st.permutations(entries))


@given(forests())
def test_each_comes_once_and_before_what_it_is_mounted_on(entries: list[MountEntry]) -> None:
    order = list(chain.from_iterable(unmount_order(entries)))
    assert sorted(one.id for one in order) == sorted(one.id for one in entries)
    place = {one.id: index for index, one in enumerate(order)}
    assert all(place[one.id] < place[one.parent] for one in entries if one.parent in place)


DETACHABLE = {
    "ext4": False,
    "xfs": False,
    "btrfs": False,
    "fuseblk": False,
    "overlay": False,
    "tmpfs": False,
    "nfs": True,
    "nfs4": True,
    "cifs": True,
    "fuse": True,
    "fuse.sshfs": True,
}


@pytest.mark.parametrize(("fs_type", "may"), DETACHABLE.items(), ids=DETACHABLE)
def test_only_what_no_disk_is_behind_is_detached_lazily(fs_type: str, *, may: bool) -> None:
    assert may_detach(entry(1, 0, fs_type)) is may


def test_one_that_hangs_is_named_and_detached_only_where_no_disk_is_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = {1: entry(1, 0, "ext4"), 2: entry(2, 0, "nfs4"), 3: entry(3, 0, "xfs")}
    release = threading.Event()
    detached: list[Path] = []

    def unmount(one: MountEntry) -> None:
        if one.id == 3:
            del there[3]
        else:
            release.wait(20)

    monkeypatch.setattr(unmounting, "_unmount", unmount)
    monkeypatch.setattr(unmounting, "read_table", lambda: MountTable(tuple(there.values())))
    monkeypatch.setattr(mount_calls, "detach_lazily", detached.append)
    noted: list[str] = []

    def note(one: MountEntry) -> None:
        assert not detached, "on record before it is out of sight"
        noted.append(one.at)

    done = unmount_entries(list(there.values()), note, seconds=0.1)
    release.set()
    assert noted == ["/m2"]
    assert done.count == 1
    assert sorted(done.troubles) == [
        "/m1 (ext4 of /dev/x) does not answer after 0.1 s and stays mounted: see to its disk, then "
        "try again",
        "/m2 (nfs4 of /dev/x) does not answer after 0.1 s: it was detached lazily, and goes when "
        "its last user does",
    ]
    assert detached == [Path("/m2")]


def test_one_that_cannot_be_put_on_record_is_not_detached(monkeypatch: pytest.MonkeyPatch) -> None:
    hung, release, detached = entry(2, 0, "nfs4"), threading.Event(), list[Path]()

    def note(_: MountEntry) -> None:
        raise HostError("the disk is full")

    monkeypatch.setattr(unmounting, "_unmount", lambda _: release.wait(20))
    monkeypatch.setattr(unmounting, "read_table", lambda: MountTable((hung,)))
    monkeypatch.setattr(mount_calls, "detach_lazily", detached.append)
    done = unmount_entries([hung], note, seconds=0.1)
    release.set()
    assert (detached, done.count) == ([], 0)
    assert done.troubles[0].endswith("and stays mounted: the disk is full")
