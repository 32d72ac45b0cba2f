"""What will not work, in words that help."""

from pathlib import Path

import pytest

from mooring.driver.role import NoDriver
from mooring.oci.probe import NoRuntime, Probed
from mooring.oci.runc import RuntimeProgram
from mooring.stack import limits
from mooring.stack.limits import driver_limits, node_limits

RUNC: Probed = RuntimeProgram(path=Path("/runc"), conmon=Path("/conmon"), is_cgroup_v2=True)
NONE: Probed = NoRuntime("containers cannot run: there is no runc; install it")

NODES = {
    "root with a runtime": (("", RUNC, True), ()),
    "root without one": (
        ("", NONE, True),
        ("pods: containers cannot run: there is no runc; install it",),
    ),
    "a user": (
        ("mount: /a/b: not permitted.", NONE, False),
        (
            "volumes that are mounted: not permitted; run mooring as root",
            "pods: containers cannot run: there is no runc; install it; run mooring as root",
        ),
    ),
    "a user who is told so already": (
        ("not permitted", NoRuntime("runc: no; run mooring as root"), False),
        (
            "volumes that are mounted: not permitted; run mooring as root",
            "pods: runc: no; run mooring as root",
        ),
    ),
}


@pytest.mark.parametrize(("given", "told"), NODES.values(), ids=NODES)
def test_of_a_node(given: tuple[str, Probed, bool], told: tuple[str, ...]) -> None:
    cannot, runtime, is_root = given
    assert node_limits(cannot, runtime, is_root=is_root) == told


def test_of_no_driver_where_nothing_is_mounted() -> None:
    assert driver_limits(None) == ()


def test_of_a_driver_that_cannot_be() -> None:
    assert driver_limits(NoDriver("too long; choose a shorter --root-dir")) == (
        "volumes of loop.csi.mooring.dev: too long; choose a shorter --root-dir",
    )


def test_of_missing_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(limits, "find_program", lambda _: None)
    monkeypatch.setattr(limits, "CONTROL", tmp_path / "loop-control")
    no_mkfs, no_loops = limits.missing_tools()
    assert no_mkfs.endswith("there is no mkfs.ext4; install e2fsprogs")
    assert no_loops.endswith("loop-control; modprobe loop")


@pytest.mark.parametrize(("may_grow", "lines"), [(True, 0), (False, 1)])
def test_of_growth_without_the_right_to_it(
    monkeypatch: pytest.MonkeyPatch, *, may_grow: bool, lines: int
) -> None:
    monkeypatch.setattr(limits, "grows_mounted", lambda _: may_grow)
    told = limits.missing_rights()
    assert len(told) == lines
    assert all("CAP_SYS_RESOURCE; grant it" in line for line in told)
