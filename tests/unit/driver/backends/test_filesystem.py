from pathlib import Path

import pytest

from mooring.driver.backends import filesystem
from mooring.driver.backends.filesystem import format_options, grows_mounted, parse_version
from mooring.driver.capability import FS_TYPES

VERSIONS = {
    "of today": ("mke2fs 1.47.0 (5-Feb-2023)\n\tUsing EXT2FS Library version 1.47.0\n", (1, 47)),
    "of a patch release": ("mke2fs 1.46.5 (30-Dec-2021)\n", (1, 46)),
    "of busybox": ("BusyBox v1.36.1 multi-call binary.\n", (0, 0)),
}


@pytest.mark.parametrize(("output", "then"), VERSIONS.values(), ids=VERSIONS)
def test_versions_of_e2fsprogs(output: str, then: tuple[int, int]) -> None:
    assert parse_version(output) == then


PREZEROED = {"since 1.47": ((1, 47), True), "before": ((1, 46), False)}


@pytest.mark.parametrize(("version", "then"), PREZEROED.values(), ids=PREZEROED)
def test_tables_of_zeros_are_not_written_where_mkfs_can(
    monkeypatch: pytest.MonkeyPatch, *, version: tuple[int, int], then: bool
) -> None:
    monkeypatch.setattr(filesystem, "_e2fsprogs", lambda: version)
    assert ("assume_storage_prezeroed=1" in format_options("ext4")[-1]) == then


def test_no_file_system_discards_what_was_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem, "_e2fsprogs", lambda: (1, 47))
    for fs_type in FS_TYPES:
        told = " ".join(format_options(fs_type))
        assert "nodiscard" in told or "-K" in told


RIGHTS = {
    "all rights": ("CapEff:\t000001ffffffffff\n", True),
    "all but CAP_SYS_RESOURCE": ("CapEff:\t000001fffeffffff\n", False),
    "none": ("CapEff:\t0000000000000000\n", False),
    "not told": ("Name:\tpython\n", False),
}


@pytest.mark.parametrize(("status", "then"), RIGHTS.values(), ids=RIGHTS)
def test_a_mounted_ext4_grows_with_the_right_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, status: str, then: bool
) -> None:
    (tmp_path / "status").write_text(status)
    monkeypatch.setattr(filesystem, "STATUS", tmp_path / "status")
    assert grows_mounted("ext4") == then
    assert grows_mounted("xfs")
