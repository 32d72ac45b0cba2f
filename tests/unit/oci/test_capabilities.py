"""Which capabilities a container has."""

from pathlib import Path

import pytest

from mooring.oci.capabilities import NAMES, USUAL, available, choose
from mooring.oci.contract import Privileges

HAVE = ("CHOWN", "KILL", "NET_ADMIN", "SYS_ADMIN")

CHOSEN = {
    "the usual ones, as far as we have them": (Privileges(), ["CHOWN", "KILL"]),
    "all that we have, for a privileged one": (
        Privileges(is_privileged=True, drop=("ALL",)),
        ["CHOWN", "KILL", "NET_ADMIN", "SYS_ADMIN"],
    ),
    "one more": (Privileges(add=("NET_ADMIN",)), ["CHOWN", "KILL", "NET_ADMIN"]),
    "one more, spelled out": (Privileges(add=("CAP_NET_ADMIN",)), ["CHOWN", "KILL", "NET_ADMIN"]),
    "one more that we do not have, so that the kernel refuses it": (
        Privileges(add=("SYS_TIME",)),
        ["CHOWN", "KILL", "SYS_TIME"],
    ),
    "one that nobody knows, so that the runtime complains": (
        Privileges(add=("FLY",)),
        ["CHOWN", "KILL", "FLY"],
    ),
    "one less": (Privileges(drop=("KILL",)), ["CHOWN"]),
    "all of them": (Privileges(add=("ALL",)), ["CHOWN", "KILL", "NET_ADMIN", "SYS_ADMIN"]),
    "all but one": (Privileges(add=("ALL",), drop=("SYS_ADMIN",)), ["CHOWN", "KILL", "NET_ADMIN"]),
    "none": (Privileges(drop=("ALL",)), []),
    "one only": (Privileges(add=("KILL",), drop=("ALL",)), ["KILL"]),
    "one that is both added and dropped is dropped": (
        Privileges(add=("NET_ADMIN",), drop=("NET_ADMIN",)),
        ["CHOWN", "KILL"],
    ),
}


@pytest.mark.parametrize(("privileges", "names"), CHOSEN.values(), ids=CHOSEN)
def test_choose(privileges: Privileges, names: list[str]) -> None:
    assert [name.removeprefix("CAP_") for name in choose(privileges, HAVE)] == names


def test_ours_are_read_from_the_kernel(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("Name:\tx\nCapEff:\t0000000000200021\nCapBnd:\t000001ffffffffff\n")
    assert available(status) == ("CHOWN", "KILL", "SYS_ADMIN")


def test_the_kernel_has_forty_one_of_them_and_fourteen_are_usual() -> None:
    assert (len(NAMES), len(set(NAMES)), len(USUAL)) == (41, 41, 14)
    assert NAMES.index("SYS_ADMIN") == 21
    assert NAMES.index("CHECKPOINT_RESTORE") == 40
