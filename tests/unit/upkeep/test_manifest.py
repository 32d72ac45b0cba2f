"""What is told of a backup that comes from elsewhere."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from mooring.upkeep.manifest import Machine, Manifest, differences, seal_of

HERE = Machine("here", "1" * 32)
MADE = Manifest(
    version="0.1.0",
    created=datetime(2026, 1, 31, tzinfo=UTC),
    machine=HERE,
    nodes=("here",),
    revision=7,
    objects=5,
    volumes=0,
    has_volumes=False,
    members={},
)
CASES = {
    "the same machine": (MADE, []),
    "no node": (msgspec.structs.replace(MADE, nodes=()), []),
    "another machine": (
        msgspec.structs.replace(MADE, machine=Machine("there", "2" * 32)),
        ["it was made on another machine (there): "],
    ),
    "the same name, another machine": (
        msgspec.structs.replace(MADE, machine=Machine("here", "2" * 32)),
        ["it was made on another machine (here): "],
    ),
    "another node name": (
        msgspec.structs.replace(MADE, nodes=("n1",)),
        ["its node was n1, and here it would be here: "],
    ),
    "volumes without contents": (
        msgspec.structs.replace(MADE, volumes=2),
        ["the contents of 2 volumes of the bundled driver are not in it: "],
    ),
    "volumes with contents": (msgspec.structs.replace(MADE, volumes=2, has_volumes=True), []),
    "one volume and hostPath claims without contents": (
        msgspec.structs.replace(MADE, volumes=1, directories=3),
        ["the contents of 1 volume of the bundled driver and of 3 hostPath claims are not in it: "],
    ),
    "hostPath claims, to the same path": (
        msgspec.structs.replace(MADE, directories=3, has_volumes=True, data_dir="/data"),
        [],
    ),
    "hostPath claims, to another path": (
        msgspec.structs.replace(MADE, directories=3, has_volumes=True, data_dir="/other"),
        ["its hostPath claims have their directories below /other: "],
    ),
    "names that a terminal would obey": (
        msgspec.structs.replace(
            MADE, nodes=("n\n\x1b[31m",), machine=Machine("h\x1b]0;\x07", "2" * 32)
        ),
        ["it was made on another machine (h?]0;?): ", "its node was n??[31m, and here "],
    ),
}


@pytest.mark.parametrize(("manifest", "told"), CASES.values(), ids=CASES)
def test_differences(manifest: Manifest, told: list[str]) -> None:
    found = differences(manifest, HERE, Path("/data"))
    assert len(found) == len(told)
    assert all(line.startswith(begin) for line, begin in zip(found, told, strict=True))


def test_a_seal_is_of_one_text_alone() -> None:
    assert seal_of(b"a") != seal_of(b"b")
    assert seal_of(b"a").endswith(b"  manifest.json\n")
