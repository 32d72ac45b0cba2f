"""What is shown before a reset."""

from pathlib import Path

import msgspec
import pytest

from mooring.upkeep.prompt import prompt_lines
from mooring.upkeep.reset import Inventory

BARE = Inventory(Path("/d"), None, 2048, 0, 0, ())
DATA = "  /d: database (2.0 KiB), keys, tokens"
CASES = {
    "nothing but objects": (BARE, [DATA]),
    "one volume, two directories and a root": (
        msgspec.structs.replace(BARE, driver_volumes=1, directories=2, root=Path("/r")),
        [
            f"{DATA},",
            "    1 volume of the bundled driver and its data,",
            "    2 directories of hostPath claims and their files",
            "  /r: images, logs and scratch space of its pods",
        ],
    ),
    "retained ones, whose names are escaped": (
        msgspec.structs.replace(BARE, driver_volumes=2, retained=("pv/a (of x/y)", "pv/b\x1b")),
        [
            f"{DATA},",
            "    2 volumes of the bundled driver and their data",
            "    among them, although their reclaim policy is Retain:",
            "      pv/a (of x/y)",
            "      pv/b?",
        ],
    ),
    "a database that cannot be read": (
        msgspec.structs.replace(BARE, directories=1, retained=None),
        [
            f"{DATA},",
            "    1 directory of a hostPath claim and its files",
            "    (which of them are to be retained is not known: the database cannot be read)",
        ],
    ),
}


@pytest.mark.parametrize(("found", "lines"), CASES.values(), ids=CASES)
def test_what_goes_is_shown(found: Inventory, lines: list[str]) -> None:
    first, *rest = "\n".join(prompt_lines(found)).split("\n")
    assert first == "This ends all containers, and removes for good:"
    assert rest == lines


def test_of_many_retained_volumes_ten_are_named() -> None:
    many = msgspec.structs.replace(BARE, retained=tuple(f"pv/{number}" for number in range(12)))
    assert prompt_lines(many)[-1] == "      and 2 more"
    assert len(prompt_lines(many)) == 14
